"""RestApi: one request to GitHub's REST API through our own bounded, single-request HTTP.

No GitHub library is used: a write needs exactly one request and the knowledge whether it left, and PyGithub's release
notes say that it sends again after a 5xx by default. What a library would add here is three URLs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from dexbridge.connectors.errors import CredentialsUnavailable
from dexbridge.connectors.github.answers import GitHubAnswer, read_answer
from dexbridge.connectors.http_pool import HttpAnswer, HttpPool, Leave
from dexbridge.connectors.secret import Secret

API_VERSION: Final = "2022-11-28"

_TOKEN: Final = re.compile(r"[!-~]+")


class RestApi:
    """GitHub's REST API at one endpoint. One call is one HTTP request, and its answer is classified by us.

    Args:
        endpoint: such as `https://api.github.com`.
        max_response_bytes: the largest body that is read.
        timeout: of one request, connecting included.
    """

    def __init__(self, endpoint: str, *, max_response_bytes: int, timeout: timedelta) -> None:
        self._endpoint = endpoint
        self._max_response_bytes = max_response_bytes
        self._pool = HttpPool(timeout)

    async def get(self, token: Secret, leave: Leave, path: str, query: Mapping[str, str] | None = None) -> GitHubAnswer:
        """Reads; raises NeverSent or NoAnswer."""
        return read_answer(await self._send(token, leave, "GET", path, params=query), done=200)

    async def post(self, token: Secret, leave: Leave, path: str, body: Mapping[str, Any]) -> GitHubAnswer:
        """Creates; raises NeverSent or NoAnswer."""
        return read_answer(await self._send(token, leave, "POST", path, json=dict(body)), done=201)

    async def test_token(self, token: Secret, leave: Leave) -> tuple[GitHubAnswer, tuple[str, ...] | None]:
        """Whose the token is, and a classic token's scopes, None for other tokens; raises NeverSent or NoAnswer."""
        is_installation = token.reveal().startswith("ghs_")  # an App's installation has no user
        answer = await self._send(token, leave, "GET", "/rate_limit" if is_installation else "/user")
        scopes = answer.headers.get("x-oauth-scopes")
        if scopes is None:
            return read_answer(answer, done=200), None
        return read_answer(answer, done=200), tuple(part.strip() for part in scopes.split(",") if part.strip())

    async def close(self) -> None:
        """Closes the HTTP connections."""
        await self._pool.close()

    async def _send(self, token: Secret, leave: Leave, verb: str, path: str, **request: Any) -> HttpAnswer:
        if not _TOKEN.fullmatch(token.reveal()):
            raise CredentialsUnavailable(
                "The GitHub token of this connection holds a blank, a line break or another character no token has; "
                "copy it again.",
                told="The token of this connection holds a line break or another character no token has.",
            )
        return await self._pool.request(
            verb,
            f"{self._endpoint}{path}",
            leave=leave,
            headers={
                "Authorization": f"Bearer {token.reveal()}",
                "Accept": "application/vnd.github+json",
                "X-GitHub-Api-Version": API_VERSION,
                "User-Agent": "dexbridge",
            },
            max_body_bytes=self._max_response_bytes,
            **request,
        )
