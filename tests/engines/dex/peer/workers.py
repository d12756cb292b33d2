"""How the peer reaches Workers: it dials listening ones, and gives tasks to those that poll."""

# gRPC for Python is typed in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

import grpc
from dex.dexpb import dex_pb2 as pb
from dex.dexpb import dex_pb2_grpc
from grpc_status import rpc_status

from tests.engines.dex.peer.flow_run import FlowRun

__all__ = ["NO_WORKER", "PolledStream", "WorkerFailed", "Workers"]

Request = pb.InvokeWaitForMethodRequest | pb.InvokeExecuteMethodRequest | pb.InvokeWorkerRPCRequest
Output = Any
NO_WORKER = "NO_WORKER_AVAILABLE"


@dataclass
class WorkerFailed(Exception):
    """A Worker's method ended with an error, or the Worker was lost."""

    detail: str
    error_type: str
    retry_after: int = 0
    status: int = grpc.StatusCode.UNKNOWN.value[0]


class PolledStream:
    """One stream of a polling Worker; it runs one task at a time."""

    def __init__(self, register: pb.PollWorkerTaskRegister) -> None:
        self.register = register
        self.task_id: str | None = None
        self.frames: asyncio.Queue[pb.PollWorkerTaskRequest | None] = asyncio.Queue()
        self.gone = False
        self.retired = False
        self.lost = asyncio.Event()
        self._outgoing: asyncio.Queue[pb.PollWorkerTaskResponse | None] = asyncio.Queue()

    def send(self, response: pb.PollWorkerTaskResponse) -> None:
        """Has it written. Whoever sends may be cancelled, and half a write would break the stream."""
        self._outgoing.put_nowait(response)

    async def write_to(self, context: Any) -> None:
        while (response := await self._outgoing.get()) is not None:
            with suppress(Exception):
                await context.write(response)

    def close(self) -> None:
        """Nothing more is written; what is half written ends first, as gRPC wants it."""
        self._outgoing.put_nowait(None)


