"""A request of the CLI to the model, read the way a test or a scripted answer wants it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, TypeAlias, cast

JsonObject: TypeAlias = dict[str, Any]
RequestKind: TypeAlias = Literal["main", "title", "probe"]

# The CLI puts this after a tool's result on every cold resume. It is not something the user said.
_RESUME_NOTE = "Continue from where you left off."
# Offered by the CLI beside the tools of a server; its description says never to call it.
_PLACEHOLDER_TOOL = "DeferredToolPlaceholder"
_REMINDER_START = "<system-reminder>"


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of one tool call, as the model sees it."""

    tool_use_id: str
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class ConversationMessage:
    """One message of the conversation, without the notes the CLI adds for the model.

    ``tool_uses`` holds (ID, name, input) of each call.
    """

    role: Literal["user", "assistant"]
    text: str
    tool_uses: tuple[tuple[str, str, JsonObject], ...]
    tool_results: tuple[ToolResult, ...]


@dataclass(frozen=True)
class ModelRequest:
    """One ``POST /v1/messages`` of the CLI.

    Args:
        body: the request's JSON, whole.
        received_at: ``time.monotonic()`` when its last byte had arrived.
        session_id: the Claude session, from the header ``X-Claude-Code-Session-Id``; ``None`` without it.
        agent_id: the subagent whose conversation it is, from ``X-Claude-Code-Agent-Id``; ``None`` for the session's.
        arrived_at: `received_at` as a time of day, to compare with records.
    """

    body: Mapping[str, Any]
    received_at: float
    session_id: str | None = None
    agent_id: str | None = None
    arrived_at: datetime | None = None

    @cached_property
    def kind(self) -> RequestKind:
        """``main`` for the conversation, else which side request of the CLI it is.

        Seen from CLI 2.1.332: a probe asks for one token; a session title is asked for with a JSON schema
        that holds ``title``, and is not sent with ``CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1``.
        """
        if self.body.get("max_tokens") == 1:
            return "probe"
        output = cast(JsonObject, self.body.get("output_config") or {})
        schema = cast(JsonObject, cast(JsonObject, output.get("format") or {}).get("schema") or {})
        if not self.body.get("tools") and list(schema.get("properties") or ()) == ["title"]:
            return "title"
        return "main"

    @cached_property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools offered to the model, in order, without the CLI's own placeholder."""
        names = (str(tool["name"]) for tool in cast(list[JsonObject], self.body.get("tools") or []))
        return tuple(name for name in names if name != _PLACEHOLDER_TOOL)

    @cached_property
    def system_text(self) -> str:
        """The system prompt as one text."""
        return "\n".join(_texts(self.body.get("system")))

    @cached_property
    def conversation(self) -> tuple[ConversationMessage, ...]:
        """The user's and the model's messages, oldest first."""
        return tuple(
            _read_message(message)
            for message in cast(list[JsonObject], self.body.get("messages") or [])
            if message.get("role") in ("user", "assistant")
        )

    @cached_property
    def last_user_text(self) -> str:
        """What the user said last; an empty string when nothing was said."""
        return next((m.text for m in reversed(self.conversation) if m.role == "user" and m.text), "")

    @cached_property
    def tool_results(self) -> dict[str, ToolResult]:
        """The results the model has not answered yet, by tool-use ID: those after its last message."""
        unanswered: list[ToolResult] = []
        for message in reversed(self.conversation):
            if message.role == "assistant":
                break
            unanswered[:0] = message.tool_results
        return {result.tool_use_id: result for result in unanswered}

    @cached_property
    def resumed(self) -> bool:
        """Whether a new process of the CLI gives the unanswered results: it then adds a sentence of its own."""
        messages = cast(list[JsonObject], self.body.get("messages") or [])
        return any(_RESUME_NOTE in (text.strip() for text in _texts(m.get("content"))) for m in messages[-2:])

    @cached_property
    def tool_uses(self) -> dict[str, tuple[str, JsonObject]]:
        """All calls of the conversation: tool-use ID to (name, input)."""
        return {use[0]: (use[1], use[2]) for message in self.conversation for use in message.tool_uses}

    def results_of(self, tool_use_id: str) -> tuple[ToolResult, ...]:
        """Every result the conversation holds for a call. More than one is a fault of the transcript."""
        return tuple(
            result
            for message in self.conversation
            for result in message.tool_results
            if result.tool_use_id == tool_use_id
        )


def _read_message(message: JsonObject) -> ConversationMessage:
    content = cast(list[JsonObject] | str, message.get("content") or "")
    blocks = [] if isinstance(content, str) else content
    return ConversationMessage(
        role=message["role"],
        text="\n".join(text for text in _texts(content) if not _is_note(text)),
        tool_uses=tuple((b["id"], b["name"], b["input"]) for b in blocks if b.get("type") == "tool_use"),
        tool_results=tuple(
            ToolResult(
                tool_use_id=block["tool_use_id"],
                text="\n".join(_texts(block.get("content"))),
                is_error=block.get("is_error") is True,
            )
            for block in blocks
            if block.get("type") == "tool_result"
        ),
    )


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in cast(list[JsonObject], content):
            if block.get("type") == "text":
                yield str(block["text"])


def _is_note(text: str) -> bool:
    return text.strip() == _RESUME_NOTE or text.lstrip().startswith(_REMINDER_START)
