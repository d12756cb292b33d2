"""The schema of the file itself: top-level keys and connection records.

Rules: design/dex-contract.md, "The connection file". Unknown keys are refused at the top and kept in a record;
a known key in other letter case is refused, because the original reader would take it for the known one.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from dexbridge.config.checking.member_faults import EXAMPLES, bad_name, check_key, missing, wrong_type
from dexbridge.config.checking.misplaced import check_misplaced
from dexbridge.config.reading.shapes import is_list, is_object
from dexbridge.config.telling.codes import Code
from dexbridge.config.telling.finding import HIDDEN, Finding, Path, harmless, is_token
from dexbridge.config.telling.notation import Notation

SCHEMA_VERSION: Final = "connectors.dex.dev/local-connections/v1alpha1"
TOP_KEYS: Final = ("schemaVersion", "connections", "triggerBindings")
NAME_KEYS: Final = ("connectorId", "modulePath", "moduleVersion", "provider", "connectionName")
HAND_WRITTEN_NAME_KEYS: Final = ("connectorId", "connectionName")
RECORD_KEYS: Final = (*NAME_KEYS, "configuration", "credentials", "credentialExpiresAt", "credentialStatus")
BINDING_NAME_KEYS: Final = ("connectorId", "connectionName", "triggerName", "bindingName")
REAUTHORIZATION_REQUIRED: Final = "reauthorization_required"

_TOP_BY_LOWER: Final = {key.lower(): key for key in TOP_KEYS}
_RECORD_BY_LOWER: Final = {key.lower(): key for key in RECORD_KEYS}
_TOP: Final = frozenset(TOP_KEYS)
_RECORD: Final = frozenset(RECORD_KEYS)
_NUMBERS: Final = re.compile(r"v?[0-9]{1,4}(?:[.-][0-9]{1,4}){0,3}", re.ASCII)
_LONGEST_NUMBER: Final = 10_000
_CONNECTOR_ID: Final = re.compile(r"[a-z][a-z0-9-]{1,62}")
_INSTANT: Final = re.compile(r"(\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2})(\.\d{1,6})?\d*([Zz]|[+-]\d{2}:\d{2})", re.ASCII)


# Not frozen: a frozen dataclass takes three times as long to make, and a file may have thousands.
@dataclass(slots=True, repr=False, eq=False)
class Record:
    """A connection record as far as it could be understood. It holds plaintext: it stays below `sealed`.

    Args:
        index: in `connections`.
        path: of the record.
        connector_id: empty when it is not usable.
        connection_name: empty when it is not usable.
        configuration: None when it is not an object.
        credentials: None when it is not an object.
        expires_at: aware; None when the credentials never expire.
        reauthorization_required: the provider has to be asked again.
        extra: members this version does not know.
    """

    index: int
    path: Path
    connector_id: str
    connection_name: str
    configuration: dict[str, Any] | None
    credentials: dict[str, Any] | None
    expires_at: datetime | None
    reauthorization_required: bool
    extra: dict[str, Any]

    @property
    def label(self) -> str:
        """The connection by name for messages; parts that may not be shown are left out."""
        return label(self.connector_id, self.connection_name)


def label(connector_id: str, connection_name: str) -> str:
    """`connector/name`, with a stand-in for a part that must not be shown."""
    parts = (part if harmless(part) else HIDDEN for part in (connector_id, connection_name))
    return "/".join(parts)


def check_top(
    document: object, findings: list[Finding], notation: Notation, credentials: frozenset[str], *, guessed: bool
) -> list[object]:
    """Checks everything outside of the records; returns the raw records."""
    if not is_object(document):
        mend = 'Write { "schemaVersion": …, "connections": [] } with the connections in it.'
        findings.append(wrong_type((), "The file", "an object with schemaVersion and connections", mend))
        return []
    unknown = [key for key in document if key not in _TOP]
    for key in unknown:
        check_key(key, (key,), _TOP_BY_LOWER, findings, None)
    lowered = {key.lower() for key in unknown}
    misplaced = [key for key in unknown if key.lower() not in _TOP_BY_LOWER]
    likely = check_misplaced(
        document, misplaced, findings, notation, top=TOP_KEYS, record=RECORD_KEYS, credentials=credentials
    )
    version = document.get("schemaVersion")
    if version is None and "schemaVersion" not in document:
        if "schemaversion" not in lowered and not guessed:
            findings.append(missing((), "schemaVersion", notation.add_at_top("schemaVersion", SCHEMA_VERSION)))
    elif version != SCHEMA_VERSION:
        findings.append(
            Finding(
                Code.SCHEMA_VERSION,
                ("schemaVersion",),
                f"{_version(version)} is not one that is read here.",
                f'It must be exactly "{SCHEMA_VERSION}".',
                foreign={f"The schemaVersion {shown_version(version)!r}": "This schemaVersion"},
            )
        )
    connections = document.get("connections")
    if connections is None and "connections" not in document:
        if "connections" not in lowered and not guessed and not likely:
            mend = f"{notation.add_at_top('connections', [])} Or write the connections as docs/configuration.md shows."
            findings.append(missing((), "connections", mend))
        return []
    if not is_list(connections):
        # A header that is not right makes an object of what its other tables hold.
        if not (likely and is_object(connections) and connections.keys().isdisjoint(NAME_KEYS)):
            findings.append(_no_list(connections, notation))
        return []
    return connections


def _no_list(connections: object, notation: Notation) -> Finding:
    path: Path = ("connections",)
    right = "a list of connections, so it was not checked further"
    if not is_object(connections):
        return wrong_type(path, "connections", right, notation.no_list())
    if connections.keys().isdisjoint(RECORD_KEYS) and any(is_object(one) for one in connections.values()):
        mend = (
            "Write [[connections]] for [connections.NAME], and [connections.credentials] for "
            "[connections.NAME.credentials]; NAME becomes its connectionName."
            if notation.toml
            else "Write a list, and the name of each as its connectionName: [{ … }, { … }]"
        )
        return wrong_type(path, "connections", right, mend)
    if notation.toml and connections.keys().isdisjoint(NAME_KEYS):
        mend = "Add above it: the line [[connections]], and below that its connectorId and connectionName."
        return wrong_type(path, "connections", right, mend)
    return wrong_type(path, "connections", right, notation.one_connection())


def shown_version(version: object) -> str | None:
    """A schemaVersion as it may be shown; None when it is long or may be a token."""
    if type(version) is int and abs(version) < _LONGEST_NUMBER:
        return str(version)
    if isinstance(version, str) and (harmless(version) or _NUMBERS.fullmatch(version)):
        return version
    return None


def _version(version: object) -> str:
    shown = shown_version(version)
    return "This schemaVersion" if shown is None else f"The schemaVersion {shown!r}"


def check_record(
    index: int,
    raw: object,
    findings: list[Finding],
    notation: Notation,
    *,
    names: tuple[str, ...],
    misplaced: frozenset[str],
    guessed: bool,
) -> Record | None:
    """Checks one record's own members.

    Args:
        index: in `connections`.
        raw: the decoded record.
        findings: faults are added here.
        notation: of the file.
        names: the name members that must be there; the others may be left out.
        misplaced: members that stand at the top of the file instead; that was said there.
        guessed: something was left out of the file, so what is missing is not a fault.
    """
    path: Path = ("connections", index)
    if not is_object(raw):
        findings.append(wrong_type(path, "A connection", "an object", "Write it as { … }, or remove it."))
        return None
    connector_id, connection_name = _usable(raw, "connectorId"), _usable(raw, "connectionName")
    extra_keys = raw.keys() - _RECORD
    here = _Here(
        path, raw, connector_id, connection_name, {key.lower() for key in extra_keys}, guessed, notation, misplaced
    )
    if not here.lowered.isdisjoint(_RECORD_BY_LOWER):
        for key in extra_keys:
            check_key(key, (*path, key), _RECORD_BY_LOWER, findings, here.name)
            # So that one wrong letter does not hide the faults of the rest.
            if key.lower() == "connectorid" and "connectorId" not in raw:
                connector_id = _usable(raw, key)
    for key in NAME_KEYS:
        value = raw.get(key)
        if type(value) is str and value.strip():
            continue
        if key in raw:
            findings.append(bad_name((*path, key), key, value, here.name))
        elif key in names and key.lower() not in here.lowered and key not in misplaced and not guessed:
            example = notation.add_to_record(key, EXAMPLES[key])
            findings.append(missing(path, key, f"{example} (or the text that is right here).", here.name))
    if connector_id and not _CONNECTOR_ID.fullmatch(connector_id):
        findings.append(
            Finding(
                Code.BAD_VALUE,
                (*path, "connectorId"),
                "This connectorId is not an ID of a Connector.",
                "Use lower case letters, digits and hyphens, as in slack.",
                here.name,
            )
        )
        # The Connector that is likely meant still checks the rest.
        connector_id = connector_id.lower() if _CONNECTOR_ID.fullmatch(connector_id.lower()) else ""
    if is_token(connection_name):
        findings.append(
            Finding(
                Code.BAD_VALUE,
                (*path, "connectionName"),
                "This connectionName is a token.",
                "Move it to credentials, and write a name such as support-slack; names are shown and stored.",
            )
        )
        connection_name = ""
    return Record(
        index,
        path,
        connector_id,
        connection_name,
        _member(here, "configuration", findings),
        _member(here, "credentials", findings),
        _expiry(here, findings),
        _status(here, findings),
        {key: raw[key] for key in extra_keys} if extra_keys else _NO_EXTRA,
    )


@dataclass(slots=True, repr=False, eq=False)
class _Here:
    """The record that is being checked."""

    path: Path
    raw: dict[str, Any]
    connector_id: str
    connection_name: str
    lowered: set[str]
    guessed: bool
    notation: Notation
    misplaced: frozenset[str]

    @property
    def name(self) -> str | None:
        """The connection by name; asked for only once there is a fault."""
        if not (self.connector_id and self.connection_name):
            return None
        return label(self.connector_id, self.connection_name)


def _member(here: _Here, key: str, findings: list[Finding]) -> dict[str, Any] | None:
    value = here.raw.get(key)
    if is_object(value):
        return value
    if key in here.raw:
        mend = here.notation.member(key, value)
        findings.append(wrong_type((*here.path, key), key, "an object", mend, here.name))
    elif key.lower() not in here.lowered and key not in here.misplaced and not here.guessed:
        near = difflib.get_close_matches(
            key, [one for one in here.raw if one not in _RECORD and harmless(one)], n=1, cutoff=0.8
        )
        mend = f"Write {near[0]} as {key}." if near else here.notation.add_to_record(key, {})
        findings.append(missing(here.path, key, mend, here.name))
    return None


_NO_EXTRA: Final[dict[str, Any]] = {}


def _usable(raw: dict[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if type(value) is str and value.strip() else ""


def _expiry(here: _Here, findings: list[Finding]) -> datetime | None:
    value: object = here.raw.get("credentialExpiresAt")
    if value is None:
        return None
    moment: datetime | None = None
    if isinstance(value, datetime):
        moment = value
    elif isinstance(value, str) and (match := _INSTANT.fullmatch(value)):
        try:
            moment = datetime.fromisoformat(match[1] + (match[2] or "") + match[3].upper().replace("Z", "+00:00"))
        except ValueError:
            moment = None
    try:
        if moment is not None and moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except OverflowError:
        pass
    findings.append(
        Finding(
            Code.BAD_VALUE,
            (*here.path, "credentialExpiresAt"),
            "credentialExpiresAt is not a time with a zone.",
            'Write it as "2026-12-31T00:00:00Z", or leave it out if the credentials never expire.',
            here.name,
        )
    )
    return None


def _status(here: _Here, findings: list[Finding]) -> bool:
    value: object = here.raw.get("credentialStatus")
    if value is not None and type(value) is not str:
        path = (*here.path, "credentialStatus")
        right = f'empty or "{REAUTHORIZATION_REQUIRED}"'
        findings.append(wrong_type(path, "credentialStatus", right, 'Write ""; calls are then made again.', here.name))
    return value == REAUTHORIZATION_REQUIRED


def check_unique(records: list[Record], findings: list[Finding]) -> None:
    """Refuses a second record with the same Connector and name; both places are named."""
    first: dict[tuple[str, str], Record] = {}
    for record in records:
        if not (record.connector_id and record.connection_name):
            continue
        known = first.setdefault((record.connector_id, record.connection_name), record)
        if known is not record:
            findings.append(
                Finding(
                    Code.DUPLICATE_CONNECTION,
                    (*record.path, "connectionName"),
                    f"There are two connections {record.label}.",
                    "Give one of them another connectionName, or remove it.",
                    record.label,
                    related=((*known.path, "connectionName"),),
                )
            )
