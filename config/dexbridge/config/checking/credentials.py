"""The credentials of one record: their names, their shapes, and what a reference in TOML points at."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Final

from dexbridge.config.checking.envelope import Record
from dexbridge.config.checking.written_reference import is_variable, may_show_variable, reference_in, variable_in
from dexbridge.config.reading.file_fault import FileFault
from dexbridge.config.reading.home import without_tilde
from dexbridge.config.reading.private_file import CREDENTIAL_FILE_LIMIT, Identity, PrivateFile, read_private_file
from dexbridge.config.reading.shapes import is_list, is_object
from dexbridge.config.sealing import Sealed
from dexbridge.config.telling.codes import Code
from dexbridge.config.telling.finding import HIDDEN, Finding, Path, harmless, quoted, resembles_token, shows_path
from dexbridge.connectors import ConnectorDefinition, CredentialField, Secret

AUTH_METHOD_KEYS: Final = ("auth_method", "auth_methods")
_ONE_LINE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_UNNAMED: Final = "A credential"
_Refuse = Callable[[str, str], None]
_Fields = dict[str, tuple[CredentialField, re.Pattern[str] | None]]


@dataclass(frozen=True, slots=True)
class Source:
    """Where references are looked up.

    Args:
        environment: of the process that opened the project.
        directory: a relative file name is taken from here.
        references: whether a credential may be a reference; only TOML has them.
    """

    environment: Sealed[Mapping[str, str]]
    directory: str
    references: bool


@dataclass(slots=True)
class Resolved:
    """The credentials of one record.

    Args:
        secrets: by name.
        origins: where each that is not in the file itself comes from, for people.
        variables: what each environment variable that was read held.
        files: the identity of each file that was read; None when it cannot prove that the file is unchanged.
        unusable: names the Connector knows whose values cannot be used, in file order.
    """

    secrets: dict[str, Secret]
    origins: dict[str, str]
    variables: dict[str, Secret]
    files: dict[str, Identity | None]
    unusable: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class CredentialRules:
    """What one Connector says of its credentials: by name, the field and its compiled pattern; and what it requires."""

    fields: _Fields
    required: tuple[CredentialField, ...]

    @classmethod
    def of(cls, definition: ConnectorDefinition) -> CredentialRules:
        """The rules of a Connector."""
        return cls(
            {
                field.name: (field, None if field.pattern is None else re.compile(field.pattern))
                for field in definition.credentials
            },
            tuple(field for field in definition.credentials if field.required),
        )


_NO_RULE: Final = (None, None)


def resolve_credentials(
    record: Record,
    rules: CredentialRules | None,
    source: Source,
    findings: list[Finding],
    *,
    guessed: bool = False,
) -> Resolved:
    """Reads and checks every credential of a record; faults are added to `findings`.

    With `guessed`, something was left out of the file, so what is missing is not a fault. A record of a Connector
    that is not installed has its values read, and their names taken as they are.
    """
    resolved = Resolved({}, {}, {}, {})
    credentials = record.credentials
    if credentials is None:
        return resolved
    fields = rules.fields if rules is not None else None
    for name, value in credentials.items():
        if type(value) is str and fields is not None and name in fields:
            # Nearly all there are, and a file may have thousands.
            form = fields[name][1]
            if form is not None and form.fullmatch(value) and _ONE_LINE.fullmatch(value):
                resolved.secrets[name] = Secret(value)
                continue
        if name in AUTH_METHOD_KEYS:
            _check_auth_method(name, value, record, findings)
        elif fields is not None and name not in fields:
            findings.append(_unknown(name, value, record, fields))
        else:
            _resolve(name, value, _Here(record, fields, source, resolved, findings))
    if rules is not None and rules.required and not guessed:
        findings += (_missing(field, record) for field in rules.required if field.name not in credentials)
    return resolved


@dataclass(slots=True, repr=False, eq=False)
class _Here:
    """The record whose credentials are read."""

    record: Record
    fields: _Fields | None
    source: Source
    resolved: Resolved
    findings: list[Finding]


def _resolve(name: str, value: object, here: _Here) -> None:
    """Reads and checks one credential of a name that may be there."""
    path: Path = (*here.record.path, "credentials", name)
    refuse = _refusal(path, {"env": value} if type(value) is str else value, here.record, here.findings)
    text = value if type(value) is str else _referred(name, value, here.source, here.resolved, refuse)
    if text is None:
        here.resolved.unusable.append(name)
        return
    rule, pattern = here.fields[name] if here.fields is not None else _NO_RULE
    fits = pattern is not None and pattern.fullmatch(text) is not None
    meant = reference_in(text) if text is value and not fits else None
    if meant is None and (fits or pattern is None) and _ONE_LINE.fullmatch(text):
        here.resolved.secrets[name] = Secret(text)
        return
    here.resolved.unusable.append(name)
    if meant is not None:
        mend = f"Write it without the outer quotes: {meant}"
        if not here.source.references:
            mend = f"JSON has no references: write the credential here, or the file as TOML, where it is {meant}"
        refuse("is a reference written as text.", mend)
        return
    problem, mend = _misshapen(text, rule)
    others = _others(text, name, here.fields)
    if others:
        problem, mend = f"looks like {_named(others[0])}.", f"{_belongs(others, name)} {mend}"
    message = f"{_show(name)} {problem}"
    found = Finding(Code.CREDENTIAL_SHAPE, path, message, mend, here.record.label, foreign={name: _UNNAMED})
    here.findings.append(found)


def _referred(name: str, value: object, source: Source, resolved: Resolved, refuse: _Refuse) -> str | None:
    text = _follow(value, source, resolved, refuse)
    if text is not None and is_object(value):
        resolved.origins[name] = " ".join(next(iter(value.items())))
    return text


def _refusal(path: Path, value: object, record: Record, findings: list[Finding]) -> _Refuse:
    key = str(path[-1])
    name = _show(key)
    targets = {one: HIDDEN for one in value.values() if isinstance(one, str)} if is_object(value) else {}

    def refuse(message: str, mend: str) -> None:
        findings.append(
            Finding(
                Code.CREDENTIAL_REFERENCE,
                path,
                f"{name} {message}",
                mend,
                record.label,
                foreign={**targets, key: _UNNAMED},
            )
        )

    return refuse


def _show(name: str) -> str:
    return name if harmless(name) else _UNNAMED


def _misshapen(text: str, field: CredentialField | None) -> tuple[str, str]:
    hint = _hint(field) if field is not None else "Copy it again."
    if not text.strip():
        return "is blank.", hint
    if "\n" in text or "\r" in text:
        return "holds a line break.", f"Write it on one line. {hint}"
    if not _ONE_LINE.fullmatch(text):
        return "starts or ends with a space, or holds a character that no credential has.", f"Copy it again. {hint}"
    return "does not have the right form.", hint


def _others(text: str, name: str, fields: _Fields | None) -> list[CredentialField]:
    """The Connector's other credentials that a token in the wrong place would fit."""
    if fields is None or not resembles_token(text):
        return []
    return [rule for rule, pattern in fields.values() if rule.name != name and pattern and pattern.fullmatch(text)]


