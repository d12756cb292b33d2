"""The stage: real CLI, scripted model, local Slack, engine on SQLite."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from dexbridge.claude.testing import ScriptedModel
from dexbridge.connectors.testing.local_slack import LocalSlack
from tests.fakes.claude_stage import Stage


@pytest.fixture
async def bare_stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """Model and Slack run; the test makes its own flow and opens the engine."""
    async with ScriptedModel() as model, LocalSlack() as local_slack:
        stage = Stage(model, local_slack, tmp_path)
        try:
            yield stage
        finally:
            await stage.close()
        stage.assert_told()


@pytest.fixture
async def open_stage(bare_stage: Stage) -> Callable[..., Awaitable[Stage]]:
    """Opens the engine with one flow; keyword arguments are those of `Stage.flow`."""

    async def open_with(**changes: Any) -> Stage:
        await bare_stage.open(bare_stage.flow(**changes))
        return bare_stage

    return open_with


@pytest.fixture
async def stage(open_stage: Callable[..., Awaitable[Stage]]) -> Stage:
    """The usual stage, open."""
    return await open_stage()
