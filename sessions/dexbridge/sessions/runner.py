"""What an agent framework's adapter does for a session: two operations (architecture decision 8)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from dexbridge.sessions.state.call import CallResult, ToolWish
from dexbridge.sessions.state.inside_call import InsideCall
from dexbridge.sessions.state.transition import TranscriptEntry

__all__ = ["AgentFrameworkRunner", "Answered", "CallLeaves", "Conversation", "SegmentEnd"]


@dataclass(frozen=True, slots=True)
class Conversation:
    """The committed conversation a segment continues.

    Attributes:
        session_id: The session.
        conversation_id: The framework's ID of the conversation.
        transcript_rows: Rows of the committed transcript, those left out too.
        load_transcript: Reads what the model has of it.
        say: Called with each piece of text as the model writes it. Best effort: a segment that fails is run again.
        limit: How long the segment may take.
        attempt: How often this segment has been run, this time included.
        began_inside: To be awaited before a tool runs inside the framework. Commits the event of it; when it raises,
            the tool must not run: nobody would know of it, or another Worker has the session.
        left_out_rows: How many of the rows are not the model's any more.
    """

    session_id: str
    conversation_id: str
    transcript_rows: int
    load_transcript: Callable[[], Awaitable[Sequence[TranscriptEntry]]]
    say: Callable[[str], None]
    limit: timedelta
    began_inside: Callable[[InsideCall], Awaitable[None]]
    attempt: int = 1
    left_out_rows: int = 0

    @property
    def begun(self) -> bool:
        """Whether the model has anything of an earlier segment. If not, the conversation's ID is used afresh."""
        return self.transcript_rows > self.left_out_rows


@dataclass(frozen=True, slots=True)
class Answered:
    """The model has no more to say.

    Attributes:
        text: The turn's answer, the model's last reply; blank when it gave none.
        transcript: What the segment adds to the transcript.
        earlier: What it said in its replies before, such as to a result alone, or before an inline read.
    """

    text: str
    transcript: tuple[TranscriptEntry, ...]
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallLeaves:
    """A tool call must leave the framework's process.

    Attributes:
        wish: The call. Its result is given with `give_result`.
        said: What the model said in that reply before it asked; text after the call is dropped.
        transcript: What the segment adds to the transcript.
        earlier: What it said in its replies before.
    """

    wish: ToolWish
    said: str
    transcript: tuple[TranscriptEntry, ...]
    earlier: tuple[str, ...] = ()


SegmentEnd = Answered | CallLeaves


class AgentFrameworkRunner(Protocol):
    """Runs segments. Raises `SegmentFailed`, and then nothing of the segment is kept."""

    async def run_until_call(self, conversation: Conversation, prompts: Sequence[str]) -> SegmentEnd:
        """Gives the model new user messages and runs until it answers or a call must leave."""
        ...

    async def give_result(
        self, conversation: Conversation, result: CallResult, prompts: Sequence[str] = ()
    ) -> SegmentEnd:
        """Gives the pending call its recorded result, then the messages if any, and runs on.

        With messages, a call that the model asks for before it has read them is refused, so they always reach it.
        """
        ...

    async def close(self) -> None:
        """Ends every process the runner still holds."""
        ...
