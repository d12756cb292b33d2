"""An application of its own on the Dex SDK, as the documentation's Worker section has it: Registry, Worker, client."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dex
import pytest

from dexbridge.connectors import derive_call_id
from dexbridge.sessions import AgentSessionFlow
from dexbridge.sessions.engines.dex import (
    DexSessionFlow,
    InterruptDecision,
    OutcomeSettlement,
    UserText,
    dex_flow,
    start_session,
)
from dexbridge.toolsource import ConnectorToolSource, OfferedTools, connector_tool
from tests.engines.dex.peer.server import DexPeer
from tests.fakes.connector import bound_post
from tests.fakes.scripted_runner import ScriptedRunner

POST = 'call mail_post_letter {"to": "ann", "text": "hello"}'


def flow_with_a_letter(**changes: Any) -> AgentSessionFlow:
    operation = bound_post(**changes)
    letter = connector_tool(operation, operation.reference, requires_approval=True)
    return AgentSessionFlow("letters", ScriptedRunner(), OfferedTools(ConnectorToolSource([letter]).tools()))


@dataclass(frozen=True)
class Application:
    """What an application holds."""

    client: dex.AsyncClient
    flow: DexSessionFlow

    async def snapshot(self, session_id: str) -> dict[str, Any]:
        return json.loads(await self.client.invoke_rpc(self.flow.get_snapshot, session_id))["snapshot"]

    async def until(self, session_id: str, status: str) -> dict[str, Any]:
        async with asyncio.timeout(20):
            while (found := await self.snapshot(session_id))["status"] != status:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return found


@asynccontextmanager
async def application(
    peer: DexPeer, folder: Path, session_flow: AgentSessionFlow, **how: Any
) -> AsyncGenerator[Application]:
    """A Registry, a Worker and a client around one flow."""
    async with AsyncExitStack() as opened:
        cache = dex.open_blob_cache(dex.BlobCacheConfig(str(folder), 1 << 24))
        opened.callback(cache.close)
        flow = dex_flow(session_flow, dex.ClientOptions(server_address=peer.address))
        opened.push_async_callback(flow.close)
        registry = dex.Registry((flow,), allow_async_handlers=True)
        worker = dex.AsyncWorker(registry, cache, dex.WorkerOptions(server_address=peer.address, **how))
        serving = asyncio.create_task(worker.start())
        opened.push_async_callback(asyncio.gather, serving, return_exceptions=True)
        opened.push_async_callback(worker.close)
        if "pull" in how:
            await worker.wait_pull_registered(10)
        else:
            while worker.worker_target.address.endswith(":0"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        options = dex.ClientOptions(server_address=peer.address, worker_target=worker.worker_target)
        client = await opened.enter_async_context(dex.AsyncClient(registry, cache, options))
        yield Application(client, flow)


LISTENING = {"bind_address": "127.0.0.1:0"}
POLLING = {"pull": dex.PullWorkerOptions(max_concurrent_tasks=4)}


def test_a_flow_registers_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flow = dex_flow(flow_with_a_letter())
        dex.Registry((flow,), allow_async_handlers=True)
    assert flow.get_flow_type() == "letters"


@pytest.mark.parametrize("how", [LISTENING, POLLING], ids=["listening", "polling"])
async def test_a_write_is_approved_and_made_under_the_call_id_of_its_dex_step(
    peer: DexPeer, tmp_path: Path, how: dict[str, Any]
) -> None:
    async with application(peer, tmp_path, flow_with_a_letter(), **how) as app:
        assert await start_session(app.client, app.flow, "s-1")
        assert not await start_session(app.client, app.flow, "s-1")
        message = UserText(POST, "message-1")
        for _ in range(2):
            assert (await app.client.invoke_rpc(app.flow.send_user_message, "s-1", message)).accepted
        again = await app.client.invoke_rpc(app.flow.send_user_message, "s-1", UserText("other", "message-1"))
        assert (again.accepted, again.reason) == (False, "another message was accepted under that message_id")
        (interrupt,) = (await app.until("s-1", "waiting"))["pending_interrupts"]
        decision = InterruptDecision(interrupt["interrupt_id"], approved=True, rejection_message="", decided_by="ann")
        assert (await app.client.invoke_rpc(app.flow.resolve_interrupt, "s-1", decision)).accepted
        assert not (await app.client.invoke_rpc(app.flow.resolve_interrupt, "s-1", decision)).accepted
        (call,) = (await app.until("s-1", "idle"))["calls"]
    assert (call["outcome"], call["decision"], call["decided_by"], call["attempts"]) == (
        "succeeded",
        "approved",
        "ann",
        1,
    )
    assert "started CallSingleAttemptTool-1" in peer.flows["s-1"].history
    assert call["call_id"] == derive_call_id("s-1", "CallSingleAttemptTool-1", "mail", "postLetter")


async def test_what_else_may_be_asked_of_a_session(peer: DexPeer, tmp_path: Path) -> None:
    async def cut(dispatch: Any) -> Any:
        dispatch.about_to_send()
        raise ConnectionError

    async with application(peer, tmp_path, flow_with_a_letter(send=cut), **LISTENING) as app:
        client, flow = app.client, app.flow
        await start_session(client, flow, "s-1")
        blank = await client.invoke_rpc(flow.send_user_message, "s-1", UserText(" ", ""))
        assert (blank.accepted, "blank" in blank.reason) == (False, True)
        assert not (await client.invoke_rpc(flow.cancel_turn, "s-1")).accepted
        await client.invoke_rpc(flow.send_user_message, "s-1", UserText(POST, ""))
        await app.until("s-1", "waiting")
        assert (await client.invoke_rpc(flow.steer, "s-1", UserText(POST, ""))).accepted
        (interrupt,) = (await app.until("s-1", "waiting"))["pending_interrupts"]
        no = InterruptDecision(interrupt["interrupt_id"], approved=False, rejection_message="Not now.", decided_by="")
        assert (await client.invoke_rpc(flow.resolve_interrupt, "s-1", no)).accepted
        await app.until("s-1", "idle")
        await client.invoke_rpc(flow.send_user_message, "s-1", UserText(POST, ""))
        (interrupt,) = (await app.until("s-1", "waiting"))["pending_interrupts"]
        yes = InterruptDecision(interrupt["interrupt_id"], approved=True, rejection_message="", decided_by="")
        await client.invoke_rpc(flow.resolve_interrupt, "s-1", yes)
        calls = (await app.until("s-1", "idle"))["calls"]
        assert [call["outcome"] for call in calls] == ["cancelled", "rejected", "outcome_unknown"]
        settlement = OutcomeSettlement(calls[-1]["step_execution_id"], sent=True, note="I saw it.", settled_by="ann")
        assert (await client.invoke_rpc(flow.settle, "s-1", settlement)).accepted
        assert not (await client.invoke_rpc(flow.settle, "s-1", settlement)).accepted
        assert (await app.snapshot("s-1"))["calls"][-1]["outcome"] == "succeeded"
        assert (await client.invoke_rpc(flow.end_session, "s-1")).accepted
        assert (await app.snapshot("s-1"))["status"] == "ended"
        late = await client.invoke_rpc(flow.send_user_message, "s-1", UserText("hello", ""))
        assert (late.accepted, late.reason) == (False, "the session has ended")
