"""Session tokens: whoever holds one may talk to that one session, for a time."""

from __future__ import annotations

import hashlib
import hmac
from datetime import timedelta
from typing import Final, Literal

from itsdangerous import BadData, URLSafeTimedSerializer

from dexbridge.console.web.refusals import Refused

__all__ = ["TOKEN_HEADER", "Approvals", "SessionTokens"]

TOKEN_HEADER: Final = "X-Agent-Session-Token"  # noqa: S105 - a header's name

Approvals = Literal["operators", "session"]
"""Who decides about a call: operators alone, or whoever holds the session's token too."""


_SHORTEST_KEY: Final = 16


class SessionTokens:
    """Signs session IDs and checks what comes back.

    Args:
        key: The secret, of 16 characters or more. A new one ends every token.
        audience: Tokens of one set of routes are worth nothing at another.
        lifetime: How long a token is good.
    """

    def __init__(self, key: str | bytes, audience: str, lifetime: timedelta) -> None:
        if len(key) < _SHORTEST_KEY:
            raise ValueError(
                f"The session key has {len(key)} characters: give a random one of at least {_SHORTEST_KEY}: "
                "python -c 'import secrets; print(secrets.token_urlsafe(32))'."
            )
        self._signer = URLSafeTimedSerializer(
            key,
            salt=f"dexbridge.session\n{audience}",
            signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256},
        )
        self._seconds = lifetime.total_seconds()

    def __repr__(self) -> str:
        return "SessionTokens()"

    def sign(self, session_id: str) -> str:
        """The token of a session."""
        token = self._signer.dumps(session_id)
        assert isinstance(token, str), "this serializer makes text"
        return token

    def check(self, token: str | None, session_id: str) -> None:
        """Passes when the token is good for that session.

        Raises:
            Refused: 401 for a token that is missing, forged or expired; 403 for one of another session. Neither says
                which it was, nor whether there is such a session.
        """
        try:
            signed: object = self._signer.loads(token or "", max_age=self._seconds)  # pyright: ignore[reportArgumentType]
        except BadData:
            raise Refused(401, headers={"WWW-Authenticate": TOKEN_HEADER}) from None
        if not isinstance(signed, str) or not hmac.compare_digest(
            signed.encode(), session_id.encode("utf-8", "replace")
        ):
            raise Refused(403)
