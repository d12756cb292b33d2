"""GitHub's three operations and the look-up against GitHub's own OpenAPI description, played by prism."""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, cast

import aiohttp

from benchmarks.others.calls import Made, dump, make, prepare, told
from benchmarks.others.findings import Finding
from benchmarks.others.servers import Between, free_port, installed, running
from dexbridge.connectors import github
from dexbridge.connectors.github.definition import GITHUB
from dexbridge.connectors.testing import MemoryConnection, MemoryProject

DESCRIPTION: Final = "github/node_modules/@octokit/openapi/generated/api.github.com.json"
PRISM: Final = "github/node_modules/.bin/prism"

_ISSUE: Final = "/repos/{owner}/{repo}/issues/{issue_number}"
PATHS: Final = (_ISSUE, f"{_ISSUE}/comments", "/user", "/rate_limit")
"""What the Connector asks for; the whole description takes prism a minute to read."""

NUMBER: Final = 1347
"""The issue of the description's example."""

Node = dict[str, Any]


def cut(description: Mapping[str, Any]) -> Node:
    """The description with these paths only, and what they refer to.

    Where an example is given as `{"value": {"$ref": …}}`, which is that object and no reference, the reference stands.
    """
    paths = {path: description["paths"][path] for path in PATHS}
    for operation in paths.values():
        for response in operation["get"]["responses"].values():
            for content in response.get("content", {}).values():
                examples = content.get("examples", {})
                content["examples"] = {name: _reference(example) for name, example in examples.items()}
    components: Node = {}
    found: set[str] = set()
    left = list(_references(paths))
    while left:
        reference = left.pop()
        if reference not in found:
            found.add(reference)
            _, _, group, name = reference.split("/", 3)
            node = description["components"][group][name]
            components.setdefault(group, {})[name] = node
            left += _references(node)
    return {"openapi": description["openapi"], "info": description["info"], "paths": paths, "components": components}


def wrapped_examples(description: Mapping[str, Any]) -> int:
    """How many of the issue's examples are a reference where their value should be."""
    examples = description["paths"][_ISSUE]["get"]["responses"]["200"]["content"]["application/json"]["examples"]
    return sum("$ref" in cast(Node, example.get("value", {})) for example in examples.values())


def _reference(example: Node) -> Node:
    value: object = example.get("value")
    return cast(Node, value) if isinstance(value, dict) and "$ref" in value else example


def _references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in cast(Node, node).items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from _references(value)
    elif isinstance(node, list):
        for item in cast(list[object], node):
            yield from _references(item)


