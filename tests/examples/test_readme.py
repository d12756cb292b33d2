"""The README's example is the file that the tests run."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_shows_the_quick_start_as_it_is() -> None:
    shown = (ROOT / "README.md").read_text().partition("```python\n")[2].partition("```")[0]
    assert shown == (ROOT / "examples" / "quick_start.py").read_text()
