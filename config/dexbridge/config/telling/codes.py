"""The stable codes of diagnostics. docs/configuration.md explains each; a test compares the two lists."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """How bad a diagnostic is: an error refuses the file, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


class Code(StrEnum):
    """What a diagnostic is about. A code keeps its meaning for ever; new ones may be added."""

    NOT_CONFIGURED = "not-configured"
    ENVIRONMENT_CONFLICT = "environment-conflict"

    FILE_ABSENT = "file-absent"
    FILE_KIND = "file-kind"
    FILE_SYMLINK = "file-symlink"
    FILE_MODE = "file-mode"
    FILE_OWNER = "file-owner"
    FILE_UNREADABLE = "file-unreadable"
    FILE_TOO_LARGE = "file-too-large"
    FILE_CHANGING = "file-changing"
    FILE_NAME = "file-name"
    FILE_EMPTY = "file-empty"
    FILE_ENCODING = "file-encoding"

    SYNTAX = "syntax"
    DUPLICATE_KEY = "duplicate-key"
    NESTING = "nesting"

    SCHEMA_VERSION = "schema-version"
    UNKNOWN_KEY = "unknown-key"
    KEY_CASE = "key-case"
    MISSING_KEY = "missing-key"
    WRONG_TYPE = "wrong-type"
    BLANK_VALUE = "blank-value"
    BAD_VALUE = "bad-value"
    DUPLICATE_CONNECTION = "duplicate-connection"

    CONNECTOR_NOT_INSTALLED = "connector-not-installed"
    CONNECTOR_UNUSABLE = "connector-unusable"
    CONFIGURATION = "configuration"
    UNKNOWN_CREDENTIAL = "unknown-credential"
    MISSING_CREDENTIAL = "missing-credential"
    CREDENTIAL_SHAPE = "credential-shape"
    CREDENTIAL_REFERENCE = "credential-reference"
    AUTH_METHOD = "auth-method"
    CREDENTIALS_EXPIRED = "credentials-expired"
    REAUTHORIZATION_REQUIRED = "reauthorization-required"

    TRIGGER_CONNECTION = "trigger-connection"
    DUPLICATE_TRIGGER = "duplicate-trigger"

    TOOL_CONNECTION = "tool-connection"
    TOOL_CREDENTIAL = "tool-credential"
    TOOL_LOOK_UP = "tool-look-up"
    LIVE_CHECK = "live-check"
    LIVE_SCOPE = "live-scope"
