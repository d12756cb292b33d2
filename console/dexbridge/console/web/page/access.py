"""Who may use the page: an operator's key, a signed cookie, a token in every form.

The cookie is the login: a random ID and a name, signed with the operator's key, so that it is good in every process
that has the key, over restarts. What ends it before its time is a mark in the database, which they all see.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import Response

from dexbridge.console.web.page.attempts import Attempts
from dexbridge.console.web.refusals import Refused
from dexbridge.sessions import Marks

__all__ = ["COOKIE", "Access", "Operator"]

COOKIE: Final = "dexbridge_operator"

_LOGIN_LASTS: Final = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class Operator:
    """A person who logged in.

    Attributes:
        name: As they gave it, for the record of decisions.
        login: The ID of the login.
        form_token: Goes into every form they get, and must come back.
    """

    name: str
    login: str
    form_token: str


class Access:
    """Checks keys, cookies and forms.

    Args:
        operator_key: Whoever knows it may see every session and decide.
        marks: Where ended logins are marked. With `None` they are remembered here, and logins are good here only: a
            process that could not know that one has ended must not take it.
    """

    def __init__(self, operator_key: str, marks: Marks | None) -> None:
        if not operator_key:
            raise ValueError("The operator key is empty: give a random one of at least 16 characters.")
        self._key = operator_key.encode()
        self._signer = URLSafeTimedSerializer(
            operator_key,
            salt="dexbridge.operator" if marks is not None else f"dexbridge.operator\n{secrets.token_urlsafe(16)}",
            signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256},
        )
        self._marks = _OwnMarks() if marks is None else marks
        self._attempts = Attempts()

    def __repr__(self) -> str:
        return "Access()"

    async def operator(self, request: Request) -> Operator | None:
        """The operator a request comes from; `None` without a good cookie.

        Raises:
            DatabaseUnavailable: It cannot be known whether the login has ended.
        """
        cookie = request.cookies.get(COOKIE, "")
        try:
            said: object = self._signer.loads(cookie, max_age=_LOGIN_LASTS.total_seconds())  # pyright: ignore[reportArgumentType]
        except BadData:
            return None
        if not isinstance(said, dict):
            return None
        session, name = (cast(dict[str, Any], said).get(member) for member in ("session", "name"))
        if not isinstance(session, str) or not isinstance(name, str):
            return None
        if await self._marks.is_marked(_ended(session)):
            return None
        return Operator(name, session, hmac.new(self._key, f"form\n{session}".encode(), hashlib.sha256).hexdigest())

    async def log_in(self, request: Request, response: Response, key: str, name: str) -> bool:
        """Sets the cookie when the key is right; slower when wrong keys have come from that address, see `Attempts`.

        Raises:
            Refused: 429 when too many attempts from that address wait.
        """
        address = request.client.host if request.client else ""
        await self._attempts.wait_for_turn(address)
        # Digests have one length, so the comparison does not tell the key's.
        given, right = (hashlib.sha256(one).digest() for one in (key.encode("utf-8", "replace"), self._key))
        if not hmac.compare_digest(given, right):
            self._attempts.count_wrong(address)
            return False
        cookie = self._signer.dumps({"session": secrets.token_urlsafe(16), "name": name})
        response.set_cookie(
            COOKIE,
            str(cookie),
            max_age=int(_LOGIN_LASTS.total_seconds()),
            path=request.scope.get("root_path") or "/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return True

    async def log_out(self, request: Request, response: Response, operator: Operator) -> None:
        """Ends the login, and takes the cookie back.

        Raises:
            DatabaseUnavailable: The login may not have ended.
        """
        await self._marks.mark(_ended(operator.login), datetime.now(UTC) + _LOGIN_LASTS)
        response.delete_cookie(COOKIE, path=request.scope.get("root_path") or "/", httponly=True, samesite="strict")

    def check_form(self, operator: Operator, token: str) -> None:
        """Passes when the form is one this operator was given.

        Raises:
            Refused: 403.
        """
        if not hmac.compare_digest(token.encode("utf-8", "replace"), operator.form_token.encode()):
            raise Refused(403, [("form", "The form is not of this login: reload the page and try again.")])

    def check_origin(self, request: Request) -> None:
        """Passes when the request does not come from a page of another origin.

        Raises:
            Refused: 403.
        """
        origin = request.headers.get("origin")
        # Only name and port: behind a proxy that ends TLS the scheme differs.
        if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
            raise Refused(403, [("origin", "The form was sent by a page of another origin.")])
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Refused(403, [("origin", "The form was sent by a page of another origin.")])


class _OwnMarks:
    """Marks of this process alone."""

    def __init__(self) -> None:
        self._until: dict[str, datetime] = {}

    async def mark(self, name: str, until: datetime) -> None:
        now = datetime.now(UTC)
        self._until = {known: end for known, end in self._until.items() if end > now}
        self._until[name] = until

    async def is_marked(self, name: str) -> bool:
        return name in self._until


def _ended(login: str) -> str:
    """The name under which the end of a login is marked; whoever reads the database cannot make the cookie of it."""
    return hashlib.sha256(f"dexbridge.operator\n{login}".encode()).hexdigest()
