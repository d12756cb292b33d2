"""Finding an application's flows by name, `module:attribute`, as web servers find an application."""

from __future__ import annotations

import inspect
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from dexbridge.sessions import AgentSessionFlow

__all__ = ["DEFAULT_APP", "CannotLoad", "open_flows"]

DEFAULT_APP = "examples.order_support.app:flows"


class CannotLoad(Exception):
    """The name does not lead to flows."""


@asynccontextmanager
async def open_flows(name: str) -> AsyncGenerator[Sequence[AgentSessionFlow]]:
    """The flows a name leads to, for as long as the context is open.

    Args:
        name: `module:attribute`. The attribute is a function without arguments that returns the flows, or an awaitable
            of them, or an async context manager that opens what they need and yields them. The working folder is
            searched too.

    Raises:
        CannotLoad: says what is wrong with the name or with what it names.
    """
    made = _function(name)()
    if isinstance(made, AbstractAsyncContextManager):
        async with cast("AbstractAsyncContextManager[object]", made) as flows:
            yield _checked(name, flows)
    else:
        yield _checked(name, await made if inspect.isawaitable(made) else made)


def _function(name: str) -> Any:
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise CannotLoad(f"--app {name!r} must be module:attribute, such as {DEFAULT_APP}.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as missing:
        # What the application itself fails to import is its own error, and shown as such.
        if missing.name is None or not f"{module_name}.".startswith(f"{missing.name}."):
            raise
        raise CannotLoad(
            f"There is no module {module_name!r}, seen from {here}: name your own with --app module:attribute, or run "
            "this in the folder that holds it."
        ) from None
    found: Any = getattr(module, attribute, None)
    if not callable(found):
        raise CannotLoad(f"{module_name} has no function {attribute!r}.")
    return found


def _checked(name: str, flows: object) -> Sequence[AgentSessionFlow]:
    listed: list[object] = list(cast("Sequence[object]", flows)) if isinstance(flows, Sequence) else [flows]
    if not all(isinstance(flow, AgentSessionFlow) for flow in listed):
        raise CannotLoad(f"{name} must give AgentSessionFlow values, as claude_agent_session_flow returns them.")
    return cast("list[AgentSessionFlow]", listed)
