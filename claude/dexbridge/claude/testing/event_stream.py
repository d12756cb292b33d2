"""The wire form of a reply: the server-sent events of the Messages API, or one JSON body.

Source: Anthropic's API reference, "Streaming Messages" and "Errors".
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from dexbridge.claude.testing.replies import ApiError, Block, Text, Thinking, ToolUse


def encode_event(event: dict[str, Any]) -> bytes:
    """One server-sent event; its name is the event's ``type``."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def message_start(message_id: str, model: str, input_tokens: int = 1) -> dict[str, Any]:
    """The event that opens a message."""
    message = _message(message_id, model)
    usage = {**message["usage"], "input_tokens": input_tokens}
    return {"type": "message_start", "message": {**message, "usage": usage, "content": []}}


def block_events(index: int, block: Block) -> Iterator[dict[str, Any]]:
    """The events of one content block, in several deltas as the API sends them."""
    yield {"type": "content_block_start", "index": index, "content_block": _empty_block(block)}
    for delta in _deltas(block):
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def message_end(blocks: Sequence[Block], stop_reason: str | None = None) -> Iterator[dict[str, Any]]:
    """The two events that close a message."""
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason or _stop_reason(blocks), "stop_sequence": None},
        "usage": {"output_tokens": 1 + len(blocks)},
    }
    yield {"type": "message_stop"}


def whole_message(
    message_id: str, model: str, blocks: Sequence[Block], stop_reason: str | None = None
) -> dict[str, Any]:
    """The same reply for a request that does not stream."""
    return {
        **_message(message_id, model),
        "content": [_whole_block(block) for block in blocks],
        "stop_reason": stop_reason or _stop_reason(blocks),
    }


def error_body(error: ApiError, request_id: str) -> dict[str, Any]:
    """The JSON of an error answer."""
    return {
        "type": "error",
        "error": {"type": error.error_type, "message": error.message},
        "request_id": request_id,
    }


def _message(message_id: str, model: str) -> dict[str, Any]:
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _stop_reason(blocks: Sequence[Block]) -> str:
    return "tool_use" if any(isinstance(block, ToolUse) for block in blocks) else "end_turn"


def _empty_block(block: Block) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": ""}
    if isinstance(block, Thinking):
        return {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}


def _whole_block(block: Block) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, Thinking):
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    return {"type": "tool_use", "id": block.id, "name": block.name, "input": dict(block.input)}


def _deltas(block: Block) -> Iterator[dict[str, Any]]:
    if isinstance(block, Text):
        for part in re.findall(r"\s*\S+\s*", block.text) or [block.text]:
            yield {"type": "text_delta", "text": part}
        return
    if isinstance(block, Thinking):
        yield {"type": "thinking_delta", "thinking": block.text}
        yield {"type": "signature_delta", "signature": block.signature}
        return
    arguments = json.dumps(dict(block.input))
    middle = len(arguments) // 2
    for part in ("", arguments[:middle], arguments[middle:]):
        yield {"type": "input_json_delta", "partial_json": part}
