"""The five Steps by name, and the identity of one execution."""

from __future__ import annotations

from enum import StrEnum

from dexbridge.sessions.state.persisted import Persisted

__all__ = ["StepExecution", "StepType"]


class StepType(StrEnum):
    """The Steps of a session, by the names of the Dex documentation."""

    RUN_MODEL = "RunModel"
    AWAIT_TOOL_APPROVAL = "AwaitToolApproval"
    CALL_TOOL = "CallTool"
    CALL_SINGLE_ATTEMPT_TOOL = "CallSingleAttemptTool"
    RESUME_TURN = "ResumeTurn"


class StepExecution(Persisted):
    """One execution of a Step: its type, and a number from 1 per type and session."""

    type: StepType
    number: int

    @property
    def id(self) -> str:
        """The Step execution ID, `CallSingleAttemptTool-1`; part of the Call ID."""
        return f"{self.type.value}-{self.number}"

    @staticmethod
    def parse(execution_id: str) -> StepExecution:
        """The execution of that ID."""
        name, _, number = execution_id.rpartition("-")
        return StepExecution(type=StepType(name), number=int(number))
