"""HttpApi: a provider's API at one endpoint, asked with one credential."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from dexbridge.connectors.contract.errors import CredentialsUnavailable
from dexbridge.connectors.contract.secrets.secret import Secret
from dexbridge.connectors.http.configuration import HttpConfiguration
from dexbridge.connectors.http.pool import HttpAnswer, HttpPool, Leave

_TOKEN: Final = re.compile(r"[!-~]+")


class HttpApi:
    """Base of a Connector's API. One call is one HTTP request.

    Args:
        provider: its name.
        configuration: endpoint, and the largest body that is read.
        timeout: of one request, connecting included.
    """

    def __init__(self, provider: str, configuration: HttpConfiguration, timeout: timedelta) -> None:
        self._provider = provider
        self._configuration = configuration
        self._pool = HttpPool(timeout)

    async def send(
        self,
        token: Secret,
        leave: Leave,
        verb: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        **request: Any,
    ) -> HttpAnswer:
        """Makes one request below the endpoint; `request` goes to `HttpPool.request`.

        Raises:
            CredentialsUnavailable: the token holds what no header can; nothing was sent.
            NeverSent: nothing was sent.
            NoAnswer: the request left and no answer came.
        """
        if not _TOKEN.fullmatch(token.reveal()):
            fault = "holds a blank, a line break or another character no token has"
            raise CredentialsUnavailable(
                f"The {self._provider} token of this connection {fault}; copy it again.",
                told=f"The token of this connection {fault}.",
            )
        return await self._pool.request(
            verb,
            f"{self._configuration.endpoint}{path}",
            leave=leave,
            headers={"User-Agent": "dexbridge", **(headers or {}), **self.authorisation(token)},
            max_body_bytes=self._configuration.max_response_bytes,
            **request,
        )

    def authorisation(self, token: Secret) -> Mapping[str, str]:
        """The headers that carry the credential; a provider that takes no bearer token has its own."""
        return {"Authorization": f"Bearer {token.reveal()}"}

    async def close(self) -> None:
        """Closes the HTTP connections. A later call opens new ones."""
        await self._pool.close()
