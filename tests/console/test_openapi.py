"""The OpenAPI document: it names every route, it is served, and schemathesis finds nothing in it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import aiohttp
import pytest
from starlette.routing import Route

from dexbridge.console.web import openapi_document, session_routes
from dexbridge.sessions import AgentSessionClient, open_engine
from tests.console.conftest import ROOT, ROUTES, TOKEN, Server, environment, start


def test_every_route_is_in_the_document(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'none.db'}", run_steps=False)
    app = session_routes(AgentSessionClient(engine, "x"), session_key="k" * 16)
    routes = {
        (route.path, method.lower())
        for route in app.routes
        if isinstance(route, Route)
        for method in (route.methods or ())
        if method != "HEAD"
    }
    assert routes == {(path, method) for path, item in openapi_document()["paths"].items() for method in item}


async def test_the_document_is_served_where_the_routes_are(http: aiohttp.ClientSession) -> None:
    async with http.get(f"{ROUTES}/openapi.json") as answer:
        assert await answer.json() == openapi_document(ROUTES, "session")


@pytest.mark.slow
async def test_schemathesis_finds_nothing(server: Server, http: aiohttp.ClientSession, tmp_path: Path) -> None:
    talk = await start(http)
    # In its own process: it patches Hypothesis, and it looks for a file of its own in the working folder.
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("schemathesis")),
        "run",
        f"{server.url}{ROUTES}/openapi.json",
        "--header",
        f"{TOKEN}: {talk.token}",
        *("--checks", "all", "--phases", "coverage,fuzzing", "--max-examples", "3", "--seed", "1"),
        *("--workers", "2", "--request-timeout", "10", "--generation-database", "none", "--no-color"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=tmp_path,
        env=environment(
            PYTHONPATH=str(ROOT),
            SCHEMATHESIS_HOOKS="tests.console.schemathesis_hooks",
            DEXBRIDGE_TEST_SESSION=talk.session_id,
        ),
    )
    output, _ = await process.communicate()
    said = output.decode()
    assert process.returncode == 0, said
    assert "Tested: 7" in said
    # Not only refusals: what it sent as good was about a session there is.
    assert len((await talk.snapshot())["messages"]) > 0
