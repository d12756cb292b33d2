"""One look at a connection file: everything in it that can be used, and everything that is wrong with it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path as FilePath
from typing import Any, Final

from dexbridge.config.checking.connector_check import check_configuration, not_installed
from dexbridge.config.checking.credentials import CredentialRules, Resolved, Source, resolve_credentials
from dexbridge.config.checking.envelope import (
    HAND_WRITTEN_NAME_KEYS,
    NAME_KEYS,
    Record,
    check_record,
    check_top,
    check_unique,
    shown_version,
)
from dexbridge.config.checking.literals import holds_credential
from dexbridge.config.checking.trigger_bindings import check_bindings
from dexbridge.config.checking.written_reference import may_show_variable
from dexbridge.config.reading.file_access import open_to_writers
from dexbridge.config.reading.file_fault import FileFault
from dexbridge.config.reading.json_syntax import parse_json
from dexbridge.config.reading.private_file import CONNECTION_FILE_LIMIT, Identity, PrivateFile, read_private_file
from dexbridge.config.reading.shapes import is_list, is_object
from dexbridge.config.reading.syntax import Decoded, Parsed, decode
from dexbridge.config.reading.toml_syntax import parse_toml
from dexbridge.config.sealing import Sealed, sealed
from dexbridge.config.telling.codes import Code, Severity
from dexbridge.config.telling.diagnostic import Diagnostic, Place
from dexbridge.config.telling.finding import Finding, harmless
from dexbridge.config.telling.finding import Path as FindingPath
from dexbridge.config.telling.notation import JSON, TOML, Notation
from dexbridge.connectors import ConnectionReference, ConnectorDefinition

_MOST_SECRETS: Final = 1_000
_OPEN_TO_ALL: Final = (
    "If it holds references only, let everybody read it instead, such as in an image: COPY --chmod=644"
)


@dataclass(frozen=True)
class Format:
    """A format of the connection file."""

    parse: Callable[[str], Parsed]
    spots: str
    names: tuple[str, ...]
    references: bool
    notation: Notation


_FORMATS: Final[Mapping[str, Format]] = {
    ".json": Format(parse_json, "json_spots", NAME_KEYS, references=False, notation=JSON),
    ".toml": Format(parse_toml, "toml_spots", HAND_WRITTEN_NAME_KEYS, references=True, notation=TOML),
}


# Not frozen: a frozen dataclass takes three times as long to make, and a file may have thousands.
@dataclass(slots=True)
class InspectedConnection:
    """A connection of a file, with its secrets wrapped."""

    reference: ConnectionReference
    index: int
    configuration: dict[str, Any] = field(repr=False)
    credentials: Resolved = field(repr=False)
    expires_at: datetime | None
    reauthorization_required: bool
    extra: Sealed[dict[str, Any]] = field(repr=False)


@dataclass(frozen=True)
class Inspection:
    """What one look found.

    Args:
        path: of the file.
        identity: of the file that was read; None when it could not be read or may be changing still.
        connections: every connection that can be used, in file order.
        diagnostics: every fault, in file order.
    """

    path: str
    identity: Identity | None
    connections: tuple[InspectedConnection, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that refuse the file."""
        return tuple(one for one in self.diagnostics if one.severity is Severity.ERROR)


def inspect_file(
    path: str,
    environment: Sealed[Mapping[str, str]],
    connectors: Mapping[str, ConnectorDefinition],
    *,
    only: ConnectionReference | None = None,
) -> Inspection:
    """Reads and checks a connection file.

    Args:
        path: absolute.
        environment: for references.
        connectors: the installed Connectors by ID.
        only: check the file's form and this connection, and leave the others alone.
    """
    return sealed("reading the connection file", lambda: _inspect(path, environment, connectors, only))


def _inspect(
    path: str,
    environment: Sealed[Mapping[str, str]],
    connectors: Mapping[str, ConnectorDefinition],
    only: ConnectionReference | None,
) -> Inspection:
    form = _FORMATS.get(FilePath(path).suffix.lower())
    if form is None:
        return _refused(path, _unknown_format(path))
    read = read_private_file(path, limit=CONNECTION_FILE_LIMIT)
    if isinstance(read, FileFault):
        if read.code is Code.FILE_UNREADABLE and form.references:
            read = replace(read, mend=f"{read.mend} {_OPEN_TO_ALL}")
        return _refused(path, read)
    data = read.content.open()
    decoded = decode(data, form.parse)
    source = Source(environment, str(FilePath(path).parent), form.references)
    look = _Look(form, source, connectors)
    if not decoded.broken:
        look.at(decoded, only)
    findings = [*(_with_command(finding, path) for finding in decoded.findings), *look.findings]
    diagnostics: tuple[Diagnostic, ...] = ()
    if decoded.has_duplicates and not decoded.broken:
        diagnostics = _diagnose_both(path, data, decoded, only, (look, _Look(form, source, connectors)))
    elif findings:
        diagnostics = _diagnose(path, data, decoded, findings, look)
    if read.fault is not None:
        diagnostics = (*_of_access(path, read, read.fault, decoded), *diagnostics)
    return Inspection(path, _settled(read), tuple(look.usable), diagnostics)


