"""Requests, Steps, results of each kind and lost Workers in any order: the rules that must never break, each time.

The Steps and their host are the real ones. `InMemory` loses its Worker between any two commits; `OnSqlite` runs the
real engine on a file, closed and opened again.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dexbridge.sessions.changes import requests
from dexbridge.sessions.client import AgentSessionClient
from dexbridge.sessions.hosting.engine import SessionEngine
from dexbridge.sessions.hosting.step_host import StepHost
from dexbridge.sessions.opening import open_engine
from dexbridge.sessions.state.event import EventKind
from dexbridge.sessions.state.interrupt import Interrupt
from dexbridge.sessions.state.session import SessionState, SessionStatus
from dexbridge.sessions.state.transition import Change, Refusal, Transition
from dexbridge.toolsource import (
    AttemptResult,
    Dispatch,
    NotDone,
    OutcomeKind,
    Reconciled,
    StillUnknown,
    ToolEffect,
    ToolOutcome,
    Unsettled,
)
from tests.fakes.function_tool import FunctionTool, failed, succeeded
from tests.fakes.memory_sessions import MemorySession, WorkerLost
from tests.fakes.scripted_runner import ScriptedRunner
from tests.sessions.conftest import LIMITS, flow_of

SECRET = "xoxb-very-secret"
ENDS = ("done", "refused", "not done", "lost before", "lost after", "raises before", "raises after")
CALLS = {
    "hello": "hello",
    "asking write": 'call cancel_order {"order_id": "7"}',
    "free write": 'call free_order {"order_id": "7"}',
    "read": 'call read_order {"order_id": "7"}',
    "two calls": 'call cancel_order {"order_id": "7"}\ncall free_order {"order_id": "8"}',
}


class Provider:
    """What the tools reach: it alone knows which calls took effect."""

    def __init__(self) -> None:
        self.effects: dict[str, list[tuple[str, str]]] = {}
        self.sent: list[tuple[str, str, str]] = []
        self.end = "done"
        self.look_up_answers = True

    def tools(self) -> list[FunctionTool]:
        write = ToolEffect.NON_IDEMPOTENT_WRITE
        made = [("cancel_order", write, True), ("free_order", write, False), ("read_order", ToolEffect.READ, False)]
        return [
            FunctionTool(name=name, effect=effect, rule=rule, function=self._function(name), look_up=self._look_up)
            for name, effect, rule in made
        ]

    def _function(self, tool: str) -> Any:
        async def call(dispatch: Dispatch, arguments: Mapping[str, Any]) -> AttemptResult:
            step, end = dispatch.step_execution_id, self.end
            self.sent.append((step, tool, arguments["order_id"]))
            if end in ("done", "lost after", "raises after"):
                self.effects.setdefault(step, []).append((tool, arguments["order_id"]))
            if end.startswith("raises"):
                raise RuntimeError(SECRET)
            if end == "refused":
                return failed("refused")
            if end == "not done":
                return NotDone("busy", timedelta(milliseconds=1))
            return Unsettled("cut") if end.startswith("lost") else succeeded("done")

        return call

    async def _look_up(
        self, dispatch: Dispatch, _arguments: Mapping[str, Any], _opened: datetime, _ended: datetime
    ) -> Reconciled:
        if not self.look_up_answers:
            return StillUnknown("Nobody can tell.")
        if self.effects.get(dispatch.step_execution_id):
            return ToolOutcome(OutcomeKind.SUCCEEDED, "found")
        return ToolOutcome(OutcomeKind.FAILED, "it was not sent")


class Rules(RuleBasedStateMachine):
    """What may happen, and what must hold after it."""

    def __init__(self) -> None:
        super().__init__()
        self.provider = Provider()
        self.shown: dict[str, Interrupt] = {}
        self.approved: set[str] = set()
        self.runner = asyncio.Runner()

    def ask(self, change: Change) -> bool:
        raise NotImplementedError

    def newest(self) -> SessionState:
        raise NotImplementedError

    @rule(words=st.sampled_from(sorted(CALLS)))
    def message(self, words: str) -> None:
        message, _ = requests.user_message(LIMITS, CALLS[words], None)
        self.ask(requests.accept_message(LIMITS, message))

    @rule(words=st.sampled_from(sorted(CALLS)))
    def steer(self, words: str) -> None:
        message, _ = requests.user_message(LIMITS, CALLS[words], None)
        self.ask(requests.steer(LIMITS, message))

    @precondition(lambda self: self.newest().pending_interrupt is not None)
    @rule(approved=st.booleans())
    def decide(self, approved: bool) -> None:
        interrupt = self.newest().pending_interrupt
        if interrupt is None:
            return
        self.shown[interrupt.interrupt_id] = interrupt
        if self.ask(requests.resolve_interrupt(interrupt.interrupt_id, approved=approved)) and approved:
            self.approved.add(interrupt.interrupt_id)

    @precondition(lambda self: bool(self.shown))
    @rule(data=st.data())
    def decide_again(self, data: st.DataObject) -> None:
        old = data.draw(st.sampled_from(sorted(self.shown)))
        pending = self.newest().pending_interrupt
        if pending is None or pending.interrupt_id != old:
            assert not self.ask(requests.resolve_interrupt(old, approved=True))

    @rule()
    def cancel(self) -> None:
        self.ask(requests.cancel_turn())

    @rule(end=st.sampled_from(ENDS), answers=st.booleans())
    def provider_does(self, end: str, answers: bool) -> None:
        self.provider.end, self.provider.look_up_answers = end, answers

    def check(self, state: SessionState, records: Mapping[str, Any], told: str) -> None:
        for step, effects in self.provider.effects.items():
            if step.startswith("CallSingleAttemptTool"):
                assert len(effects) == 1, f"{step} took effect {len(effects)} times"
        for step, record in records.items():
            took = bool(self.provider.effects.get(step))
            if record.settled_by is None and step.startswith("CallSingleAttemptTool"):
                if record.outcome is OutcomeKind.SUCCEEDED:
                    assert took, f"{step} is recorded as done and was not"
                if record.outcome in (OutcomeKind.FAILED, OutcomeKind.CANCELLED, OutcomeKind.REJECTED):
                    assert not took, f"{step} is recorded as {record.outcome} and was done"
        asked = {tuple(i.arguments.items()): key for key, i in self.shown.items() if key in self.approved}
        for _, tool, order in self.provider.sent:
            if tool == "cancel_order":
                assert (("order_id", order),) in asked, "sent without an approval of exactly this call"
        cancel_steps = {step for step, tool, _ in self.provider.sent if tool == "cancel_order"}
        assert len(cancel_steps) <= len(self.approved), "an approval was used twice"
        for step in {step for step, _, _ in self.provider.sent}:
            assert step in records or (state.due is not None and state.due.id == step), f"{step} was lost"
        assert SECRET not in told

    def teardown(self) -> None:
        self.runner.close()


class InMemory(Rules):
    """A Worker that may be lost between any two of its commits."""

    @initialize()
    def start(self) -> None:
        first = requests.new_session("s-1", "support")
        self.session = MemorySession(first.state, list(first.events))
        self.flow = flow_of(self.provider.tools(), ScriptedRunner())
        self.host = self._process()
        self.runs = 0

    def _process(self) -> StepHost:
        return StepHost({"support": self.flow}, self.session, lambda _session, _text: None)

    def ask(self, change: Change) -> bool:
        return isinstance(self.session.apply(change), Transition)

    def newest(self) -> SessionState:
        return self.session.state

    @precondition(lambda self: self.session.state.leg is not None and self.session.state.due is not None)
    @rule(lost_at=st.one_of(st.none(), st.integers(0, 6)))
    def run_step(self, lost_at: int | None) -> None:
        """The Step that is due is run, by a Worker that may be lost meanwhile."""
        self.step(lost_at)

    def step(self, lost_at: int | None) -> None:
        self.runs += 1
        run = f"run-{self.runs}"

        def claim(state: SessionState) -> Transition | Refusal:
            return Refusal("idle") if state.leg is None else Transition(state.with_claim(state.leg, run))

        claimed = self.session.apply(claim)
        assert isinstance(claimed, Transition)
        self.session.lost_at = lost_at
        try:
            self.runner.run(self.host.run(claimed.state))
        except WorkerLost:
            self.host = self._process()
        finally:
            self.session.lost_at = None

    @rule()
    def finish(self) -> None:
        """Every Step that is due is run, until the session waits or rests."""
        for _ in range(20):
            if self.session.state.leg is None:
                return
            self.step(None)

    @rule(really=st.integers(0, 9))
    def end(self, really: int) -> None:
        if really == 0:
            self.ask(requests.end_session())

    @rule(sent=st.booleans())
    def settle(self, sent: bool) -> None:
        for step in list(self.session.records):
            self.runner.run(self.session.settle("s-1", step, requests.settle_call(sent=sent)))

    @invariant()
    def nothing_is_broken(self) -> None:
        if not hasattr(self, "session"):
            return
        state = self.session.state
        told = state.model_dump_json() + "".join(
            [*(r.model_dump_json() for r in self.session.records.values()), *(str(e) for e in self.session.events)]
        )
        self.check(state, self.session.records, told)
        unknown = [e.data["step_execution_id"] for e in self.session.events if e.kind is EventKind.OUTCOME_UNKNOWN]
        for step, record in self.session.records.items():
            assert record.outcome is not OutcomeKind.OUTCOME_UNKNOWN or step in unknown, "an unknown that is not loud"
        assert (state.status is SessionStatus.WAITING) == (state.pending_interrupt is not None and state.leg is None)


PATIENT = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], stateful_step_count=30
)

TestInMemory = InMemory.TestCase
TestInMemory.settings = settings(PATIENT, max_examples=40, derandomize=True)


@pytest.mark.slow
class TestInMemoryForLonger(InMemory.TestCase):
    """Other sequences each time."""


TestInMemoryForLonger.settings = settings(PATIENT, max_examples=300)


class OnSqlite(Rules):
    """The DBOS engine on a file, which is closed and opened again in between."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.stack = contextlib.AsyncExitStack()
        self.flow = flow_of(self.provider.tools(), ScriptedRunner())
        self.runner.run(self._open())
        self.runner.run(self.client.start_session("s-1"))

    async def _open(self) -> None:
        url = f"sqlite:///{Path(self.folder.name) / 'sessions.db'}"
        self.engine: SessionEngine = await self.stack.enter_async_context(open_engine(url, [self.flow]))
        self.client = AgentSessionClient(self.engine)

    def ask(self, change: Change) -> bool:
        return isinstance(self.runner.run(self.engine.change("s-1", change)), Transition)

    def newest(self) -> SessionState:
        return self.runner.run(self.client.get_snapshot("s-1")).state

    @rule()
    def wait(self) -> None:
        self.runner.run(self._at_rest())

    async def _at_rest(self) -> None:
        async with asyncio.timeout(30):
            while (await self.client.get_snapshot("s-1")).state.status is SessionStatus.RUNNING:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    @rule()
    def close_and_open(self) -> None:
        self.runner.run(self.stack.aclose())
        self.stack = contextlib.AsyncExitStack()
        self.runner.run(self._open())

    @rule()
    def prune(self) -> None:
        if self.newest().status is SessionStatus.ENDED:
            self.runner.run(self.client.prune(timedelta(days=1)))

    def teardown(self) -> None:
        try:
            if hasattr(self, "stack"):
                self.runner.run(self._end())
        finally:
            super().teardown()

    async def _end(self) -> None:
        try:
            await self._at_rest()
            snapshot = await self.client.get_snapshot("s-1")
            events = [event async for event in self.client.read_events("s-1")]
            told = str(snapshot.to_json()) + "".join(str(event) for event in events)
            self.check(snapshot.state, {record.step_execution_id: record for record in snapshot.calls}, told)
        finally:
            await self.stack.aclose()
            self.folder.cleanup()


@pytest.mark.slow
class TestOnSqlite(OnSqlite.TestCase):
    """Its examples are few: each opens the engine."""


TestOnSqlite.settings = settings(PATIENT, max_examples=20)
