"""The SDK's Worker for as long as an engine is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

import dex

from dexbridge.sessions.engines.dex.address import DexAddress
from dexbridge.sessions.errors import DatabaseUnavailable

__all__ = ["running_worker"]

_READY_SECONDS = 30.0
_DRAIN = timedelta(seconds=30)
_TASKS = 64
# Each Step that runs asks RPCs of its own session, which a Worker has to answer.
_KEPT_FOR_RPCS = 16


@asynccontextmanager
async def running_worker(registry: dex.Registry, cache: dex.BlobCache, address: DexAddress) -> AsyncGenerator[None]:
    """Serves the flows of the registry; entered once the server knows of the Worker, or its port is open.

    Raises:
        DatabaseUnavailable: The Worker could not be started.
    """
    worker = dex.AsyncWorker(registry, cache, _options(address))
    serving = asyncio.create_task(worker.start())
    ready = asyncio.create_task(_listening(address.worker) if address.worker else _registered(worker))
    try:
        await asyncio.wait([serving, ready], timeout=_READY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if serving.done() or not ready.done():
            reason = serving.exception() if serving.done() else None
            kind = "it was not ready in time" if reason is None else type(reason).__name__
            raise DatabaseUnavailable(f"The Dex Worker did not start with the server at {address.server}: {kind}.")
        ready.result()
        yield
    finally:
        ready.cancel()
        await asyncio.gather(ready, return_exceptions=True)
        await worker.close()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def _options(address: DexAddress) -> dex.WorkerOptions:
    if address.worker is not None:
        return dex.WorkerOptions(
            bind_address=address.worker,
            worker_target=dex.WorkerTarget(address.worker),
            server_address=address.server,
        )
    pull = dex.PullWorkerOptions(
        max_concurrent_tasks=_TASKS,
        reserved_rpc_tasks=_KEPT_FOR_RPCS,
        idle_streams_per_queue=2,
        stop_drain_timeout=_DRAIN,
    )
    return dex.WorkerOptions(server_address=address.server, pull=pull)


async def _registered(worker: dex.AsyncWorker) -> None:
    await worker.wait_pull_registered(_READY_SECONDS)


async def _listening(target: str) -> None:
    host, _, port = target.rpartition(":")
    while True:
        try:
            _, writer = await asyncio.open_connection(host, int(port))
        except OSError:
            await asyncio.sleep(0.02)
            continue
        writer.close()
        await writer.wait_closed()
        return
