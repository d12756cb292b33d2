"""Durable agent sessions: state, Steps, interrupts, events, and the engines that run them."""

from dexbridge.sessions.call import CallRecord, CallResult, PendingCall, ToolWish
from dexbridge.sessions.client import AgentSessionClient
from dexbridge.sessions.engine import SessionEngine, open_engine
from dexbridge.sessions.errors import (
    CommitUnclear,
    DatabaseUnavailable,
    EngineAlreadyOpen,
    InvalidRequest,
    NewerDatabase,
    Refused,
    SegmentFailed,
    SessionError,
    UnknownSession,
    UnreadableSession,
    UnsupportedEngine,
    WorkerAlreadyRunning,
)
from dexbridge.sessions.event import EventKind, SessionEvent
from dexbridge.sessions.flow import AgentSessionFlow, SessionLimits
from dexbridge.sessions.inside_call import InsideCall
from dexbridge.sessions.interrupt import Interrupt
from dexbridge.sessions.marks import Marks
from dexbridge.sessions.message import LeftOut, Message, Role, UserMessage
from dexbridge.sessions.runner import AgentFrameworkRunner, Answered, CallLeaves, Conversation, SegmentEnd
from dexbridge.sessions.snapshot import SessionSnapshot, SessionSummary
from dexbridge.sessions.state import SessionState, SessionStatus
from dexbridge.sessions.step import StepExecution, StepType
from dexbridge.sessions.transition import TranscriptEntry

__all__ = [
    "AgentFrameworkRunner",
    "AgentSessionClient",
    "AgentSessionFlow",
    "Answered",
    "CallLeaves",
    "CallRecord",
    "CallResult",
    "CommitUnclear",
    "Conversation",
    "DatabaseUnavailable",
    "EngineAlreadyOpen",
    "EventKind",
    "InsideCall",
    "Interrupt",
    "InvalidRequest",
    "LeftOut",
    "Marks",
    "Message",
    "NewerDatabase",
    "PendingCall",
    "Refused",
    "Role",
    "SegmentEnd",
    "SegmentFailed",
    "SessionEngine",
    "SessionError",
    "SessionEvent",
    "SessionLimits",
    "SessionSnapshot",
    "SessionState",
    "SessionStatus",
    "SessionSummary",
    "StepExecution",
    "StepType",
    "ToolWish",
    "TranscriptEntry",
    "UnknownSession",
    "UnreadableSession",
    "UnsupportedEngine",
    "UserMessage",
    "WorkerAlreadyRunning",
    "open_engine",
]
