"""The real CLI, a local Slack, Worker processes killed at the worst moments, on the Dex engine: one post, or none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dexbridge.claude.testing import ScriptedModel
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.sessions import AgentSessionClient, open_engine
from tests.claude.test_killed_workers import (
    Workers,
    test_killed_after_the_attempt_row_and_before_slack_has_the_message,
    test_killed_in_a_segment_and_after_slack_accepted,
)
from tests.engines.dex.peer.server import DexPeer
from tests.fakes.claude_stage import Stage
from tests.fakes.claude_worker import worker_flow

__all__ = [
    "test_killed_after_the_attempt_row_and_before_slack_has_the_message",
    "test_killed_in_a_segment_and_after_slack_accepted",
]


pytestmark = pytest.mark.slow


@pytest.fixture
async def bare_stage(tmp_path: Path) -> AsyncIterator[Stage]:
    async with ScriptedModel() as model, LocalSlack() as local_slack:
        stage = Stage(model, local_slack, tmp_path)
        try:
            yield stage
        finally:
            await stage.close()
        stage.assert_told()


@pytest.fixture
async def workers(bare_stage: Stage, peer: DexPeer, tmp_path: Path) -> AsyncIterator[Workers]:
    """A client here, and one Worker process at a time, both on the peer."""
    (tmp_path / "temporary").mkdir()
    bare_stage.database = peer.url  # pyright: ignore[reportAttributeAccessIssue] - the Worker takes a URL as well
    workers = Workers(bare_stage, tmp_path / "temporary")
    flow = worker_flow(bare_stage.model.url, bare_stage.slack.endpoint)
    try:
        await workers.start()
        async with open_engine(peer.url, [flow], run_steps=False) as engine:
            bare_stage.engine, bare_stage.client = engine, AgentSessionClient(engine)
            yield workers
            await bare_stage.remember()
    finally:
        await workers.kill()
