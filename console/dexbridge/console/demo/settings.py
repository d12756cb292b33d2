"""What the environment asks of the demo."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dexbridge.config import FILE_VARIABLE
from dexbridge.console.demo.errors import CannotStart

APPROVE_VARIABLE: Final = "DEMO_APPROVE"
KEY_VARIABLE: Final = "ANTHROPIC_API_KEY"
REAL_VARIABLE: Final = "REAL"

_EXAMPLE: Final = Path("examples", "order_support", "claude_agent_sdk_order_support.py")


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run.

    Attributes:
        examples_root: The folder that holds `examples/`.
        real: Use the model and the Slack of the environment instead of the local ones.
        approve: The decision given beforehand; `None` asks at the terminal.
    """

    examples_root: Path
    real: bool
    approve: bool | None


def read_settings(environment: Mapping[str, str], *, terminal: bool) -> Settings:
    """Reads the settings.

    Args:
        environment: The process's.
        terminal: Whether a person can be asked.

    Raises:
        CannotStart: a value is wrong, or there is nobody to ask.
    """
    root = find_examples()
    if environment.get(REAL_VARIABLE, "") not in ("", "0"):
        missing = [name for name in (KEY_VARIABLE, FILE_VARIABLE) if not environment.get(name)]
        if missing:
            raise CannotStart(f"REAL=1 uses the real services: set {' and '.join(missing)}.")
        if not terminal:
            raise CannotStart("REAL=1 posts to a real Slack, so a person must approve: run it in a terminal.")
        return Settings(root, real=True, approve=None)
    given = environment.get(APPROVE_VARIABLE, "").strip().lower()
    if given not in ("", "yes", "no"):
        raise CannotStart(f"{APPROVE_VARIABLE} must be yes or no.")
    if not given and not terminal:
        raise CannotStart(
            "The demo asks for approval, and standard input is not a terminal: "
            f"run it in one, or set {APPROVE_VARIABLE}=yes or {APPROVE_VARIABLE}=no."
        )
    return Settings(root, real=False, approve=None if not given else given == "yes")


def find_examples() -> Path:
    """The repository this module is installed from.

    Raises:
        CannotStart: it was installed from a wheel, which has no examples.
    """
    # console/dexbridge/console/demo/settings.py in an editable install.
    root = Path(__file__).resolve().parents[4]
    if (root / _EXAMPLE).is_file():
        return root
    raise CannotStart(
        "The demo runs the order-support agent of the repository's examples/ folder, which an installed package does "
        "not have: clone the repository and run `make demo` there."
    )
