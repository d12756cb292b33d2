"""LocalServer: a provider's stand-in over real HTTP, with faults on demand. Needs aiohttp.

class LocalNotes(LocalServer):
    def __init__(self) -> None:
        super().__init__({"api_key": "key-of-the-local-notes"})
        self.notes: list[str] = []

    def carry_out(self, request: ReceivedRequest) -> Answered:
        if request.token_kind != "api_key":
            return Answered(401, {"error": "wrong key"})
        self.notes.append(request.body["text"])
        return Answered(201, {"id": str(len(self.notes))})

async with LocalNotes() as server:
    server.fail_next("POST /notes", DropAfterPost())
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Final, Self, cast

from aiohttp import web

from dexbridge.connectors.testing.faults import (
    FAULT_KINDS,
    Answered,
    AnswerLate,
    DropAfterPost,
    DropBeforeRead,
    DropWithoutPost,
    Fault,
    PostLate,
    SpoiltAnswer,
    TruncatedAnswer,
    fault_from_json,
    fault_to_json,
)

ANY_REQUEST: Final = "*"
"""The name under which `fail_next` and `fail_always` mean every request."""


@dataclass(frozen=True)
class ReceivedRequest:
    """One request as it arrived. No token is kept, only whose it was.

    Args:
        method: what `fail_next` calls it: `POST /notes`, or as the server names its requests.
        token_kind: the name of the credential it carried without `_token`; "none" or "wrong".
        body: the JSON object or form it carried; of a GET its query. Empty when it was not read.
        verb: such as `POST`.
        path: without the query.
        headers: names in lower case, without those that hold a credential.
        received_at: when it came, on this process's monotonic clock, in seconds.
        target: path and query as they were sent, percent signs and all.
    """

    method: str
    token_kind: str
    body: Mapping[str, Any]
    verb: str = ""
    path: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    received_at: float = 0.0
    target: str = ""

    @property
    def is_authorised(self) -> bool:
        """It carried a credential that the server accepts."""
        return self.token_kind not in {"none", "wrong"}


class LocalServer(ABC):
    """A provider that keeps what is written and has the faults it is told to have.

    Args:
        tokens: the credentials it accepts, by the names a connection gives them; change one to rotate it.
        port: 0 takes a free one.

    `requests` lists what arrived, `answered` what carrying it out gave, before any fault. From another process,
    `/_admin/requests` and `/_admin/faults` show and steer it.
    """

    fault_kinds: ClassVar[tuple[type[Fault], ...]] = FAULT_KINDS
    """What `/_admin/faults` takes."""

    def __init__(self, tokens: Mapping[str, str], *, port: int = 0) -> None:
        self.tokens: dict[str, str] = dict(tokens)
        self.requests: list[ReceivedRequest] = []
        self.answered: list[Answered] = []
        self._faults: dict[str, deque[Fault]] = {}
        self._always: Fault | None = None
        self._port = port
        self._runner: web.AppRunner | None = None
        self._late: set[asyncio.Task[None]] = set()
        self._changed: asyncio.Event = asyncio.Event()

    @abstractmethod
    def carry_out(self, request: ReceivedRequest) -> Answered:
        """Does what a request asks, and says what to answer."""
        raise NotImplementedError

    def name_of(self, verb: str, path: str) -> str:
        """What `fail_next` calls a request."""
        return f"{verb} {path}"

    def not_carried_out(self) -> Answered:
        """The answer that a fault spoils when the request was not carried out."""
        return Answered(200, {})

    def add_admin_routes(self, router: web.UrlDispatcher) -> None:
        """Adds routes for other processes; a server of one's own may have some."""
        del router

    @property
    def url(self) -> str:
        """Where the server listens."""
        return f"http://127.0.0.1:{self._port}"

    def fail_next(self, method: str, *faults: Fault) -> None:
        """Queues faults for the next requests of that name; `*` is the next of any name."""
        self._faults.setdefault(method, deque()).extend(faults)

    def fail_always(self, fault: Fault | None) -> None:
        """Gives every request this fault when none is queued for it; None ends that."""
        self._always = fault

    def clear_faults(self) -> None:
        """Forgets every queued fault."""
        self._faults.clear()

    async def settle(self) -> None:
        """Waits until every late request has been carried out."""
        await asyncio.gather(*self._late)

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Waits until a condition on what arrived or was written holds; give it a deadline with asyncio.timeout."""
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Begins to listen."""
        app = web.Application(client_max_size=8 * 1024 * 1024)
        app.router.add_get("/_admin/requests", self._admin_requests)
        app.router.add_get("/_admin/faults", self._admin_faults)
        app.router.add_post("/_admin/faults", self._admin_add_faults)
        app.router.add_delete("/_admin/faults", self._admin_clear_faults)
        self.add_admin_routes(app.router)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Stops listening and forgets late requests."""
        for task in self._late:
            task.cancel()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        received_at = time.monotonic()
        method = self.name_of(request.method, request.path)
        fault = self._fault_for(method)
        kind = self._token_kind(request)
        known = set(self.tokens.values())
        headers = {
            name.lower(): value
            for name, value in request.headers.items()
            if name.lower() not in {"authorization", "cookie"} and not any(token in value for token in known)
        }
        read: Mapping[str, Any] = {}
        if not isinstance(fault, DropBeforeRead):
            read = await _read_body(request)
        received = ReceivedRequest(
            method, kind, read, request.method, request.path, headers, received_at, request.raw_path
        )
        self.requests.append(received)
        self._changed.set()
        if isinstance(fault, DropBeforeRead):
            return _drop(request)
        return await self._answer(request, received, fault)

    def _fault_for(self, method: str) -> Fault | None:
        for name in (method, ANY_REQUEST):
            queue = self._faults.get(name)
            if queue:
                return queue.popleft()
        return self._always

    async def _answer(self, request: web.Request, received: ReceivedRequest, fault: Fault | None) -> web.StreamResponse:
        if isinstance(fault, DropWithoutPost):
            return _drop(request)
        if isinstance(fault, PostLate):
            task = asyncio.create_task(self._carry_out_later(received, fault.seconds))
            self._late.add(task)
            task.add_done_callback(self._late.discard)
            await asyncio.shield(task)
            return _drop(request)
        carried_out = not isinstance(fault, SpoiltAnswer | TruncatedAnswer) or fault.posted
        answered = self._carry_out(received) if carried_out else self.not_carried_out()
        if isinstance(fault, DropAfterPost):
            return _drop(request)
        if isinstance(fault, TruncatedAnswer):
            return await _truncated(request, answered)
        if isinstance(fault, AnswerLate):
            await asyncio.sleep(fault.seconds)
        return _response(fault.spoil(answered) if isinstance(fault, SpoiltAnswer) else answered)

    def _carry_out(self, received: ReceivedRequest) -> Answered:
        answered = self.carry_out(received)
        self.answered.append(answered)
        self._changed.set()
        return answered

    async def _carry_out_later(self, received: ReceivedRequest, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._carry_out(received)

    def _token_kind(self, request: web.Request) -> str:
        given = request.headers.get("Authorization", "")
        basic = _basic_parts(given)
        for name, token in self.tokens.items():
            if given in {f"Bearer {token}", f"token {token}", token} or token in {*basic, *request.headers.values()}:
                return name.removesuffix("_token")
        return "wrong" if given else "none"

    async def _admin_requests(self, _request: web.Request) -> web.Response:
        return web.json_response([asdict(request) for request in self.requests])

    async def _admin_faults(self, _request: web.Request) -> web.Response:
        waiting = {method: [fault_to_json(f) for f in queue] for method, queue in self._faults.items() if queue}
        return web.json_response(waiting)

    async def _admin_add_faults(self, request: web.Request) -> web.Response:
        try:
            wanted: Any = await request.json()
            faults = [fault_from_json(fault, self.fault_kinds) for fault in wanted["faults"]]
            self.fail_next(str(wanted["method"]), *faults)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            text = f'Send {{"method": "POST /notes", "faults": [{{"kind": "DropAfterPost"}}]}}: {error}\n'
            return web.Response(status=400, text=text)
        return await self._admin_faults(request)

    async def _admin_clear_faults(self, request: web.Request) -> web.Response:
        self.clear_faults()
        return await self._admin_faults(request)


def _basic_parts(given: str) -> tuple[str, ...]:
    """User and password of HTTP Basic authentication."""
    try:
        return tuple(base64.b64decode(given.removeprefix("Basic "), validate=True).decode().split(":", 1))
    except ValueError:
        return ()


def _body_of(answered: Answered) -> bytes:
    text = answered.text
    if text is None:
        text = "" if answered.payload is None else json.dumps(answered.payload)
    return text.encode(answered.charset) + b" " * answered.padding


def _response(answered: Answered) -> web.Response:
    return web.Response(
        status=answered.status,
        body=_body_of(answered),
        content_type=answered.content_type,
        headers=answered.headers,
    )


async def _truncated(request: web.Request, answered: Answered) -> web.StreamResponse:
    body = _body_of(answered) or b"{}"
    response = web.StreamResponse(
        status=answered.status, headers={**answered.headers, "Content-Type": answered.content_type}
    )
    response.content_length = len(body)
    await response.prepare(request)
    await response.write(body[: len(body) // 2])
    return _drop(request, response)


def _drop(request: web.Request, response: web.StreamResponse | None = None) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return response or web.Response()


async def _read_body(request: web.Request) -> Mapping[str, Any]:
    if request.method == "GET":
        return dict(request.query)
    if request.content_type == "application/json":
        try:
            value: Any = await request.json()
        except ValueError:
            return {}
        return cast(Mapping[str, Any], value) if isinstance(value, dict) else {}
    return dict(await request.post())
