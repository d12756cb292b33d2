"""What a session can refuse, and what can go wrong while it runs."""

from __future__ import annotations

from enum import StrEnum

__all__ = [
    "CommitUnclear",
    "DatabaseUnavailable",
    "DispatchCancelled",
    "EngineAlreadyOpen",
    "InvalidRequest",
    "NewerDatabase",
    "Refused",
    "SegmentFailed",
    "SessionError",
    "StepFenced",
    "UnknownSession",
    "UnreadableSession",
    "UnsupportedEngine",
    "WorkerAlreadyRunning",
]


class SessionError(Exception):
    """Root of the errors of this room."""


class UnknownSession(SessionError, LookupError):
    """No session has that ID here."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"There is no session {session_id!r} in this database: check the ID and the engine's URL.")


class InvalidRequest(SessionError, ValueError):
    """A request from outside is malformed; nothing was changed."""


class DatabaseUnavailable(SessionError):
    """The database did not answer, or could not be locked in time. Nothing was committed; ask again."""


class CommitUnclear(DatabaseUnavailable):
    """The database was lost while it committed, and could not be asked since: it is not known whether it did.

    Attributes:
        message_id: Of a message that was given: sent again under this ID it is taken once. `None` for other requests.
    """

    def __init__(self, reason: str, message_id: str | None = None) -> None:
        self.message_id = message_id
        again = (
            "Look at the session before asking again."
            if message_id is None
            else f"Send it again with message_id={message_id!r}: it is then taken once."
        )
        super().__init__(f"{reason}: it is not known whether the request was taken. {again}")


class EngineAlreadyOpen(SessionError, RuntimeError):
    """A process holds one engine; DBOS would silently keep serving the first one's database."""


class WorkerAlreadyRunning(SessionError, RuntimeError):
    """Another Worker process holds this SQLite file."""


class UnsupportedEngine(SessionError, ValueError):
    """The engine URL names an engine that is not known or not installed."""


class StepFenced(SessionError):
    """This execution was taken over by another one; its result must not be committed."""


class DispatchCancelled(SessionError):
    """The turn was cancelled before this request left; it must not be made."""


class NewerDatabase(SessionError, RuntimeError):
    """A newer version of dexbridge has changed the tables; this one could misread them."""


class UnreadableSession(SessionError):
    """What is stored of a session cannot be read by this version; it is left as it is."""

    def __init__(self, session_id: str, what: str) -> None:
        self.session_id = session_id
        super().__init__(
            f"The session {session_id!r} holds what this version of dexbridge cannot read ({what}): another version "
            "wrote it. If that is a newer one, upgrade this process; else it is from before dexbridge 0.1, and only "
            "what wrote it can read it. Nothing was changed."
        )


class Refused(StrEnum):
    """What was refused for good, for what it holds; it must not be given to the model again.

    `request`: the request with the new messages, by the model's API. `conversation`: one before it, with a recorded
    result; the new messages were not given yet. `messages`: the new messages alone, before any request.
    """

    REQUEST = "request"
    CONVERSATION = "conversation"
    MESSAGES = "messages"


class SegmentFailed(SessionError):
    """One attempt at a segment failed; nothing of it is kept.

    Args:
        message: What happened and what would mend it; shown to people, never holds a secret.
        permanent: Whether another attempt would fail the same way (bad key, forbidden option, unknown model).
        refused: What must not be given to the model again; such a failure is permanent. Otherwise the messages stay,
            and come again with the next.
    """

    def __init__(self, message: str, *, permanent: bool = False, refused: Refused | None = None) -> None:
        self.permanent = permanent or refused is not None
        self.refused = refused
        super().__init__(message)
