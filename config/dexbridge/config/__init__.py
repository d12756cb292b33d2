"""The connection file: formats, validation, credentials, and the `Project` connections are taken from."""

from dexbridge.config.codes import Code, Severity
from dexbridge.config.diagnostic import REPORT_VERSION, Diagnostic, Place, SourceLine
from dexbridge.config.envelope import SCHEMA_VERSION
from dexbridge.config.errors import (
    ConfigurationDefect,
    ConfigurationError,
    ConnectionFileAbsent,
    ConnectorsNotConfigured,
    EnvironmentConflict,
    InvalidConnectionFile,
    InvalidToolOffer,
    ProjectClosed,
)
from dexbridge.config.loading import FILE_VARIABLE, load_from_environment, open_project
from dexbridge.config.project import OpenedConnection, Project
from dexbridge.config.tool_check import validate_tools

__all__ = [
    "FILE_VARIABLE",
    "REPORT_VERSION",
    "SCHEMA_VERSION",
    "Code",
    "ConfigurationDefect",
    "ConfigurationError",
    "ConnectionFileAbsent",
    "ConnectorsNotConfigured",
    "Diagnostic",
    "EnvironmentConflict",
    "InvalidConnectionFile",
    "InvalidToolOffer",
    "OpenedConnection",
    "Place",
    "Project",
    "ProjectClosed",
    "Severity",
    "SourceLine",
    "load_from_environment",
    "open_project",
    "validate_tools",
]