class Workers:
    """All Workers the peer knows."""

    def __init__(self, dispatch_wait: float) -> None:
        self._dispatch_wait = dispatch_wait
        self._streams: list[PolledStream] = []
        self._idle = asyncio.Condition()
        self._channels: dict[str, grpc.aio.Channel] = {}
        self._task_ids = itertools.count(1)
        self._freeing: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        for channel in self._channels.values():
            await channel.close()

    def lose_all(self, *, costs_attempt: bool) -> None:
        """Gives up on every stream; what a Worker says on one later is not heard."""
        for stream in list(self._streams):
            stream.retired = not costs_attempt
            self._give_up(stream)

    def _give_up(self, stream: PolledStream) -> None:
        if not stream.gone:
            stream.gone = True
            self._streams.remove(stream)
            stream.frames.put_nowait(None)
            stream.lost.set()

    async def poll(self, stream: PolledStream, context: Any) -> None:
        """Serves a stream until its Worker ends it or is lost."""
        self._streams.append(stream)
        stream.send(
            pb.PollWorkerTaskResponse(registered=pb.PollWorkerTaskRegistered(supports_unknown_name_rejection=True))
        )
        writing = asyncio.create_task(stream.write_to(context))
        reading = asyncio.create_task(_read_all(stream, context))
        lost = asyncio.create_task(stream.lost.wait())
        await self._announce()
        try:
            await asyncio.wait([reading, lost], return_when=asyncio.FIRST_COMPLETED)
            # A Worker ends a stream of its own accord only while it runs nothing there.
            stream.retired |= reading.done() and not reading.cancelled() and reading.exception() is None
        finally:
            self._give_up(stream)
            stream.close()
            lost.cancel()
            await asyncio.gather(writing, lost, return_exceptions=True)
        if not reading.done():
            try:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "this Worker is taken for lost")
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)

    async def invoke(self, flow: FlowRun, kind: str, request: Request) -> AsyncGenerator[Output]:
        """The Worker's outputs, the result last. Raises `WorkerFailed`."""
        how = self._polled if flow.worker_target.is_pull_mode else self._dialled
        async with aclosing(how(flow, kind, request)) as outputs:
            async for output in outputs:
                yield output

    async def _dialled(self, flow: FlowRun, kind: str, request: Request) -> AsyncGenerator[Output]:
        address = flow.worker_target.address
        if address not in self._channels:
            self._channels[address] = grpc.aio.insecure_channel(
                address, options=[("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 100)]
            )
        stub: Any = dex_pb2_grpc.WorkerServiceStub(self._channels[address])
        try:
            if kind == "rpc":
                yield await stub.InvokeWorkerRPC(request)
                return
            method = stub.InvokeWaitForMethod if kind == "wait_for" else stub.InvokeExecuteMethod
            async for output in method(request):
                yield output
        except grpc.RpcError as error:
            raise _failure(error) from None

    async def _polled(self, flow: FlowRun, kind: str, request: Request) -> AsyncGenerator[Output]:
        rejected_by: set[str] = set()
        while True:
            stream = await self._idle_stream(flow, rejected_by)
            task = pb.PollWorkerTask(task_id=stream.task_id)
            getattr(task, kind).CopyFrom(request)
            last: Output = None
            ended = False
            try:
                stream.send(pb.PollWorkerTaskResponse(task=task))
                while last is None and not ended:
                    frame = await stream.frames.get()
                    if frame is None and stream.retired:
                        ended = True
                        continue
                    if frame is None:
                        ended = True
                        raise WorkerFailed("the stream ended", "WORKER_DISCONNECTED")
                    if frame.WhichOneof("frame") == "reject":
                        ended = True
                        if frame.reject.reason != pb.POLL_WORKER_TASK_REJECT_REASON_NO_CAPACITY:
                            rejected_by.add(stream.register.app_worker_id)
                        continue
                    content = frame.task_frame.WhichOneof("output")
                    assert content is not None
                    if content == "worker_error":
                        ended = True
                        error = frame.task_frame.worker_error
                        raise WorkerFailed(error.detail, error.error_type, error.retry_after_seconds, error.grpc_status)
                    output = getattr(frame.task_frame, content)
                    if kind == "rpc" or output.WhichOneof("output") == "result":
                        ended = True
                        last = output
                    else:
                        yield output
            finally:
                # Whoever asked may be gone already, so this must not depend on them.
                freeing = asyncio.create_task(self._free(stream, was_cut_off=not ended))
                self._freeing.add(freeing)
                freeing.add_done_callback(self._freeing.discard)
                await asyncio.shield(freeing)
            if last is not None:
                yield last
                return
            await asyncio.sleep(0.01)

    async def _free(self, stream: PolledStream, *, was_cut_off: bool) -> None:
        """Has the stream ready for another task, once the Worker is done with one that was abandoned."""
        if was_cut_off:
            cancel = pb.PollWorkerTaskCancelTask(task_id=stream.task_id or "")
            stream.send(pb.PollWorkerTaskResponse(cancel_task=cancel))
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    while not _is_last(await stream.frames.get()):
                        pass
        stream.task_id = None
        await self._announce()

    async def _idle_stream(self, flow: FlowRun, rejected_by: set[str]) -> PolledStream:
        def find() -> PolledStream | None:
            for stream in self._streams:
                serves = flow.flow_type in stream.register.flow_types
                if serves and stream.task_id is None and stream.register.app_worker_id not in rejected_by:
                    return stream
            return None

        try:
            async with asyncio.timeout(self._dispatch_wait), self._idle:
                while (stream := find()) is None:
                    await self._idle.wait()
                stream.task_id = f"task-{next(self._task_ids)}"
                return stream
        except TimeoutError:
            raise WorkerFailed("no Worker took the task in time", NO_WORKER) from None

    async def _announce(self) -> None:
        async with self._idle:
            self._idle.notify_all()


async def _read_all(stream: PolledStream, context: Any) -> None:
    while (frame := await context.read()) is not grpc.aio.EOF:
        if frame.WhichOneof("frame") in ("task_frame", "reject"):
            stream.frames.put_nowait(frame)


def _is_last(frame: pb.PollWorkerTaskRequest | None) -> bool:
    """Whether a Worker says no more of a task."""
    if frame is None or frame.HasField("reject"):
        return True
    output = frame.task_frame.WhichOneof("output")
    return output in ("worker_error", "rpc") or getattr(frame.task_frame, output or "").HasField("result")


def _failure(error: grpc.RpcError) -> WorkerFailed:
    status = rpc_status.from_call(error)  # pyright: ignore[reportArgumentType]
    for packed in status.details if status is not None else ():
        details = pb.WorkerErrorResponse()
        if packed.Unpack(details):
            return WorkerFailed(details.detail, details.error_type, details.retry_after_seconds, details.grpc_status)
    code: grpc.StatusCode = error.code()  # pyright: ignore[reportAttributeAccessIssue]
    return WorkerFailed(code.name, "WORKER_UNREACHABLE", status=code.value[0])
