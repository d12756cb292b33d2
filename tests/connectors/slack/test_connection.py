"""Taking a Slack connection from a project, its configuration, its loops, its end, and its live check."""

from __future__ import annotations

import asyncio
import re
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from dexbridge.connectors import Attempt, BranchTaken, Call, ConnectionReference, UnknownConnection, connector, slack
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import Answer, ErrorCode, html

ARGUMENTS: dict[str, Any] = {"channel_id": "C0123456789", "text": "Hello"}


async def post(connection: slack.Connection) -> Attempt:
    return await connection.post_channel_message().dispatch(
        Call("s", "CallTool-1", "slack", "postChannelMessage"), ARGUMENTS
    )


def test_a_connection_knows_its_name_and_an_unknown_one_is_refused(held: MemoryConnection) -> None:
    project = MemoryProject(held)
    connection = slack.new_project_connection(project, "support-slack")
    assert connection.reference == ConnectionReference("slack", "support-slack")
    assert connection.post_thread_reply().reference == connection.reference
    assert repr(connection) == "<slack.Connection slack/support-slack>"
    with pytest.raises(UnknownConnection, match="slack/sales-slack"):
        slack.new_project_connection(project, "sales-slack")


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://slack.example/api",
        "ftp://slack.com/api",
        "slack.com/api",
        "https://",
        "https://user:hunter2@slack.com/api",
        "https://slack.com/api?token=hunter2",
        "https://slack.com/api#hunter2",
        "https://slack.com:hunter2/api",
        "https://slack.com/ hunter2",
        "",
    ],
)
def test_a_wrong_endpoint_is_refused_and_not_echoed(endpoint: str) -> None:
    held = MemoryConnection("slack", "away", configuration={"endpoint": endpoint})
    with pytest.raises(slack.InvalidSlackConfiguration) as refused:
        slack.new_project_connection(MemoryProject(held), "away")
    assert "slack/away" in str(refused.value)
    assert "endpoint" in str(refused.value)
    assert "hunter2" not in str(refused.value)
    with pytest.raises(ValidationError) as invalid:
        slack.SlackConfiguration.model_validate({"endpoint": endpoint})
    assert "hunter2" not in str(invalid.value)


@pytest.mark.parametrize(
    "endpoint", ["https://slack.com/api", "https://slack.com/api/", "http://127.0.0.1:8790/api", "http://[::1]:1/api"]
)
def test_a_right_endpoint_is_taken(endpoint: str) -> None:
    assert slack.SlackConfiguration.model_validate({"endpoint": endpoint}).endpoint == endpoint.rstrip("/")


@pytest.mark.parametrize(
    "configuration",
    [
        {"maxMessageCharacters": 40_001},
        {"maxMessageCharacters": 0},
        {"maxMessageCharacters": "4000"},
        {"maxResponseBytes": 0},
        {"max_response_bytes": 5},
        {"colour": "red"},
    ],
)
def test_a_wrong_setting_is_refused(configuration: dict[str, Any]) -> None:
    held = MemoryConnection("slack", "away", configuration=configuration)
    with pytest.raises(slack.InvalidSlackConfiguration, match=next(iter(configuration))):
        slack.new_project_connection(MemoryProject(held), "away")


def test_credential_patterns_tell_the_tokens_apart() -> None:
    patterns = {field.name: field.pattern for field in connector("slack").credentials}
    right = {
        "bot_token": ["xoxb-1-2-abc", "xoxe.xoxb-1-abc"],
        "user_token": ["xoxp-1-2-abc", "xoxe.xoxp-1-abc"],
        "app_token": ["xapp-1-A-abc"],
        "bot_refresh_token": ["xoxe-1-abc"],
        "user_refresh_token": ["xoxe-1-abc"],
        "oauth_client_id": ["123.456"],
    }
    for name, values in right.items():
        pattern = patterns[name]
        assert pattern is not None
        assert all(re.fullmatch(pattern, value) for value in values)
        others = {v for other, vs in right.items() if other != name for v in vs} - set(values)
        assert not any(re.fullmatch(pattern, value) for value in others)
        assert not re.fullmatch(pattern, values[0] + "\n")


