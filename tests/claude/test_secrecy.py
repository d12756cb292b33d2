"""No token of Slack and no key reaches what is stored, shown or logged."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from dexbridge.claude.testing import Reply, Text
from dexbridge.connectors.testing.slack_faults import DropAfterPost, ErrorCode
from dexbridge.toolsource import OutcomeKind
from tests.fakes.claude_stage import API_KEY, Stage, answer_of, slack_reply

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


def test_a_flow_and_its_tools_show_no_token(bare_stage: Stage) -> None:
    flow = bare_stage.flow()
    shown = repr(flow) + repr(list(flow.tools)) + repr(flow.runner)

    assert "slack_list_thread_messages" in shown
    for secret in (bare_stage.slack.bot_token, bare_stage.slack.user_token):
        assert secret not in shown
