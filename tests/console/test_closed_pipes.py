"""A reader that goes away, as `head -1` does, ends any command without a word."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from dexbridge.sessions import AgentSessionClient, open_engine
from tests.console.conftest import ROOT, SCRIPTED, environment
from tests.console.scripted_app import flows

LIKE_SIGPIPE = 141


@pytest.mark.parametrize(
    "arguments",
    [
        ["sessions", "list"],
        ["sessions", "list", "--json"],
        ["sessions", "show", "s-1"],
        ["chat", "--app", SCRIPTED],
        ["worker", "--app", SCRIPTED],
        ["graph"],
        ["config", "schema"],
        ["connectors", "list"],
    ],
    ids=" ".join,
)
async def test_nobody_reads(tmp_path: Path, arguments: list[str]) -> None:
    url = f"sqlite:///{tmp_path / 'sessions.db'}"
    async with open_engine(url, flows(), run_steps=False) as engine:
        await AgentSessionClient(engine).start_session("s-1")
    reader, writer = os.pipe()
    os.close(reader)
    try:
        process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-m", "dexbridge.console", *arguments],
            stdin=asyncio.subprocess.DEVNULL,
            stdout=writer,
            stderr=asyncio.subprocess.PIPE,
            cwd=ROOT,
            env=environment(DEX_ENGINE_URL=url),
        )
    finally:
        os.close(writer)
    async with asyncio.timeout(40):
        _, errors = await process.communicate()
    assert (process.returncode, errors.decode()) == (LIKE_SIGPIPE, "")
