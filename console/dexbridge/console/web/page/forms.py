"""The forms of the page, read as strictly as the JSON of the routes."""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import unquote_to_bytes

from starlette.requests import Request

from dexbridge.connectors import is_blank
from dexbridge.console.web.reading import LARGEST_BODY, read_body
from dexbridge.console.web.refusals import Refused

__all__ = ["Form", "read_form"]

_MOST_FIELDS: Final = 20
_READ_AT_ONCE: Final = 16 * 1024


class Form(dict[str, str]):
    """The fields of a form that was sent."""

    def need(self, name: str) -> str:
        """A field that must be there.

        Raises:
            Refused: 400.
        """
        value = self.get(name, "")
        if not value:
            raise Refused(400, [(name, "is missing")])
        return value

    def text(self, name: str) -> str | None:
        """What a person wrote; browsers send line ends as CR LF. `None` when it is blank."""
        value = self.get(name, "").replace("\r\n", "\n").strip()
        return None if is_blank(value) else value


async def read_form(request: Request, limit: int = LARGEST_BODY) -> Form:
    """Reads a form of at most `limit` bytes.

    Raises:
        Refused: it is not URL-encoded, too long, malformed, or has a field twice.
    """
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared != "application/x-www-form-urlencoded":
        raise Refused(415, [("content-type", "Send the form as the page does.")])
    body = await read_body(request, limit)
    if body.count(b"&") >= _MOST_FIELDS:
        raise Refused(400, [("body", f"The form has more than {_MOST_FIELDS} fields.")])
    form = Form()
    for field in body.split(b"&") if body else ():
        try:
            name, text = [await _unescaped(part) for part in field.split(b"=", 1)]
        except ValueError:
            raise Refused(400, [("body", "The form cannot be read.")]) from None
        if name in form:
            raise Refused(400, [("body", "A field of the form is given twice.")])
        form[name] = text
    return form


async def _unescaped(written: bytes) -> str:
    """The text of a URL-encoded name or value, read in pieces: escapes are read one by one, and others run meanwhile.

    Raises:
        ValueError: It is not ASCII, or what it stands for is no UTF-8.
    """
    text, start = bytearray(), 0
    while start < len(written):
        end = start + _READ_AT_ONCE
        # Not amid an escape.
        cut = written.rfind(b"%", max(start + 1, end - 2), end) if end < len(written) else -1
        end = end if cut < 0 else cut
        text += unquote_to_bytes(written[start:end].replace(b"+", b" ").decode("ascii"))
        start = end
        await asyncio.sleep(0)
    return text.decode()
