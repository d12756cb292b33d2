"""What the session routes take and answer, as models; the OpenAPI document is made from them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AcceptedAnswer",
    "ErrorAnswer",
    "EventsQuery",
    "Fault",
    "ResolveInterruptBody",
    "SendMessageBody",
    "SessionBody",
    "SessionQuery",
    "SnapshotAnswer",
    "StartSessionBody",
    "StartedAnswer",
    "SteerBody",
]

LARGEST_SEQUENCE = 2**31 - 1

SessionId = Annotated[
    str,
    Field(min_length=1, max_length=200, description="As POST /sessions answered it."),
]
Text = Annotated[str, Field(min_length=1, max_length=1_000_000, description="Not blank.")]
MessageId = Annotated[
    str | None, Field(min_length=1, max_length=200, description="The caller's own ID of the message.")
]


class Body(BaseModel):
    """A request. Types are strict: `"true"` and `1` are no booleans. A member it does not know is a fault."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class StartSessionBody(Body):
    """Starts a session; with `message` it begins a turn at once."""

    message: Annotated[str | None, Field(min_length=1, max_length=1_000_000)] = None


class SessionBody(Body):
    """Names a session."""

    session_id: SessionId


class SendMessageBody(SessionBody):
    """A user message."""

    text: Text
    message_id: MessageId = None


class SteerBody(SessionBody):
    """A message for the turn that runs."""

    text: Text
    message_id: MessageId = None


class ResolveInterruptBody(SessionBody):
    """A decision about the call that waits. Only `true` approves."""

    interrupt_id: Annotated[str, Field(min_length=1, max_length=200, description="As the snapshot shows it.")]
    approved: bool
    rejection_message: Annotated[
        str | None, Field(max_length=4_000, description="Reaches the model; with `approved: false` only.")
    ] = None


class Query(BaseModel):
    """A query string; every value is text there, so numbers are read from text."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SessionQuery(Query):
    """Names a session."""

    session_id: SessionId


class EventsQuery(SessionQuery):
    """Which events: those after a sequence, whether to wait for more, and whether the model's text comes too."""

    after: Annotated[int, Field(ge=0, le=LARGEST_SEQUENCE)] = 0
    follow: bool = True
    text: bool = False


class StartedAnswer(BaseModel):
    """The new session, and the token that every other route wants in `X-Agent-Session-Token`."""

    session_id: str
    session_token: str


class AcceptedAnswer(BaseModel):
    """Whether the session accepted; `false` changed nothing."""

    accepted: bool


class SnapshotAnswer(BaseModel):
    """What is committed of the session, and the sequence of its newest event."""

    snapshot: dict[str, Any]
    last_event: int


class Fault(BaseModel):
    """One thing that is wrong with a request."""

    at: str
    message: str


class ErrorAnswer(BaseModel):
    """Why a request was refused: a word for programs, and every fault found."""

    error: str
    faults: list[Fault]
