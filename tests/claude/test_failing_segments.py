"""What the Messages API, the CLI or the application do wrong, and that nothing is lost or done twice by it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions
from mcp.types import ListToolsResult

from dexbridge.claude import ClaudeAgentOptionsContext
from dexbridge.claude.locks.handler import HandlerLock
from dexbridge.claude.testing import ApiError, Reply, Slow, Text, ToolUse
from dexbridge.toolsource import OutcomeKind
from tests.fakes.claude_stage import (
    API_KEY,
    COLD,
    LOOK_UP,
    SLACK_REPLY_STEPS,
    Stage,
    agent_options,
    answer_of,
    cli_processes,
    error_of,
    slack_reply,
)

pytestmark = pytest.mark.slow

OpenStage = Callable[..., Awaitable[Stage]]
NO_RETRIES = {"env": {"CLAUDE_CODE_MAX_RETRIES": "0"}}


async def test_c17_a_busy_api_is_asked_again_with_the_whole_segment(open_stage: OpenStage) -> None:
    stage = await open_stage(options=NO_RETRIES)
    stage.model.script(Reply(ToolUse(LOOK_UP, {"order_id": "1"})), ApiError(529), Reply(slack_reply()))
    await stage.turn("Post it.")
    assert [request.last_user_text for request in stage.model.requests] == ["Post it."] * 3
    assert stage.model.requests[2].tool_uses == {}

    # The same while a recorded result is handed over: it is given again, the call is not made again.
    stage.model.script(ApiError(529), Reply(Text("Posted.")))
    events = await stage.decide(approve=True)

    assert answer_of(events) == "Posted."
    assert stage.posted == ["On its way."]
    assert await stage.steps() == SLACK_REPLY_STEPS
    stage.assert_one_result_each()
    stage.model.assert_script_used()


async def test_c17_a_busy_api_fails_the_turn_after_three_attempts_and_the_next_turn_goes_on(
    open_stage: OpenStage,
) -> None:
    stage = await open_stage(options=NO_RETRIES)
    stage.model.script(Reply(slack_reply()), ApiError(529), ApiError(529), ApiError(529))
    events = await stage.turn("Post it.", approve=True)
    assert "HTTP 529" in error_of(events)
    assert (await stage.calls())[0].outcome is OutcomeKind.SUCCEEDED

    # The hand-over comes first, then the new message, in one segment.
    stage.model.script(Reply(Text("Posted.")), Reply(Text("You are welcome.")))
    events = await stage.turn("Thanks.")

    assert answer_of(events) == "You are welcome."
    assert stage.posted == ["On its way."]
    assert stage.model.requests[-1].last_user_text == "Thanks."
    stage.assert_one_result_each()


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ApiError(401), "refused the key (HTTP 401): set a valid ANTHROPIC_API_KEY"),
        (ApiError(403), "refused the key (HTTP 403): set a valid ANTHROPIC_API_KEY"),
        (ApiError(404), "does not know the model 'claude-opus-5-5' (404)"),
        (ApiError(400, message="tools: wrong"), "refused the request (400)"),
    ],
    ids=["401", "403", "404", "400"],
)
async def test_c17_a_refusal_of_the_api_fails_at_once_and_says_what_to_mend(
    stage: Stage, error: ApiError, message: str
) -> None:
    stage.model.script(error, error)

    events = await stage.turn("Hello?")

    assert message in error_of(events)
    assert API_KEY not in error_of(events)
    # The CLI itself repeats a request that was refused with 400 in simpler forms.
    assert error.status == 400 or len(stage.model.requests) <= 2
    assert cli_processes() == []


async def test_c18_a_result_the_cli_cannot_take_is_given_by_a_new_attempt(
    open_stage: OpenStage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stage = await open_stage(processes=COLD)
    caplog.set_level("INFO", "dexbridge")
    stage.model.script(Reply(slack_reply()))
    await stage.turn("Post it.")
    offered = HandlerLock._list_tools  # pyright: ignore[reportPrivateUsage]
    times: list[None] = []

    async def none_at_first(lock: HandlerLock, context: Any, params: Any) -> ListToolsResult:
        times.append(None)
        return await offered(lock, context, params) if len(times) > 1 else ListToolsResult(tools=[])

    # A CLI that does not know the tool of the pending call ends with tool_deferred_unavailable.
    monkeypatch.setattr(HandlerLock, "_list_tools", none_at_first)
    stage.model.script(Reply(Text("Posted.")))

    events = await stage.decide(approve=True)

    assert answer_of(events) == "Posted."
    assert events[-2].data["segment_attempts"] == 2
    assert "The CLI reports the tool of the pending call as unavailable" in caplog.text
    assert stage.posted == ["On its way."]
    assert await stage.steps() == SLACK_REPLY_STEPS
    stage.assert_one_result_each()
    stage.model.assert_script_used()


async def test_run_model_limit_ends_the_segment_and_its_process(open_stage: OpenStage) -> None:
    stage = await open_stage(run_model_limit=timedelta(seconds=6))
    stage.model.script(Reply(Text("Too late."), delay=60))

    events = await stage.turn("Hello?")

    assert "longer than run_model_limit, 6 s" in error_of(events)
    assert cli_processes() == []
    assert await stage.said() == []
    stage.model.script(Reply(Text("In time.")))
    assert answer_of(await stage.turn("And now?")) == "In time."
    assert stage.model.requests[-1].last_user_text.startswith("Hello?")


async def test_max_turns_fails_the_turn_at_once(open_stage: OpenStage) -> None:
    stage = await open_stage(options={"max_turns": 1})
    stage.model.script(Reply(ToolUse(LOOK_UP, {"order_id": "1"})))

    events = await stage.turn("Order 1?")

    assert "max_turns" in error_of(events)
    assert len(stage.model.requests) == 1


async def test_a_missing_key_and_broken_options_are_said(
    open_stage: OpenStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    answers: list[Any] = [
        ClaudeAgentOptions(),
        ValueError("xoxb-secret"),
        None,
    ]

    def build(_context: ClaudeAgentOptionsContext) -> ClaudeAgentOptions:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    stage = await open_stage(options=build)

    assert "set ANTHROPIC_API_KEY in the Worker's environment" in error_of(await stage.turn("One?"))
    raised = error_of(await stage.turn("Two?"))
    assert "build_options raised ValueError" in raised
    assert "xoxb" not in raised
    assert "build_options must return ClaudeAgentOptions, not NoneType" in error_of(await stage.turn("Three?"))

    answers.append(agent_options(stage.model.url))
    stage.model.script(Reply(Text("All four.")))
    assert answer_of(await stage.turn("Four?")) == "All four."
    assert stage.model.requests[-1].last_user_text == "One?\n\nTwo?\n\nThree?\n\nFour?"


async def test_closing_the_engine_in_a_segment_leaves_nothing_and_the_next_worker_goes_on(
    bare_stage: Stage,
) -> None:
    stage = bare_stage
    await stage.open(stage.flow())
    stage.model.script(Slow(Text("one two three"), pause=0.5, delay=0.1), Reply(Text("Done.")))
    await stage.client.start_session("s-1")
    await stage.client.send_user_message("s-1", "Count.")
    await stage.model.wait_for_requests(1)

    await stage.close()

    assert cli_processes() == []
    await stage.open(stage.flow())
    assert answer_of(await stage.go_on(0)) == "Done."
    assert await stage.steps() == ["RunModel"]
