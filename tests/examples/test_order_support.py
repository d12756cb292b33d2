"""The order-support agent as an application uses it: its desk, its tools, and its Steps on the real CLI."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import uuid
from pathlib import Path

import pytest

from dexbridge.claude.testing import ScriptedModel, order_support_script, snapshots_of
from dexbridge.config import InvalidConnectionFile, InvalidToolOffer
from dexbridge.config.writing import NewConnection, write_connection_file
from dexbridge.connectors import Secret, UnknownConnection, slack
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.sessions import AgentSessionClient, EventKind, open_engine
from examples.order_support.claude_agent_sdk_order_support import build_claude_agent_sdk_order_support_flow
from examples.order_support.order_desk import OrderDesk
from examples.order_support.slack_connector_tools import build_slack_tool_sources, open_slack_project_connection

MODEL = "claude-opus-5-5"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def slack_connection() -> slack.Connection:
    connection = MemoryConnection("slack", "support-slack", credentials={"bot_token": "xoxb-test"})
    return slack.new_project_connection(MemoryProject(connection), "support-slack")


def write_file(path: Path, connection_name: str) -> dict[str, str]:
    connection = NewConnection("slack", connection_name, {}, {"bot_token": Secret("xoxb-1-test")})
    write_connection_file(str(path), [connection])
    return {"DEX_CONNECTOR_CONFIG_FILE": str(path)}


def test_the_desk_answers_with_a_sentence_for_every_order() -> None:
    desk = OrderDesk()
    assert desk.describe_order("1001") == (
        "Order 1001: 1 walnut desk lamp. Status: shipped (handed to the carrier on Monday)."
    )
    assert desk.describe_order("9999") == desk.cancel_order("9999", "none") == "There is no order 9999."


def test_the_desk_cancels_what_has_not_shipped_and_only_once() -> None:
    desk = OrderDesk()
    assert desk.cancel_order("1001", "late") == "Order 1001 has shipped already, so it was not cancelled."
    assert desk.cancel_order("1002", "late") == "Order 1002 is cancelled."
    assert desk.cancel_order("1002", "other") == "Order 1002 was cancelled before (reason: late); nothing changed."
    assert "cancelled (reason: late)" in desk.describe_order("1002")
    assert "shipped" in desk.describe_order("1001")


async def test_there_is_no_slack_without_a_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "examples")
    assert await open_slack_project_connection({}) is None
    absent = str(tmp_path / "absent.json")
    assert await open_slack_project_connection({"DEX_CONNECTOR_CONFIG_FILE": absent}) is None
    unset, wrong = caplog.records
    assert (unset.levelname, wrong.levelname) == ("INFO", "WARNING")
    assert "DEX_CONNECTOR_CONFIG_FILE" in wrong.getMessage()
    assert absent in wrong.getMessage()


async def test_a_wrong_file_stops_the_start(tmp_path: Path) -> None:
    path = tmp_path / "connections.json"
    environment = write_file(path, "support-slack")
    path.chmod(0o644)
    with pytest.raises(InvalidConnectionFile, match="chmod 600"):
        await open_slack_project_connection(environment)


async def test_a_file_without_the_connection_stops_the_start(tmp_path: Path) -> None:
    environment = write_file(tmp_path / "connections.json", "sales-slack")
    with pytest.raises(UnknownConnection, match=r"slack/support-slack.*slack/sales-slack"):
        await open_slack_project_connection(environment)


def write_without_bot_token(folder: Path) -> dict[str, str]:
    """A file that is right in itself; only the bot's posts cannot be made with it."""
    path = folder / "connections.json"
    write_connection_file(str(path), [NewConnection("slack", "support-slack", {}, {"user_token": Secret("xoxp-1-t")})])
    return {"DEX_CONNECTOR_CONFIG_FILE": str(path)}


LACKS = "The tool slack_post_thread_reply needs the credential bot_token of the connection slack/support-slack"


async def test_case_f10_a_tool_without_its_credential_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(InvalidToolOffer, match=LACKS):
        await open_slack_project_connection(write_without_bot_token(tmp_path))


