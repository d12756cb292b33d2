"""No token of Slack and no key reaches what is stored, shown or logged."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from dexbridge.claude.testing import Reply, Text
from dexbridge.connectors.testing.slack_faults import DropAfterPost, ErrorCode
from dexbridge.toolsource import OutcomeKind
from tests.fakes.claude_stage import API_KEY, LIST, Stage, answer_of, slack_reply

OpenStage = Callable[..., Awaitable[Stage]]


async def test_no_token_is_stored_shown_or_logged(open_stage: OpenStage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    stage = await open_stage(limits={"dispatch_window": timedelta(seconds=1)})
    stage.slack.fail_next("chat.postMessage", ErrorCode("invalid_auth"), DropAfterPost())
    stage.model.script(
        Reply(slack_reply("One.")), Reply(slack_reply("Two.")), Reply(slack_reply("Three.")), Reply(Text("Done."))
    )

    assert answer_of(await stage.turn("Post three.", approve=True)) == "Done."
    outcomes = [call.outcome for call in await stage.calls()]
    shown = str((await stage.snapshot()).to_json()) + str(await stage.events()) + repr(await stage.snapshot())
    sent_to_model = str([request.body for request in stage.model.requests])
    await stage.close()

    assert outcomes == [OutcomeKind.FAILED, OutcomeKind.SUCCEEDED, OutcomeKind.SUCCEEDED]
    stored = b"".join(path.read_bytes() for path in stage.database.parent.glob(f"{stage.database.name}*"))
    assert b"Three." in stored
    for secret in (stage.slack.bot_token, stage.slack.user_token, API_KEY):
        assert secret.encode() not in stored
        assert secret not in shown
        assert secret not in caplog.text
        assert secret not in sent_to_model


async def test_a_user_hooks_view_and_the_options_hold_no_token(open_stage: OpenStage) -> None:
    stage = await open_stage()
    assert stage.slack.bot_token not in repr(stage.engine.flows[0])
    assert stage.slack.user_token not in repr(list(stage.engine.flows[0].tools))
    assert LIST.removeprefix("mcp__tools__") in repr(list(stage.engine.flows[0].tools))
