"""A kind of agent session: its framework, its tools, its limits. It knows nothing of the engine."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from datetime import timedelta

from dexbridge.sessions.errors import InvalidRequest
from dexbridge.sessions.hosting.ledger import DISPATCH_WINDOW, RECONCILE_MARGIN
from dexbridge.sessions.runner import AgentFrameworkRunner
from dexbridge.toolsource import OfferedTools

__all__ = ["AgentSessionFlow", "SessionLimits"]


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """The bounds of a session.

    Attributes:
        run_model: Longest time one segment may take.
        segment_attempts: How often a failed segment is run before the turn fails.
        segment_runs: How often a segment is begun whose Worker is lost before it ends, until the turn fails: one that
            ends its Worker would otherwise end one after the other. A Worker that is closed is not lost.
        message_characters: Longest user message.
        queued_messages: How many accepted messages may wait.
        state_bytes: Size of the transcript at which a session ends; it is warned of at 80 %.
        dispatch_window: How long after its ledger row a request may still leave.
        reconcile_margin: Waited beyond the last moment a request could be under way before "not sent" is concluded.

    Raises:
        InvalidRequest: A value that cannot be; names all of them.
    """

    run_model: timedelta = timedelta(minutes=15)
    segment_attempts: int = 3
    segment_runs: int = 10
    message_characters: int = 100_000
    queued_messages: int = 100
    state_bytes: int = 64 * 1024 * 1024
    dispatch_window: timedelta = DISPATCH_WINDOW
    reconcile_margin: timedelta = RECONCILE_MARGIN

    def __post_init__(self) -> None:
        faults: list[str] = []
        for field in fields(self):
            value: object = getattr(self, field.name)
            if isinstance(field.default, timedelta):
                least = timedelta(0) if field.name == "reconcile_margin" else timedelta(microseconds=1)
                if not (isinstance(value, timedelta) and value >= least):
                    wanted = "a timedelta that is not negative" if not least else "a timedelta longer than 0"
                    faults.append(f"{field.name} must be {wanted}, not {value!r}")
            else:
                fewest = 0 if field.name == "queued_messages" else 1
                if type(value) is not int or value < fewest:
                    faults.append(f"{field.name} must be a whole number from {fewest}, not {value!r}")
        if faults:
            raise InvalidRequest(f"SessionLimits cannot be so: {'; '.join(faults)}.")


@dataclass(frozen=True, slots=True)
class AgentSessionFlow:
    """What an engine needs to run the sessions of one type.

    Args:
        flow_type: Names the type in the database; sessions of a type the engine was not given stay where they are.
        runner: The adapter of the agent framework.
        tools: Every tool the sessions offer.
        limits: Their bounds.
    """

    flow_type: str
    runner: AgentFrameworkRunner
    tools: OfferedTools
    limits: SessionLimits = SessionLimits()

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}", self.flow_type):
            raise InvalidRequest(
                f"flow_type must be 1 to 100 letters, digits and ._:/- and begin with a letter or digit, not "
                f"{self.flow_type[:120]!r}."
            )
