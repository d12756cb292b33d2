"""Durable agent sessions: state, Steps, interrupts, events, and the engines that run them."""

from dexbridge.sessions.client import AgentSessionClient
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
from dexbridge.sessions.flow import AgentSessionFlow, SessionLimits
from dexbridge.sessions.hosting.engine import SessionEngine
from dexbridge.sessions.hosting.marks import Marks
from dexbridge.sessions.opening import open_engine
from dexbridge.sessions.runner import AgentFrameworkRunner, Answered, CallLeaves, Conversation, SegmentEnd
from dexbridge.sessions.state.call import CallRecord, CallResult, PendingCall, ToolWish
from dexbridge.sessions.state.event import EventKind, SessionEvent
from dexbridge.sessions.state.inside_call import InsideCall
from dexbridge.sessions.state.interrupt import Interrupt
from dexbridge.sessions.state.message import LeftOut, Message, Role, UserMessage
from dexbridge.sessions.state.session import SessionState, SessionStatus
from dexbridge.sessions.state.snapshot import SessionSnapshot, SessionSummary
from dexbridge.sessions.state.step import StepExecution, StepType
from dexbridge.sessions.state.transition import TranscriptEntry

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