def _named(rule: CredentialField) -> str:
    title = rule.title[:1].lower() + rule.title[1:]
    return f"{'an' if title[:1] in 'aeio' else 'a'} {title}"


def _belongs(others: list[CredentialField], name: str) -> str:
    return f"Move it to {' or '.join(other.name for other in others)}, and put the right one into {name}."


def _hint(field: CredentialField) -> str:
    return f"{field.hint[:1].upper()}{field.hint[1:].rstrip('.')}." if field.hint else "Copy it again."


def _missing(field: CredentialField, record: Record) -> Finding:
    return Finding(
        Code.MISSING_CREDENTIAL,
        (*record.path, "credentials"),
        f"{record.label} has no {field.name}.",
        f"Add it. {_hint(field)}",
        record.label,
    )


def _unknown(name: str, value: object, record: Record, fields: _Fields) -> Finding:
    near = difflib.get_close_matches(name.lower(), fields, n=1)
    # What resembles no name may be a value that was put in the place of its name.
    shown = quoted(name) if near else HIDDEN
    fits = _others(value, name, fields) if isinstance(value, str) else []
    if fits or near:
        mend = f"Write it as {' or '.join(one.name for one in fits) or near[0]}."
    else:
        mend = f"Remove it; known are {', '.join(fields)}."
    return Finding(
        Code.UNKNOWN_CREDENTIAL,
        (*record.path, "credentials", name),
        f"The Connector {record.connector_id} has no credential {shown}.",
        mend,
        record.label,
        at_key=True,
        hides_key=not near,
    )


