"""The engine URL of a Dex Server."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import dex

from dexbridge.sessions.errors import UnsupportedEngine

__all__ = ["DexAddress"]

_FORM = "write it as dex://host:port, or dex://host:port?worker=host:port for a Worker that the server dials"


@dataclass(frozen=True, slots=True)
class DexAddress:
    """Where the server is, and how it reaches Workers.

    Attributes:
        server: `host:port` of the server.
        worker: `host:port` a Worker listens on; `None` when Workers poll the server, which needs no open port.
    """

    server: str
    worker: str | None

    @staticmethod
    def parse(url: str) -> DexAddress:
        """The address of a URL. Raises `UnsupportedEngine`."""
        try:
            parts = urlsplit(url)
            port = parts.port
            query = parse_qs(parts.query, strict_parsing=True) if parts.query else {}
        except ValueError:
            raise UnsupportedEngine(f"The engine URL of a Dex Server cannot be read: {_FORM}.") from None
        if not parts.hostname or port is None or parts.path.strip("/") or parts.username or parts.password:
            raise UnsupportedEngine(
                f"The engine URL of a Dex Server needs a host and a port and nothing else: {_FORM}."
            )
        workers = query.pop("worker", [])
        if query or len(workers) > 1:
            raise UnsupportedEngine(f"The engine URL of a Dex Server knows one option, worker: {_FORM}.")
        return DexAddress(f"{_bracketed(parts.hostname)}:{port}", workers[0] if workers else None)

    @property
    def worker_target(self) -> dex.WorkerTarget:
        """What a client tells the server of the Workers."""
        return dex.WorkerTarget(pull=True) if self.worker is None else dex.WorkerTarget(self.worker)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
