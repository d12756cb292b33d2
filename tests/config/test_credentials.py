"""Reading credentials while running: cases F8 and F9."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dexbridge.config import Project, load_from_environment, open_project
from dexbridge.connectors import (
    BranchTaken,
    Call,
    ConnectionProject,
    CredentialsUnavailable,
    FailureKind,
    ProjectConnection,
    slack,
)
from dexbridge.connectors.testing.local_slack import LocalSlack
from tests.config.conftest import Inspect, Write
from tests.fakes.connection_files import BOT_TOKEN, VERSION, codes, document, record


async def bot_token(project: Project) -> str:
    return (await project.connection("slack", "support-slack").read_credentials())["bot_token"].reveal()


def replace(path: Path, content: object) -> None:
    """Replaces a file by rename, as a careful writer does."""
    new = path.with_suffix(".new")
    new.write_text(content if isinstance(content, str) else json.dumps(content))
    new.chmod(0o600)
    new.replace(path)


def settle(path: Path) -> None:
    """Makes a file look written long ago, so that its identity proves that it is unchanged."""
    old = datetime.now(UTC).timestamp() - 3600
    os.utime(path, (old, old))


def with_token(token: str, **changes: Any) -> dict[str, Any]:
    return document(record(credentials={"bot_token": token}, **changes))


def test_a_project_is_what_connectors_ask_for(write: Write) -> None:
    def needs(project: ConnectionProject) -> ProjectConnection:
        return project.connection("slack", "support-slack")

    assert needs  # checked by pyright


async def test_a_rotated_token_is_used_by_the_next_call_and_configuration_stays(write: Write) -> None:
    path = write(with_token("xoxb-1-old", configuration={"maxMessageCharacters": 10}))
    async with await open_project(path) as project:
        assert await bot_token(project) == "xoxb-1-old"
        replace(path, with_token("xoxb-1-new", configuration={"maxMessageCharacters": 20}))
        assert await bot_token(project) == "xoxb-1-new"
        assert project.connection("slack", "support-slack").configuration == {"maxMessageCharacters": 10}


async def test_a_rotation_of_the_same_size_within_one_tick_is_seen(write: Write) -> None:
    path = write(with_token("xoxb-1-000"))
    async with await open_project(path) as project:
        for number in range(1, 200):
            token = f"xoxb-1-{number:03}"
            with path.open("r+") as stream:  # in place: the same inode, the same size
                stream.write(json.dumps(with_token(token), indent=2))
            assert await bot_token(project) == token


async def test_an_unchanged_file_is_not_read_again_and_a_changed_mode_is_noticed(write: Write) -> None:
    path = write(with_token("xoxb-1-old"))
    settle(path)
    async with await open_project(path) as project:
        assert await bot_token(project) == "xoxb-1-old"
        path.chmod(0o644)
        with pytest.raises(CredentialsUnavailable, match="mode 0644"):
            await bot_token(project)
        path.chmod(0o600)
        assert await bot_token(project) == "xoxb-1-old"


async def test_a_token_in_a_file_it_refers_to_is_rotated(write: Write) -> None:
    token = write("xoxb-1-old\n", "token")
    text = f"""
schemaVersion = "{VERSION}"
[[connections]]
connectorId = "slack"
connectionName = "support-slack"
configuration = {{}}
credentials = {{ bot_token = {{ file = "token" }} }}
"""
    path = write(text, "connections.toml")
    settle(path)
    settle(token)
    async with await open_project(path) as project:
        assert await bot_token(project) == "xoxb-1-old"
        replace(token, "xoxb-1-new\n")
        assert await bot_token(project) == "xoxb-1-new"
        token.unlink()
        with pytest.raises(CredentialsUnavailable, match="does not exist"):
            await bot_token(project)
        replace(token, "xoxb-1-last")
        assert await bot_token(project) == "xoxb-1-last"


async def test_a_variable_that_changes_is_read_again(write: Write) -> None:
    text = f"""
