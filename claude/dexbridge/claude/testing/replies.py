"""What a scripted model can answer: values, with no HTTP in them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True)
class Text:
    """A text block of the model's reply."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call in the model's reply.

    Args:
        name: the tool's name as the CLI offers it, for example ``mcp__tools__look_up_order``.
        input: the arguments; must be JSON.
        id: the tool-use ID. ``None`` lets the server give the next one.
    """

    name: str
    input: Mapping[str, Any] = field(default_factory=dict[str, Any])
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Thinking:
    """A thinking block of the model's reply.

    Args:
        text: what the model thinks.
        signature: the API's proof of it, which must come back unchanged.
    """

    text: str
    signature: str = "c2lnbmF0dXJl"


Block: TypeAlias = Text | Thinking | ToolUse


@dataclass(frozen=True, init=False)
class Reply:
    """A complete reply of the model.

    Args:
        blocks: what the model says and calls, in order; none is an empty reply.
        delay: seconds before the first byte of the answer.
        stop_reason: such as ``refusal`` or ``max_tokens``. ``None``: ``tool_use`` when there is a call, else
            ``end_turn``.
        message_id: ``None`` lets the server give the next one.
        input_tokens: how long the conversation is, as the API counts; the CLI compacts one that is near its window.
    """

    blocks: tuple[Block, ...]
    delay: float
    stop_reason: str | None
    message_id: str | None
    input_tokens: int

    def __init__(
        self,
        *blocks: Block,
        delay: float = 0.0,
        stop_reason: str | None = None,
        message_id: str | None = None,
        input_tokens: int = 1,
    ) -> None:
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "delay", delay)
        object.__setattr__(self, "stop_reason", stop_reason)
        object.__setattr__(self, "message_id", message_id)
        object.__setattr__(self, "input_tokens", input_tokens)


@dataclass(frozen=True, init=False)
class CutStream:
    """A reply whose connection breaks before the message is complete.

    The CLI asks again on its own, so the next reply of a script answers the repeated request.

    Args:
        blocks: what the model began to say.
        after_blocks: how many of them arrive whole before the connection breaks; 0 breaks it right after
            ``message_start``, ``None`` after the last one.
        pause: seconds between the last of these blocks and the break, in which the CLI begins to run a call.
    """

    blocks: tuple[Block, ...]
    after_blocks: int
    pause: float

    def __init__(self, *blocks: Block, after_blocks: int | None = None, pause: float = 0.0) -> None:
        whole = len(blocks) if after_blocks is None else after_blocks
        if not 0 <= whole <= len(blocks):
            raise ValueError(f"CutStream(after_blocks={whole}) needs a number from 0 to {len(blocks)}, its blocks.")
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "after_blocks", whole)
        object.__setattr__(self, "pause", pause)


@dataclass(frozen=True, init=False)
class Slow:
    """A complete reply that drips.

    Args:
        blocks: as in `Reply`.
        pause: seconds before each event of a block, so a block of text takes about ``pause`` per word.
        delay: seconds before the first byte.
    """

    blocks: tuple[Block, ...]
    pause: float
    delay: float

    def __init__(self, *blocks: Block, pause: float, delay: float = 0.0) -> None:
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "pause", pause)
        object.__setattr__(self, "delay", delay)


@dataclass(frozen=True, slots=True)
class ApiError:
    """An error answer of the Messages API, for example ``ApiError(529)``.

    Args:
        status: the HTTP status. The CLI repeats 408, 409, 429 and 5xx on its own, each time a new request.
        type: the ``error.type``; an empty string takes the API's usual one for the status.
        message: the ``error.message``.
    """

    status: int
    type: str = ""
    message: str = "Scripted error"

    @property
    def error_type(self) -> str:
        """The ``error.type`` that is sent."""
        return self.type or _ERROR_TYPES.get(self.status, "api_error")


ModelReply: TypeAlias = Reply | Slow | CutStream | ApiError
