"""No request carries a credential of its own connection in its arguments, whatever the operation."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import pytest
from pydantic import Field

from dexbridge.connectors import (
    Attempt,
    BoundOperation,
    BranchTaken,
    Call,
    Dispatch,
    FailureKind,
    Mutation,
    OperationInput,
    Query,
    Secret,
    bind_operation,
    github,
    slack,
)
from dexbridge.connectors.github.operations import GITHUB_OPERATIONS
from dexbridge.connectors.slack.operations import SLACK_OPERATIONS
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.local_github import LocalGitHub
from dexbridge.connectors.testing.local_slack import LocalSlack
from tests.connectors.mock_provider import BRANCHES, GRANT, Granted, is_defect

TOKEN = 'tok/en+1"2\\3&4'
PIN = "4711081547110815"


class Letter(OperationInput):
    text: str
    more: dict[str, Any] = Field(default_factory=dict)
    number: int = 0


POST = Mutation(
    connector_id="mock-provider",
    operation_id="postLetter",
    title="Post a letter",
    description="Posts a letter.",
    input=Letter,
    output=Granted,
    branches=GRANT.branches,
    credentials=("token",),
)
SEARCH = Query(
    connector_id="mock-provider",
    operation_id="findLetter",
    title="Find a letter",
    description="Finds a letter, for everybody.",
    input=Letter,
    output=Granted,
    branches=BRANCHES,
)


def held(**credentials: str) -> MemoryConnection:
    given = credentials or {"token": TOKEN, "pin": PIN, "short": "geheim7"}
    return MemoryConnection("mock-provider", "main", credentials=given)


async def attempted(
    arguments: dict[str, Any], operation: Mutation | Query = POST, connection: MemoryConnection | None = None
) -> tuple[Attempt, list[Letter]]:
    """How a dispatch ended, and what was given to the Connector."""
    sent: list[Letter] = []

    async def send(dispatch: Dispatch[Letter]) -> Attempt:
        sent.append(dispatch.input)
        dispatch.about_to_send()
        return dispatch.took("granted", Granted(note=""), dispatch.receipt("1"))

    bound = bind_operation(operation, connection or held(), Letter, send=send)
    call = Call("flow", "CallTool-1", "mock-provider", operation.operation_id)
    return await bound.dispatch(call, bound.validate(arguments)), sent


WRITTEN = {
    "alone": {"text": TOKEN},
    "in a longer text": {"text": f"Post this: {TOKEN}, please."},
    "deep inside": {"text": "x", "more": {"a": [{"b": f"<{TOKEN}>"}]}},
    "as a name": {"text": "x", "more": {TOKEN: 1}},
    "as JSON": {"text": json.dumps({"token": TOKEN})},
    "as JSON with escaped slashes": {"text": json.dumps({"token": TOKEN}).replace("/", "\\/")},
    "in a URL": {"text": f"https://example.com/?token={quote(TOKEN, safe='')}"},
    "as HTML": {"text": f"<b>{html.escape(TOKEN)}</b>"},
    "as Base64": {"text": base64.b64encode(TOKEN.encode()).decode()},
    "within Base64": {"text": base64.b64encode(f"me:{TOKEN}".encode()).decode()},
    "within Base64 of URLs": {"text": base64.urlsafe_b64encode(f"user:{TOKEN}!".encode()).decode()},
    "with what nobody sees between": {"text": f"{TOKEN[:5]}\u200b{TOKEN[5:9]}\u00ad{TOKEN[9:]}"},
    "on two lines": {"text": f"{TOKEN[:5]}\n{TOKEN[5:]}"},
    "a credential it does not use": {"text": f"pin {PIN}"},
    "as a number": {"text": "x", "number": int(PIN)},
}


@pytest.mark.parametrize("operation", [POST, SEARCH])
@pytest.mark.parametrize("written", WRITTEN)
async def test_a_credential_in_an_argument_is_refused_and_nothing_is_sent(
    written: str, operation: Mutation | Query
) -> None:
    attempt, sent = await attempted(WRITTEN[written], operation)
    assert is_defect(attempt, FailureKind.VALIDATION)
    assert sent == []
    assert isinstance(attempt, BranchTaken)
    assert attempt.failure is not None
    said = attempt.failure.message
    (name,) = [one for one in WRITTEN[written] if one in ("more", "number")] or ["text"]
    assert said.startswith(f"Nothing was sent: {name} would carry a credential of the connection mock-provider/main ")
    assert TOKEN not in repr(attempt)
    assert PIN not in repr(attempt)


@pytest.mark.parametrize("written", WRITTEN)
async def test_what_may_be_shown_of_it_holds_it_no_more(written: str) -> None:
    bound = bind_operation(POST, held(), Letter, send=never)
    withheld = await bound.withheld(WRITTEN[written])
    assert withheld is not None
    assert "[redacted]" in str(withheld.arguments)
    assert await bound.withheld(withheld.arguments) is None


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "Hello"},
        {"text": f"Almost: {TOKEN[:-1]}"},
        {"text": "no", "more": {"a": None, "b": True, "c": 1.5}},
        {"text": "geheim7, which is shorter than 8 characters"},
        {"text": TOKEN.upper()},
    ],
)
async def test_other_arguments_leave_as_they_are(arguments: dict[str, Any]) -> None:
    attempt, (sent,) = await attempted(arguments)
    assert isinstance(attempt, BranchTaken)
    assert attempt.branch == "granted"
    assert sent.text == arguments["text"]
    assert await bind_operation(POST, held(), Letter, send=never).withheld(arguments) is None


async def test_the_credentials_of_the_moment_count() -> None:
    connection = held(token="an-older-token")
    assert (await attempted({"text": "an-older-token"}, connection=connection))[1] == []
    connection.set_credential("token", "a-newer-token")
    assert len((await attempted({"text": "an-older-token"}, connection=connection))[1]) == 1
    assert (await attempted({"text": "a-newer-token"}, connection=connection))[1] == []


async def test_what_cannot_be_compared_is_not_sent() -> None:
    connection = held()
    connection.unavailable = "The file is gone."
    for operation in (POST, SEARCH):
        attempt, sent = await attempted({"text": TOKEN}, operation, connection)
        assert is_defect(attempt, FailureKind.AUTHENTICATION)
        assert sent == []
    assert await bind_operation(POST, connection, Letter, send=never).withheld({"text": TOKEN}) is None


async def test_a_project_that_fails_in_its_own_way_sends_nothing_either() -> None:
    class Broken(MemoryConnection):
        async def read_credentials(self) -> Mapping[str, Secret]:
            raise RuntimeError("the vault is sealed")

    connection = Broken("mock-provider", "main")
    attempt, sent = await attempted({"text": TOKEN}, connection=connection)
    assert (is_defect(attempt), sent) == (True, [])
    assert await bind_operation(POST, connection, Letter, send=never).withheld({"text": TOKEN}) is None


async def never(_dispatch: Dispatch[Letter]) -> Attempt:
    raise AssertionError("nothing is sent here")


async def test_no_operation_of_slack_or_github_sends_one() -> None:
    async with LocalSlack() as local_slack, LocalGitHub() as local_github:
        slack_held = MemoryConnection(
            "slack", "a", configuration={"endpoint": local_slack.endpoint}, credentials=local_slack.tokens
        )
        github_held = MemoryConnection(
            "github", "b", configuration={"endpoint": local_github.url}, credentials=local_github.tokens
        )
        on_slack = slack.new_project_connection(MemoryProject(slack_held), "a")
        on_github = github.new_project_connection(MemoryProject(github_held), "b")
        bots, (token,) = local_slack.bot_token, local_github.tokens.values()
        thread = {"channel_id": "C0123456789", "thread_timestamp": "1710000000.000100"}
        issue = {"repository": "octo-org/octo-repo", "issue_number": 42}
        calls: Sequence[tuple[BoundOperation, dict[str, Any]]] = (
            (on_slack.list_thread_messages(), {**thread, "cursor": bots}),
            (on_slack.get_thread_reply(), {**thread, "reply_timestamp": "1710000000.000100", "channel_id": bots}),
            (on_slack.post_channel_message(), {"channel_id": "C0123456789", "text": f"it is {bots}"}),
            (on_slack.post_thread_reply(), {**thread, "text": f"it is {bots}"}),
            (on_github.get_issue(), {**issue, "repository": f"octo-org/{token}"}),
            (on_github.list_issue_comments(), {**issue, "cursor": token}),
            (on_github.add_issue_comment(), {**issue, "body": f"it is {token}"}),
        )
        assert [bound.operation for bound, _ in calls] == [*SLACK_OPERATIONS, *GITHUB_OPERATIONS]
        for bound, arguments in calls:
            operation = bound.operation
            call = Call("flow", "CallTool-1", operation.connector_id, operation.operation_id)
            attempt = await bound.dispatch(call, arguments)
            assert is_defect(attempt, FailureKind.VALIDATION), operation.tool_name
            assert isinstance(attempt, BranchTaken)
            assert attempt.failure is not None
            # Where an argument has a form of its own, no credential fits it.
            fits = operation.operation_id not in ("getThreadReply", "listIssueComments")
            assert attempt.failure.message.startswith("Nothing was sent") is fits, operation.tool_name
        assert (local_slack.requests, local_github.requests) == ([], [])
        await slack_held.aclose()
        await github_held.aclose()
