"""What the model's API or a hook refuses: said once, in a sentence for here, and the next message works."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from claude_agent_sdk import HookContext, HookInput, HookJSONOutput, HookMatcher

from dexbridge.claude import CliProcesses
from dexbridge.claude.testing import ApiError, ModelRequest, Reply, Text
from dexbridge.sessions import EventKind, LeftOut
from tests.fakes.claude_stage import COLD, Stage, answer_of, error_of, slack_reply

OpenStage = Callable[..., Awaitable[Stage]]
CLI_WORDS = ("esc", "/compact", "compacted", "/clear", "new session or change your model", "Claude Code")
TOO_LONG = ApiError(400, message="prompt is too long: 210000 tokens > 200000 maximum")
IMAGE = ApiError(400, message="messages.0.content.1.image.source.base64.data: Could not process image")


def said_to_the_model(request: ModelRequest) -> list[tuple[str, str]]:
    """The conversation of a request, without the CLI's own notes."""
    return [(message.role, message.text.strip()) for message in request.conversation]


async def left_out(stage: Stage) -> list[str]:
    """The messages marked as refused."""
    return [m.text for m in (await stage.snapshot()).messages if m.left_out is LeftOut.REFUSED]


@pytest.mark.parametrize(
    ("refusal", "what"),
    [
        (TOO_LONG, "(400): the conversation is too long for the model."),
        (IMAGE, "(400): an image in the conversation could not be processed."),
        (ApiError(413), "(413): the request is too large."),
        (ApiError(400, message="messages.0: wrong"), "(400): messages.0: wrong."),
        (ApiError(422, message="no"), "(422): no."),
        (Reply(stop_reason="refusal"), "The model's safeguards refused to go on with this turn."),
        (Reply(Text("I began"), stop_reason="refusal"), "The model's safeguards refused to go on with this turn."),
    ],
    ids=["too-long", "image", "413", "400", "422", "refusal", "refusal-with-text"],
)
async def test_a_refused_message_is_said_once_and_the_next_one_comes_alone(
    stage: Stage, refusal: ApiError | Reply, what: str
) -> None:
    stage.model.refuse("message A", refusal)

    error = error_of(await stage.turn("message A"))

    assert what in error
    assert "left out of the conversation: send another message" in error
    assert not [word for word in CLI_WORDS if word in error]
    # One segment; within it the CLI itself asks a second time after a refusal, and in simpler forms after some 400.
    (step,) = [event for event in await stage.events() if event.kind is EventKind.STEP_COMPLETED]
    assert step.data["ended"] == "refused"
    assert not any(request.conversation[0].text.startswith("message A\n\n") for request in stage.model.requests)
    asked = len(stage.model.requests)
    assert asked <= 6

    stage.model.script(Reply(Text("Gladly.")), Reply(Text("Yes.")))
    assert answer_of(await stage.turn("message B")) == "Gladly."
    assert said_to_the_model(stage.model.requests[asked]) == [("user", "message B")]
    assert answer_of(await stage.turn("message C")) == "Yes."
    assert said_to_the_model(stage.model.requests[-1]) == [
        ("user", "message B"),
        ("assistant", "Gladly."),
        ("user", "message C"),
    ]
    assert await left_out(stage) == ["message A"]
    assert await stage.said() == ["Gladly.", "Yes."]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("processes", "refusal", "later"),
    [
        (COLD, TOO_LONG, False),
        (CliProcesses(), TOO_LONG, True),
        (COLD, Reply(stop_reason="refusal"), True),
        (CliProcesses(), Reply(stop_reason="refusal"), False),
    ],
    ids=["first-turn-400-cold", "later-turn-400-parked", "later-turn-refusal-cold", "first-turn-refusal-parked"],
)
async def test_a_turn_refused_after_a_post_is_left_out_and_the_post_is_told(
    open_stage: OpenStage, processes: CliProcesses, refusal: ApiError | Reply, later: bool
) -> None:
    stage = await open_stage(processes=processes)
    before: list[tuple[str, str]] = []
    if later:
        stage.model.script(Reply(Text("Hello.")))
        await stage.turn("Hi.")
        before = [("user", "Hi."), ("assistant", "Hello.")]
    stage.model.script(Reply(Text("I post it."), slack_reply()))
    await stage.turn("Post message A.")
    stage.model.refuse("tool_result", refusal)

    error = error_of(await stage.decide(approve=True))

    assert error.endswith("What was called: slack_post_thread_reply: succeeded.")
    assert (await stage.snapshot()).state.result is None
    asked = len(stage.model.requests)
    stage.model.script(Reply(Text("It is posted already.")))
    assert answer_of(await stage.turn("message B")) == "It is posted already."
    (*earlier, (role, text)) = said_to_the_model(stage.model.requests[asked])
    assert (earlier, role) == (before, "user")
    note, _, message = text.partition("]\n\nmessage B")
    assert message == ""
    assert "do not ask for a call again" in note
    call, _, outcome = note.partition("- slack_post_thread_reply ")[2].partition(": succeeded: ")
    assert slack_reply().input.items() <= json.loads(call).items()
    assert json.loads(outcome)["message"]["text"] == "On its way."
    assert "Post message A." not in note

    # Nothing else of the turn is there, and the conversation goes on from here.
    stage.model.script(Reply(slack_reply("Again.")))
    stage.model.refuse("tool_result", Reply(Text("Posted.")))
    assert answer_of(await stage.turn("message C", approve=True)) == "Posted."
    last = stage.model.requests[-1]
    assert said_to_the_model(last)[: len(before) + 2] == [
        *before,
        ("user", text),
        ("assistant", "It is posted already."),
    ]
    assert len(last.tool_uses) == 1
    stage.assert_one_result_each()
    assert stage.posted == ["On its way.", "Again."]
    assert await left_out(stage) == ["Post message A.", "I post it."]


