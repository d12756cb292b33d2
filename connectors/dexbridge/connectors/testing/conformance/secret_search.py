"""Looks for credential values in text and in objects."""

from __future__ import annotations

import base64
import types
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, cast
from urllib.parse import quote

from dexbridge.connectors.contract.secrets.secret import Secret

_MOST_OBJECTS: Final = 50_000

_OPAQUE: Final = (Secret, type, types.ModuleType, types.FrameType, types.CodeType, types.GeneratorType)


def forms_of(value: str) -> tuple[str, ...]:
    """The value as it is, in URLs, and inside Base64 at each of its three offsets."""
    forms = {value, quote(value, safe="")}
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + value.encode()).decode().rstrip("=")
        first = -(-offset * 8 // 6)  # the characters that also hold bits of what stands before
        forms.add(encoded[first : len(encoded) - 2])
    return tuple(forms)


def shown_in(text: str, secrets: Mapping[str, str]) -> str | None:
    """The name of a credential that the text shows in any form."""
    for name, value in secrets.items():
        if any(form in text for form in forms_of(value)):
            return name
    return None


def kept_in(root: object, secrets: Mapping[str, str], *, leave_out: Iterable[object] = ()) -> str | None:
    """Where a credential is kept outside of a Secret in what can be reached from an object, as a path."""
    seen: set[int] = {id(one) for one in leave_out}
    waiting: list[tuple[str, object]] = [(type(root).__name__, root)]
    while waiting and len(seen) < _MOST_OBJECTS:
        path, one = waiting.pop()
        if isinstance(one, str | bytes):
            text = one if isinstance(one, str) else one.decode(errors="replace")
            if shown_in(text, secrets):
                return path
        elif id(one) not in seen and not isinstance(one, _OPAQUE):
            seen.add(id(one))
            waiting += [(f"{path}{step}", part) for step, part in _parts(one)]
    return None


def _parts(one: object) -> Iterable[tuple[str, object]]:
    if isinstance(one, Mapping):
        for key, value in cast(Mapping[object, object], one).items():
            yield "[a key]", key
            yield f"[{key!r}]" if isinstance(key, str) else "[...]", value
    elif isinstance(one, list | tuple | set | frozenset):
        yield from (("[...]", part) for part in cast(Iterable[object], one))
    elif isinstance(one, partial):
        whole = cast("partial[Any]", one)
        yield from ((".func", whole.func), (".args", whole.args), (".keywords", whole.keywords))
    elif isinstance(one, types.MethodType):
        yield from ((".__self__", one.__self__), (".__func__", one.__func__))
    elif isinstance(one, types.FunctionType):
        for cell in one.__closure__ or ():
            try:
                yield f".{one.__name__}(...)", cell.cell_contents
            except ValueError:
                continue
    else:
        yield from (
            (f".{name}", value) for name, value in cast(dict[str, object], getattr(one, "__dict__", {})).items()
        )
        for cls in type(one).__mro__:
            slots: Any = cls.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else tuple(slots):
                if name != "__dict__" and hasattr(one, name):
                    yield f".{name}", getattr(one, name)
