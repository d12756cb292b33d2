"""How diagnostics look on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import typer

from dexbridge.config import (
    Code,
    ConnectionFileAbsent,
    ConnectorsNotConfigured,
    Diagnostic,
    EnvironmentConflict,
    Severity,
    absolute_path,
    connection_file,
)
from dexbridge.connectors import ConnectorDefinition, survey_connectors
from dexbridge.console.encodings import echo

_COLOURS = {Severity.ERROR: typer.colors.RED, Severity.WARNING: typer.colors.YELLOW}


def wants_colour() -> bool:
    """Whether the output is a terminal whose user did not set NO_COLOR (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def render(diagnostics: Iterable[Diagnostic], *, colour: bool) -> Iterator[str]:
    """The lines that show diagnostics, each with its source line and carets."""

    def paint(text: str, shade: str, *, bold: bool = False) -> str:
        return typer.style(text, fg=shade, bold=bold) if colour else text

    for one in diagnostics:
        shade = _COLOURS[one.severity]
        where = one.path if one.place is None else f"{one.path}:{one.place.line}:{one.place.column}"
        yield f"{where and where + ': '}{paint(f'{one.severity}[{one.code}]', shade, bold=True)}: {one.message}"
        if one.source is not None and one.place is not None:
            number = str(one.place.line)
            yield f" {number} | {one.source.text}"
            carets = " " * one.source.caret + "^" * one.source.width
            yield f" {' ' * len(number)} | {paint(carets, shade)}"
        for place in one.related:
            yield f"   see also {one.path}:{place.line}:{place.column}"
        if one.connection is not None:
            yield f"   connection: {one.connection}"
        yield f"   mend: {one.mend}"
        yield ""


def installed() -> tuple[Mapping[str, ConnectorDefinition], list[Diagnostic]]:
    """The usable Connectors by ID, and a warning for each package whose Connector cannot be used."""
    usable: dict[str, ConnectorDefinition] = {}
    warnings: list[Diagnostic] = []
    for one in survey_connectors():
        if one.definition is not None:
            usable[one.connector_id] = one.definition
            continue
        message = f"A Connector cannot be used. {one.fault}"
        mend = f"Until {one.package or 'it'} is mended or uninstalled, its connections are not checked."
        warnings.append(Diagnostic(Severity.WARNING, Code.CONNECTOR_UNUSABLE, "", None, "", None, message, mend))
    return usable, warnings


def definitions() -> Mapping[str, ConnectorDefinition]:
    """The usable Connectors by ID; those that cannot be used are told on standard error."""
    usable, warnings = installed()
    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    for line in render(warnings, colour=colour):
        echo(line, err=True, color=colour)
    return usable


def chosen_file(file: Path | None) -> str | Diagnostic:
    """The absolute path of the file on the command line, else of the environment's; or why there is none."""
    try:
        return connection_file(os.environ) if file is None else absolute_path(file)
    except ConnectorsNotConfigured:
        code, message = Code.NOT_CONFIGURED, "No file is given, and DEX_CONNECTOR_CONFIG_FILE is not set."
        mend = "Give a file, or set DEX_CONNECTOR_CONFIG_FILE to its path."
    except ConnectionFileAbsent as homeless:
        code = Code.FILE_ABSENT
        message, _, mend = str(homeless).rpartition(" Write ")
        mend = f"Write {mend}"
    except EnvironmentConflict as conflict:
        code = Code.ENVIRONMENT_CONFLICT
        message, _, mend = str(conflict).partition(" Unset ")
        mend = f"Unset {mend}"
    return Diagnostic(Severity.ERROR, code, "", None, "", None, message, mend)


def exit_code(diagnostics: Iterable[Diagnostic], *, strict: bool) -> int:
    """0 when all is well, 1 for warnings under `strict`, 2 for faults."""
    severities = {one.severity for one in diagnostics}
    if Severity.ERROR in severities:
        return 2
    return 1 if strict and Severity.WARNING in severities else 0


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """Such as "2 errors, 1 warning"."""
    severities = [one.severity for one in diagnostics]
    counts = [(severities.count(Severity.ERROR), "error"), (severities.count(Severity.WARNING), "warning")]
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts)