def _check_auth_method(name: str, value: object, record: Record, findings: list[Finding]) -> None:
    path = (*record.path, "credentials", name)
    if name == "auth_methods" and record.credentials is not None and "auth_method" in record.credentials:
        findings.append(
            Finding(
                Code.AUTH_METHOD,
                path,
                "auth_method and auth_methods are both there.",
                "Keep auth_method for one way to sign in, auth_methods for several.",
                record.label,
                at_key=True,
                related=((*record.path, "credentials", "auth_method"),),
            )
        )
    elif name == "auth_method" and not (type(value) is str and value.strip()):
        findings.append(
            Finding(Code.AUTH_METHOD, path, "auth_method must be a text.", "Name one way to sign in.", record.label)
        )
    elif name == "auth_methods" and not (
        is_list(value) and value and all(type(one) is str and one.strip() for one in value)
    ):
        findings.append(
            Finding(
                Code.AUTH_METHOD,
                path,
                "auth_methods must be a list of texts.",
                "Name the ways to sign in.",
                record.label,
            )
        )


def _follow(value: object, source: Source, resolved: Resolved, refuse: _Refuse) -> str | None:
    """What a reference points at; None after a fault was added."""
    if not is_object(value):
        refuse("must be a text.", "Write the text alone, in quotes." if is_list(value) else "Write it in quotes.")
        return None
    if not source.references:
        refuse("must be a text; JSON has no references.", "Write the file as TOML to use one.")
        return None
    if len(value) != 1 or not value.keys() <= {"env", "file"}:
        refuse("is not a reference.", 'Write { env = "VARIABLE" } or { file = "path" }.')
        return None
    kind, target = next(iter(value.items()))
    if type(target) is not str or not target.strip():
        refuse("refers to nothing.", 'Write { env = "VARIABLE" } or { file = "path" }.')
        return None
    if kind == "env":
        return _from_environment(target, source, resolved, refuse)
    return _from_file(target, source, resolved, refuse)


def _from_environment(target: str, source: Source, resolved: Resolved, refuse: _Refuse) -> str | None:
    if not is_variable(target):
        meant = variable_in(target)
        mend = f'Write {{ env = "{meant}" }}.' if meant else "Put the variable's name there, not its value."
        refuse("refers to a name that no environment variable can have.", mend)
        return None
    shown = target if may_show_variable(target) else HIDDEN
    text = source.environment.open().get(target)
    if text is None or not text.strip():
        state = "not set" if text is None else "blank"
        refuse(f"refers to the environment variable {shown}, which is {state}.", f"Set {shown} before the start.")
        return None
    resolved.variables[target] = Secret(text)
    return _without_line_end(text)


def _from_file(target: str, source: Source, resolved: Resolved, refuse: _Refuse) -> str | None:
    whole = without_tilde(target, source.environment.open().get("HOME"))
    if whole is None:
        refuse("refers to a file by ~, and there is no home folder here.", "Write the whole path.")
        return None
    if whole.startswith(("$", "file:")):
        refuse(
            "refers to a file by a variable or an address, which is not understood here.",
            "Write the file's whole path alone, such as /run/secrets/token.",
        )
        return None
    path = str(FilePath(source.directory) / whole)
    read = read_private_file(path, limit=CREDENTIAL_FILE_LIMIT)
    if isinstance(read, PrivateFile) and read.fault is not None:
        read = read.fault
    if isinstance(read, FileFault):
        if not shows_path(target):
            state = "is not there" if read.code is Code.FILE_ABSENT else "cannot be used"
            refuse(
                f"refers to a file that {state}; its path looks like a credential, so it is not shown.",
                "Put the file's path there, not the credential.",
            )
        elif read.code is Code.FILE_ABSENT:
            put = f"(umask 077 && cat > {shlex.quote(path)}), then paste it, press Enter and Ctrl-D"
            refuse(f"refers to a file, and {read.message}", f"Write the credential into it: {put}.")
        else:
            refuse(f"refers to a file, and {read.message}", read.mend)
        resolved.files[path] = None
        return None
    resolved.files[path] = read.identity if read.settled else None
    try:
        text = _without_line_end(read.content.open().decode())
    except UnicodeDecodeError:
        text = ""
    if not text.strip():
        refuse("refers to a file that is empty or not text.", "Write the credential into it, on one line.")
        return None
    return text


def _without_line_end(text: str) -> str:
    """What writes a file or takes a command's output often adds a line break; no credential ends with one."""
    return text.removesuffix("\n").removesuffix("\r")
