"""Cancelling and steering a turn of the real CLI: one result per call, and the next message is heard."""

from __future__ import annotations

import asyncio

from dexbridge.claude.testing import Reply, Text
from dexbridge.sessions import EventKind
from dexbridge.toolsource import OutcomeKind
from tests.fakes.claude_stage import Stage, answer_of, cli_processes, slack_reply


async def test_a_cancelled_call_is_never_made_and_the_next_message_is_answered(stage: Stage) -> None:
    # C16
    stage.model.script(Reply(Text("I will post it."), slack_reply()))
    waiting = await stage.turn("Post it.")
    interrupt = waiting[-1].data["interrupt_id"]
    assert await stage.client.cancel_turn("s-1")
    ended = await stage.go_on(waiting[-1].sequence)
    assert ended[-1].kind is EventKind.TURN_CANCELLED
    assert not await stage.client.resolve_interrupt("s-1", interrupt, approved=True)

    # The CLI first spends a model call on the result, then takes the message.
    stage.model.script(Reply(Text("I did not post it.")), Reply(Text("It has shipped.")))
    events = await stage.turn("Where is order 1042?")
    assert answer_of(events) == "It has shipped."
    last = stage.model.requests[-1]
    (tool_use_id,) = last.tool_uses
    (result,) = last.results_of(tool_use_id)
    assert result.is_error
    assert "cancelled the turn before slack_post_thread_reply was called" in result.text
    assert last.last_user_text == "Where is order 1042?"
    assert stage.slack_methods == []
    assert [call.outcome for call in await stage.calls()] == [OutcomeKind.CANCELLED]
    stage.assert_one_result_each()

    # And the conversation goes on as any other.
    stage.model.script(Reply(slack_reply("Now then.")), Reply(Text("Posted.")))
    assert answer_of(await stage.turn("Post it now.", approve=True)) == "Posted."
    assert stage.posted == ["Now then."]
    stage.assert_one_result_each()
    stage.model.assert_script_used()


async def test_a_cancelled_segment_ends_its_cli_and_leaves_nothing(stage: Stage) -> None:
    stage.model.script(Reply(slack_reply(), delay=600))
    await stage.client.start_session("s-1")
    await stage.client.send_user_message("s-1", "Post it.")
    await stage.model.wait_for_requests(1)
    assert len(cli_processes()) == 1
    assert await stage.client.cancel_turn("s-1")
    events = await stage.go_on(0)
    assert events[-1].kind is EventKind.TURN_CANCELLED
    assert cli_processes() == []
    stage.model.script(Reply(Text("Hello.")))
    assert answer_of(await stage.turn("Hi.")) == "Hello."
    assert [message.text for message in stage.model.requests[-1].conversation if message.role == "user"] == ["Hi."]
    assert stage.slack_methods == []


async def test_a_message_that_steers_takes_the_waiting_call_back(stage: Stage) -> None:
    stage.model.script(Reply(slack_reply()))
    waiting = await stage.turn("Post it.")
    stage.model.script(Reply(Text("I wait.")), Reply(slack_reply("Better words.")), Reply(Text("Posted.")))
    assert await stage.client.steer("s-1", "Say it better.")
    async with asyncio.timeout(60):
        events = await stage.go_on(waiting[-1].sequence, approve=True)
    assert answer_of(events) == "Posted."
    assert stage.posted == ["Better words."]
    assert [call.outcome for call in await stage.calls()] == [OutcomeKind.CANCELLED, OutcomeKind.SUCCEEDED]
    assert stage.results()[0].is_error
    assert "new message" in stage.results()[0].text
    stage.assert_one_result_each()
    stage.model.assert_script_used()