async def test_closing_the_project_closes_the_connection_and_a_later_call_opens_it_again(
    held: MemoryConnection, server: LocalSlack
) -> None:
    project = MemoryProject(held)
    connection = slack.new_project_connection(project, "support-slack")
    await post(connection)
    await project.close()
    await connection.close()
    assert isinstance(await post(connection), BranchTaken)
    await connection.close()
    assert len(server.posts) == 2


async def test_one_connection_serves_several_event_loops(connection: slack.Connection, server: LocalSlack) -> None:
    def in_a_loop_of_its_own() -> Attempt:
        async def once() -> Attempt:
            attempt = await post(connection)
            await connection.close()
            return attempt

        return asyncio.run(once())

    here = await post(connection)
    there = await asyncio.to_thread(in_a_loop_of_its_own)
    again = await post(connection)
    await connection.close()
    assert [a.branch for a in (here, there, again) if isinstance(a, BranchTaken)] == ["sent"] * 3
    assert len(server.posts) == 3


LOOPS_LEFT_OPEN = """
import asyncio, sys
from dexbridge.connectors import Call, slack
from dexbridge.connectors.testing import MemoryConnection, MemoryProject

held = MemoryConnection("slack", "s", configuration={"endpoint": sys.argv[1]}, credentials={"bot_token": sys.argv[2]})
bound = slack.new_project_connection(MemoryProject(held), "s").post_channel_message()
call = Call("s", "CallTool-1", "slack", "postChannelMessage")
for _ in range(3):
    print(asyncio.run(bound.dispatch(call, {"channel_id": "C0123456789", "text": "Hello"})).branch)
"""


async def test_loops_that_ended_without_closing_the_connection_do_no_harm(server: LocalSlack) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", LOOPS_LEFT_OPEN, server.endpoint, server.bot_token, stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    assert printed.decode().split() == ["sent"] * 3
    assert len(server.posts) == 3


async def test_many_calls_at_once(connection: slack.Connection, server: LocalSlack) -> None:
    attempts = await asyncio.gather(*(post(connection) for _ in range(40)))
    assert {a.branch for a in attempts if isinstance(a, BranchTaken)} == {"sent"}
    assert len({p.ts for p in server.posts}) == 40


async def test_the_live_check_names_account_and_scopes(held: MemoryConnection, server: LocalSlack) -> None:
    check = await connector("slack").check_live(held)
    assert (check.ok, check.account) == (True, "dexbridge in Local Slack")
    assert check.scopes["user_token"] == ("channels:history", "groups:history")
    assert "chat:write" in check.scopes["bot_token"]
    assert server.posts == []


async def test_a_token_whose_scopes_slack_does_not_tell_is_not_said_to_have_none(
    held: MemoryConnection, server: LocalSlack
) -> None:
    untold = Answer(200, '{"ok":true,"user":"dexbridge","team":"Local Slack"}')
    server.fail_next("auth.test", untold, untold)
    check = await connector("slack").check_live(held)
    assert (check.ok, check.scopes) == (True, {})


async def test_the_live_check_says_what_is_wrong(held: MemoryConnection, server: LocalSlack) -> None:
    held.set_credential("user_token", "xoxp-wrong-user-token")
    check = await connector("slack").check_live(held)
    assert not check.ok
    assert "user_token: Slack answered invalid_auth" in check.message
    server.fail_next("auth.test", html(500), ErrorCode("token_revoked"))
    check = await connector("slack").check_live(held)
    assert "HTTP 500" in check.message
    assert "token_revoked" in check.message
    held.set_credential("bot_token", None)
    held.set_credential("user_token", None)
    assert "no token" in (await connector("slack").check_live(held)).message
    held.unavailable = "Connection slack/support-slack has expired."
    assert (await connector("slack").check_live(held)).message == "Connection slack/support-slack has expired."
    await server.stop()
    away = MemoryConnection("slack", "away", configuration=held.configuration, credentials={"bot_token": "xoxb-away"})
    assert "nothing was sent" in (await connector("slack").check_live(away)).message
