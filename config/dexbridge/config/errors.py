"""The errors of this room.

ConfigurationError
├── ConnectorsNotConfigured   no connection file is named (also a FileNotFoundError)
├── ConnectionFileAbsent      one is named, and is not there (also a FileNotFoundError)
├── EnvironmentConflict       the environment asks for two ways of configuration, or for one not supported yet
├── InvalidConnectionFile     the file is there and wrong; carries every diagnostic
├── InvalidToolOffer          an offered tool cannot work with this project; carries every diagnostic
├── ProjectClosed             the project was used after it was closed
└── ConfigurationDefect       a fault of this program or of a Connector, without what it was looking at

An application that may run without Connectors catches FileNotFoundError, as the seeds' example does. Everything
else must stop its start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dexbridge.config.telling.diagnostic import Diagnostic


class ConfigurationError(Exception):
    """Base of every error this room raises on purpose. None carries a credential."""


class ConnectorsNotConfigured(ConfigurationError, FileNotFoundError):
    """`DEX_CONNECTOR_CONFIG_FILE` is unset or blank: this application uses no Connectors."""


class ConnectionFileAbsent(ConfigurationError, FileNotFoundError):
    """`DEX_CONNECTOR_CONFIG_FILE` names a file that is not there."""


class EnvironmentConflict(ConfigurationError):
    """The environment names two sources of connections, or only the one that is not supported yet."""


class InvalidConnectionFile(ConfigurationError, ValueError):
    """A connection file with faults. `diagnostics` holds all of them in file order; `str` prints one a line."""

    def __init__(self, path: str, diagnostics: Iterable[Diagnostic]) -> None:
        self.path = path
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__("\n".join(str(diagnostic) for diagnostic in self.diagnostics))


class InvalidToolOffer(ConfigurationError, ValueError):
    """Offered tools that cannot work with the project's connections; `diagnostics` holds one per fault."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        super().__init__("\n".join(str(diagnostic) for diagnostic in self.diagnostics))


class ProjectClosed(ConfigurationError):
    """The project was closed; open it again."""


class ConfigurationDefect(ConfigurationError):
    """An unexpected error while secrets were in reach. Only its class is told, so nothing can leak with it."""
