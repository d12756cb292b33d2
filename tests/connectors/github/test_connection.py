"""A GitHub connection's arguments, configuration, token and live check."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dexbridge.connectors import BoundOperation, InvalidConfiguration, InvalidInput, connector, github
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.faults import Answer, html
from dexbridge.connectors.testing.local_github import LocalGitHub

COMMENT: dict[str, Any] = {"repository": "octo-org/octo-repo", "issue_number": 42, "body": "Hello"}


def open_with(**configuration: Any) -> github.Connection:
    return github.new_project_connection(
        MemoryProject(MemoryConnection("github", "main", configuration=configuration)), "main"
    )


def faults(bound: BoundOperation, **changes: Any) -> tuple[str, ...]:
    with pytest.raises(InvalidInput) as refused:
        bound.validate({**COMMENT, **changes})
    return refused.value.faults


@pytest.mark.parametrize(
    "repository",
    [
        "octo-repo",
        "https://github.com/octo-org/octo-repo",
        "a/b/c",
        "a/..",
        "a/.",
        "../b",
        "a/b?x=1",
        "a/b#c",
        "a/b ",
        "",
        " ",
        "a/",
        "/b",
        "a/b\n",
        "-a/b",
    ],
)
def test_what_is_no_repository_is_refused(repository: str) -> None:
    (fault,) = faults(open_with().add_issue_comment(), repository=repository)
    assert fault.startswith("repository: ")
    assert "octo-org/octo-repo" in fault


@pytest.mark.parametrize(
    "repository", ["a/b", "octo-org/.github", "o_x/..x", "A1/a.b-c_d", "a/...", "x" * 39 + "/" + "y" * 100]
)
def test_a_repository_is_taken(repository: str) -> None:
    assert open_with().add_issue_comment().validate({**COMMENT, "repository": repository})["repository"] == repository


def test_arguments_are_refused_by_name_all_at_once() -> None:
    found = faults(open_with().add_issue_comment(), issue_number="42", body="  ", extra=1)
    assert [fault.split(":")[0] for fault in found] == ["issue_number", "body", "extra"]
    for number in (0, -1, 1.5, True, 2**31):
        (fault,) = faults(open_with().add_issue_comment(), issue_number=number)
        assert "such as 42" in fault
    with pytest.raises(InvalidInput, match="next_cursor of the page before"):
        open_with().list_issue_comments().validate({"repository": "a/b", "issue_number": 1, "cursor": "0"})


@pytest.mark.parametrize("blank", ["", " \n", *"\ufeff\u3164\u2800\u115f\u034f\u200d\ufe0f"])
def test_a_blank_comment_is_refused(blank: str) -> None:
    for connection in (open_with(), open_with(maxCommentCharacters=10)):
        (fault,) = faults(connection.add_issue_comment(), body=blank)
        assert fault.startswith("body: must not be blank")


def test_the_limit_of_a_comment_is_the_connections() -> None:
    (fault,) = faults(open_with().add_issue_comment(), body="x" * 65_001)
    assert "65,001 characters long, the limit is 65,000" in fault
    short = open_with(maxCommentCharacters=10).add_issue_comment()
    (fault,) = faults(short, body="x" * 11)
    assert "the limit is 10" in fault
    assert short.input_schema()["properties"]["body"]["maxLength"] == 10


def test_a_connection_can_be_kept_to_some_repositories() -> None:
    connection = open_with(repositories=["octo-org/octo-repo", "octo-org/other"])
    for bound in (connection.add_issue_comment(), connection.get_issue(), connection.list_issue_comments()):
        assert bound.input_schema()["properties"]["repository"]["enum"] == ["octo-org/octo-repo", "octo-org/other"]
        with pytest.raises(InvalidInput, match="octo-org/octo-repo, octo-org/other only"):
            bound.validate({"repository": "octo-org/secret", "issue_number": 1})
    assert connection.add_issue_comment().validate(COMMENT) == COMMENT


@pytest.mark.parametrize(
    "configuration",
    [
        {"endpoint": "http://api.github.com"},
        {"endpoint": "https://user:hunter2@api.github.com"},
        {"repositories": ["octo-repo"]},
        {"repositories": ["a/.."]},
        {"repositories": "octo-org/octo-repo"},
        {"maxCommentCharacters": 65_001},
        {"maxResponseBytes": 0},
        {"colour": "red"},
    ],
)
def test_a_wrong_setting_is_refused_by_name(configuration: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfiguration, match=next(iter(configuration))) as refused:
        open_with(**configuration)
    assert "github/main" in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_the_token_has_one_of_githubs_forms() -> None:
    (field,) = connector("github").credentials
    assert field.pattern is not None
    for token in (
        "ghp_" + "a" * 36,
        "github_pat_" + "1A_" * 20,
        "ghs_123456_eyJhbGciOi.eyJpc3MiOi.c2lnbmF0-dXJl",
        "gho_" + "a" * 36,
        "0" * 40,
    ):
        assert re.fullmatch(field.pattern, token)
    for token in ("xoxb-1-2-abcdefghijklmnop", "ghp_short", "ghp_" + "a" * 36 + "\n", "Bearer ghp_" + "a" * 36, ""):
        assert not re.fullmatch(field.pattern, token)


def test_an_enterprise_server_has_another_endpoint() -> None:
    settings = github.GitHubConfiguration.model_validate({"endpoint": "https://git.example.com/api/v3/"})
    assert settings.endpoint == "https://git.example.com/api/v3"


async def test_the_live_check_names_account_and_scopes(held: MemoryConnection, server: LocalGitHub) -> None:
    check = await connector("github").check_live(held)
    assert (check.ok, check.account, check.scopes) == (True, "dexbridge-bot", {"token": ("public_repo",)})
    server.scopes = ("repo", "read:org")
    assert (await connector("github").check_live(held)).scopes == {"token": ("repo", "read:org", "public_repo")}
    server.scopes = None
    assert (await connector("github").check_live(held)).scopes == {}
    assert [request.method for request in server.requests] == ["GET /user"] * 3


async def test_the_live_check_of_an_installation_asks_for_its_limits(server: LocalGitHub) -> None:
    server.tokens["token"] = "ghs_installationTokenForTests"
    held = MemoryConnection("github", "app", configuration={"endpoint": server.url}, credentials=server.tokens)
    check = await connector("github").check_live(held)
    assert (check.ok, check.account) == (True, "an App's installation")
    assert [request.method for request in server.requests] == ["GET /rate_limit"]


async def test_the_live_check_says_what_is_wrong(held: MemoryConnection, server: LocalGitHub) -> None:
    server.fail_next("GET /user", html(502), Answer(200, "[]"), Answer(403, '{"message":"API rate limit exceeded"}'))
    messages = [(await connector("github").check_live(held)).message for _ in range(3)]
    held.set_credential("token", "ghp_wrongTokenForTests00000")
    messages.append((await connector("github").check_live(held)).message)
    held.set_credential("token", None)
    messages.append((await connector("github").check_live(held)).message)
    wanted = ["HTTP 502", "account", "rate limit", "put a current one", "holds no token"]
    assert [word in message for word, message in zip(wanted, messages, strict=True)] == [True] * 5
