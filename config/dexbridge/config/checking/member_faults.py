"""The faults every object of the file can have: a key too few, of the wrong case, of the wrong type."""

from __future__ import annotations

from typing import Final

from dexbridge.config.telling.codes import Code
from dexbridge.config.telling.finding import Finding, Path, quoted

EXAMPLES: Final = {
    "connectorId": "slack",
    "modulePath": "example.com/connectors/slack",
    "moduleVersion": "v0.21.0",
    "provider": "slack",
    "connectionName": "support-slack",
}
"""A right value of each name."""


def bad_name(path: Path, key: str, value: object, name: str | None) -> Finding:
    """A name that is blank or no text."""
    if type(value) is str:
        return Finding(
            Code.BLANK_VALUE, path, f"{key} is blank.", f'Write a text such as "{EXAMPLES.get(key, "main")}".', name
        )
    return wrong_type(path, key, "a text", f'Write a text in quotes, such as "{EXAMPLES.get(key, "main")}".', name)


def check_key(key: str, path: Path, known: dict[str, str], findings: list[Finding], name: str | None) -> None:
    """Adds a fault if the key is a known one in other letter case."""
    right = known.get(key.lower())
    if right is not None:
        findings.append(
            Finding(
                Code.KEY_CASE,
                path,
                f"The key {quoted(key)} has the wrong letter case.",
                f"Write it as {right}.",
                name,
                at_key=True,
            )
        )


def missing(path: Path, key: str, mend: str, name: str | None = None) -> Finding:
    """A member that has to be there."""
    return Finding(Code.MISSING_KEY, path, f"{key} is missing.", mend, name)


def wrong_type(path: Path, what: str, right: str, mend: str, name: str | None = None) -> Finding:
    """A value of a type that is not taken."""
    return Finding(Code.WRONG_TYPE, path, f"{what} must be {right}.", mend, name)
