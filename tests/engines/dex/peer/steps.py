"""Runs the Steps of Flows as the SDK documents it: wait, execute, attempts, failure routing, decisions."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from typing import Any

from dex.dexpb import dex_pb2 as pb

from tests.engines.dex.peer.flow_run import FlowRun
from tests.engines.dex.peer.streams import Streams
from tests.engines.dex.peer.values import Blobs
from tests.engines.dex.peer.workers import NO_WORKER, WorkerFailed, Workers

__all__ = ["StepEngine"]

HEARTBEAT_SECONDS = 60
METHOD_SECONDS = 7200
TOTAL_SECONDS = 4 * 3600


class StepEngine:
    """Runs movements.

    Args:
        workers: The Workers.
        blobs: Large values.
        streams: Where Stream writes of Steps go.
        retry_second: What a second of a retry interval takes here.
    """

    def __init__(self, workers: Workers, blobs: Blobs, streams: Streams, retry_second: float) -> None:
        self._workers = workers
        self._blobs = blobs
        self._streams = streams
        self._retry_second = retry_second
        self.unreachable: set[str] = set()

    def start(
        self,
        flow: FlowRun,
        movements: list[pb.StepMovement],
        came_from: str,
        recovery: pb.RecoveryErrorInfo | None = None,
    ) -> None:
        """Starts Steps; their executions are numbered in this order."""
        for movement in movements:
            execution = flow.next_execution(movement.step_type)
            running = asyncio.create_task(self._run(flow, movement, execution, came_from, recovery))
            flow.running.add(running)
            running.add_done_callback(flow.running.discard)

    def apply(self, flow: FlowRun, decision: pb.StepDecision, came_from: str) -> None:
        """Does what a decision says."""
        self.start(flow, list(decision.next_steps), came_from)
        if decision.HasField("close_decision"):
            kind = decision.close_decision.close_decision_type
            if kind == pb.CLOSE_DECISION_TYPE_FORCE_COMPLETE:
                self.close(flow, pb.FLOW_STATUS_COMPLETED)
            elif kind == pb.CLOSE_DECISION_TYPE_FORCE_FAIL:
                self.close(flow, pb.FLOW_STATUS_FAILED)
            else:
                assert kind == pb.CLOSE_DECISION_TYPE_DEAD_END, "this peer knows no other close"

    def close(self, flow: FlowRun, status: int) -> None:
        flow.status = status
        current = asyncio.current_task()
        for task in flow.running:
            if task is not current:
                task.cancel()

    async def _run(
        self,
        flow: FlowRun,
        movement: pb.StepMovement,
        execution: str,
        came_from: str,
        recovery: pb.RecoveryErrorInfo | None,
    ) -> None:
        options = movement.step_options
        flow.history.append(f"started {execution}")

        def metadata() -> pb.Context:
            context = pb.Context(
                flow_id=flow.flow_id,
                run_id=flow.run_id,
                flow_started_timestamp=flow.started,
                step_execution_id=execution,
                from_step_execution_id=came_from,
            )
            if recovery is not None:
                context.recovery_error.CopyFrom(recovery)
            return context

        results: pb.ConditionResults | None = None
        if not options.skip_wait_for:
            waited = await self._method(flow, movement, metadata(), "wait_for", None)
            if waited is None:
                return
            if waited.HasField("waiting_condition"):
                results = await self._ready(flow, waited.waiting_condition)
        executed = await self._method(flow, movement, metadata(), "execute", results)
        if executed is None:
            return
        flow.history.append(f"completed {execution}")
        self.apply(flow, executed.step_decision, execution)

    async def _ready(self, flow: FlowRun, waiting: pb.WaitingCondition) -> pb.ConditionResults:
        """Waits for Channels; this peer knows one Channel condition with a lower bound."""
        (condition,) = waiting.channel_conditions
        messages = flow.channels[condition.channel_name]
        while len(messages) < condition.at_least:
            flow.published.clear()
            await flow.published.wait()
        taken = [messages.popleft().value for _ in range(min(len(messages), condition.at_most or len(messages)))]
        result = pb.ChannelResult(
            channel_name=condition.channel_name, condition_status=pb.CONDITION_STATUS_COMPLETED, values=taken
        )
        return pb.ConditionResults(channel_results=[result])

    async def _method(
        self,
        flow: FlowRun,
        movement: pb.StepMovement,
        context: pb.Context,
        kind: str,
        results: pb.ConditionResults | None,
    ) -> Any:
        """One method with its attempts; `None` when the Step ended without a result."""
        options = movement.step_options
        waits = kind == "wait_for"
        retry = options.wait_for_retry_policy if waits else options.execute_retry_policy
        seconds = (options.wait_for_timeout_seconds if waits else options.execute_timeout_seconds) or METHOD_SECONDS
        began = time.monotonic()
        context.first_attempt_timestamp = int(time.time())
        attempt = 0
        while True:
            attempt += 1
            context.attempt = attempt
            request = self._request(flow, movement, context, kind, results)
            try:
                result = await self._attempt(flow, kind, request, seconds, options.heartbeat_timeout_seconds)
            except WorkerFailed as failure:
                flow.history.append(f"failed {context.step_execution_id} {kind} {attempt} {failure.error_type}")
                lasted = time.monotonic() - began
                total = retry.total_duration_seconds or TOTAL_SECONDS
                if (retry.maximum_attempts and attempt >= retry.maximum_attempts) or lasted >= total:
                    self._exhausted(flow, movement, context, kind, failure)
                    return None
                pause = failure.retry_after or min(
                    (retry.initial_interval_seconds or 1) * (retry.backoff_coefficient or 2.0) ** (attempt - 1),
                    retry.maximum_interval_seconds or 100,
                )
                await asyncio.sleep(pause * self._retry_second)
                continue
            flow.write(result.upsert_attributes, result.publish_to_channel)
            return result

    def _exhausted(
        self, flow: FlowRun, movement: pb.StepMovement, context: pb.Context, kind: str, failure: WorkerFailed
    ) -> None:
        options = movement.step_options
        routed = options.execute_failure_policy == pb.EXECUTE_METHOD_FAILURE_POLICY_PROCEED_TO_CONFIGURED_STEP
        if kind != "execute" or not routed:
            self.close(flow, pb.FLOW_STATUS_FAILED)
            return
        recovery = pb.StepMovement(
            step_type=options.execute_failure_proceed_step_type,
            step_input=movement.step_input,
            step_options=options.execute_failure_proceed_step_options,
        )
        error = pb.RecoveryErrorInfo(detail=failure.detail, error_type=failure.error_type)
        self.start(flow, [recovery], context.step_execution_id, error)

    async def _attempt(self, flow: FlowRun, kind: str, request: Any, seconds: int, heartbeat_seconds: int) -> Any:
        execution = request.context.step_execution_id
        if execution in self.unreachable:
            self.unreachable.remove(execution)
            raise WorkerFailed("no Worker took the task in time", NO_WORKER)
        try:
            async with asyncio.timeout(seconds), aclosing(self._workers.invoke(flow, kind, request)) as outputs:
                while True:
                    async with asyncio.timeout(heartbeat_seconds or HEARTBEAT_SECONDS):
                        output = await anext(outputs)
                    match output.WhichOneof("output"):
                        case "result":
                            return output.result
                        case "stream_write":
                            write = output.stream_write
                            source = f"#{execution}"
                            self._streams.write(flow.flow_id, flow.flow_type, write.stream_name, write.value, source)
                        case _:
                            pass
        except TimeoutError:
            raise WorkerFailed("the attempt took too long", "TIMEOUT") from None

    def _request(
        self,
        flow: FlowRun,
        movement: pb.StepMovement,
        context: pb.Context,
        kind: str,
        results: pb.ConditionResults | None,
    ) -> Any:
        attributes = [
            pb.KV(key=entry.key, value=self._blobs.outward(flow.flow_id, entry.value)) for entry in flow.loaded(())
        ]
        values: dict[str, Any] = {
            "context": context,
            "flow_type": flow.flow_type,
            "step_type": movement.step_type,
            "step_input": movement.step_input,
            "attributes": attributes,
            "channel_infos": flow.channel_infos(),
        }
        if kind == "wait_for":
            return pb.InvokeWaitForMethodRequest(**values)
        if results is not None:
            values["condition_results"] = results
        return pb.InvokeExecuteMethodRequest(**values)
