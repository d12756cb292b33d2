"""What every check stands on: the author's local server, a connection to it, and calls."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final, Generic, NoReturn, TypeVar

import pytest

from dexbridge.connectors.contract.attempts.attempt import Attempt
from dexbridge.connectors.contract.bound_operation import BoundOperation
from dexbridge.connectors.contract.call import Call
from dexbridge.connectors.contract.definition import ConnectorDefinition
from dexbridge.connectors.contract.errors import ConnectorError
from dexbridge.connectors.contract.operation import Operation
from dexbridge.connectors.testing.conformance.example import Example
from dexbridge.connectors.testing.conformance.loopback import LoopbackLoop
from dexbridge.connectors.testing.local_server import LocalServer
from dexbridge.connectors.testing.memory_project import MemoryConnection

Server = TypeVar("Server", bound=LocalServer)
Result = TypeVar("Result")

PATIENT: Final = timedelta(seconds=10)
"""An HTTP timeout that a busy machine does not reach."""

IMPATIENT: Final = timedelta(seconds=0.3)
LATE: Final = 0.8
"""Seconds after which an answer comes too late for IMPATIENT."""


def complain(sentence: str) -> NoReturn:
    """Ends a check with a sentence, without the suite's own code."""
    pytest.fail(sentence, pytrace=False)


def require(condition: object, sentence: str) -> None:
    """Ends the check with a sentence unless the condition holds."""
    if not condition:
        complain(sentence)


@dataclass(frozen=True)
class Stage(Generic[Server]):
    """One scene: a server of its own and the operations bound to it."""

    server: Server
    held: MemoryConnection
    bound: Mapping[str, BoundOperation]

    def call(self, operation_id: str, *, flow: str = "conformance") -> Call:
        """A call that may leave for the next minute; another flow gives another Call ID."""
        operation = self.bound[operation_id].operation
        return Call(
            flow,
            "CallTool-1",
            operation.connector_id,
            operation.operation_id,
            dispatch_before=datetime.now(UTC) + timedelta(minutes=1),
        )

    async def dispatch(self, operation_id: str, arguments: Mapping[str, Any], *, flow: str = "conformance") -> Attempt:
        """One dispatch of an operation."""
        return await self.bound[operation_id].dispatch(self.call(operation_id, flow=flow), arguments)


class Scenes(ABC, Generic[Server]):
    """What an author tells the suite. Derive from ConnectorConformance, which holds all checks."""

    definition: ClassVar[ConnectorDefinition]
    """The Connector under test."""

    examples: ClassVar[Mapping[str, Example]]
    """One Example for each operation, by operation ID."""

    @abstractmethod
    def new_server(self) -> Server:
        """A local server that is not started yet, holding what the examples need."""
        raise NotImplementedError

    @abstractmethod
    def new_connection(self, server: Server) -> MemoryConnection:
        """A connection with the server's address and every credential it accepts."""
        raise NotImplementedError

    @abstractmethod
    def bind(self, held: MemoryConnection, http_timeout: timedelta) -> Sequence[BoundOperation]:
        """Every operation, bound to the connection; a request may take `http_timeout`."""
        raise NotImplementedError

    @abstractmethod
    def count_written(self, server: Server) -> int:
        """How many things Mutations have written at the server so far."""
        raise NotImplementedError

    def play(self, scene: Callable[[Stage[Server]], Awaitable[Result]], *, http_timeout: timedelta = PATIENT) -> Result:
        """Plays one scene on a new server, in an event loop of its own."""

        async def whole() -> Result:
            async with self.new_server() as server:
                held = self.new_connection(server)
                try:
                    return await scene(Stage(server, held, self._bound(held, http_timeout)))
                finally:
                    await held.aclose()

        with asyncio.Runner(loop_factory=LoopbackLoop) as runner:
            loop = runner.get_loop()
            assert isinstance(loop, LoopbackLoop)
            try:
                return runner.run(whole())
            finally:
                if loop.refused:
                    complain(self._reached_out(loop.refused[0]))

    def _reached_out(self, host: str) -> str:
        """What is said of a connection that leads to another machine."""
        fields = self.definition.configuration.model_fields
        names = [field.alias or name for name, field in fields.items() if host in str(field.default)]
        forgotten = " and ".join(f"`{name}`" for name in names) or "every setting that holds an address"
        return (
            f"The connection reached for {host}, but tests must not leave this machine. `new_connection` does not "
            f"give {forgotten}: set it in its configuration to server.url."
        )

    def _bound(self, held: MemoryConnection, http_timeout: timedelta) -> Mapping[str, BoundOperation]:
        try:
            return {one.operation.operation_id: one for one in self.bind(held, http_timeout)}
        except ConnectorError as error:
            complaint = f"What `new_connection` gives cannot be bound: {error}"
        complain(complaint)

    def operation(self, operation_id: str) -> Operation:
        """The definition of an operation."""
        return self.definition.operation(operation_id)

    def example(self, operation_id: str) -> Example:
        """The example of an operation."""
        if operation_id not in self.examples:
            complain(f"Add an Example for {operation_id!r} to `examples`.")
        return self.examples[operation_id]
