"""WebApi: one request to Slack's Web API through slack_sdk, over our own bounded, single-request HTTP."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, cast

from dexbridge.connectors.errors import CredentialsUnavailable, SecondRequest
from dexbridge.connectors.http_pool import HttpAnswer, HttpPool, Leave
from dexbridge.connectors.secret import Secret
from dexbridge.connectors.slack.answers import SlackAnswer, read_answer

if TYPE_CHECKING:
    import aiohttp

# slack_sdk writes message texts at DEBUG, also when its logger has no level of its own.
_SDK_LOG: Final = logging.getLogger("dexbridge.connectors.slack.sdk")
_SDK_LOG.setLevel(logging.INFO)


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
        return await self._call(token, leave, method, http_verb="GET", params=dict(arguments))

    async def test_token(self, token: Secret, leave: Leave) -> tuple[SlackAnswer, tuple[str, ...]]:
        """`auth.test`: the answer and the token's scopes; raises NeverSent or NoAnswer."""
        answer = await self._send(token, leave, "auth.test", json={})
        scopes = tuple(part.strip() for part in answer.headers.get("x-oauth-scopes", "").split(","))
        return read_answer(answer), tuple(scope for scope in scopes if scope)

    async def close(self) -> None:
        """Closes the HTTP connections."""
        await self._pool.close()

    async def _call(self, token: Secret, leave: Leave, method: str, **request: Any) -> SlackAnswer:
        return read_answer(await self._send(token, leave, method, **request))

    async def _send(self, token: Secret, leave: Leave, method: str, **request: Any) -> HttpAnswer:
        from slack_sdk.errors import SlackApiError  # noqa: PLC0415
        from slack_sdk.web.async_client import AsyncWebClient  # noqa: PLC0415

        if not _TOKEN.fullmatch(token.reveal()):
            raise CredentialsUnavailable(
                "The Slack token of this connection holds a blank, a line break or another character no token has; "
                "copy it again."
            )
        wire = _Wire(self._pool, leave, self._max_response_bytes)
        client = AsyncWebClient(
            token=token.reveal(),
            base_url=self._endpoint,
            session=cast("aiohttp.ClientSession", wire),
            logger=_SDK_LOG,
            retry_handlers=[],  # the default handler sends again after a dropped connection
        )
        with suppress(SlackApiError):  # it only repeats what the answer says
            await cast(Any, client).api_call(method, **request)
        if wire.answer is None:
            raise RuntimeError("slack_sdk returned without sending the request.")
        return wire.answer


class _Wire:
    """The one aiohttp method slack_sdk uses of a session, for a single request through the pool."""

    closed = False

    def __init__(self, pool: HttpPool, leave: Leave, max_body_bytes: int) -> None:
        self._pool = pool
        self._leave = leave
        self._max_body_bytes = max_body_bytes
        self._used = False
        self.answer: HttpAnswer | None = None

    def request(self, verb: str, url: str, **request: Any) -> _Exchange:
        if self._used:
            raise SecondRequest("slack_sdk tried to send a second request.")
        self._used = True
        return _Exchange(self, verb, url, request)

    async def send(self, verb: str, url: str, request: Mapping[str, Any]) -> HttpAnswer:
        self.answer = await self._pool.request(
            verb,
            url,
            leave=self._leave,
            headers=request.get("headers"),
            params=request.get("params"),
            json=request.get("json"),
            data=request.get("data"),
            proxy=request.get("proxy"),
            max_body_bytes=self._max_body_bytes,
        )
        return self.answer


class _Exchange:
    """What slack_sdk reads of an aiohttp response. The payload stays empty: the answer is read by us."""

    content_type = "application/json"

    def __init__(self, wire: _Wire, verb: str, url: str, request: Mapping[str, Any]) -> None:
        self._wire = wire
        self._verb = verb
        self._url = url
        self._request = request
        self.status = 0
        self.headers: Mapping[str, str] = {}

    async def __aenter__(self) -> _Exchange:
        answer = await self._wire.send(self._verb, self._url, self._request)
        self.status, self.headers = answer.status, answer.headers
        return self

    async def __aexit__(self, *error: object) -> None:
        return None

    async def json(self) -> dict[str, Any]:
        return {}
