"""A session whose transcript grows too large: warned of, then ended cleanly."""

from __future__ import annotations

import pytest

from dexbridge.sessions import EventKind, SessionLimits, SessionStatus
from dexbridge.toolsource import OutcomeKind
from tests.fakes.function_tool import FunctionTool
from tests.sessions.conftest import Opening

CANCEL = 'call cancel_order {"order_id": "7"}'


async def test_it_is_warned_of_once_and_the_last_answer_is_kept(opening: Opening) -> None:
    async with opening(limits=SessionLimits(state_bytes=2_000)) as talk:
        turns = 0
        while (await talk.snapshot()).state.status is SessionStatus.IDLE:
            assert await talk.ask("é" * 20) == f"you said {'é' * 20}"
            turns += 1
        kinds = [e.kind for e in await talk.events()]
        assert kinds.count(EventKind.STATE_LIMIT_NEAR) == 1
        assert kinds[-2:] == [EventKind.TURN_ANSWERED, EventKind.SESSION_ENDED]
        assert "over the limit of 2000: start another session" in (await talk.events())[-1].data["reason"]
        near = await talk.event(EventKind.STATE_LIMIT_NEAR)
        assert 1_600 < near.data["transcript_bytes"] <= 2_000
        snapshot = await talk.snapshot()
        assert len(snapshot.messages) == 2 * turns
        assert not await talk.say("more")


@pytest.mark.parametrize("wish", [CANCEL, 'call wipe {"order_id": "7"}'])
async def test_a_call_asked_for_at_the_limit_is_not_made(opening: Opening, wish: str) -> None:
    tool = FunctionTool()
    async with opening(tool, limits=SessionLimits(state_bytes=20)) as talk:
        assert "over the limit of 20" in await talk.ask(wish)
        snapshot = await talk.snapshot()
        assert snapshot.state.status is SessionStatus.ENDED
        assert tool.dispatches == []
        assert [c.outcome for c in snapshot.calls] == [OutcomeKind.CANCELLED if wish == CANCEL else OutcomeKind.FAILED]
        assert "over the limit of 20" in (await talk.events())[-1].data["reason"]