def _of_access(path: str, read: PrivateFile, fault: FileFault, decoded: Decoded) -> Iterator[Diagnostic]:
    """Owner and mode matter only to a file that holds a credential itself."""
    if holds_credential(decoded, read.content.open()):
        yield _file_diagnostic(path, fault)
        return
    warning = open_to_writers(path, read.identity.mode)
    if warning is not None:
        yield replace(_file_diagnostic(path, warning), severity=Severity.WARNING)


def _settled(read: PrivateFile) -> Identity | None:
    return read.identity if read.settled else None


def _unknown_format(path: str) -> FileFault:
    return FileFault(
        Code.FILE_NAME,
        f"{path} has a name that does not tell its format.",
        "Name it with .json (as Dex Web writes it) or .toml (written by hand).",
    )


def _refused(path: str, fault: FileFault) -> Inspection:
    return Inspection(path, None, (), (_file_diagnostic(path, fault),))


def _file_diagnostic(path: str, fault: FileFault) -> Diagnostic:
    return Diagnostic(Severity.ERROR, fault.code, path, Place(1, 1), "", None, fault.message, fault.mend)


def _with_command(finding: Finding, path: str) -> Finding:
    name, new = shlex.quote(path), shlex.quote(path + ".new")
    if finding.code is Code.FILE_EMPTY:
        return replace(finding, message=f"{path} is empty.", mend=f"Run: dexbridge config init {name}")
    if finding.code is Code.FILE_ENCODING and not finding.mend:
        if "UTF-8" in finding.message:
            mend = f"Run: (umask 077 && tail -c +4 {name} > {new} && mv {new} {name})"
        else:
            mend = f"Run: (umask 077 && iconv -f UTF-16 -t UTF-8 {name} > {new} && mv {new} {name})"
        return replace(finding, message=finding.message.replace("The file", path), mend=mend)
    return finding


class _Look:
    """Collects what the records of one document give."""

    def __init__(self, form: Format, source: Source, connectors: Mapping[str, ConnectorDefinition]) -> None:
        self.form = form
        self.connectors = connectors
        self._source = source
        self._rules = {name: CredentialRules.of(definition) for name, definition in connectors.items()}
        self._installed = tuple(connectors)
        self._now = datetime.now(UTC)
        self.findings: list[Finding] = []
        self.records: list[Record] = []
        self.usable: list[InspectedConnection] = []

    def at(self, decoded: Decoded, only: ConnectionReference | None) -> None:
        findings = self.findings
        names = frozenset(name for rules in self._rules.values() for name in rules.fields)
        raw_records = check_top(decoded.value, findings, self.form.notation, names, guessed=decoded.guessed)
        misplaced = frozenset(decoded.value) if is_object(decoded.value) else frozenset[str]()
        for index, raw in enumerate(raw_records):
            if only is not None and not _is(raw, only):
                continue
            record = check_record(
                index,
                raw,
                findings,
                self.form.notation,
                names=self.form.names,
                misplaced=misplaced,
                guessed=decoded.guessed,
            )
            if record is not None:
                self.records.append(record)
                self._check(record, guessed=decoded.guessed)
        check_unique(self.records, findings)
        if only is None:
            check_bindings(decoded.value, self.records, findings, guessed=decoded.guessed)

    def _check(self, record: Record, *, guessed: bool) -> None:
        definition = None
        if record.connector_id:
            definition = self.connectors.get(record.connector_id)
            if definition is None:
                self.findings.append(not_installed(record, self._installed))
        resolved = resolve_credentials(
            record, self._rules.get(record.connector_id), self._source, self.findings, guessed=guessed
        )
        if definition is not None:
            check_configuration(record, definition, self.findings, guessed=guessed)
        self._warn(record)
        if record.connector_id and record.connection_name and record.configuration is not None:
            self.usable.append(
                InspectedConnection(
                    ConnectionReference(record.connector_id, record.connection_name),
                    record.index,
                    record.configuration,
                    resolved,
                    record.expires_at,
                    record.reauthorization_required,
                    Sealed(record.extra),
                )
            )

    def _warn(self, record: Record) -> None:
        if record.reauthorization_required:
            self.findings.append(
                Finding(
                    Code.REAUTHORIZATION_REQUIRED,
                    (*record.path, "credentialStatus"),
                    f"The credentials of {record.label} have to be authorized again; its calls are refused.",
                    "Sign in to the provider again (in Dex Web, or with a new token) and clear credentialStatus.",
                    record.label,
                    severity=Severity.WARNING,
                )
            )
        if record.expires_at is not None and record.expires_at <= self._now:
            self.findings.append(
                Finding(
                    Code.CREDENTIALS_EXPIRED,
                    (*record.path, "credentialExpiresAt"),
                    f"The credentials of {record.label} expired at {record.expires_at.isoformat()}; "
                    "its calls are refused.",
                    "Put new credentials there, with their own credentialExpiresAt.",
                    record.label,
                    severity=Severity.WARNING,
                )
            )


