"""WebApi: one request to Slack's Web API over our own bounded, single-request HTTP.

slack_sdk's client is not used: it sends again after a dropped connection by default, and raises one class for HTTP 500,
429, `fatal_error` and an HTML page, so that what an answer proves cannot be told from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from dexbridge.connectors.contract.secrets.secret import Secret
from dexbridge.connectors.http.answer_table import JudgedAnswer
from dexbridge.connectors.http.api import HttpApi
from dexbridge.connectors.http.pool import Leave
from dexbridge.connectors.slack.answers import read_answer
from dexbridge.connectors.slack.configuration import SlackConfiguration


class WebApi(HttpApi):
    """Slack's Web API at one endpoint. One call is one HTTP request, and its answer is judged by Slack's rows."""

    def __init__(self, configuration: SlackConfiguration, timeout: timedelta) -> None:
        super().__init__("Slack", configuration, timeout)

    async def post_message(self, token: Secret, leave: Leave, **message: Any) -> JudgedAnswer:
        """`chat.postMessage`; raises NeverSent or NoAnswer."""
        return await self._post(token, leave, "chat.postMessage", message)

    async def read(self, token: Secret, leave: Leave, method: str, arguments: Mapping[str, str]) -> JudgedAnswer:
        """A reading method with its arguments in the URL; raises NeverSent or NoAnswer."""
        return read_answer(await self.send(token, leave, "GET", f"/{method}", params=arguments))

    async def test_token(self, token: Secret, leave: Leave) -> JudgedAnswer:
        """`auth.test`; its X-OAuth-Scopes header has the token's scopes. Raises NeverSent or NoAnswer."""
        return await self._post(token, leave, "auth.test", {})

    async def _post(self, token: Secret, leave: Leave, method: str, arguments: Mapping[str, Any]) -> JudgedAnswer:
        # Without the charset Slack answers a warning.
        headers = {"Content-Type": "application/json; charset=utf-8"}
        return read_answer(await self.send(token, leave, "POST", f"/{method}", headers=headers, json=dict(arguments)))
