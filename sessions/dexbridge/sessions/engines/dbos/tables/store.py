"""Sessions in the database: every commit is one transaction and a compare-and-set on the session's version."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection, Engine, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from dexbridge.sessions.engines.dbos.databases.database import AnswerLost, reading, reading_at_once, writing
from dexbridge.sessions.engines.dbos.tables.commit_mark import CommitMark
from dexbridge.sessions.engines.dbos.tables.listing import list_sessions
from dexbridge.sessions.engines.dbos.tables.pruning import forget, prune
from dexbridge.sessions.engines.dbos.tables.schema import (
    calls,
    events,
    message_keys,
    messages,
    sessions,
    transcript,
)
from dexbridge.sessions.engines.dbos.tables.schema_version import prepare_tables
from dexbridge.sessions.engines.dbos.tables.session_row import PRUNED, SessionRow, newest_row
from dexbridge.sessions.engines.dbos.tables.stored import stored, stored_kind
from dexbridge.sessions.errors import StepFenced, UnreadableSession
from dexbridge.sessions.state.call import CallRecord
from dexbridge.sessions.state.event import SessionEvent
from dexbridge.sessions.state.message import Message, with_marks
from dexbridge.sessions.state.persisted import now
from dexbridge.sessions.state.session import SessionState
from dexbridge.sessions.state.snapshot import SessionSnapshot, SessionSummary
from dexbridge.sessions.state.transition import (
    Change,
    MessageKey,
    Refusal,
    Repeated,
    Settle,
    TranscriptEntry,
    Transition,
)

__all__ = ["EVENTS_AT_ONCE", "Committed", "SessionStore", "Unanswered"]

_ASK_AT_ONCE = 500
EVENTS_AT_ONCE = 500
"""How many events one read returns at most."""

Enqueue = Callable[[Connection, SessionState], None]
"""Enqueues the leg that a commit opened, in the same transaction."""

Tell = Callable[[Connection, str], None]
"""Tells other processes of a session that a commit changes, in the same transaction."""


@dataclass(frozen=True, slots=True)
class Committed:
    """A committed transition, whether it opened a leg, and the session's version since."""

    transition: Transition
    opened_leg: bool
    version: int


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A commit whose answer was lost: `SessionStore.holds` tells whether it was done.

    Attributes:
        written: What is true if it was.
        mark: What it wrote to be recognised by.
    """

    written: Committed
    mark: CommitMark


class SessionStore:
    """Reads and commits sessions. Methods block; call them in a thread.

    Args:
        engine: The database.
        enqueue: See `Enqueue`.
        tell: See `Tell`.
    """

    def __init__(self, engine: Engine, enqueue: Enqueue, tell: Tell) -> None:
        self.engine = engine
        self._enqueue = enqueue
        self._tell = tell

    def create_tables(self) -> None:
        """See `prepare_tables`."""
        with writing(self.engine) as connection:
            prepare_tables(connection)

    def start(self, first: Transition, mark: CommitMark) -> bool:
        """Inserts a new session; `False` when the ID exists. Raises `AnswerLost`; begun again then with that mark."""
        state = first.state
        try:
            with writing(self.engine) as connection:
                connection.execute(
                    insert(sessions).values(
                        session_id=state.session_id,
                        flow_type=state.flow_type,
                        status=state.status.value,
                        version=0,
                        state=state.model_dump_json(),
                        updated_at=now().isoformat(),
                        commits="",
                    )
                )
                self._write(connection, state, mark, "", first)
        except IntegrityError:
            # It may be there by an earlier try, whose answer was lost.
            return self.holds(mark)
        return True

    def holds(self, mark: CommitMark) -> bool:
        """Whether that commit was done. Waits for one that the database is still at work on."""
        lock = select(sessions.c.commits).where(sessions.c.session_id == mark.session_id).with_for_update()
        with writing(self.engine) as connection:
            kept = connection.execute(lock).scalar_one_or_none()
            return kept is not None and mark.is_in(kept)

    def load(self, session_id: str) -> SessionState:
        """The newest state. Raises `UnknownSession`."""
        with reading(self.engine) as connection:
            return newest_row(connection, session_id).state

    def versions(self, session_ids: Sequence[str]) -> Mapping[str, int]:
        """The versions of those of the sessions that exist; one grows with each commit."""
        found: dict[str, int] = {}
        with reading(self.engine) as connection:
            for first in range(0, len(session_ids), _ASK_AT_ONCE):
                query = select(sessions.c.session_id, sessions.c.version).where(
                    sessions.c.session_id.in_(session_ids[first : first + _ASK_AT_ONCE])
                )
                found.update((row.session_id, row.version) for row in connection.execute(query))
        return found

    def states(self, session_ids: Sequence[str]) -> Mapping[str, tuple[int, SessionState | None]]:
        """Version and state of those of the sessions that exist; no state where another version wrote it."""
        found: dict[str, tuple[int, SessionState | None]] = {}
        if not session_ids:
            return found
        with reading(self.engine) as connection:
            for first in range(0, len(session_ids), _ASK_AT_ONCE):
                query = select(sessions.c.session_id, sessions.c.version, sessions.c.state).where(
                    sessions.c.session_id.in_(session_ids[first : first + _ASK_AT_ONCE]), sessions.c.status != PRUNED
                )
                for row in connection.execute(query):
                    found[row.session_id] = (row.version, None)
                    with contextlib.suppress(UnreadableSession):
                        found[row.session_id] = (row.version, stored(SessionState, row.state, row.session_id))
        return found

    def commit(
        self, session_id: str, change: Change, once: MessageKey | None = None
    ) -> Committed | Unanswered | Refusal | Repeated:
        """Applies a change to the newest state and commits what it returns."""
        unanswered: Unanswered | None = None
        try:
            with writing(self.engine) as connection:
                row = newest_row(connection, session_id, lock=True)
                state = row.state
                if once is not None and (seen := self._seen(connection, session_id, once)) is not None:
                    return seen
                result = change(state)
                if isinstance(result, Refusal):
                    return result
                if once is not None:
                    key = {"session_id": session_id, "message_id": once.message_id, "digest": once.digest}
                    connection.execute(insert(message_keys).values(key))
                unanswered = self._committed(connection, row, result)
        except AnswerLost:
            if unanswered is None:
                # A refusal or a repeat, which wrote nothing.
                raise
            return unanswered
        return unanswered.written

    def settle(self, session_id: str, step_execution_id: str, settle: Settle) -> Committed | Unanswered | Refusal:
        """Applies a change that needs the record of a call."""
        query = select(calls.c.record).where(
            calls.c.session_id == session_id, calls.c.step_execution_id == step_execution_id
        )
        unanswered: Unanswered | None = None
        try:
            with writing(self.engine) as connection:
                row = newest_row(connection, session_id, lock=True)
                record = connection.execute(query).scalar_one_or_none()
                if record is None:
                    return Refusal(f"no call was recorded for {step_execution_id}")
                result = settle(row.state, stored(CallRecord, record, session_id))
                if isinstance(result, Refusal):
                    return result
                unanswered = self._committed(connection, row, result)
        except AnswerLost:
            if unanswered is None:
                raise
            return unanswered
        return unanswered.written

    def prune(self, before: datetime) -> Sequence[tuple[str, int]]:
        """See `pruning.prune`."""
        return prune(self.engine, before)

    def forgotten(self, session_ids: Sequence[str]) -> None:
        """See `pruning.forget`."""
        forget(self.engine, session_ids)

    def transcript(self, session_id: str) -> Sequence[TranscriptEntry]:
        """The committed transcript, in order."""
        query = (
            select(transcript.c.entry, transcript.c.subpath)
            .where(transcript.c.session_id == session_id)
            .order_by(transcript.c.sequence)
        )
        with reading(self.engine) as connection:
            return [TranscriptEntry(row.entry, row.subpath) for row in connection.execute(query)]

    def snapshot(self, session_id: str) -> SessionSnapshot:
        """State, messages and calls as of one moment."""
        with reading_at_once(self.engine) as connection:
            state = newest_row(connection, session_id).state
            said = connection.execute(
                select(messages.c.message).where(messages.c.session_id == session_id).order_by(messages.c.sequence)
            ).scalars()
            made = connection.execute(
                select(calls.c.record).where(calls.c.session_id == session_id).order_by(calls.c.started_at)
            ).scalars()
            return SessionSnapshot(
                state=state,
                messages=with_marks(stored(Message, text, session_id) for text in said),
                calls=tuple(stored(CallRecord, text, session_id) for text in made),
                last_event=state.event_count,
            )

    def list_sessions(self, limit: int, after: str | None, changed_since: datetime | None) -> Sequence[SessionSummary]:
        """See `listing`, as of one moment."""
        with reading_at_once(self.engine) as connection:
            return list_sessions(connection, limit, after, changed_since)

    def events(self, session_id: str, after: int, limit: int = EVENTS_AT_ONCE) -> Sequence[SessionEvent]:
        """Events after a sequence number. Raises `UnknownSession` when there is no such session."""
        query = (
            select(events)
            .where(events.c.session_id == session_id, events.c.sequence > after)
            .order_by(events.c.sequence)
            .limit(limit)
        )
        with reading(self.engine) as connection:
            found = [
                SessionEvent(
                    sequence=row.sequence, at=row.at, kind=stored_kind(row.kind, session_id), data=json.loads(row.data)
                )
                for row in connection.execute(query)
            ]
            if not found:
                newest_row(connection, session_id)
            return found

    def _seen(self, connection: Connection, session_id: str, once: MessageKey) -> Repeated | Refusal | None:
        query = select(message_keys.c.digest).where(
            message_keys.c.session_id == session_id, message_keys.c.message_id == once.message_id
        )
        digest = connection.execute(query).scalar_one_or_none()
        if digest is None:
            return None
        return Repeated() if digest == once.digest else Refusal("another message was accepted under that message_id")

    def _committed(self, connection: Connection, row: SessionRow, result: Transition) -> Unanswered:
        state = row.state
        mark = CommitMark(state.session_id, row.version + 1)
        written = self._write(connection, state, mark, row.commits, result)
        opened = written.leg is not None and (state.leg is None or state.leg.number != written.leg.number)
        if opened:
            self._enqueue(connection, written)
        self._tell(connection, state.session_id)
        return Unanswered(Committed(replace(result, state=written), opened, mark.version), mark)

    def _write(
        self, connection: Connection, before: SessionState, mark: CommitMark, kept: str, transition: Transition
    ) -> SessionState:
        session_id, version = before.session_id, mark.version - 1
        state = transition.state.model_copy(
            update={
                "message_count": before.message_count + len(transition.messages),
                "event_count": before.event_count + len(transition.events),
            }
        )
        written = connection.execute(
            update(sessions)
            .where(sessions.c.session_id == session_id, sessions.c.version == version)
            .values(
                status=state.status.value,
                version=mark.version,
                state=state.model_dump_json(),
                updated_at=now().isoformat(),
                commits=mark.added_to(kept),
            )
        )
        if written.rowcount != 1:
            raise StepFenced(f"The session {session_id!r} changed under version {version}; nothing was committed.")
        if transition.messages:
            connection.execute(
                insert(messages),
                [
                    {"session_id": session_id, "sequence": number, "message": message.model_dump_json()}
                    for number, message in enumerate(transition.messages, before.message_count + 1)
                ],
            )
        if transition.events:
            at = now().isoformat()
            connection.execute(
                insert(events),
                [
                    {
                        "session_id": session_id,
                        "sequence": number,
                        "at": at,
                        "kind": entry.kind.value,
                        "data": json.dumps(entry.data),
                    }
                    for number, entry in enumerate(transition.events, before.event_count + 1)
                ],
            )
        if transition.transcript:
            connection.execute(
                insert(transcript),
                [
                    {
                        "session_id": session_id,
                        "sequence": number,
                        "subpath": entry.subpath,
                        "entry": entry.json,
                    }
                    for number, entry in enumerate(transition.transcript, before.transcript_rows + 1)
                ],
            )
        for call in transition.calls:
            self._write_call(connection, session_id, call)
        return state

    def _write_call(self, connection: Connection, session_id: str, call: CallRecord) -> None:
        dialect = postgresql if self.engine.dialect.name == "postgresql" else sqlite
        record = call.model_dump_json()
        connection.execute(
            dialect.insert(calls)
            .values(
                session_id=session_id,
                step_execution_id=call.step_execution_id,
                started_at=call.started_at.isoformat(),
                record=record,
            )
            .on_conflict_do_update(
                index_elements=[calls.c.session_id, calls.c.step_execution_id], set_={"record": record}
            )
        )
