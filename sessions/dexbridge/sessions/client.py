"""What an application calls: start a session, talk to it, decide, read it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta

from dexbridge.sessions.changes import requests
from dexbridge.sessions.errors import InvalidRequest, UnknownSession
from dexbridge.sessions.flow import SessionLimits
from dexbridge.sessions.hosting.engine import SessionEngine
from dexbridge.sessions.state.as_shown import as_shown
from dexbridge.sessions.state.event import SessionEvent
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.snapshot import SessionSnapshot, SessionSummary
from dexbridge.sessions.state.transition import Change, MessageKey, Refusal, Transition

__all__ = ["AgentSessionClient"]

_MOST_LISTED = 1_000
_LAST_SEQUENCE = 2**31 - 1
_STEP_EXECUTION_ID = re.compile(r"[A-Za-z]{1,40}-[0-9]{1,10}")
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}")


class AgentSessionClient:
    """The sessions of an engine.

    Methods that ask something of a session return whether it accepted. They raise `InvalidRequest` for input that
    could never be accepted and `UnknownSession` for an ID that is not there; either way nothing has changed.

    Args:
        engine: An entered engine, of this process's Worker or of a client (`run_steps=False`).
        flow_type: Type of the sessions started here; may be left out when the engine has one flow.
    """

    def __init__(self, engine: SessionEngine, flow_type: str | None = None) -> None:
        types = [flow.flow_type for flow in engine.flows]
        if flow_type is None and len(types) == 1:
            flow_type = types[0]
        if flow_type is None or (types and flow_type not in types):
            raise InvalidRequest(
                f"flow_type must name one of the engine's flows ({', '.join(types) or 'none'}), not {flow_type!r}."
            )
        self._engine = engine
        self._flow_type = flow_type
        found = [flow.limits for flow in engine.flows if flow.flow_type == flow_type]
        self._limits = found[0] if found else SessionLimits()

    async def start_session(self, session_id: str) -> bool:
        """Starts a session; `False` when the ID was ever used, since IDs are never reused.

        Args:
            session_id: 1 to 200 letters, digits and `._:/@-`; it is the Flow ID of every Call ID.
        """
        if not _is_session_id(session_id):
            raise InvalidRequest(
                f"The session ID {str(session_id)[:60]!r} must be 1 to 200 letters, digits and ._:/@- and begin with a "
                "letter or digit."
            )
        return await self._engine.start(requests.new_session(session_id, self._flow_type))

    def check_message(self, text: str) -> None:
        """Raises `InvalidRequest` for a text no session could accept as a message; nothing is sent."""
        requests.user_message(self._limits, text, None)

    async def send_user_message(self, session_id: str, text: str, *, message_id: str | None = None) -> bool:
        """Gives the session a message: it begins a turn, or waits until the turns before it are over.

        Args:
            session_id: The session.
            text: Not blank, at most the flow's `message_characters`.
            message_id: The caller's own ID of the message; made up when left out. The same ID and text are accepted
                once, however often they are sent; the same ID with another text is not accepted.
        """
        message, key = requests.user_message(self._limits, text, message_id)
        return await self._apply(session_id, requests.accept_message(self._limits, message), key)

    async def steer(self, session_id: str, text: str, *, message_id: str | None = None) -> bool:
        """Gives the turn that runs a message: the model gets it at the next safe boundary.

        No running Step is interrupted. A call that waits for approval is taken back. Without a running turn it begins
        one. Arguments as for `send_user_message`.
        """
        message, key = requests.user_message(self._limits, text, message_id)
        return await self._apply(session_id, requests.steer(self._limits, message), key)

    async def cancel_turn(self, session_id: str) -> bool:
        """Stops the turn that runs: its model, or the call that waits; `False` when none runs.

        A tool call already dispatched ends and is recorded; then the turn is over.
        """
        return await self._apply(session_id, requests.cancel_turn())

    async def end_session(self, session_id: str) -> bool:
        """Ends the session for good; a running turn is cancelled first. It stays readable until it is pruned."""
        return await self._apply(session_id, requests.end_session())

    async def resolve_outcome(
        self,
        session_id: str,
        step_execution_id: str,
        *,
        sent: bool,
        note: str | None = None,
        settled_by: str | None = None,
    ) -> bool:
        """Settles a call whose outcome is unknown, for the record; nothing is sent because of it.

        Args:
            session_id: The session.
            step_execution_id: The call's tool Step, as the snapshot shows it.
            sent: Only `True` says that it took effect, only `False` that it did not.
            note: What the person knows; at most 4,000 characters.
            settled_by: Who settled it.
        """
        settle = requests.settle_call(sent=sent, note=note, settled_by=settled_by)
        if _STEP_EXECUTION_ID.fullmatch(str(step_execution_id)) is None:
            raise InvalidRequest(
                f"step_execution_id must be as the snapshot shows it, like CallSingleAttemptTool-1, not "
                f"{str(step_execution_id)[:60]!r}."
            )
        return isinstance(await self._engine.settle(_known(session_id), step_execution_id, settle), Transition)

    async def prune(self, older_than: timedelta) -> Sequence[str]:
        """Deletes the sessions that are idle or ended and were last changed that long ago; returns their IDs.

        A session with a call whose outcome nobody knows is kept until somebody settles it, however old it is. Of the
        others state, transcript, messages, calls, events and the engine's own rows go. The IDs stay taken for ever,
        since a session with the same ID would repeat Call IDs.

        Args:
            older_than: Time since the last change; `timedelta(0)` takes all that are idle or ended.
        """
        if older_than < timedelta(0):
            raise InvalidRequest(f"older_than must not be negative, not {older_than}.")
        return await self._engine.prune(now() - older_than)

    async def resolve_interrupt(
        self,
        session_id: str,
        interrupt_id: str,
        *,
        approved: bool,
        rejection_message: str | None = None,
        decided_by: str | None = None,
    ) -> bool:
        """Decides about the call that waits; `False` when no call waits under that ID, or no longer.

        Args:
            session_id: The session.
            interrupt_id: As the snapshot shows it.
            approved: Only `True` approves; only `False` rejects.
            rejection_message: Reaches the model with a rejection; at most 4,000 characters.
            decided_by: Who decided, for the record.
        """
        return await self._apply(
            session_id,
            requests.resolve_interrupt(
                interrupt_id, approved=approved, rejection_message=rejection_message, decided_by=decided_by
            ),
        )

    async def list_sessions(
        self, *, limit: int = 100, after: str | None = None, changed_since: datetime | None = None
    ) -> Sequence[SessionSummary]:
        """Sessions in the order of their IDs, and what each wants from a person.

        Args:
            limit: How many at most, from 1 to 1,000.
            after: The last ID of the page before.
            changed_since: Leaves out those that have not changed since; an aware time, by the Workers' clocks.
        """
        if not 1 <= limit <= _MOST_LISTED:
            raise InvalidRequest(f"limit must be from 1 to {_MOST_LISTED}, not {limit}.")
        if after is not None and not _is_session_id(after):
            raise InvalidRequest(f"after must be the ID of a session, not {str(after)[:60]!r}.")
        if changed_since is not None and changed_since.tzinfo is None:
            raise InvalidRequest(f"changed_since must have a time zone, not {changed_since.isoformat()}.")
        since = None if changed_since is None else changed_since.astimezone(UTC)
        return await self._engine.list_sessions(limit=limit, after=after, changed_since=since)

    async def get_snapshot(self, session_id: str) -> SessionSnapshot:
        """What is true of the session now."""
        return await self._engine.snapshot(_known(session_id))

    def read_events(self, session_id: str, *, after: int = 0, follow: bool = False) -> AsyncIterator[SessionEvent]:
        """The session's events after a sequence number; with `follow` the iterator waits for more."""
        if not 0 <= after <= _LAST_SEQUENCE:
            raise InvalidRequest(f"after must be the sequence of an event, not {after}.")
        events = self._engine.events(_known(session_id), after=after, follow=follow)
        return as_shown(events, lambda: self._engine.snapshot(session_id))

    def listen(self, session_id: str) -> AsyncIterator[str]:
        """Pieces of text as the session's model writes them, from the first `anext` until the engine closes.

        Best effort, and only where the Steps run: a client process (`run_steps=False`) is refused, and a turn that
        another Worker runs is not heard. Nothing of it is stored. A segment that fails is run again, and its text
        comes again; what counts is the event of the answer.
        """
        return self._engine.listen(_known(session_id))

    async def _apply(self, session_id: str, change: Change, once: MessageKey | None = None) -> bool:
        return not isinstance(await self._engine.change(_known(session_id), change, once=once), Refusal)


def _is_session_id(given: object) -> bool:
    return isinstance(given, str) and _SESSION_ID.fullmatch(given) is not None


def _known(session_id: str) -> str:
    """No session can have an ID that could not be started; asking the database for one may not even be possible."""
    if not _is_session_id(session_id):
        raise UnknownSession(str(session_id)[:60])
    return session_id
