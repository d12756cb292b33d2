"""A Dex Server for tests: a small engine behind the real protocol. A test peer, not shipped and no product.

It speaks the gRPC protocol of dex-python-sdk 1.23.0 to the SDK's real Worker and client, listening or polling, and does
what the SDK's documentation says a server does, as far as sessions use it: Attributes, maps and Channels are written
with the result that carries them, locks conflict at once, Steps are numbered per type, attempts follow the retry
policy, exhausted ones go to the configured Step, a Worker that is lost costs an attempt. It keeps nothing on disk, and
knows no timers, SubFlows, continue-as-new or time travel.
"""

# gRPC for Python is typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc
from dex.dexpb import dex_pb2_grpc

from tests.engines.dex.peer.flow_run import FlowRun
from tests.engines.dex.peer.service import FlowService, WorkerTaskService
from tests.engines.dex.peer.steps import StepEngine
from tests.engines.dex.peer.streams import Streams
from tests.engines.dex.peer.values import Blobs
from tests.engines.dex.peer.workers import Workers

__all__ = ["DexPeer", "dex_peer"]


@dataclass(frozen=True)
class DexPeer:
    """A running peer.

    Attributes:
        port: Where it listens on 127.0.0.1.
    """

    port: int
    _service: FlowService
    _blobs: Blobs
    _workers: Workers
    _steps: StepEngine

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """For Workers that poll."""
        return f"dex://{self.address}"

    def fail_dispatch(self, step_execution_id: str) -> None:
        """The first attempt of that Step finds no Worker, which costs the attempt as a failure would."""
        self._steps.unreachable.add(step_execution_id)

    def lose_workers(self, *, costs_attempt: bool = True) -> None:
        """Takes every Worker that polls now for lost, as after missed heartbeats; the Worker may not know of it.

        Args:
            costs_attempt: Whether what it had is a failed attempt; else another Worker gets the same attempt again.
        """
        self._workers.lose_all(costs_attempt=costs_attempt)

    @property
    def flows(self) -> dict[str, FlowRun]:
        """The Flows by ID, as the server has them."""
        return self._service.flows

    @property
    def rpcs(self) -> list[str]:
        """The names of all RPCs that were asked for."""
        return self._service.rpcs

    @property
    def largest_value(self) -> int:
        """Bytes of the largest single value that was sent out."""
        return self._blobs.largest


@asynccontextmanager
async def dex_peer(retry_second: float = 0.05, dispatch_wait: float = 5.0) -> AsyncGenerator[DexPeer]:
    """Serves until the end of the block.

    Args:
        retry_second: What a second of a retry interval takes.
        dispatch_wait: How long a task waits for a Worker that polls before it fails; the real one has 10 s.
    """
    workers, blobs, streams = Workers(dispatch_wait), Blobs(), Streams()
    steps = StepEngine(workers, blobs, streams, retry_second)
    service = FlowService(workers, steps, streams, blobs)
    server = grpc.aio.server()
    dex_pb2_grpc.add_FlowServiceServicer_to_server(service, server)
    dex_pb2_grpc.add_WorkerTaskServiceServicer_to_server(WorkerTaskService(workers), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield DexPeer(port, service, blobs, workers, steps)
    finally:
        running = [task for flow in service.flows.values() for task in flow.running]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await workers.close()
        await server.stop(grace=0.5)