async def test_a_result_of_a_failed_turn_that_is_refused_does_not_take_the_next_message_with_it(
    open_stage: OpenStage,
) -> None:
    stage = await open_stage(options={"env": {"CLAUDE_CODE_MAX_RETRIES": "0"}}, limits={"segment_attempts": 1})
    stage.model.script(Reply(slack_reply()), ApiError(529))
    assert "529" in error_of(await stage.turn("message A", approve=True))
    stage.model.refuse("tool_result", TOO_LONG)
    stage.model.script(Reply(Text("Gladly.")))

    assert answer_of(await stage.turn("message B")) == "Gladly."

    (text,) = [text for _, text in said_to_the_model(stage.model.requests[-1])]
    assert text.endswith("]\n\nmessage B")
    assert "slack_post_thread_reply" in text
    assert stage.posted == ["On its way."]
    assert await left_out(stage) == ["message A"]


@pytest.mark.parametrize(
    "error",
    [
        ApiError(400, message="tools.0.custom.name: String should match pattern"),
        ApiError(400, message="Your credit balance is too low to access the Anthropic API."),
    ],
    ids=["tools", "credit"],
)
async def test_what_the_message_is_not_at_fault_for_keeps_it(stage: Stage, error: ApiError) -> None:
    stage.model.refuse("message A", error)
    assert "(400)" in error_of(await stage.turn("message A"))
    stage.model.refuse("message A", Reply(Text("Both.")))
    assert answer_of(await stage.turn("message B")) == "Both."
    assert stage.model.requests[-1].last_user_text == "message A\n\nmessage B"
    assert await left_out(stage) == []


async def test_a_call_of_a_reply_that_was_refused_is_not_made(open_stage: OpenStage) -> None:
    stage = await open_stage()
    stage.model.script(Reply(slack_reply(), stop_reason="refusal"), Reply(Text("I will not.")))
    assert answer_of(await stage.turn("message A", approve=True)) == "I will not."
    assert stage.posted == []
    assert await stage.calls() == ()


async def blocks(hook_input: HookInput, _tool_use_id: str | None, _context: HookContext) -> HookJSONOutput:
    if "bad" in json.dumps(hook_input.get("prompt")):
        return {"decision": "block", "reason": "No swearing here."}
    return {}


async def stops(hook_input: HookInput, _tool_use_id: str | None, _context: HookContext) -> HookJSONOutput:
    if "bad" in json.dumps(hook_input.get("prompt")):
        return {"continue_": False, "stopReason": "No swearing here."}
    return {}


@pytest.mark.parametrize("hook", [blocks, stops])
async def test_a_message_a_hook_blocks_is_no_answer_and_does_not_come_again(open_stage: OpenStage, hook: Any) -> None:
    stage = await open_stage(options={"hooks": {"UserPromptSubmit": [HookMatcher(hooks=[hook])]}})

    error = error_of(await stage.turn("a bad word"))

    assert error == (
        "The application's UserPromptSubmit hook blocked the message, the model did not get it: No swearing here. "
        "Send another message."
    )
    assert stage.model.requests == ()
    assert await stage.said() == []
    assert await left_out(stage) == ["a bad word"]
    stage.model.script(Reply(Text("Hello.")))
    assert answer_of(await stage.turn("message B")) == "Hello."
    assert said_to_the_model(stage.model.requests[-1]) == [("user", "message B")]
