"""The forms of the page, read as strictly as the JSON of the routes."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from dexbridge.connectors import is_blank
from dexbridge.console.web.reading import read_body
from dexbridge.console.web.refusals import Refused

__all__ = ["Form", "read_form"]

_MOST_FIELDS: Final = 20


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


async def read_form(request: Request) -> Form:
    """Reads a form.

    Raises:
        Refused: it is not URL-encoded, too long, malformed, or has a field twice.
    """
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared != "application/x-www-form-urlencoded":
        raise Refused(415, [("content-type", "Send the form as the page does.")])
    body = await read_body(request)
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(body),
            max_num_fields=_MOST_FIELDS,
            errors="strict",
        )
    except ValueError:
        raise Refused(400, [("body", "The form cannot be read.")]) from None
    form = Form(pairs)
    if len(form) != len(pairs):
        raise Refused(400, [("body", "A field of the form is given twice.")])
    return form
