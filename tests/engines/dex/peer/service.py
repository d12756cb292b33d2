"""The gRPC services a client and a Worker speak to."""

# ruff: noqa: N802 - the methods' names are the protocol's
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import grpc
from dex.dexpb import dex_pb2 as pb
from dex.dexpb import dex_pb2_grpc
from google.protobuf import any_pb2, empty_pb2
from google.rpc import status_pb2
from grpc_status import rpc_status

from tests.engines.dex.peer.flow_run import FlowRun, LockConflict
from tests.engines.dex.peer.steps import StepEngine
from tests.engines.dex.peer.streams import Streams
from tests.engines.dex.peer.values import Blobs, ValueTooLarge
from tests.engines.dex.peer.workers import PolledStream, WorkerFailed, Workers

__all__ = ["FlowService", "WorkerTaskService"]

PROTOCOL = 3
RPC_SECONDS = 30
Context = Any


class FlowService(dex_pb2_grpc.FlowServiceServicer):
    """What the SDK's client and Worker ask of a server, as far as sessions need it."""

    def __init__(self, workers: Workers, steps: StepEngine, streams: Streams, blobs: Blobs) -> None:
        self.flows: dict[str, FlowRun] = {}
        self.rpcs: list[str] = []
        self._workers = workers
        self._steps = steps
        self._streams = streams
        self._blobs = blobs

    async def HealthCheck(self, request: empty_pb2.Empty, context: Context) -> pb.HealthInfo:
        return pb.HealthInfo(condition="OK")

    async def GetServerInfo(self, request: empty_pb2.Empty, context: Context) -> pb.ServerInfo:
        return pb.ServerInfo(
            server_version="test-peer", minimum_supported_protocol_version=1, current_protocol_version=PROTOCOL
        )

    async def SyncAttributeIndexes(
        self, request: pb.SyncAttributeIndexRequest, context: Context
    ) -> pb.SyncAttributeIndexResponse:
        return pb.SyncAttributeIndexResponse()

    async def StartFlow(self, request: pb.StartFlowRequest, context: Context) -> pb.StartFlowResponse:
        options = request.flow_start_options
        if request.flow_id in self.flows:
            assert options.id_reuse_policy == pb.ID_REUSE_POLICY_DISALLOW_REUSE, "a session ID is never used again"
            await fail(context, grpc.StatusCode.ALREADY_EXISTS, pb.ERROR_SUB_STATUS_FLOW_ALREADY_STARTED)
        assert not request.start_step_type, "a session has no starting Step"
        flow = FlowRun(request.flow_id, request.flow_type, options.flow_config_override.worker_target)
        flow.write(options.attributes, ())
        self.flows[request.flow_id] = flow
        return pb.StartFlowResponse(run_id=flow.run_id)

    async def InvokeRPC(self, request: pb.InvokeRPCRequest, context: Context) -> pb.InvokeRPCResponse:
        flow = await self._flow(request.flow_id, context)
        self.rpcs.append(request.rpc_name)
        try:
            with flow.locked(request.lock_attribute_keys):
                response = await self._ask(flow, request)
                effects = response.upsert_attributes or response.publish_to_channel or response.step_decision.next_steps
                if flow.status != pb.FLOW_STATUS_RUNNING and (effects or request.is_transactional):
                    await fail(context, grpc.StatusCode.NOT_FOUND, pb.ERROR_SUB_STATUS_FLOW_NOT_EXISTS)
                flow.write(response.upsert_attributes, response.publish_to_channel)
                self._steps.apply(flow, response.step_decision, "")
                return pb.InvokeRPCResponse(output=self._blobs.outward(flow.flow_id, response.output))
        except LockConflict:
            await fail(context, grpc.StatusCode.ABORTED, pb.ERROR_SUB_STATUS_WORKER_API_ERROR)
        except (WorkerFailed, ValueTooLarge) as error:
            await fail(context, grpc.StatusCode.UNKNOWN, pb.ERROR_SUB_STATUS_WORKER_API_ERROR, str(error))
        raise AssertionError

    async def LoadBlobs(self, request: pb.LoadBlobsRequest, context: Context) -> pb.LoadBlobsResponse:
        return self._blobs.load(request)

    async def WriteStream(self, request: pb.WriteStreamRequest, context: Context) -> empty_pb2.Empty:
        self._streams.write(request.flow_id, request.flow_type, request.stream_name, request.value, request.source)
        return empty_pb2.Empty()

    async def ReadStream(self, request: pb.ReadStreamRequest, context: Context) -> pb.ReadStreamResponse:
        message = await self._streams.read(request)
        if message is None:
            await fail(context, grpc.StatusCode.DEADLINE_EXCEEDED, pb.ERROR_SUB_STATUS_LONG_POLL_TIME_OUT)
        return pb.ReadStreamResponse(message=message)

    async def ListStreamMessages(
        self, request: pb.ListStreamMessagesRequest, context: Context
    ) -> pb.ListStreamMessagesResponse:
        return pb.ListStreamMessagesResponse(messages=self._streams.newest(request))

    async def SearchFlows(self, request: pb.SearchFlowsRequest, context: Context) -> pb.SearchFlowsResponse:
        name, _, flow_type = request.query.partition(" = ")
        assert name == "FlowType"
        first = int(request.next_page_token or 0)
        found = [flow for flow in reversed(self.flows.values()) if flow.flow_type == flow_type.strip("'")]
        page = found[first : first + request.page_size]
        following = first + len(page)
        entries = [
            pb.SearchFlowsResponseEntry(
                flow_id=flow.flow_id,
                run_id=flow.run_id,
                flow_type=flow.flow_type,
                flow_status=flow.status,  # pyright: ignore[reportArgumentType]
            )
            for flow in page
        ]
        return pb.SearchFlowsResponse(
            flow_runs=entries, next_page_token=str(following) if following < len(found) else ""
        )

    async def _ask(self, flow: FlowRun, request: pb.InvokeRPCRequest) -> pb.InvokeWorkerRPCResponse:
        loads = list(request.load_attribute_map_instances)
        attributes = [
            pb.KV(key=entry.key, value=self._blobs.outward(flow.flow_id, entry.value)) for entry in flow.loaded(loads)
        ]
        asked = pb.InvokeWorkerRPCRequest(
            context=pb.Context(flow_id=flow.flow_id, run_id=flow.run_id, flow_started_timestamp=flow.started),
            flow_type=flow.flow_type,
            rpc_name=request.rpc_name,
            input=request.input,
            attributes=attributes,
            channel_infos=flow.channel_infos(),
            loaded_attribute_map_instances=loads,
        )
        try:
            seconds = request.timeout_seconds or RPC_SECONDS
            async with asyncio.timeout(seconds), aclosing(self._workers.invoke(flow, "rpc", asked)) as responses:
                return await anext(responses)
        except TimeoutError:
            raise WorkerFailed("the RPC took too long", "TIMEOUT") from None

    async def _flow(self, flow_id: str, context: Context) -> FlowRun:
        if flow_id not in self.flows:
            await fail(context, grpc.StatusCode.NOT_FOUND, pb.ERROR_SUB_STATUS_FLOW_NOT_EXISTS)
        return self.flows[flow_id]


class WorkerTaskService(dex_pb2_grpc.WorkerTaskServiceServicer):
    """Where polling Workers get their tasks."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    async def PollWorkerTask(self, request_iterator: AsyncIterator[pb.PollWorkerTaskRequest], context: Context) -> None:
        first = await context.read()
        if first is grpc.aio.EOF:
            # Its Worker was killed before it said who it is.
            return
        await self._workers.poll(PolledStream(first.register), context)


async def fail(context: Context, code: grpc.StatusCode, sub_status: pb.ErrorSubStatus, detail: str = "no") -> None:
    """Ends a call as the server does, with details the SDK translates."""
    packed = any_pb2.Any()
    packed.Pack(pb.ServiceErrorResponse(detail=detail, sub_status=sub_status))
    status = status_pb2.Status(code=code.value[0], message=detail, details=[packed])
    await context.abort_with_status(rpc_status.to_status(status))
