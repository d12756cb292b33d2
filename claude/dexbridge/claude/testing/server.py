"""A Messages API server on loopback that answers from a script."""

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self, TypeAlias, cast

from aiohttp import web

from dexbridge.claude.testing import event_stream
from dexbridge.claude.testing.model_request import ModelRequest
from dexbridge.claude.testing.replies import (
    ApiError,
    Block,
    CutStream,
    ModelReply,
    Reply,
    Slow,
    Text,
    ToolUse,
)
from dexbridge.claude.testing.told import faults_in
from dexbridge.sessions import SessionSnapshot

Respond: TypeAlias = Callable[[ModelRequest], ModelReply]

_LARGEST_REQUEST = 64 * 1024 * 1024


class ScriptedModel:
    """A real HTTP server that plays the model for the Claude Code CLI.

    Point the CLI at it with ``ANTHROPIC_BASE_URL`` = `url` and any ``ANTHROPIC_API_KEY``. Replies queued with
    `script` are used first, one for each request of a conversation; then ``respond`` is asked. A request that
    neither answers gets an error 400, and `assert_script_used` reports it. What the CLI asks beside the
    conversation (a title, a probe, a token count) is answered without touching the script.

    Example::

        async with ScriptedModel() as model:
            model.script(Reply(ToolUse("mcp__tools__look_up_order", {"order_id": "1002"})))
            model.script(Reply(Text("It has shipped.")))
            ...  # run the agent with ANTHROPIC_BASE_URL=model.url
            model.assert_script_used()
            model.assert_told(await snapshots_of(client))

    Args:
        respond: answers a request when the queue is empty; called for each request, repeated ones too.
        host: the address to listen on.
        port: the port; 0 takes a free one.
    """

    def __init__(self, respond: Respond | None = None, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._respond = respond
        self._host = host
        self._port = port
        self._queue: deque[ModelReply] = deque()
        self._refused: dict[str, ModelReply] = {}
        self._requests: list[ModelRequest] = []
        self._side_requests: list[ModelRequest] = []
        self._unanswered: list[str] = []
        self._unchecked: set[int] = set()
        self._exemptions = 0
        self._numbers: dict[str, int] = {}
        self._arrival = asyncio.Condition()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=_LARGEST_REQUEST)
        application.router.add_post("/v1/messages", self._answer_messages)
        application.router.add_post("/v1/messages/count_tokens", _answer_count_tokens)
        application.router.add_route("*", "/{path:.*}", _answer_anything_else)
        # A reply with a long delay must not hold the end of a test, nor outlive a killed CLI.
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.05, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def url(self) -> str:
        """The value for ``ANTHROPIC_BASE_URL``, known once the server has started."""
        return f"http://{self._host}:{self._port}"

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        """Every request of a conversation, oldest first, repeated ones included."""
        return tuple(self._requests)

    @property
    def side_requests(self) -> tuple[ModelRequest, ...]:
        """What the CLI asked the model beside the conversation."""
        return tuple(self._side_requests)

    @property
    def replies_left(self) -> tuple[ModelReply, ...]:
        """The queued replies no request has taken yet."""
        return tuple(self._queue)

    def script(self, *replies: ModelReply) -> None:
        """Add replies to the end of the queue."""
        self._queue.extend(replies)

    def answer_with(self, respond: Respond) -> None:
        """Ask that function from now on when the queue is empty."""
        self._respond = respond

    def refuse(self, text: str, reply: ModelReply) -> None:
        """Answer so every request whose messages hold that text as JSON has it; the queue is left alone."""
        self._refused[text] = reply

    async def wait_for_requests(self, count: int) -> ModelRequest:
        """Wait until ``count`` conversation requests have arrived in all; return the one of that number."""
        async with self._arrival:
            await self._arrival.wait_for(lambda: len(self._requests) >= count)
        return self._requests[count - 1]

    def assert_script_used(self) -> None:
        """Check that every queued reply was taken and every request had one.

        Raises:
            AssertionError: names the replies left and the requests without one.
        """
        faults = list(self._unanswered)
        faults.extend(f"This reply was never asked for: {reply!r}." for reply in self._queue)
        if faults:
            raise AssertionError("\n".join(faults))

    @contextmanager
    def unchecked(self, reason: str) -> Generator[None]:
        """Requests that arrive meanwhile are left out of `told_faults`.

        Args:
            reason: why they may tell the model something else than what is recorded, such as the lock a test opens.
        """
        if not reason.strip():
            raise ValueError("unchecked(reason) needs the reason why these requests are not checked.")
        self._exemptions += 1
        try:
            yield
        finally:
            self._exemptions -= 1

    def told_faults(self, snapshots: Iterable[SessionSnapshot]) -> tuple[str, ...]:
        """What requests told the model other than what is recorded, a sentence each; see `told.faults_in`.

        Args:
            snapshots: the sessions the requests belong to, read afterwards (`snapshots_of`); a request of a session
                that is not among them is a fault too.
        """
        sessions = {snapshot.state.conversation_id: snapshot for snapshot in snapshots}
        faults: list[str] = []
        for number, request in enumerate(self._requests, start=1):
            if number in self._unchecked:
                continue
            snapshot = sessions.get(request.session_id or "")
            found = faults_in(request, snapshot)
            if snapshot is None and request.session_id is not None:
                found = (*found, "the records of its session were not given")
            name = request.session_id if snapshot is None else snapshot.state.session_id
            faults.extend(f"Request {number}, of {name}: {fault}." for fault in found)
        return tuple(faults)

    def assert_told(self, snapshots: Iterable[SessionSnapshot]) -> None:
        """Check that the model was told what is recorded, and only that.

        Raises:
            AssertionError: holds the sentences of `told_faults`.
        """
        if faults := self.told_faults(snapshots):
            raise AssertionError("\n".join(faults))

    async def _answer_messages(self, http: web.Request) -> web.StreamResponse:
        body = cast(dict[str, Any], json.loads(await http.read()))
        request = ModelRequest(
            body,
            time.monotonic(),
            http.headers.get("X-Claude-Code-Session-Id"),
            http.headers.get("X-Claude-Code-Agent-Id"),
            datetime.now(UTC),
        )
        if request.kind != "main":
            self._side_requests.append(request)
            text = json.dumps({"title": "Scripted session"}) if request.kind == "title" else "ok"
            return await self._send(http, request, Reply(Text(text)))
        # The reply is chosen before anything is awaited: requests take replies in the order they arrive.
        self._requests.append(request)
        if self._exemptions:
            self._unchecked.add(len(self._requests))
        reply = self._choose_reply(request)
        async with self._arrival:
            self._arrival.notify_all()
        return await self._send(http, request, reply)

    def _choose_reply(self, request: ModelRequest) -> ModelReply:
        for text, refusal in self._refused.items():
            if text in json.dumps(request.body.get("messages"), ensure_ascii=False):
                return refusal
        if self._queue:
            return self._queue.popleft()
        number = len(self._requests)
        if self._respond is None:
            fault = (
                f"The script has no reply for request {number}: the last user text is "
                f"{request.last_user_text!r}, the new tool results are "
                f"{list(request.tool_results.values())!r}. Add one with script(...)."
            )
        else:
            try:
                return self._respond(request)
            except Exception as error:  # noqa: BLE001 - the author's function; its fault is the test's finding
                fault = f"The respond function failed on request {number}: {error!r}."
        self._unanswered.append(fault)
        return ApiError(400, message=fault)

    async def _send(self, http: web.Request, request: ModelRequest, reply: ModelReply) -> web.StreamResponse:
        if isinstance(reply, ApiError):
            request_id = f"req_{self._next_number('request'):024d}"
            body = event_stream.error_body(reply, request_id)
            return web.json_response(body, status=reply.status, headers={"request-id": request_id})
        delay = 0.0 if isinstance(reply, CutStream) else reply.delay
        await asyncio.sleep(delay)
        blocks = self._with_ids(request, reply.blocks)
        message_id = f"msg_{self._next_number('message'):024d}"
        if isinstance(reply, Reply) and reply.message_id is not None:
            message_id = reply.message_id
        model = str(request.body.get("model", ""))
        if not request.body.get("stream") and not isinstance(reply, CutStream):
            return web.json_response(event_stream.whole_message(message_id, model, blocks, _stop_reason(reply)))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(http)
        async for event in _events(message_id, model, blocks, reply):
            await response.write(event_stream.encode_event(event))
        if isinstance(reply, CutStream):
            await asyncio.sleep(reply.pause)
            if http.transport is not None:
                http.transport.close()
        return response

    def _with_ids(self, request: ModelRequest, blocks: Sequence[Block]) -> tuple[Block, ...]:
        return tuple(
            replace(block, id=self._new_tool_use_id(request))
            if isinstance(block, ToolUse) and block.id is None
            else block
            for block in blocks
        )

    def _new_tool_use_id(self, request: ModelRequest) -> str:
        # A server started anew in the middle of a conversation must not repeat the IDs of the one before.
        while True:
            tool_use_id = f"toolu_{self._next_number('tool use'):024d}"
            if tool_use_id not in request.tool_uses:
                return tool_use_id

    def _next_number(self, of: str) -> int:
        self._numbers[of] = self._numbers.get(of, 0) + 1
        return self._numbers[of]


async def _events(
    message_id: str, model: str, blocks: Sequence[Block], reply: Reply | Slow | CutStream
) -> AsyncIterator[dict[str, Any]]:
    whole = reply.after_blocks if isinstance(reply, CutStream) else len(blocks)
    yield event_stream.message_start(message_id, model, reply.input_tokens if isinstance(reply, Reply) else 1)
    for index, block in enumerate(blocks[:whole]):
        for event in event_stream.block_events(index, block):
            if isinstance(reply, Slow):
                await asyncio.sleep(reply.pause)
            yield event
    if not isinstance(reply, CutStream):
        for event in event_stream.message_end(blocks, _stop_reason(reply)):
            yield event


def _stop_reason(reply: Reply | Slow | CutStream) -> str | None:
    return reply.stop_reason if isinstance(reply, Reply) else None


async def _answer_count_tokens(http: web.Request) -> web.Response:
    return web.json_response({"input_tokens": max(1, len(await http.read()) // 4)})


async def _answer_anything_else(http: web.Request) -> web.Response:
    await http.read()
    return web.json_response({})
