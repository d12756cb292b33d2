"""docs/write-a-connector.md, followed line by line as a new author does."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from dexbridge.connectors.scaffold import package_name, write_scaffold

pytestmark = pytest.mark.slow

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "write-a-connector.md"
MODULES = {"pytest", "ruff", "pyright"}
APPLICATION = """
import asyncio
from application import build_tool
tool = asyncio.run(build_tool())
print(tool.name, tool.effect)
"""


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, and the file named last before it."""

    language: str
    text: str
    file: str


def blocks() -> list[Block]:
    found: list[Block] = []
    file, language, lines = "", "", list[str]()
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            if language:
                found.append(Block(language, "\n".join(lines) + "\n", file))
            language, lines = ("", []) if language else (line[3:], [])
        elif language:
            lines.append(line)
        else:
            named = re.findall(r"\bin `([a-z_]+\.py)`", line, flags=re.IGNORECASE)
            file = named[-1] if named else file
    return found


@contextmanager
def unchanged_scaffold(folder: Path) -> Generator[None]:
    """Lays the scaffold as it is written next to the changed one: one run of pyright checks both."""
    other = folder.parent / "unchanged"
    write_scaffold("acme-unchanged", other)
    source, tests = folder / "src" / package_name("acme-unchanged"), folder / "tests" / "unchanged"
    (other / "src" / source.name).rename(source)
    (other / "tests").rename(tests)
    yield
    shutil.rmtree(source)
    shutil.rmtree(tests)


class Author:
    """Somebody with an empty folder who does what the page says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {n: v for n, v in os.environ.items() if not n.startswith(("PYTEST", "PYTHON", "DEX_"))}
        self.environment["ACME_API_KEY"] = "key-of-an-author"
        self.has_changed = False

    @property
    def source(self) -> Path:
        return self.folder / "src"

    def path_of(self, file: str) -> Path:
        return next(path for path in self.folder.rglob(file) if ".venv" not in path.parts)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )

    def follow(self, block: Block) -> None:
        if block.language == "console":
            for command in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                line, _, expected = command.partition("\n")
                self.type(shlex.split(line), expected.strip())
        elif block.language == "diff":
            self.apply(block)
        elif block.language == "python":
            self.compare(block)

    def type(self, words: list[str], expected: str) -> None:
        if words[0] == "cd":
            self.folder = self.folder / words[1]
            return
        if words[:2] == ["pip", "install"]:
            if "--editable" in words:
                self.install()
            return
        if words[0] == "pytest" and not self.has_changed:
            return  # test_scaffold.py runs the tests of the scaffold as it is written
        if words[0] in MODULES:
            # test_scaffold.py runs pytest with the plugin for asyncio, which an author may not have.
            extra = ["-p", "no:cacheprovider", "-p", "no:asyncio"] if words[0] == "pytest" else []
            extra += ["-x"] if expected else []
            extra += ["--no-cache"] if words[0] == "ruff" else []
            extra += ["--pythonpath", sys.executable] if words[0] == "pyright" else []
            with unchanged_scaffold(self.folder) if words[0] == "pyright" else nullcontext():
                ended = self.run("-m", *words, *extra)
            assert not {"warning", "warnings"} & set(ended.stdout.replace("0 warnings", "").split()), ended.stdout
        else:
            assert words[0] == "dexbridge", words
            program = "import sys; from dexbridge.console.cli import main; main(sys.argv[1:])"
            ended = self.run("-c", program, *words[1:])
        assert (ended.returncode == 0) == (not expected), f"{words}\n{ended.stdout}\n{ended.stderr}"
        assert expected in ended.stdout, f"{words}\n{ended.stdout}"

    def install(self) -> None:
        """What `pip install --editable .` does: it lays out the metadata and puts src/ on the path."""
        metadata = self.source / "dexbridge_acme_notes-0.1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: dexbridge-acme-notes\nVersion: 0.1.0\n")
        points = re.findall(
            r'^\[project\.entry-points\."(.+)"\]\n(.+) = "(.+)"$',
            (self.folder / "pyproject.toml").read_text(),
            flags=re.MULTILINE,
        )
        (metadata / "entry_points.txt").write_text("".join(f"[{g}]\n{name} = {value}\n" for g, name, value in points))
        self.environment["PYTHONPATH"] = str(self.source)

    def apply(self, block: Block) -> None:
        rows = block.text.splitlines()
        old = "\n".join(row[1:] for row in rows if not row.startswith("+")) + "\n"
        new = "\n".join(row[1:] for row in rows if not row.startswith("-")) + "\n"
        path = self.path_of(block.file)
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{block.file} must hold this once:\n{old}"
        path.write_text(text.replace(old, new), encoding="utf-8")
        self.has_changed = True

    def compare(self, block: Block) -> None:
        head, _, text = block.text.partition("\n")
        file = head.removeprefix("# ")
        if file == "application.py":
            (self.source / file).write_text(text.lstrip("\n"), encoding="utf-8")
            return
        assert text in self.path_of(file).read_text(encoding="utf-8"), f"{file} does not hold:\n{text}"


def test_the_page_works_from_its_first_line_to_its_last(tmp_path: Path) -> None:
    author = Author(tmp_path)
    for block in blocks():
        author.follow(block)
    author.environment["DEX_CONNECTOR_CONFIG_FILE"] = str(author.folder / "acme.toml")
    ended = author.run("-c", APPLICATION)
    assert ended.stdout.split()[0] == "acme_notes_add_note", ended.stderr


def test_the_page_tells_of_every_setting() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    for name in (
        "exposed_to_agents",
        "recommends_approval",
        "can_reconcile",
        "reconcile_credentials",
        "safe_to_retry",
        "scopes",
        "timeout",
        "reads_answer",
        "proves_not_sent",
        "crowd",
        "crowd_size",
        "settling_time",
        "ANY_TIME",
        "retry_after",
    ):
        assert f"`{name}" in text, name
