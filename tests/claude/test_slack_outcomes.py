"""What Slack does to a reply, and what the model, the record and the thread have afterwards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from dexbridge.claude.testing import Reply, Text, ToolResult
from dexbridge.connectors.testing.slack_faults import (
    AnswerLate,
    DropAfterPost,
    DropWithoutPost,
    ErrorCode,
    Fault,
    rate_limited,
)
from dexbridge.sessions import CallRecord, EventKind
from dexbridge.toolsource import OutcomeKind
from tests.fakes.claude_stage import SLACK_REPLY_STEPS, Stage, answer_of, slack_reply
from tests.fakes.claude_worker import quick_tools

OpenStage = Callable[..., Awaitable[Stage]]
SHORT: dict[str, Any] = {
    "limits": {"dispatch_window": timedelta(seconds=1), "reconcile_margin": timedelta(seconds=0.2)},
    "connection": {"http_timeout": 0.6},
}


async def reply_with(stage: Stage, *faults: Fault, text: str = "On its way.") -> tuple[CallRecord, ToolResult]:
    """One approved reply with these faults of Slack: its record, and the result the model got."""
    stage.slack.fail_next("chat.postMessage", *faults)
    stage.model.script(Reply(slack_reply(text)), Reply(Text("I see.")))
    assert answer_of(await stage.turn("Post it.", approve=True)) == "I see."
    (result,) = stage.model.requests[-1].tool_results.values()
    stage.assert_one_result_each()
    return (await stage.calls())[-1], result


@pytest.mark.parametrize("fault", [DropAfterPost(), AnswerLate(1.5)], ids=["dropped", "late"])
async def test_s03_s05_a_posted_reply_without_a_proper_answer_is_found(open_stage: OpenStage, fault: Fault) -> None:
    stage = await open_stage(**SHORT)

    call, result = await reply_with(stage, fault)

    assert (call.outcome, call.attempts) == (OutcomeKind.SUCCEEDED, 1)
    assert stage.slack_methods.count("chat.postMessage") == 1
    assert stage.posted == ["On its way."]
    assert not result.is_error
    assert call.receipt is not None
    assert call.receipt["provider_object_id"] == stage.slack.posts[0].ts
    assert await stage.steps() == SLACK_REPLY_STEPS


async def test_s03_a_posted_reply_that_cannot_be_looked_up_is_unknown_loudly(open_stage: OpenStage) -> None:
    stage = await open_stage(**SHORT)
    stage.held.set_credential("user_token", None)
    stage.slack.scopes["bot"] = ("chat:write",)

    call, result = await reply_with(stage, DropAfterPost())

    assert call.outcome is OutcomeKind.OUTCOME_UNKNOWN
    assert stage.posted == ["On its way."]
    assert result.is_error
    assert "not known whether" in result.text
    assert "Do not repeat it" in result.text
    assert EventKind.OUTCOME_UNKNOWN in [event.kind for event in await stage.events()]


async def test_s04_a_reply_that_was_not_posted_is_not_sent_again_and_said_so(open_stage: OpenStage) -> None:
    stage = await open_stage(connector_tools=quick_tools, **SHORT)

    call, result = await reply_with(stage, DropWithoutPost())

    assert (call.outcome, call.attempts) == (OutcomeKind.FAILED, 1)
    assert stage.slack_methods.count("chat.postMessage") == 1
    assert stage.posted == []
    assert result.is_error
    assert "it was not sent" in result.text


async def test_s07_markup_arrives_readable_and_pings_nobody(stage: Stage) -> None:
    text = "if a < b && b > c: <!channel> and <@U012AB3CD>"

    call, _ = await reply_with(stage, text=text)

    assert stage.posted == ["if a &lt; b &amp;&amp; b &gt; c: &lt;!channel&gt; and &lt;@U012AB3CD&gt;"]
    assert call.arguments["text"] == text


async def test_s08_a_fatal_error_is_uncertain_and_looked_up(open_stage: OpenStage) -> None:
    stage = await open_stage(**SHORT)

    call, result = await reply_with(stage, ErrorCode("fatal_error", posted=True))

    assert call.outcome is OutcomeKind.SUCCEEDED
    assert stage.posted == ["On its way."]
    assert stage.slack_methods == ["chat.postMessage", "conversations.replies"]
    assert not result.is_error


async def test_s09_a_rate_limit_is_waited_for_within_three_attempts(stage: Stage) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)

    call, result = await reply_with(stage, rate_limited(date), rate_limited("rubbish"))

    assert (call.outcome, call.attempts) == (OutcomeKind.SUCCEEDED, 3)
    assert stage.posted == ["On its way."]
    assert not result.is_error


async def test_s12_a_refusal_names_its_code_and_what_to_do(stage: Stage) -> None:
    for code, advice in (("not_in_channel", "invite"), ("weather_bad", "")):
        call, result = await reply_with(stage, ErrorCode(code))

        assert (call.outcome, call.attempts) == (OutcomeKind.FAILED, 1)
        assert code in result.text
        assert advice in result.text.lower()
        assert result.is_error
        assert call.text == result.text
    assert stage.posted == []
    assert stage.slack_methods == ["chat.postMessage"] * 2


async def test_s13_a_refused_connection_is_not_sent_and_fails_after_three_attempts(stage: Stage) -> None:
    await stage.slack.stop()
    stage.model.script(Reply(slack_reply()), Reply(Text("It did not go.")))

    events = await stage.turn("Post it.", approve=True)

    assert answer_of(events) == "It did not go."
    (call,) = await stage.calls()
    assert (call.outcome, call.attempts) == (OutcomeKind.FAILED, 3)
    assert "changed nothing after 3 attempt(s)" in call.text