@pytest.mark.parametrize(
    "command",
    [
        ["-m", "examples.order_support"],
        ["-m", "dexbridge.console.demo.worker", "sqlite:///sessions.db"],
        ["-m", "dexbridge.console", "serve", "--url", "sqlite:///sessions.db", "--port", "0"],
        ["-m", "dexbridge.console", "worker", "--url", "sqlite:///sessions.db"],
    ],
    ids=["example", "demo", "serve", "worker"],
)
async def test_case_f10_each_way_to_start_ends_in_one_line(tmp_path: Path, command: list[str]) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=tmp_path,
        env={**environment, **write_without_bot_token(tmp_path), "ANTHROPIC_API_KEY": "k", "PORT": "0"},
    )
    try:
        async with asyncio.timeout(30):
            output, errors = await process.communicate()
    except TimeoutError:
        process.kill()
        pytest.fail("It started.")
    assert process.returncode in {1, 2}
    assert output == b""
    (line,) = errors.decode().splitlines()
    assert LACKS in line
    assert not (tmp_path / "sessions.db").exists()


async def test_the_connection_of_the_file_is_closed_with_its_project(tmp_path: Path) -> None:
    setup = await open_slack_project_connection(write_file(tmp_path / "connections.json", "support-slack"))
    assert setup is not None
    assert str(setup.connection.reference) == "slack/support-slack"
    await setup.aclose()
    assert setup.project.closed


def test_no_connection_no_source() -> None:
    assert build_slack_tool_sources(None) == []


def test_the_flow_builds_without_slack_and_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    flow = build_claude_agent_sdk_order_support_flow(OrderDesk(), MODEL, None)
    assert flow.flow_type == "ClaudeAgentSDKOrderSupport"
    assert [tool.name for tool in flow.tools] == ["look_up_order", "cancel_order"]


def test_with_slack_the_flow_offers_one_post_that_always_asks(slack_connection: slack.Connection) -> None:
    flow = build_claude_agent_sdk_order_support_flow(OrderDesk(), MODEL, slack_connection)
    assert {tool.name: tool.asks({}) for tool in flow.tools} == {
        "look_up_order": False,
        "cancel_order": True,
        "slack_post_thread_reply": True,
    }


async def test_a_look_up_is_one_step_and_a_cancellation_five(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = OrderDesk()
    async with ScriptedModel(order_support_script) as model:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "local-key")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
        flow = build_claude_agent_sdk_order_support_flow(desk, MODEL, None)
        async with open_engine(f"sqlite:///{tmp_path / 'sessions.db'}", [flow]) as engine:
            sessions = AgentSessionClient(engine)
            looked_up = await take_turn(sessions, "Where is order 1002?")
            cancelled = await take_turn(sessions, "Cancel order 1002 because it is late")
            model.assert_told(await snapshots_of(sessions))
    assert looked_up[0] == ["RunModel-1"]
    assert "2 linen cushions" in looked_up[1]
    assert cancelled[0] == [
        "RunModel-1",
        "AwaitToolApproval-1",
        "CallSingleAttemptTool-1",
        "ResumeTurn-1",
        "RunModel-2",
    ]
    assert "Order 1002 is cancelled." in cancelled[1]
    assert "cancelled (reason: it is late)" in desk.describe_order("1002")


async def test_without_a_key_the_turn_fails_and_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    flow = build_claude_agent_sdk_order_support_flow(OrderDesk(), MODEL, None)
    async with open_engine(f"sqlite:///{tmp_path / 'sessions.db'}", [flow]) as engine:
        _, error = await take_turn(AgentSessionClient(engine), "Where is order 1002?")
    assert "ANTHROPIC_API_KEY" in error


async def take_turn(sessions: AgentSessionClient, message: str) -> tuple[list[str], str]:
    """Runs one turn of a new session, approving what asks; returns its Steps and the answer or the error."""
    session_id = f"test-{uuid.uuid4()}"
    await sessions.start_session(session_id)
    await sessions.send_user_message(session_id, message)
    steps: list[str] = []
    async for event in sessions.read_events(session_id, follow=True):
        match event.kind:
            case EventKind.STEP_COMPLETED:
                steps.append(event.data["step_execution_id"])
            case EventKind.INTERRUPT_OPENED:
                await sessions.resolve_interrupt(session_id, event.data["interrupt_id"], approved=True)
            case EventKind.TURN_ANSWERED:
                return steps, event.data["text"]
            case EventKind.TURN_FAILED:
                return steps, event.data["error"]
            case _:
                pass
    raise AssertionError("the events ended before the turn did")
