"""docs/configuration.md says what the code does."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dexbridge.config import Code, Diagnostic, Place, Severity, connection_file_schema, open_project
from dexbridge.config.telling.diagnostic import report
from dexbridge.connectors import installed_connectors
from dexbridge.connectors.testing.local_slack import LocalSlack
from tests.config.conftest import Write
from tests.fakes.connection_files import document, record

TEXT = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def test_every_code_is_explained_in_order() -> None:
    section = TEXT.partition("### Codes")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([a-z-]+)` \|", section, re.MULTILINE) == [str(code) for code in Code]


def test_the_json_report_has_the_documented_members() -> None:
    documented: dict[str, Any] = json.loads(blocks("json")[1])
    diagnostic = Diagnostic(Severity.ERROR, Code.SYNTAX, "p", Place(1, 1), "", None, "m", "d", None, (Place(2, 2),))
    real = report("p", [diagnostic])
    assert list(documented) == list(real)
    assert list(documented["diagnostics"][0]) == list(real["diagnostics"][0])
    assert documented["version"] == real["version"]


@pytest.mark.parametrize("kind", ["toml", "json"])
async def test_the_examples_open_and_fit_the_printed_schema(
    write: Write, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = blocks(kind)[0]
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1-2")
    write("xoxp-1-2\n", "slack-user-token")
    async with await open_project(write(example, f"connections.{kind}")) as project:
        assert project.warnings == ()
        assert "bot_token" in await project.connection("slack", "support-slack").read_credentials()
    value: Any = tomllib.loads(example) if kind == "toml" else json.loads(example)
    schema = connection_file_schema(installed_connectors(), toml=kind == "toml")
    jsonschema.Draft202012Validator(schema).validate(value)  # pyright: ignore[reportUnknownMemberType]


def test_the_python_example_is_python() -> None:
    names: dict[str, Any] = {}
    for block in blocks("python"):
        exec(compile(ast.parse(block), "docs/configuration.md", "exec"), names)  # its imports have to exist
    assert "offer_slack" in names


async def test_the_documented_call_posts_a_message(write: Write) -> None:
    names: dict[str, Any] = {}
    exec(compile(ast.parse(blocks("python")[1]), "docs/configuration.md", "exec"), names)
    async with LocalSlack() as local:
        whole = document(record(configuration={"endpoint": local.endpoint}, credentials={"bot_token": local.bot_token}))
        async with await open_project(write(whole)) as project:
            said = await names["say_hello"](project)
    assert said.startswith("BranchTaken(")
    assert "C0123456789" in said
