"""How a mend is written down in the file's own format, so that it is right wherever the reader puts it literally."""

from __future__ import annotations

import json
from typing import Final


class Notation:
    """The words of one format; TOML's headers make a line at the file's end part of the last table."""

    def __init__(self, *, toml: bool) -> None:
        self.toml: Final = toml

    def add_at_top(self, key: str, value: object) -> str:
        """Adds a key to the document."""
        if self.toml:
            return f"Add as the first line: {key} = {json.dumps(value)}"
        return f"Add right after the first {{: {json.dumps(key)}: {json.dumps(value)} (and a comma, if more follows)."

    def add_to_record(self, key: str, value: object) -> str:
        """Adds a key to a connection."""
        if self.toml:
            return f"Add the next line right below its [[connections]]: {key} = {_toml(value)}"
        return f"Add right after its {{: {json.dumps(key)}: {json.dumps(value)} (and a comma, if more follows)."

    def one_connection(self) -> str:
        """Makes a list of a single connection."""
        if self.toml:
            return "Write its header with two brackets on each side: [[connections]]"
        return 'Write [ and ] around it: "connections": [{ … }]'

    def no_list(self) -> str:
        """What stands for connections is neither a list nor a connection."""
        return "Write [[connections]] above each connection." if self.toml else "Write a list of connections: [{ … }]"

    def member(self, key: str, value: object) -> str:
        """Makes an object of a connection's member."""
        if self.toml and isinstance(value, list):
            return f"Write its header with one bracket on each side: [connections.{key}]"
        written = f"{key} = {{ name = … }}" if self.toml else f'"{key}": {{ "name": … }}'
        return f"Write it with the name of each value: {written}"


def _toml(value: object) -> str:
    return "{}" if value == {} else json.dumps(value)


JSON: Final = Notation(toml=False)
TOML: Final = Notation(toml=True)
