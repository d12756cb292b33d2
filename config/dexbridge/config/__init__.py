"""The connection file: formats, validation, credentials, and the `Project` connections are taken from."""

from dexbridge.config.checking.envelope import SCHEMA_VERSION
from dexbridge.config.checking.inspection import InspectedConnection, Inspection, inspect_file
from dexbridge.config.checking.live import LiveResult, check_live
from dexbridge.config.checking.schema import connection_file_schema
from dexbridge.config.checking.scopes import NeededScopes
from dexbridge.config.checking.tool_check import OfferedOperation, check_offer, scopes_of_offer, validate_tools
from dexbridge.config.checking.written_reference import may_show_variable
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
from dexbridge.config.loading import FILE_VARIABLE, absolute_path, connection_file, load_from_environment, open_project
from dexbridge.config.project import OpenedConnection, Project
from dexbridge.config.sealing import Sealed
from dexbridge.config.telling.codes import Code, Severity
from dexbridge.config.telling.diagnostic import REPORT_VERSION, Diagnostic, Place, SourceLine, report
from dexbridge.config.telling.finding import is_token
from dexbridge.config.writing import (
    EnvironmentReference,
    FileReference,
    NewConnection,
    NewCredential,
    write_connection_file,
)

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
    "EnvironmentReference",
    "FileReference",
    "InspectedConnection",
    "Inspection",
    "InvalidConnectionFile",
    "InvalidToolOffer",
    "LiveResult",
    "NeededScopes",
    "NewConnection",
    "NewCredential",
    "OfferedOperation",
    "OpenedConnection",
    "Place",
    "Project",
    "ProjectClosed",
    "Sealed",
    "Severity",
    "SourceLine",
    "absolute_path",
    "check_live",
    "check_offer",
    "connection_file",
    "connection_file_schema",
    "inspect_file",
    "is_token",
    "load_from_environment",
    "may_show_variable",
    "open_project",
    "report",
    "scopes_of_offer",
    "validate_tools",
    "write_connection_file",
]
