"""The engine port: what runs Steps durably, and how one is opened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from types import TracebackType
from typing import Protocol, Self

from dexbridge.sessions.errors import UnsupportedEngine
from dexbridge.sessions.event import SessionEvent
from dexbridge.sessions.flow import AgentSessionFlow
from dexbridge.sessions.marks import Marks
from dexbridge.sessions.snapshot import SessionSnapshot, SessionSummary
from dexbridge.sessions.transition import Change, MessageKey, Refusal, Repeated, Settle, Transition

__all__ = ["DEFAULT_URL", "SessionEngine", "open_engine"]

DEFAULT_URL = "sqlite:///.dexbridge/sessions.db"


class SessionEngine(Protocol):
    """Commits changes of sessions and runs the Steps that are due.

    Every method is safe to call from several tasks. An engine is an async context manager: a Worker runs Steps
    between entering and leaving it.
    """

    @property
    def flows(self) -> Sequence[AgentSessionFlow]:
        """The flows whose sessions it runs."""
        ...

    @property
    def marks(self) -> Marks | None:
        """What all processes of its database see marked; `None` when it keeps nothing but sessions."""
        ...

    async def start(self, first: Transition) -> bool:
        """Commits a new session; `False` when the ID was ever used."""
        ...

    async def change(
        self, session_id: str, change: Change, *, once: MessageKey | None = None
    ) -> Transition | Refusal | Repeated:
        """Applies a change to the newest state and commits it; a leg it opens is run.

        With `once`, a key that was committed before changes nothing: `Repeated` when the digest is the same, else a
        refusal. Raises `UnknownSession`.
        """
        ...

    async def settle(self, session_id: str, step_execution_id: str, settle: Settle) -> Transition | Refusal:
        """Applies a change that needs the record of a call. Raises `UnknownSession`."""
        ...

    async def prune(self, older_than: datetime) -> Sequence[str]:
        """Deletes sessions that are idle or ended and were last changed before; keeps their IDs. Returns the IDs.

        A session that holds an outcome nobody knows is not deleted.
        """
        ...

    async def snapshot(self, session_id: str) -> SessionSnapshot:
        """What is committed. Raises `UnknownSession`."""
        ...

    async def list_sessions(
        self, *, limit: int, after: str | None, changed_since: datetime | None
    ) -> Sequence[SessionSummary]:
        """Sessions by ID, at most `limit`, those after the ID `after` that changed since then."""
        ...

    def events(self, session_id: str, *, after: int, follow: bool) -> AsyncIterator[SessionEvent]:
        """The log after sequence `after`; with `follow` it goes on as the session does. Raises `UnknownSession`."""
        ...

    def listen(self, session_id: str) -> AsyncIterator[str]:
        """Text as the session's model writes it in this process, from now on; best effort."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


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
