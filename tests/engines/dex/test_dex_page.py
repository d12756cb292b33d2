"""docs/dex.md names what is there."""

from __future__ import annotations

import re
from pathlib import Path

import dex

from dexbridge.sessions.engines import dex as engine
from tests.sessions.conftest import flow_of

PAGE = (Path(__file__).parents[3] / "docs" / "dex.md").read_text(encoding="utf-8")


def test_its_rpcs_are_those_of_the_flow() -> None:
    flow = engine.dex_flow(flow_of([]))
    table = PAGE.partition("| RPC | input | answer |")[2].partition("\n\n")[0]
    named = {name for row in table.splitlines()[1:] if row for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    registered = {name for name in dir(flow) if hasattr(getattr(flow, name), "__dex_rpc_options__")}
    assert named == registered
    dex.Registry((flow,), allow_async_handlers=True)


def test_its_entries_are_those_of_the_schema() -> None:
    table = PAGE.partition("| of a session | on the server |")[2].partition("\n\n")[0]
    flow = engine.dex_flow(flow_of([]))
    schema = flow.get_persistence_schema()
    for definition in (*schema.channels, *schema.streams):
        assert f"`{definition.name}`" in table
    for name in ("session", "attempts", "transcript"):
        assert name in {definition.name for definition in schema.attributes}
        assert f"`{name}`" in table


def test_its_imports_are_public() -> None:
    for name in ("dex_flow", "start_session", "UserText", "Answer", "InterruptDecision", "OutcomeSettlement"):
        assert name in PAGE
        assert name in engine.__all__
