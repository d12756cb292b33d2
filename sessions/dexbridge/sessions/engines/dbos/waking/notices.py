"""What the processes of one PostgreSQL tell one another, inside the transaction that makes it true."""

from __future__ import annotations

import json
import uuid
from dataclasses import astuple, dataclass

from sqlalchemy import Connection, func, select

__all__ = ["LEG_OPENED", "SESSION_CHANGED", "Notices", "OpenLeg"]

SESSION_CHANGED = "dexbridge_session_changed"
LEG_OPENED = "dexbridge_leg_opened"


@dataclass(frozen=True, slots=True)
class OpenLeg:
    """A leg that somebody has to run.

    Attributes:
        flow_type: Its session's flow.
        session_id: Its session.
        number: Its number in the session.
    """

    flow_type: str
    session_id: str
    number: int


class Notices:
    """The notices of one process. On another database than PostgreSQL nothing is sent, and nothing is read."""

    def __init__(self) -> None:
        self._sender = uuid.uuid4().hex

    def changed(self, connection: Connection, session_id: str) -> None:
        """Whoever follows the session hears of this transaction once it is committed."""
        _notify(connection, SESSION_CHANGED, self._sender + session_id)

    def opened(self, connection: Connection, leg: OpenLeg) -> None:
        """Workers that listen hear of the leg once this transaction is committed."""
        _notify(connection, LEG_OPENED, json.dumps(astuple(leg), ensure_ascii=False))

    def session(self, payload: str) -> str | None:
        """The session that another process has changed; `None` for a notice of our own, who know already."""
        return None if payload.startswith(self._sender) else payload[len(self._sender) :]

    def leg(self, payload: str) -> OpenLeg:
        """The leg that was opened."""
        return OpenLeg(*json.loads(payload))


def _notify(connection: Connection, channel: str, payload: str) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_notify(channel, payload)))
