"""What the model said in one run of the CLI, as it was heard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from claude_agent_sdk import AssistantMessage, ResultMessage, TextBlock, ToolUseBlock

from dexbridge.claude.conversation.results import well_formed

__all__ = ["CUT_MARK", "Heard", "Said"]

CUT_MARK = "… [cut: the model reached its output limit]"
"""What an answer ends with that stayed cut. It is for people; the model is not given it."""


@dataclass(frozen=True, slots=True)
class Said:
    """Text of the model.

    Attributes:
        text: The last of it: the answer, or what was said before the call.
        earlier: What it said in its replies before that one, each a text of its own.
    """

    text: str
    earlier: tuple[str, ...] = ()

    def after(self, first: Said) -> Said:
        """This, with what was said before it."""
        texts = (*first.earlier, first.text, *self.earlier)
        return Said(self.text, tuple(text for text in texts if text.strip()))


@dataclass(slots=True)
class _Reply:
    """One reply of the model; `stop_reason` is `None` while it streams, and for good when the stream broke."""

    identity: str | None
    streams: bool = False
    stop_reason: str | None = None
    blocks: list[TextBlock | ToolUseBlock] = field(default_factory=list[TextBlock | ToolUseBlock])


class Heard:
    """The model's replies of the main conversation, from one end of a run to the next.

    A reply the API stopped as a refusal is no text of the agent, nor is one whose stream broke and that was asked for
    again. One that was cut at the output limit and goes on in the next reply is one text with it.
    """

    def __init__(self) -> None:
        self._replies: list[_Reply] = []
        self._error: str | None = None

    @property
    def asked(self) -> bool:
        """Whether the model began any reply."""
        return bool(self._replies)

    @property
    def error(self) -> str | None:
        """The kind of the last error the CLI reported in place of a reply, such as `billing_error`."""
        return self._error

    def clear(self) -> None:
        """Another run begins."""
        self._replies.clear()
        self._error = None

    def stream(self, event: Mapping[str, Any]) -> None:
        """Takes an event of the Messages API's stream."""
        match event:
            case {"type": "message_start", "message": {"id": str(identity)}}:
                self._replies.append(_Reply(identity or None, streams=True))
            case {"type": "message_delta", "delta": {"stop_reason": str(reason)}}:
                if self._replies:
                    self._replies[-1].stop_reason = reason
            case _:
                pass

    def hear(self, message: AssistantMessage) -> None:
        """Takes the next blocks of a reply, or an error the CLI reports as one."""
        if message.error is not None:
            self._error = message.error
            return
        # A gateway may give none; then it is the last one that streams.
        identity = message.message_id or None
        reply = next((reply for reply in reversed(self._replies) if reply.identity == identity), None)
        if reply is None:
            reply = _Reply(identity)
            self._replies.append(reply)
        reply.stop_reason = message.stop_reason or reply.stop_reason
        reply.blocks.extend(block for block in message.content if isinstance(block, TextBlock | ToolUseBlock))

    def stays_cut(self, result: ResultMessage) -> bool:
        """Whether the run failed only because the last reply reached the output limit, after some continuations."""
        cut = bool(self._replies) and self._replies[-1].stop_reason == "max_tokens"
        return result.is_error and result.api_error_status is None and cut

    def before(self, tool_use_id: str) -> Said:
        """What was said before a call. Text after it was written without its result, and is dropped.

        Cut at the end of the run: a block may be heard before or after the hook has decided about its call.
        """
        replies: list[tuple[_Reply, Sequence[str]]] = []
        for reply in self._replies:
            texts: list[str] = []
            for block in reply.blocks:
                if isinstance(block, TextBlock):
                    texts.append(block.text)
                elif block.id == tool_use_id:
                    return _said([*replies, (reply, texts)])
            replies.append((reply, texts))
        return _said(replies)

    def answer(self) -> Said:
        """The last reply, whole; the CLI's own result is only its last text block. One that stays cut is marked."""
        said = _said([(reply, _texts(reply)) for reply in self._replies])
        if self._replies and self._replies[-1].stop_reason == "max_tokens":
            return Said(f"{said.text}{CUT_MARK}", said.earlier)
        return said


def _texts(reply: _Reply) -> Sequence[str]:
    return [block.text for block in reply.blocks if isinstance(block, TextBlock)]


def _said(replies: Iterable[tuple[_Reply, Sequence[str]]]) -> Said:
    whole: list[str] = []
    goes_on = False
    told = list(replies)
    for reply, texts in told:
        broken = reply.streams and reply.stop_reason is None and reply is not told[-1][0]
        text = "" if broken or reply.stop_reason == "refusal" else well_formed(_joined(texts))
        if goes_on and whole:
            whole[-1] += text
        else:
            whole.append(text)
        goes_on = reply.stop_reason == "max_tokens" or (goes_on and broken)
    return Said(whole[-1], tuple(text for text in whole[:-1] if text.strip())) if whole else Said("")


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(text for text in texts if text.strip())
