"""Writes the templates of this folder under a new Connector's name."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from dexbridge.connectors.contract.call import CONNECTOR_ID_PATTERN
from dexbridge.connectors.contract.errors import ConnectorError
from dexbridge.connectors.contract.registry import survey_connectors

_LONGEST_NAME: Final = 40
"""A tool is named after its Connector and its operation, in at most 52 characters."""


class InvalidScaffold(ConnectorError, ValueError):
    """A name or a folder in which no new Connector can begin."""


def package_name(connector_id: str) -> str:
    """The Python package of a Connector: `dexbridge_acme_notes` for `acme-notes`."""
    return f"dexbridge_{connector_id.replace('-', '_')}"


def write_scaffold(connector_id: str, directory: Path) -> tuple[Path, ...]:
    """Writes a new Connector's package into a folder that is absent or empty, and returns its files.

    Raises:
        InvalidScaffold: the name is not a connector ID or is taken, or the folder holds something.
        ModuleNotFoundError: Jinja2 is not installed.
    """
    from jinja2 import Environment, StrictUndefined  # noqa: PLC0415

    if not CONNECTOR_ID_PATTERN.fullmatch(connector_id) or len(connector_id) > _LONGEST_NAME:
        raise InvalidScaffold(
            f"{connector_id!r} is not a connector ID: write 2 to {_LONGEST_NAME} lower case letters, digits and -, "
            "a letter first, such as acme-notes."
        )
    if any(one.connector_id == connector_id for one in survey_connectors()):
        raise InvalidScaffold(f"A Connector {connector_id!r} is installed already: choose another name.")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InvalidScaffold(f"{directory} exists and is not an empty folder: choose another with --directory.")
    # The output is Python and TOML, not HTML; what is filled in matches CONNECTOR_ID_PATTERN.
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701
    words = {
        "connector_id": connector_id,
        "package": package_name(connector_id),
        "title": " ".join(word.capitalize() for word in connector_id.split("-") if word),
    }
    written: list[Path] = []
    for parts, template in _templates(files("dexbridge.connectors.scaffold") / "template", ()):
        path = directory.joinpath(*(words["package"] if part == "package" else part for part in parts))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(environment.from_string(template.read_text(encoding="utf-8")).render(words), encoding="utf-8")
        written.append(path)
    return tuple(sorted(written))


def _templates(folder: Traversable, parents: tuple[str, ...]) -> list[tuple[tuple[str, ...], Traversable]]:
    found: list[tuple[tuple[str, ...], Traversable]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _templates(entry, (*parents, entry.name))
        elif entry.name.endswith(".jinja"):
            found.append(((*parents, entry.name.removesuffix(".jinja")), entry))
    return found