def _is(raw: object, reference: ConnectionReference) -> bool:
    return (
        is_object(raw)
        and raw.get("connectorId") == reference.connector_id
        and raw.get("connectionName") == reference.connection_name
    )


def _diagnose_both(
    path: str, data: bytes, decoded: Decoded, only: ConnectionReference | None, looks: tuple[_Look, _Look]
) -> tuple[Diagnostic, ...]:
    """Of a key that is there twice, the first and the last value are checked, each in its own look."""
    last, first = looks
    first.at(replace(decoded, value=decoded.first), only)
    found: dict[tuple[object, ...], Diagnostic] = {}
    for look, value in ((last, decoded.value), (first, decoded.first)):
        # Whether a binding's connection is there depends on which of the two is kept.
        kept = [one for one in look.findings if one.code is not Code.TRIGGER_CONNECTION]
        findings = [*(_with_command(finding, path) for finding in decoded.findings), *kept]
        seen = replace(decoded, value=value)
        for one in _diagnose(path, data, seen, findings, look, keeps_first=look is first):
            found.setdefault((one.place, one.code, one.message, one.pointer), one)
    return tuple(sorted(found.values(), key=lambda one: one.place or Place(1, 1)))


def _diagnose(
    path: str, data: bytes, decoded: Decoded, findings: list[Finding], look: _Look, *, keeps_first: bool = False
) -> tuple[Diagnostic, ...]:
    # Only here: a good file needs no grammar.
    from dexbridge.config.telling import places  # noqa: PLC0415
    from dexbridge.config.telling.locating import diagnose  # noqa: PLC0415
    from dexbridge.config.telling.source_line import BASE_WORDS  # noqa: PLC0415

    spots = places.json_spots if look.form.spots == "json_spots" else places.toml_spots
    words = frozenset({*BASE_WORDS, *(word.lower() for word in BASE_WORDS), *_words(look.records, look.connectors)})
    version = shown_version(decoded.value.get("schemaVersion") if is_object(decoded.value) else None)
    secrets = _Secrets(decoded.value, look, words)
    if version is not None and version not in secrets.near(()):
        words |= {version, version.lower()}
    return diagnose(
        path,
        data,
        decoded,
        findings,
        lambda text: spots(text, keeps_first=keeps_first),
        words=words,
        secrets=secrets.near,
    )


def _words(records: Iterable[Record], connectors: Mapping[str, ConnectorDefinition]) -> Iterator[str]:
    for definition in connectors.values():
        yield definition.connector_id
        yield from (credential.name for credential in definition.credentials)
        yield from (info.alias or name for name, info in definition.configuration.model_fields.items())
    for record in records:
        yield from (name for name in (record.connector_id, record.connection_name) if harmless(name))
        for value in (record.credentials or {}).values():
            variable: object = value.get("env") if is_object(value) else None
            if isinstance(variable, str) and may_show_variable(variable):
                yield variable


class _Secrets:
    """The secrets of a document, by record: a message is made of its own record, so only those can be in it."""

    def __init__(self, document: object, look: _Look, words: frozenset[str]) -> None:
        self._by_record: dict[int, set[str]] = {}
        for connection in look.usable:
            found = (*connection.credentials.secrets.values(), *connection.credentials.variables.values())
            self._by_record[connection.index] = {secret.reveal() for secret in found}
        connections = document.get("connections") if is_object(document) else None
        for index, raw in enumerate(connections if is_list(connections) else ()):
            if is_object(raw):
                self._by_record.setdefault(index, set()).update(_texts_of(raw))
        for secrets in self._by_record.values():
            secrets.difference_update(words)
        everything = frozenset(text for secrets in self._by_record.values() for text in secrets)
        self._everything = everything if len(everything) <= _MOST_SECRETS else frozenset[str]()

    def near(self, path: FindingPath) -> frozenset[str]:
        """The secrets that a fault at this path may be about."""
        if len(path) > 1 and path[0] == "connections" and isinstance(path[1], int):
            return frozenset(self._by_record.get(path[1], ()))
        return self._everything


def _texts_of(raw: dict[str, Any]) -> Iterator[str]:
    credentials = raw.get("credentials")
    # Members of a reference are names of variables and files, which messages have to tell.
    values = [one for one in credentials.values() if isinstance(one, str)] if is_object(credentials) else credentials
    yield from _texts(values)
    yield from _texts(raw.get("configuration"))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_object(value):
        yield from (text for inner in value.values() for text in _texts(inner))
    elif is_list(value):
        yield from (text for inner in value for text in _texts(inner))
