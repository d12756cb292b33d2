"""Sessions on the real Dex Worker and client, against the test peer.

The scenarios are those of tests/sessions: modules here import them, and get this folder's `opening` and `database`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from dex.dexpb import dex_pb2 as pb

from dexbridge.sessions import AgentSessionClient, SessionLimits, open_engine
from tests.engines.dex.peer.server import DexPeer, dex_peer
from tests.fakes.function_tool import FunctionTool
from tests.fakes.scripted_runner import ScriptedRunner
from tests.sessions.conftest import LIMITS, Opening, Talk, flow_of


@dataclass(frozen=True)
class PeerDatabase:
    """The peer, in the place of a database in the scenarios of tests/sessions."""

    peer: DexPeer
    folder: Path
    is_postgres: bool = False

    @property
    def url(self) -> str:
        return self.peer.url

    def envelope(self, session_id: str) -> dict[str, Any]:
        """The session's Attribute as the server has it."""
        return json.loads(self.peer.flows[session_id].attributes["session"].string_value)["value"]

    def entries(self, session_id: str, name: str) -> dict[str, str]:
        """Entries of one of the session's AttributeMaps."""
        attributes = self.peer.flows[session_id].attributes
        return {key: value.string_value for key, value in attributes.items() if key.startswith(f"{name}/")}

    def change_state(self, session_id: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Edits a session's state, as another process's commit does."""
        envelope = self.envelope(session_id)
        change(envelope["state"])
        envelope.update(version=envelope["version"] + 1, token="edited")
        text = json.dumps({"format": 1, "value": envelope})
        self.peer.flows[session_id].attributes["session"] = pb.Value(string_value=text)


@pytest.fixture
async def peer() -> AsyncGenerator[DexPeer]:
    async with dex_peer() as running:
        yield running


@pytest.fixture
def database(peer: DexPeer, tmp_path: Path) -> PeerDatabase:
    return PeerDatabase(peer, tmp_path)


@pytest.fixture
def opening(peer: DexPeer) -> Opening:
    """Opens an engine on the test's peer; the session `s-1` is started when it is new."""

    @asynccontextmanager
    async def opened(
        *tools: FunctionTool, runner: ScriptedRunner | None = None, limits: SessionLimits = LIMITS
    ) -> AsyncGenerator[Talk]:
        flow = flow_of(tools, runner, limits)
        async with open_engine(peer.url, [flow]) as engine:
            client = AgentSessionClient(engine)
            await client.start_session("s-1")
            yield Talk(client)

    return opened
