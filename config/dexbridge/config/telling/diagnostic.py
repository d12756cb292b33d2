"""Diagnostic: one fault of a connection file, with its place and its mend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dexbridge.config.telling.codes import Code, Severity


@dataclass(frozen=True, order=True)
class Place:
    """A place in a file: line and column count from 1, a column is a character."""

    line: int
    column: int


@dataclass(frozen=True)
class SourceLine:
    """The line a diagnostic points at, with every value masked that is not known to be harmless.

    Args:
        text: the masked line.
        caret: how many characters of `text` stand before the carets.
        width: how many carets, at least one.
    """

    text: str
    caret: int
    width: int


@dataclass(frozen=True)
class Diagnostic:
    """What is wrong, where, and what to do. It never holds a credential.

    Args:
        severity: an error refuses the file, a warning does not.
        code: stable, for programs.
        path: of the file; empty when the fault is in no file.
        place: where; None when the fault is in no file.
        pointer: JSON pointer of the value, also for TOML; the empty string is the whole document.
        connection: such as `slack/support-slack`; None when the fault belongs to no connection.
        message: what is wrong, a sentence.
        mend: what to do, a sentence or a command.
        source: the masked line; None when there is none to show.
        related: other places that belong to the fault, such as the first of two duplicates.
    """

    severity: Severity
    code: Code
    path: str
    place: Place | None
    pointer: str
    connection: str | None
    message: str
    mend: str
    source: SourceLine | None = None
    related: tuple[Place, ...] = ()

    def __str__(self) -> str:
        where = self.path if self.place is None else f"{self.path}:{self.place.line}:{self.place.column}"
        prefix = f"{where}: " if where else ""
        also = "".join(f" (see also {self.path}:{place.line}:{place.column})" for place in self.related)
        return f"{prefix}{self.severity}: {self.message}{also} {self.mend} [{self.code}]"

    def to_json(self) -> dict[str, Any]:
        """The shape documented in docs/configuration.md, section "Reading the report in a program"."""
        return {
            "severity": str(self.severity),
            "code": str(self.code),
            "path": self.path,
            "line": self.place.line if self.place else None,
            "column": self.place.column if self.place else None,
            "pointer": self.pointer,
            "connection": self.connection,
            "message": self.message,
            "mend": self.mend,
            "related": [{"line": place.line, "column": place.column} for place in self.related],
        }


REPORT_VERSION = "dexbridge.config-check/v1"


def report(
    path: str,
    diagnostics: Iterable[Diagnostic],
    *,
    live: Iterable[Mapping[str, Any]] | None = None,
    unasked: Iterable[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The versioned report of `dexbridge config check --json`.

    Args:
        path: of the checked file.
        diagnostics: in file order.
        live: one mapping per connection that was checked live; None when no live check was asked for.
        unasked: one mapping per need of an offered operation that only a live check can tell of.
    """
    rows = [diagnostic.to_json() for diagnostic in diagnostics]
    return {
        "version": REPORT_VERSION,
        "path": path,
        "errors": sum(row["severity"] == Severity.ERROR for row in rows),
        "warnings": sum(row["severity"] == Severity.WARNING for row in rows),
        "diagnostics": rows,
        "live": None if live is None else [dict(row) for row in live],
        "unasked": [dict(row) for row in unasked],
    }
