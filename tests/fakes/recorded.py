"""The records of a database that other processes have written, for `ScriptedModel.assert_told`."""

from __future__ import annotations

from dexbridge.claude.testing import snapshots_of
from dexbridge.sessions import AgentSessionClient, SessionSnapshot, open_engine

__all__ = ["recorded_in"]


async def recorded_in(url: str) -> tuple[SessionSnapshot, ...]:
    """Every session of the engine's URL; no other engine may be open in this process."""
    async with open_engine(url, run_steps=False) as engine:
        return await snapshots_of(AgentSessionClient(engine, "read only"))
