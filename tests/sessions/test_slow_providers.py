"""A provider that takes its time: after ten seconds the call is looked up, and known again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import pytest

from dexbridge.connectors import github, slack
from dexbridge.connectors.contract.binding import SETTLING_TIME
from dexbridge.connectors.github.operations import GITHUB_OPERATIONS
from dexbridge.connectors.slack.operations import SLACK_OPERATIONS
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.faults import AnswerLate
from dexbridge.connectors.testing.local_github import SEEDED_ISSUE, SEEDED_REPOSITORY, LocalGitHub
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.sessions import AgentSessionClient, AgentSessionFlow, CallRecord, SessionLimits, open_engine
from dexbridge.toolsource import OfferedTools, OutcomeKind, connector_tool
from tests.fakes.scripted_runner import ScriptedRunner
from tests.sessions.conftest import Database, Talk


@pytest.fixture
async def servers() -> AsyncGenerator[tuple[LocalSlack, LocalGitHub]]:
    async with LocalSlack() as local_slack, LocalGitHub() as local_github:
        yield local_slack, local_github


@pytest.mark.slow
async def test_an_answer_after_eleven_seconds_is_looked_up_and_nothing_is_sent_again(
    servers: tuple[LocalSlack, LocalGitHub], database: Database
) -> None:
    local_slack, local_github = servers
    local_slack.fail_next("chat.postMessage", AnswerLate(11))
    local_github.fail_next("POST comments", AnswerLate(11))
    async with AsyncExitStack() as closing:
        tools: list[Any] = []
        for module, connector, name, endpoint, tokens in (
            (slack, "slack", "support-slack", local_slack.endpoint, local_slack.tokens),
            (github, "github", "engineering", local_github.url, local_github.tokens),
        ):
            held = MemoryConnection(connector, name, configuration={"endpoint": endpoint}, credentials=tokens)
            closing.push_async_callback(held.aclose)
            connection = module.new_project_connection(MemoryProject(held), name)
            bound = connection.post_channel_message() if connector == "slack" else connection.add_issue_comment()
            tools.append(connector_tool(bound, connection.reference, requires_approval=False))
        flow = AgentSessionFlow("support", ScriptedRunner(), OfferedTools(tools))
        engine = await closing.enter_async_context(open_engine(database.url, [flow]))
        client = AgentSessionClient(engine)
        comment = {"repository": SEEDED_REPOSITORY, "issue_number": SEEDED_ISSUE, "body": "On its way."}
        posts = {"channel_id": "C0123456789", "text": "On its way."}
        calls = await asyncio.gather(
            made(client, "on-slack", f"call {tools[0].name} {json.dumps(posts)}"),
            made(client, "on-github", f"call {tools[1].name} {json.dumps(comment)}"),
        )
    for call in calls:
        assert (call.outcome, call.found_by, call.attempts) == (OutcomeKind.SUCCEEDED, "reconciliation", 1)
        assert timedelta(seconds=9.5) < call.ended_at - call.started_at < timedelta(seconds=20)
    assert len(local_slack.posts) == 1
    assert [request for request in local_github.requests if request.verb == "POST"][1:] == []


async def made(client: AgentSessionClient, session_id: str, message: str) -> CallRecord:
    talk = Talk(client, session_id)
    await client.start_session(session_id)
    await talk.ask(message)
    (call,) = (await talk.snapshot()).calls
    return call


def test_one_request_has_ten_seconds_and_one_look_thirty() -> None:
    for operation in (*SLACK_OPERATIONS, *GITHUB_OPERATIONS):
        assert operation.timeout == timedelta(seconds=10)
        assert operation.reconcile_timeout == timedelta(seconds=30)


def test_not_sent_is_known_23_seconds_after_the_row() -> None:
    limits = SessionLimits()
    for operation in (*SLACK_OPERATIONS, *GITHUB_OPERATIONS):
        known = limits.dispatch_window + operation.timeout + limits.reconcile_margin + SETTLING_TIME
        assert known == timedelta(seconds=23)
