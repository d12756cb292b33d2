"""Finding: a fault by its path in the document, before its place in the file is looked up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dexbridge.config.telling.codes import Code, Severity

Path = tuple[str | int, ...]

HIDDEN: Final = "(not shown)"
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9._/ -]{0,63}")
_KNOWN_TOKEN: Final = re.compile(
    r"(?i)(?<![a-z0-9])(xox[a-z]-|xapp-|sk[-_]|pk_|rk_|whsec|gh[opsur]_|github_pat|glpat|akia|asia[a-z0-9]{8}|eyj)"
)
_LONG_MIX: Final = re.compile(r"(?=[A-Za-z]*[0-9])[A-Za-z0-9]{16,}|[0-9]{10,}")


_SURELY_TOKEN: Final = re.compile(r"(xox[a-z]-[0-9]|xapp-[0-9]|sk-ant-|gh[opsu]_|github_pat_|AKIA[A-Z0-9]{12})")


def is_token(text: str) -> bool:
    """Whether a text is surely a token of a known provider."""
    return _SURELY_TOKEN.match(text) is not None


def holds_token(text: str) -> bool:
    """Whether what is surely a token of a known provider stands somewhere in the text."""
    return _SURELY_TOKEN.search(text) is not None


def resembles_token(text: str) -> bool:
    """Whether a known provider's mark of a token stands in the text."""
    return _KNOWN_TOKEN.search(text) is not None


def shows_path(target: str) -> bool:
    """Whether the path a reference gives may be shown: surely a path, and not the credential itself."""
    if resembles_token(target) or not target.isprintable():
        return False
    return target.startswith("/") or all(harmless(part.lstrip(".") or "x") for part in target.split("/") if part)


def harmless(text: str) -> bool:
    """Whether a name found in the file may be shown: a short plain word that does not look like a token.

    People paste a token as a key or as a name; so what is not surely a name is not shown.
    """
    return bool(_PLAIN.fullmatch(text) and not _KNOWN_TOKEN.search(text) and not _LONG_MIX.search(text))


def quoted(text: object) -> str:
    """The text in quotes if it is harmless, else a stand-in."""
    return repr(text) if isinstance(text, str) and harmless(text) else HIDDEN


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault.

    Args:
        code: stable code.
        path: keys and indexes from the document's root.
        message: what is wrong; never a value that may be a secret.
        mend: what to do.
        connection: `connector/name`, if known.
        at_key: the place is the member's key, not its value.
        related: paths of other values that belong to the fault.
        offset: byte offset in the file, for faults found before there is a document; wins over `path`.
        severity: error unless told.
        hides_key: the last step of `path` may be a credential's value, so it is not shown.
        foreign: what the message and the mend hold that neither we wrote nor `path` or `connection` names, and what is
            put there instead if a secret turns out to be in it.
    """

    code: Code
    path: Path
    message: str
    mend: str
    connection: str | None = None
    at_key: bool = False
    related: tuple[Path, ...] = ()
    offset: int | None = None
    severity: Severity = Severity.ERROR
    hides_key: bool = False
    foreign: Mapping[str, str] = field(default_factory=dict[str, str])


def pointer(path: Path) -> str:
    """The JSON pointer (RFC 6901) of a path; it ends before a key that must not be shown."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, str) and not harmless(step):
            break
        parts.append("/" + str(step).replace("~", "~0").replace("/", "~1"))
    return "".join(parts)
