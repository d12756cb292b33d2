"""References written in the way of another tool: `"env:NAME"`, `"${NAME}"`, `{ env = "$NAME" }`."""

from __future__ import annotations

import re
from typing import Final

from dexbridge.config.telling.finding import harmless, shows_path

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
# As narrow as this, since a password may begin with any of these characters.
_AS_TEXT: Final = re.compile(
    rf"(?:env:(?P<a>{_NAME})|\$\{{(?:env[:.])?(?P<b>{_NAME})\}}|\$\((?P<c>{_NAME})\)"
    rf"|\$(?P<d>[A-Z][A-Z0-9]*_[A-Z0-9_]+)|%(?P<e>[A-Z][A-Z0-9_]+)%|file:(?://)?(?P<file>[^\s]*/[^\s].*))"
)
_DOLLAR: Final = re.compile(rf"\$({_NAME})")


def is_variable(name: str) -> bool:
    """Whether an environment variable can have the name."""
    return bool(_VARIABLE.fullmatch(name))


def may_show_variable(name: str) -> bool:
    """Whether the name a reference gives is surely a variable's name, and not the credential itself."""
    return is_variable(name) and (harmless(name) or name.replace("_", "").isupper())


def variable_in(text: str) -> str | None:
    """The variable that `$NAME` or the like means; None when the text is no such thing, or may not be shown."""
    dollar = _DOLLAR.fullmatch(text.strip())
    name = dollar[1] if dollar is not None else _variable_of(_AS_TEXT.fullmatch(text.strip()))
    return name if name is not None and may_show_variable(name) else None


def reference_in(text: str) -> str | None:
    """The reference that a text in the place of a credential means, in TOML; None when it means none.

    A name or a path that may be a credential is not in it.
    """
    found = _AS_TEXT.fullmatch(text.strip())
    if found is None:
        return None
    path = found["file"]
    if path is not None:
        return f'{{ file = "{path if shows_path(path) else "path"}" }}'
    name = _variable_of(found)
    return f'{{ env = "{name if name is not None and may_show_variable(name) else "VARIABLE"}" }}'


def _variable_of(found: re.Match[str] | None) -> str | None:
    return next((found[one] for one in "abcde" if found[one] is not None), None) if found is not None else None
