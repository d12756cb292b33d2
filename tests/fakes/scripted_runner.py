"""An agent framework without a model: what it does is written in the user's message.

A message is a list of lines. `call <tool> <JSON>` asks for a tool; when its result is there the next line is read.
After the last line it answers with everything it was told. Anything else is echoed.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dexbridge.sessions import (
    Answered,
    CallLeaves,
    CallResult,
    Conversation,
    InsideCall,
    SegmentEnd,
    ToolWish,
    TranscriptEntry,
)

__all__ = ["ScriptedRunner", "Segment"]


@dataclass(frozen=True)
class Segment:
    """What one segment was given."""

    prompts: tuple[str, ...]
    result: CallResult | None


async def _nothing(_segment: Segment) -> None:
    return


@dataclass
class ScriptedRunner:
    """Keeps nothing between segments but this record; the transcript is read from the session, as a real one must.

    Args:
        failures: Raised by the next segments, one each.
        before: Awaited before a segment does anything.
        inside: Run inside every segment, after `before`.
        after: Awaited when it has done everything and is about to return.
        blank: Whether it answers with nothing.
        earlier: What it says before each answer.
    """

    failures: list[BaseException] = field(default_factory=list[BaseException])
    before: Callable[[Segment], Awaitable[None]] = _nothing
    after: Callable[[Segment], Awaitable[None]] = _nothing
    inside: list[InsideCall] = field(default_factory=list[InsideCall])
    segments: list[Segment] = field(default_factory=list[Segment])
    closed: int = 0
    blank: bool = False
    earlier: tuple[str, ...] = ()

    async def run_until_call(self, conversation: Conversation, prompts: Sequence[str]) -> SegmentEnd:
        return await self._run(conversation, Segment(tuple(prompts), None))

    async def give_result(
        self, conversation: Conversation, result: CallResult, prompts: Sequence[str] = ()
    ) -> SegmentEnd:
        return await self._run(conversation, Segment(tuple(prompts), result))

    async def close(self) -> None:
        self.closed += 1

    async def _run(self, conversation: Conversation, segment: Segment) -> SegmentEnd:
        self.segments.append(segment)
        await self.before(segment)
        for call in self.inside:
            await conversation.began_inside(call)
        if self.failures:
            raise self.failures.pop(0)
        told = [json.loads(entry.json) for entry in await conversation.load_transcript()]
        assert conversation.begun == bool(told), "a conversation has begun when it has a transcript"
        added = _new_lines(told, segment)
        end = _go_on([*told, *added], added)
        if isinstance(end, Answered):
            end = replace(end, text="" if self.blank else end.text, earlier=self.earlier)
        await self.after(segment)
        return end


def _new_lines(told: list[dict[str, Any]], segment: Segment) -> list[dict[str, Any]]:
    pending = told[-1]["call"] if told and "call" in told[-1] else None
    added: list[dict[str, Any]] = []
    if segment.result is None:
        assert pending is None, f"the conversation waits for the result of {pending}"
    else:
        assert pending == segment.result.tool_use_id, f"{pending} waits, {segment.result.tool_use_id} was given"
        added.append({"result": segment.result.text, "is_error": segment.result.is_error})
    added.extend({"user": prompt} for prompt in segment.prompts)
    return added


def _go_on(told: list[dict[str, Any]], added: list[dict[str, Any]]) -> SegmentEnd:
    last_message = max(number for number, line in enumerate(told) if "user" in line)
    script = str(told[last_message]["user"]).splitlines()
    results = [line for line in told[last_message:] if "result" in line]
    if len(results) < len(script) and script[len(results)].startswith("call "):
        _, tool, arguments = script[len(results)].split(" ", 2)
        call_id = f"toolu_{len(told)}"
        added.append({"call": call_id})
        wish = ToolWish(tool_use_id=call_id, tool=tool, arguments=json.loads(arguments))
        return CallLeaves(wish, f"I call {tool}.", _entries(added))
    heard = [line["user"] for line in added if "user" in line and not str(line["user"]).startswith("call ")]
    answer = "; ".join([*(str(line["result"]) for line in results), *(f"you said {text}" for text in heard)])
    added.append({"answer": answer})
    return Answered(answer, _entries(added))


def _entries(lines: list[dict[str, Any]]) -> tuple[TranscriptEntry, ...]:
    return tuple(TranscriptEntry(json.dumps(line)) for line in lines)
