"""Opening the Dex engine: its URL, its Workers, an application that uses it as any other engine."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from dexbridge.claude.testing import ScriptedModel, order_support_script, snapshots_of
from dexbridge.sessions import (
    AgentSessionClient,
    DatabaseUnavailable,
    EventKind,
    InvalidRequest,
    UnsupportedEngine,
    open_engine,
)
from examples.order_support.claude_agent_sdk_order_support import build_claude_agent_sdk_order_support_flow
from examples.order_support.order_desk import OrderDesk
from tests.engines.dex.peer.server import DexPeer
from tests.fakes.function_tool import FunctionTool
from tests.sessions.conftest import Talk, flow_of


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def in_a_process_of_its_own(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_the_sdk_is_imported_with_the_first_dex_url_only() -> None:
    code = "import dexbridge.sessions, dexbridge.claude, sys; print({'dex', 'grpc'} & set(sys.modules))"
    assert in_a_process_of_its_own(code) == "set()"


def test_without_the_sdk_a_dex_url_says_what_to_install() -> None:
    code = """
import sys
sys.modules["dex"] = None
from dexbridge.sessions import UnsupportedEngine, open_engine
try:
    open_engine("dex://host:8801")
except UnsupportedEngine as error:
    print(error)
"""
    assert in_a_process_of_its_own(code) == "A Dex Server needs the Dex SDK: pip install 'dexbridge[dex]'."


@pytest.mark.parametrize(
    "url",
    [
        "dex://",
        "dex://host",
        "dex://host:port",
        "dex://:8801",
        "dex://user:secret@host:8801",
        "dex://host:8801/path",
        "dex://host:8801?other=1",
        "dex://host:8801?worker=a:1&worker=b:2",
    ],
)
def test_a_url_that_names_no_server_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UnsupportedEngine, match=r"dex://host:port") as refused:
        open_engine(url, [flow_of([])])
    assert "secret" not in str(refused.value)


async def test_an_engine_needs_flows_and_a_server_that_answers() -> None:
    with pytest.raises(InvalidRequest, match="at least one"):
        open_engine("dex://127.0.0.1:1", [])
    for run_steps in (True, False):
        with pytest.raises(DatabaseUnavailable, match=r"No Dex Server answers at 127\.0\.0\.1:1"):
            async with open_engine("dex://127.0.0.1:1", [flow_of([])], run_steps=run_steps):
                raise AssertionError


async def test_a_listening_worker_is_dialled_by_the_server(peer: DexPeer) -> None:
    url = f"{peer.url}?worker=127.0.0.1:{free_port()}"
    for session_id in ("s-1", "s-2"):
        async with open_engine(url, [flow_of([FunctionTool()])]) as engine:
            talk = Talk(AgentSessionClient(engine), session_id)
            await talk.client.start_session(session_id)
            assert await talk.ask('call cancel_order {"order_id": "7"}') == "done with 7"


async def test_a_request_without_a_worker_says_what_is_missing(peer: DexPeer) -> None:
    async with open_engine(f"{peer.url}?worker=127.0.0.1:{free_port()}", [flow_of([])], run_steps=False) as engine:
        client = AgentSessionClient(engine)
        assert await client.start_session("s-1")
        with pytest.raises(DatabaseUnavailable, match="Requests need a Worker"):
            await client.send_user_message("s-1", "hello")
        assert await client.start_session("s-1") is False


async def test_the_order_support_example_runs_on_it(peer: DexPeer, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = OrderDesk()
    async with ScriptedModel(order_support_script) as model:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "local-key")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", model.url)
        flow = build_claude_agent_sdk_order_support_flow(desk, "claude-opus-5-5", None)
        async with open_engine(peer.url, [flow]) as engine:
            talk = Talk(AgentSessionClient(engine))
            await talk.client.start_session("s-1")
            await talk.say("Cancel order 1002 because it is late")
            assert await talk.decide(await talk.interrupt(), approved=True)
            ended = await talk.event(EventKind.TURN_ANSWERED, EventKind.TURN_FAILED)
            assert "Order 1002 is cancelled." in str(ended.data)
            steps = await talk.steps()
            model.assert_told(await snapshots_of(talk.client))
    assert steps == ["RunModel-1", "AwaitToolApproval-1", "CallSingleAttemptTool-1", "ResumeTurn-1", "RunModel-2"]
    assert "cancelled (reason: it is late)" in desk.describe_order("1002")
    assert peer.flows["s-1"].flow_type == "ClaudeAgentSDKOrderSupport"