@asynccontextmanager
async def prism(description: Mapping[str, Any]) -> AsyncGenerator[str]:
    """Runs prism on a description; requests that do not fit it are refused with 422. Gives its address."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "description.json").write_text(json.dumps(description))
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        command = (installed(PRISM), "mock", "--errors", "--host", "127.0.0.1", "--port", str(port))
        arguments = ("--verboseLevel", "warn", folder / "description.json")
        async with running((*command, *arguments), f"{url}/rate_limit", folder=folder, environment={}):
            yield url


async def look_at_github() -> tuple[Finding, ...]:
    """Everything that is looked at, in order."""
    description: Node = json.loads(installed(DESCRIPTION).read_text())
    wrapped = Finding("the description's example of an issue is an issue", "0", str(wrapped_examples(description)))
    async with prism(cut(description)) as url, Between(url).open() as between:
        return (wrapped, *await _Look(url, between).all())


class _Look:
    def __init__(self, url: str, between: Between) -> None:
        self._url = url
        self._between = between
        self._found: list[Finding] = []

    def _see(self, name: str, right: object, seen: object) -> None:
        self._found.append(Finding(name, str(right), str(seen)))

    async def all(self) -> tuple[Finding, ...]:
        connection = MemoryConnection(
            "github",
            "others",
            configuration={"endpoint": self._between.url},
            credentials={"token": "github_pat_0123456789abcdef0123"},
        )
        project = MemoryProject(connection)
        self._github = github.new_project_connection(project, "others", settling_time=timedelta(0))
        try:
            recommended = await self._get_issue()
            self._see("the media type GitHub recommends is one of the description", "found", recommended.outcome)
            self._asks_for()
            assert GITHUB.check_live is not None
            live = await GITHUB.check_live(connection)
            self._see("config check --live accepts the token", True, live.ok)
            await self._refuses_what_does_not_fit()
            await self._reads()
            await self._adds()
            await self._documented_refusals()
            await self._lost_answer()
        finally:
            await project.close()
        return tuple(self._found)

    def _asks_for(self, status: int | None = None) -> None:
        """From now on asks prism for the media type it knows, and for this answer of the description."""
        prefer = {} if status is None else {"Prefer": f"code={status}"}
        self._between.more_headers = {"Accept": "application/json", **prefer}

    async def _refuses_what_does_not_fit(self) -> None:
        """The check of the check: prism does refuse a request that does not fit the description."""
        async with aiohttp.ClientSession() as session:
            path = f"{self._url}/repos/octo-org/octo-repo/issues/{NUMBER}/comments"
            async with session.post(path, json={"text": "no body"}) as answer:
                self._see("a comment without its body does not fit the description", 422, answer.status)
            async with session.get(path, params={"per_page": "many"}) as answer:
                self._see("a page size in words does not fit the description", 422, answer.status)

    async def _reads(self) -> None:
        issue = await self._get_issue()
        self._see("getIssue fits the description, and reads its example", "found", issue.outcome)
        read = dump(issue.output).get("issue", {})
        self._see(
            "title, state and author are the example's",
            "Found a bug, open, octocat",
            _words(read, "title", "state", "author"),
        )
        self._see("labels and comment count are the example's", "('bug',), 0", _words(read, "labels", "comment_count"))
        other = await make(self._github.get_issue(), repository="octo-org/octo-repo", issue_number=42)
        self._see("another issue than was asked for is not taken for it", "invalidResponse, PROTOCOL", other.outcome)
        comments = await self._list_comments(page_size=30, cursor="2")
        self._see("listIssueComments fits the description, and reads its example", "read", comments.outcome)
        page = dump(comments.output)
        first = page.get("comments", ({},))[0]
        self._see("text and author are the example's", "Me too, octocat", _words(first, "body", "author"))
        self._see("the Link header's next page becomes the cursor", "3", page.get("next_cursor"))

    async def _adds(self) -> None:
        added = await self._add_comment()
        self._see("addIssueComment fits the description, and reads its example", "added", added.outcome)
        self._see("the comment's ID is the example's", "1", dump(added.output).get("comment", {}).get("comment_id"))
        # The example's pages never end and hold no comment of ours.
        self._see("look-up where the comments never end", "cannot tell", told(await added.look_up()))

    async def _documented_refusals(self) -> None:
        """Each answer the description gives for the three operations, made by prism from its schema."""
        for status, issue in ((301, "notFound, NOT_FOUND"), (404, "notFound, NOT_FOUND"), (410, "notFound, NOT_FOUND")):
            self._asks_for(status)
            self._see(f"getIssue answered {status}", issue, (await self._get_issue()).outcome)
        for status in (404, 410):
            self._asks_for(status)
            self._see(
                f"listIssueComments answered {status}", "notFound, NOT_FOUND", (await self._list_comments()).outcome
            )
        for status, kind in ((403, "AUTHORIZATION"), (404, "NOT_FOUND"), (410, "NOT_FOUND"), (422, "VALIDATION")):
            self._asks_for(status)
            added = await self._add_comment()
            self._see(f"addIssueComment answered {status}", f"providerRejected, {kind}", added.outcome)
        self._asks_for(404)
        self._see("look-up answered 404", "cannot tell", told(await prepare_comment(self._github).look_up()))
        self._asks_for()

    async def _lost_answer(self) -> None:
        self._between.loses_answers = True
        lost = await self._add_comment()
        self._between.loses_answers = False
        self._see("a comment whose answer is lost", "uncertain, TRANSPORT", lost.outcome)

    async def _get_issue(self) -> Made:
        return await make(self._github.get_issue(), repository="octocat/Hello-World", issue_number=NUMBER)

    async def _list_comments(self, **more: Any) -> Made:
        operation = self._github.list_issue_comments()
        return await make(operation, repository="octocat/Hello-World", issue_number=NUMBER, **more)

    async def _add_comment(self) -> Made:
        return await prepare_comment(self._github).send()


def prepare_comment(connection: github.Connection) -> Made:
    """A comment, not yet sent."""
    return prepare(
        connection.add_issue_comment(),
        repository="octocat/Hello-World",
        issue_number=NUMBER,
        body="It ships on **Thursday** 🎉",
    )


def _words(read: Mapping[str, Any], *names: str) -> str:
    return ", ".join(str(read.get(name)) for name in names)
