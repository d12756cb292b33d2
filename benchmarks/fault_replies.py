"""The model of the fault harness: replies of every shape, as a function of the request alone."""

from __future__ import annotations

from collections.abc import Sequence

from dexbridge.claude.testing import Block, ModelRequest, Reply, Text, ToolUse
from tests.fakes.claude_stage import CHANNEL, LIST, LOOK_UP, POST, THREAD, slack_reply

__all__ = ["SHAPES", "message", "play", "posts_of"]

SHAPES = (
    "read after",
    "second write",
    "texts",
    "bad arguments",
    "alone",
    "two connector reads",
    "long",
    "read before",
)
"""What a reply holds beside its write. A session's turns have different ones."""

_LONG = " and so on" * 1_600
_DELAY = 0.1


def message(session_id: str, number: int, shape: str) -> str:
    """A user's message. It begins with its session, and names the shape of the reply to it."""
    return f"{session_id}: message {number}, {shape}{_LONG if shape == 'long' else ''}"


def posts_of(text: str) -> tuple[str, ...]:
    """The texts the model posts for a message; each is a call of its own."""
    return (text, f"{text}, once more") if _shape(text) == "second write" else (text,)


def play(request: ModelRequest) -> Reply:
    """Replies one after the other until the message's posts are made; then it says what came of them."""
    text = request.last_user_text
    replies = _replies(text)
    made = 0
    for said in reversed(request.conversation):
        if said.role == "user" and said.text == text:
            break
        made += said.role == "assistant" and bool(said.tool_uses)
    if made < len(replies):
        return Reply(*replies[made], delay=_DELAY)
    told = " ".join(result.text for result in request.tool_results.values())
    return Reply(Text(f"Of {text[:60]} I know:"), Text(told[:200]), delay=_DELAY)


def _shape(text: str) -> str:
    return next(shape for shape in SHAPES if f", {shape}" in text)


def _replies(text: str) -> Sequence[Sequence[Block]]:
    write, look_up = slack_reply(text), ToolUse(LOOK_UP, {"order_id": "1"})
    thread = ToolUse(LIST, {"channel_id": CHANNEL, "thread_timestamp": THREAD})
    match _shape(text):
        case "read after":
            return [[Text("I post it."), write, look_up]]
        case "read before":
            return [[look_up, Text("Then I post it."), write]]
        case "texts":
            return [[Text("Before."), write, Text("Between."), look_up, Text("After.")]]
        case "bad arguments":
            return [[write, ToolUse(POST, {"channel_id": 7})]]
        case "second write":
            # The second is denied, since one call leaves at a time, and is asked for again.
            again = slack_reply(posts_of(text)[1])
            return [[write, again], [Text("Now the other."), again]]
        case "two connector reads":
            return [[thread, thread], [write]]
        case _:
            return [[write]]
