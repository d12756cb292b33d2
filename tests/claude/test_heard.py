"""What the model says reaches people whole: nothing is lost, and nothing is shown that it did not say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from dexbridge.claude import CliProcesses
from dexbridge.claude.testing import ApiError, CutStream, Reply, Text, ToolUse
from dexbridge.sessions import Role
from tests.fakes.claude_stage import COLD, LOOK_UP, Stage, answer_of, error_of, slack_reply

OpenStage = Callable[..., Awaitable[Stage]]
PROCESSES = pytest.mark.parametrize("processes", [COLD, CliProcesses()], ids=["cold", "parked"])


async def lines(stage: Stage) -> list[tuple[str, str]]:
    """The conversation as a person reads it."""
    return [(m.role.value, m.text) for m in (await stage.snapshot()).messages]


@PROCESSES
async def test_no_answer_after_a_post_is_said_with_the_post(open_stage: OpenStage, processes: CliProcesses) -> None:
    stage = await open_stage(processes=processes)
    # The CLI asks once more by itself for a reply that can be shown.
    stage.model.script(Reply(slack_reply()), Reply(), Reply())

    error = error_of(await stage.turn("Post it.", approve=True))

    assert error.startswith("The model gave no answer. What was called: slack_post_thread_reply: succeeded.")
    assert await stage.said() == []
    stage.model.script(Reply(Text("Yes.")))
    assert answer_of(await stage.turn("Is it there?")) == "Yes."
    last = stage.model.requests[-1]
    assert [m.text for m in last.conversation if m.role == "user" and "Post it." in m.text] == ["Post it."]
    assert last.last_user_text == "Is it there?"
    stage.assert_one_result_each()
    assert stage.posted == ["On its way."]


async def test_an_answer_that_goes_on_after_the_output_limit_is_whole(stage: Stage) -> None:
    stage.model.script(
        Reply(Text("It ships on Thurs"), stop_reason="max_tokens"),
        Reply(Text("day, I "), stop_reason="max_tokens"),
        Reply(Text("think.")),
    )
    assert answer_of(await stage.turn("When?")) == "It ships on Thursday, I think."
    assert await stage.said() == ["It ships on Thursday, I think."]
    stage.model.script(Reply(Text("Yes.")))
    assert answer_of(await stage.turn("Sure?")) == "Yes."
    assert [m.text for m in stage.model.requests[-1].conversation if m.role == "assistant"] == [
        "It ships on Thurs",
        "day, I ",
        "think.",
    ]


async def test_an_answer_that_stays_cut_is_kept_and_marked(stage: Stage) -> None:
    stage.model.script(*(Reply(Text(f"part {number} "), stop_reason="max_tokens") for number in range(4)))

    answer = answer_of(await stage.turn("When?"))

    assert answer == "part 0 part 1 part 2 part 3 … [cut: the model reached its output limit]"
    # The CLI goes on three times by itself, and nobody asks again.
    assert len(stage.model.requests) == 4
    stage.model.script(Reply(Text("Thursday.")))
    assert answer_of(await stage.turn("Shorter?")) == "Thursday."
    assert [m.text for m in stage.model.requests[-1].conversation if "When?" in m.text] == ["When?"]
    assert stage.model.requests[-1].last_user_text == "Shorter?"


async def test_a_call_after_a_cut_reply_leaves_with_all_that_was_said(stage: Stage) -> None:
    stage.model.script(Reply(Text("I po"), stop_reason="max_tokens"), Reply(Text("st it."), slack_reply()))
    await stage.turn("Post it.")
    assert await stage.said() == ["I post it."]


async def test_what_is_said_to_a_result_alone_is_a_message_before_the_answer(open_stage: OpenStage) -> None:
    stage = await open_stage(options={"env": {"CLAUDE_CODE_MAX_RETRIES": "0"}}, limits={"segment_attempts": 1})
    stage.model.script(Reply(slack_reply()), ApiError(529))
    error_of(await stage.turn("Post it.", approve=True))
    stage.model.script(Reply(Text("Posted.")), Reply(Text("You are welcome.")))

    assert answer_of(await stage.turn("Thanks.")) == "You are welcome."

    assert await lines(stage) == [
        (Role.USER, "Post it."),
        (Role.USER, "Thanks."),
        (Role.ASSISTANT, "Posted."),
        (Role.ASSISTANT, "You are welcome."),
    ]


@PROCESSES
async def test_what_is_said_between_inline_reads_is_in_the_conversation(
    open_stage: OpenStage, processes: CliProcesses
) -> None:
    stage = await open_stage(processes=processes)
    read = ToolUse(LOOK_UP, {"order_id": "1"})
    stage.model.script(
        Reply(Text("Let me look."), read),
        Reply(Text("I will say so."), slack_reply()),
        Reply(Text("One more look."), read),
        Reply(Text("Not shipped.")),
    )
    assert answer_of(await stage.turn("Post it.", approve=True)) == "Not shipped."
    assert await stage.said() == ["Let me look.", "I will say so.", "One more look.", "Not shipped."]


async def test_a_reply_whose_stream_broke_is_not_said_twice(stage: Stage) -> None:
    stage.model.script(
        Reply(Text("Let me look."), ToolUse(LOOK_UP, {"order_id": "1"})),
        CutStream(Text("Not ship"), after_blocks=1),
        Reply(Text("Not shipped.")),
    )
    assert answer_of(await stage.turn("Order 1?")) == "Not shipped."
    assert await stage.said() == ["Let me look.", "Not shipped."]


async def test_what_a_refused_reply_began_to_say_is_not_the_agents(stage: Stage) -> None:
    stage.model.script(Reply(Text("First you"), stop_reason="refusal"), Reply(Text("I cannot help with that.")))
    assert answer_of(await stage.turn("How?")) == "I cannot help with that."
    assert await stage.said() == ["I cannot help with that."]
