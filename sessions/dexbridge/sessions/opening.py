"""Opens the engine of a URL."""

from __future__ import annotations

from collections.abc import Sequence

from dexbridge.sessions.errors import UnsupportedEngine
from dexbridge.sessions.flow import AgentSessionFlow
from dexbridge.sessions.hosting.engine import SessionEngine

__all__ = ["DEFAULT_URL", "open_engine"]

DEFAULT_URL = "sqlite:///.dexbridge/sessions.db"


def open_engine(
    url: str | None = None, flows: Sequence[AgentSessionFlow] = (), *, run_steps: bool = True
) -> SessionEngine:
    """Returns the engine of a URL; enter it to start it.

    Args:
        url: `sqlite:///path` (default `sqlite:///.dexbridge/sessions.db`), `postgresql://…` or `dex://host:port`.
        flows: The flows whose sessions this process runs or talks to.
        run_steps: Whether this process is a Worker. A client in another process passes `False`.

    Raises:
        UnsupportedEngine: The URL's scheme is not known.
        InvalidRequest: Two flows share a flow type.
    """
    url = DEFAULT_URL if url is None else url
    scheme = url.partition(":")[0].partition("+")[0]
    if scheme in ("sqlite", "postgresql"):
        from dexbridge.sessions.engines.dbos import DbosEngine  # noqa: PLC0415 - the engine is an extra

        return DbosEngine(url, flows, run_steps=run_steps)
    if scheme == "dex":
        try:
            from dexbridge.sessions.engines.dex import DexEngine  # noqa: PLC0415 - the engine is an extra
        except ImportError as error:
            if error.name is None or error.name.partition(".")[0] not in ("dex", "grpc", "grpc_status", "google"):
                raise
            raise UnsupportedEngine("A Dex Server needs the Dex SDK: pip install 'dexbridge[dex]'.") from None

        return DexEngine(url, flows, run_steps=run_steps)
    raise UnsupportedEngine(
        f"The engine URL has the scheme {scheme!r}: use sqlite:///path, postgresql://user@host/database or "
        "dex://host:port."
    )
