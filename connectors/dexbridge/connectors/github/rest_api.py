"""RestApi: one request to GitHub's REST API through our own bounded, single-request HTTP.

No GitHub library is used: a write needs exactly one request and the knowledge whether it left, and PyGithub's release
notes say that it sends again after a 5xx by default. What a library would add here is three URLs.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from dexbridge.connectors.contract.secrets.secret import Secret
from dexbridge.connectors.github.answers import read_answer
from dexbridge.connectors.github.configuration import GitHubConfiguration
from dexbridge.connectors.http.answer_table import JudgedAnswer
from dexbridge.connectors.http.api import HttpApi
from dexbridge.connectors.http.pool import Leave

API_VERSION: Final = "2022-11-28"

_HEADERS: Final = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": API_VERSION}


class RestApi(HttpApi):
    """GitHub's REST API at one endpoint. One call is one HTTP request, and its answer is judged by GitHub's rows."""

    def __init__(self, configuration: GitHubConfiguration, timeout: timedelta) -> None:
        super().__init__("GitHub", configuration, timeout)

    async def get(self, token: Secret, leave: Leave, path: str, query: Mapping[str, str] | None = None) -> JudgedAnswer:
        """Reads; raises NeverSent or NoAnswer."""
        return read_answer(await self.send(token, leave, "GET", path, headers=_HEADERS, params=query), done=200)

    async def post(self, token: Secret, leave: Leave, path: str, body: Mapping[str, Any]) -> JudgedAnswer:
        """Creates; raises NeverSent or NoAnswer."""
        return read_answer(await self.send(token, leave, "POST", path, headers=_HEADERS, json=dict(body)), done=201)

    async def test_token(self, token: Secret, leave: Leave) -> JudgedAnswer:
        """Whose the token is; X-OAuth-Scopes has a classic token's scopes. Raises NeverSent or NoAnswer."""
        is_installation = token.reveal().startswith("ghs_")  # an App's installation has no user
        return await self.get(token, leave, "/rate_limit" if is_installation else "/user")
