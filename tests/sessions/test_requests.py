"""What is asked of a session from outside: refused clearly, or accepted once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dexbridge.sessions import EventKind, InvalidRequest, UnknownSession
from tests.fakes.function_tool import FunctionTool
from tests.sessions.conftest import Opening, Talk

CANCEL = 'call cancel_order {"order_id": "7"}'


async def test_bad_input_is_refused_in_a_sentence_and_changes_nothing(opening: Opening) -> None:
    async with opening(FunctionTool(rule=True)) as talk:
        await talk.say(CANCEL)
        interrupt = await talk.interrupt()
        before = await talk.snapshot()
        bad: list[tuple[Any, str]] = [
            ("", "blank"),
            (" \n", "blank"),
            *((text, "blank") for text in "\ufeff\u3164\u2800\u115f\u034f\u200d\ufe0f"),
            ("a\x00b", "NUL"),
            ("a\ud800b", "surrogate"),
            ("x" * 201, "201 characters, the limit is 200"),
            (7, "must be a string, not int"),
        ]
        for text, reason in bad:
            with pytest.raises(InvalidRequest, match=reason):
                await talk.say(text)
        for session_id in ("nobody", "", "a b", "\ud800", "x" * 201):
            other = Talk(talk.client, session_id)
            for ask in (other.say("hello"), other.snapshot(), other.events(), other.decide(interrupt, approved=True)):
                with pytest.raises(UnknownSession):
                    await ask
        for approved in ("yes", 1, None, "True"):
            with pytest.raises(InvalidRequest, match="approved must be True or False"):
                await talk.decide(interrupt, approved=approved)  # pyright: ignore[reportArgumentType]
        for message in ("a\x00b", "\udfff", "x" * 4001):
            with pytest.raises(InvalidRequest, match="rejection_message"):
                await talk.decide(interrupt, approved=False, message=message)
        with pytest.raises(InvalidRequest, match="goes with approved=False"):
            await talk.decide(interrupt, approved=True, message="no")
        with pytest.raises(InvalidRequest, match="decided_by"):
            await talk.client.resolve_interrupt("s-1", interrupt.interrupt_id, approved=True, decided_by="\x00")
        with pytest.raises(InvalidRequest, match="message_id"):
            await talk.client.send_user_message("s-1", "hello", message_id="\ud800")
        assert await talk.client.resolve_interrupt("s-1", "another", approved=True) is False
        assert await talk.snapshot() == before


async def test_a_decision_is_taken_once(opening: Opening) -> None:
    tool = FunctionTool(rule=True)
    async with opening(tool) as talk:
        await talk.say(CANCEL)
        interrupt = await talk.interrupt()
        decided = await asyncio.gather(*(talk.decide(interrupt, approved=number % 2 == 0) for number in range(6)))
        assert decided.count(True) == 1
        answer = await talk.answer()
        assert not await talk.decide(interrupt, approved=True)
        (resolved,) = [e for e in await talk.events() if e.kind is EventKind.INTERRUPT_RESOLVED]
        assert len(tool.dispatches) == (1 if resolved.data["approved"] else 0)
        assert ("rejected" in answer) is not resolved.data["approved"]


async def test_a_session_id_is_used_once(opening: Opening) -> None:
    async with opening() as talk:
        assert not await talk.client.start_session("s-1")
        started = await asyncio.gather(*(talk.client.start_session("s-2") for _ in range(5)))
        assert started.count(True) == 1
        for session_id in ("", " a", "-a", "a b", "a\n", "é", "x" * 201, 7):
            with pytest.raises(InvalidRequest, match="session ID"):
                await talk.client.start_session(session_id)  # pyright: ignore[reportArgumentType]
        assert [s.session_id for s in await talk.client.list_sessions()] == ["s-1", "s-2"]
        assert [s.session_id for s in await talk.client.list_sessions(after="s-1")] == ["s-2"]
        with pytest.raises(InvalidRequest, match="limit"):
            await talk.client.list_sessions(limit=0)


async def test_many_requests_at_once_lose_nothing(opening: Opening) -> None:
    async with opening() as talk:
        sessions = [Talk(talk.client, f"many-{number}") for number in range(12)]
        await asyncio.gather(*(s.client.start_session(s.session_id) for s in sessions))
        accepted = await asyncio.gather(*(s.say(f"m{n}") for s in sessions for n in range(3)))
        assert all(accepted)
        for session in sessions:
            after = 0
            for _ in range(3):
                after = (await session.event(EventKind.TURN_ANSWERED, after=after)).sequence
            events = await session.events()
            assert [e.sequence for e in events] == list(range(1, len(events) + 1))
            accepted_texts = [e.data["text"] for e in events if e.kind is EventKind.MESSAGE_ACCEPTED]
            answers = [e.data["text"] for e in events if e.kind is EventKind.TURN_ANSWERED]
            assert sorted(accepted_texts) == ["m0", "m1", "m2"]
            assert answers == [f"you said {text}" for text in accepted_texts]
