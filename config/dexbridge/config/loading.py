"""Opens the project an environment names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dexbridge.config.checking.inspection import inspect_file
from dexbridge.config.errors import ConnectionFileAbsent, ConnectorsNotConfigured, EnvironmentConflict
from dexbridge.config.project import Project, opened
from dexbridge.config.reading.home import without_tilde
from dexbridge.config.sealing import Sealed
from dexbridge.config.telling.codes import Code
from dexbridge.connectors import ConnectorDefinition, installed_connectors

FILE_VARIABLE: Final = "DEX_CONNECTOR_CONFIG_FILE"
PROJECT_PREFIX: Final = "DEX_PROJECT_"


def connection_file(environment: Mapping[str, str]) -> str:
    """The absolute path of the connection file the environment names.

    Raises:
        ConnectorsNotConfigured: it names none.
        ConnectionFileAbsent: it names one by `~`, and there is no home folder.
        EnvironmentConflict: it also, or only, has variables of the other way of deploying. A blank one counts as unset.
    """
    # Only names leave this frame's first lines: the environment holds credentials of all kinds.
    # A blank variable counts as unset, whichever it is: a shell or a compose file cannot always leave one out.
    others = sorted(name for name, value in environment.items() if name.startswith(PROJECT_PREFIX) and value.strip())
    named = (environment.get(FILE_VARIABLE) or "").strip()
    home = environment.get("HOME")
    del environment
    listed = ", ".join(others)
    if named and others:
        raise EnvironmentConflict(
            f"{FILE_VARIABLE} and {listed} are both set, and they are two ways to configure Connectors. "
            f"Unset {listed}, or unset {FILE_VARIABLE}."
        )
    if others:
        raise EnvironmentConflict(
            f"{listed} is set: taking connections from a Dex project is not supported yet. "
            f"Unset {listed} and name a connection file in {FILE_VARIABLE}."
        )
    if not named:
        raise ConnectorsNotConfigured(
            f"{FILE_VARIABLE} is not set, so there are no Connectors. "
            "Set it to the path of a connection file to use them; docs/configuration.md shows one."
        )
    return absolute_path(named, home)


def absolute_path(path: str | os.PathLike[str], home: str | None = None) -> str:
    """The absolute path of a file, with the home folder in the place of a `~` at its start.

    Args:
        path: of the file.
        home: the home folder; the user's own unless told.

    Raises:
        ConnectionFileAbsent: the path starts with `~`, and there is no home folder.
    """
    whole = without_tilde(os.fspath(path), home)
    if whole is None:
        raise ConnectionFileAbsent(f"{path} starts with ~, and there is no home folder here. Write the whole path.")
    return str(Path(whole).absolute())


async def load_from_environment(
    environment: Mapping[str, str] = os.environ,
    *,
    connectors: Mapping[str, ConnectorDefinition] | None = None,
) -> Project:
    """Opens the project of the file that `DEX_CONNECTOR_CONFIG_FILE` names.

    The seeds' section "Offer the tool" shows its use: an application that can do without Connectors catches
    FileNotFoundError, and any other error stops its start.

    Args:
        environment: read now, and again for references to variables.
        connectors: by ID; those installed unless told.

    Raises:
        ConnectorsNotConfigured: the variable is unset or blank; a FileNotFoundError.
        ConnectionFileAbsent: the file is not there; a FileNotFoundError that names the path.
        EnvironmentConflict: `DEX_PROJECT_*` variables are set, and not blank.
        InvalidConnectionFile: the file has faults; it carries all of them.
    """
    kept = Sealed(environment)
    del environment
    path = connection_file(kept.open())
    return await open_project(path, kept, connectors=connectors)


async def open_project(
    path: str | os.PathLike[str],
    environment: Sealed[Mapping[str, str]] | None = None,
    *,
    connectors: Mapping[str, ConnectorDefinition] | None = None,
) -> Project:
    """Opens the project of a connection file.

    Args:
        path: of the file.
        environment: for references to variables; the process's own unless told.
        connectors: by ID; those installed unless told.

    Raises:
        ConnectionFileAbsent: the file is not there.
        InvalidConnectionFile: the file has faults.
    """
    whole = absolute_path(path)
    kept = Sealed[Mapping[str, str]](os.environ) if environment is None else environment
    definitions = installed_connectors() if connectors is None else connectors
    inspection = inspect_file(whole, kept, definitions)
    if any(one.code is Code.FILE_ABSENT for one in inspection.diagnostics):
        raise ConnectionFileAbsent(
            f"The connection file {whole} does not exist. Write it with `dexbridge config init`, "
            f"or unset {FILE_VARIABLE} to run without Connectors."
        )
    return opened(inspection, kept, definitions)
