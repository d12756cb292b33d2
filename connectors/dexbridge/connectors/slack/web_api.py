"""WebApi: one request to Slack's Web API over our own bounded, single-request HTTP.

slack_sdk's client is not used: it sends again after a dropped connection by default, and raises one class for HTTP 500,
429, `fatal_error` and an HTML page, so that what an answer proves cannot be told from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from dexbridge.connectors.errors import CredentialsUnavailable
from dexbridge.connectors.http_pool import HttpAnswer, HttpPool, Leave
from dexbridge.connectors.secret import Secret
from dexbridge.connectors.slack.answers import SlackAnswer, read_answer

_TOKEN: Final = re.compile(r"[!-~]+")


class WebApi:
    """Slack's Web API at one endpoint. One call is one HTTP request, and its answer is classified by us.

    Args:
        endpoint: such as `https://slack.com/api`.
        max_response_bytes: the largest body that is read.
        timeout: of one request, connecting included.
    """

    def __init__(self, endpoint: str, *, max_response_bytes: int, timeout: timedelta) -> None:
        self._endpoint = endpoint
        self._max_response_bytes = max_response_bytes
        self._pool = HttpPool(timeout)

    async def post_message(self, token: Secret, leave: Leave, **message: Any) -> SlackAnswer:
        """`chat.postMessage`; raises NeverSent or NoAnswer."""
        return await self._call(token, leave, "chat.postMessage", json=message)

    async def read(self, token: Secret, leave: Leave, method: str, arguments: Mapping[str, str]) -> SlackAnswer:
        """A reading method with its arguments in the URL; raises NeverSent or NoAnswer."""
        return await self._call(token, leave, method, verb="GET", params=arguments)

    async def test_token(self, token: Secret, leave: Leave) -> tuple[SlackAnswer, tuple[str, ...] | None]:
        """`auth.test`: the answer and the token's scopes, None when it does not tell; raises NeverSent or NoAnswer."""
        answer = await self._send(token, leave, "auth.test", json={})
        scopes = answer.headers.get("x-oauth-scopes")
        if scopes is None:
            return read_answer(answer), None
        return read_answer(answer), tuple(part.strip() for part in scopes.split(",") if part.strip())

    async def close(self) -> None:
        """Closes the HTTP connections."""
        await self._pool.close()

    async def _call(self, token: Secret, leave: Leave, method: str, **request: Any) -> SlackAnswer:
        return read_answer(await self._send(token, leave, method, **request))

    async def _send(
        self, token: Secret, leave: Leave, method: str, *, verb: str = "POST", **request: Any
    ) -> HttpAnswer:
        if not _TOKEN.fullmatch(token.reveal()):
            raise CredentialsUnavailable(
                "The Slack token of this connection holds a blank, a line break or another character no token has; "
                "copy it again."
            )
        headers = {"Authorization": f"Bearer {token.reveal()}", "User-Agent": "dexbridge"}
        if "json" in request:
            headers["Content-Type"] = "application/json; charset=utf-8"  # without the charset Slack answers a warning
        return await self._pool.request(
            verb,
            f"{self._endpoint}/{method}",
            leave=leave,
            headers=headers,
            max_body_bytes=self._max_response_bytes,
            **request,
        )