schemaVersion = "{VERSION}"
[[connections]]
connectorId = "slack"
connectionName = "support-slack"
configuration = {{}}
credentials = {{ bot_token = {{ env = "SLACK_BOT_TOKEN" }} }}
"""
    path = write(text, "connections.toml")
    settle(path)
    environment = {"DEX_CONNECTOR_CONFIG_FILE": str(path), "SLACK_BOT_TOKEN": "xoxb-1-old"}
    async with await load_from_environment(environment) as project:
        assert await bot_token(project) == "xoxb-1-old"
        environment["SLACK_BOT_TOKEN"] = "xoxb-1-new"
        assert await bot_token(project) == "xoxb-1-new"
        del environment["SLACK_BOT_TOKEN"]
        with pytest.raises(CredentialsUnavailable, match="SLACK_BOT_TOKEN, which is not set"):
            await bot_token(project)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is empty"),
        ('{"schemaVersion": ', "ends in the middle"),
        (document(), "no longer has the connection slack/support-slack"),
        (with_token("xoxb-1 new"), "bot_token"),
        (document(record(), record()), "two connections slack/support-slack"),
        (document(record(), schemaVersion="v2"), "schemaVersion"),
    ],
)
async def test_a_broken_file_fails_the_call_and_a_mended_one_recovers(
    write: Write, content: object, reason: str
) -> None:
    path = write(with_token("xoxb-1-old"))
    async with await open_project(path) as project:
        replace(path, content)
        with pytest.raises(CredentialsUnavailable, match=reason):
            await bot_token(project)
        path.unlink()
        with pytest.raises(CredentialsUnavailable, match="does not exist"):
            await bot_token(project)
        path.symlink_to("/dev/null")
        with pytest.raises(CredentialsUnavailable, match="not a regular file"):
            await bot_token(project)
        replace(path, with_token("xoxb-1-new"))
        assert await bot_token(project) == "xoxb-1-new"


async def test_faults_of_other_connections_do_not_fail_a_call(write: Write) -> None:
    path = write(with_token("xoxb-1-old"))
    async with await open_project(path) as project:
        replace(path, document(record(), record(connectionName="other", credentials={"bot_token": "wrong"})))
        assert await bot_token(project) == BOT_TOKEN


async def test_a_file_that_is_replaced_all_the_time_is_read_whole(write: Write) -> None:
    tokens = [f"xoxb-1-{'a' * length}" for length in (1, 5_000)]
    path = write(with_token(tokens[0]))
    async with await open_project(path) as project:
        for turn in range(100):
            replace(path, with_token(tokens[turn % 2]))
            assert await bot_token(project) in tokens


async def test_a_closed_project_gives_no_credentials(write: Write) -> None:
    project = await open_project(write(document(record())))
    connection = project.connection("slack", "support-slack")
    await project.close()
    with pytest.raises(CredentialsUnavailable, match="closed"):
        await connection.read_credentials()


PAST = {"credentialExpiresAt": "2020-01-01T00:00:00Z"}
REAUTHORIZE = {"credentialStatus": "reauthorization_required"}


@pytest.mark.parametrize(
    ("changes", "code"), [(PAST, "credentials-expired"), (REAUTHORIZE, "reauthorization-required")]
)
async def test_case_f8_the_file_opens_with_a_warning_and_the_call_fails(
    inspect: Inspect, write: Write, changes: dict[str, str], code: str
) -> None:
    assert codes(inspect(document(record(**changes)))) == [code]
    async with LocalSlack() as server:
        whole = document(record(configuration={"endpoint": server.endpoint}, **changes))
        async with await open_project(write(whole)) as project:
            assert [warning.code for warning in project.warnings] == [code]
            reply = slack.new_project_connection(project, "support-slack").post_thread_reply()
            call = Call("flow-1", "CallSingleAttemptTool-1", "slack", "postThreadReply")
            arguments = reply.validate(
                {"channel_id": "C0123456789", "thread_timestamp": "1710000000.000100", "text": "hello"}
            )
            attempt = await reply.dispatch(call, arguments)
            assert isinstance(attempt, BranchTaken)
            assert attempt.failure is not None
            assert attempt.failure.kind is FailureKind.AUTHENTICATION
            assert not server.requests


async def test_credentials_expire_while_they_are_cached(write: Write) -> None:
    soon = datetime.now(UTC) + timedelta(milliseconds=500)
    path = write(document(record(credentialExpiresAt=soon.isoformat())))
    settle(path)
    async with await open_project(path) as project:
        connection = project.connection("slack", "support-slack")
        await connection.read_credentials()
        await asyncio.sleep((soon - datetime.now(UTC)).total_seconds())
        with pytest.raises(CredentialsUnavailable, match="expired at"):
            await connection.read_credentials()


async def test_a_rotated_token_works_with_the_next_slack_call(write: Write) -> None:
    async with LocalSlack() as server:
        settings = {"endpoint": server.endpoint}
        path = write(with_token("xoxb-1-revoked", configuration=settings))
        async with await open_project(path) as project:
            reply = slack.new_project_connection(project, "support-slack").post_thread_reply()
            arguments = reply.validate(
                {"channel_id": "C0123456789", "thread_timestamp": "1710000000.000100", "text": "hello"}
            )
            call = Call("flow-1", "CallSingleAttemptTool-1", "slack", "postThreadReply")
            refused = await reply.dispatch(call, arguments)
            replace(path, with_token(server.bot_token, configuration=settings))
            sent = await reply.dispatch(Call("flow-1", "S-2", "slack", "postThreadReply"), arguments)
    assert isinstance(refused, BranchTaken)
    assert refused.branch == "providerRejected"
    assert isinstance(sent, BranchTaken)
    assert sent.branch == "sent"
