"""What the model is told, compared with what is recorded: the check behind everything that runs the CLI on a script.

Pure, and made at the end against the final records. That is sound, since what is told of a call is recorded and
committed before the request that tells it, and never changes: settling an unknown outcome keeps its text.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime

from dexbridge.claude.conversation.heard import CUT_MARK
from dexbridge.claude.conversation.results import bounded, trimmed, well_formed
from dexbridge.claude.testing.model_request import ConversationMessage, ModelRequest, ToolResult
from dexbridge.sessions import (
    AgentSessionClient,
    CallRecord,
    LeftOut,
    Message,
    Role,
    SessionSnapshot,
    UnreadableSession,
)
from dexbridge.toolsource import OutcomeKind

__all__ = ["faults_in", "snapshots_of"]

_COMPACTED = "This session is being continued from a previous conversation"
_WORDS_OF_THE_CLI = (
    "[Tool result missing",
    "[Request interrupted",
    "[Tool call did not complete",
    "[Tool call interrupted",
    "[Tool call not completed",
    "[Tool call skipped",
    "[Agent call interrupted",
    "[This turn ended before it finished",
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
)
_LONGEST_ERROR = 10_000
_PAGE = 1_000
_SHOWN = 100


def faults_in(request: ModelRequest, snapshot: SessionSnapshot | None) -> tuple[str, ...]:
    """What is wrong in a request of a conversation, a sentence each; empty when all is as recorded.

    Each tool use has exactly one result; that of a call with a record is the record's text; nothing is put into the
    CLI's own words for a call or a turn that did not end; every answer and every call that was committed when the
    request arrived is there. Left out: what stands before the CLI's own compaction mark, turns whose message the
    model's API refused for good, and, for a subagent's own conversation, what the session committed.

    Args:
        request: A request of the kind ``main``.
        snapshot: Its session, read at any time afterwards; ``None`` leaves the records out.
    """
    conversation, compacted = _since_compaction(request.conversation)
    faults = [*_unpaired(conversation), *_interrupted(conversation)]
    if snapshot is not None:
        faults += _otherwise_told(conversation, snapshot.calls)
        if request.agent_id is None and request.arrived_at is not None:
            faults += _lost(conversation, snapshot, request.arrived_at, compacted=compacted)
    return tuple(faults)


async def snapshots_of(client: AgentSessionClient) -> tuple[SessionSnapshot, ...]:
    """Every session of the client's engine that this version can read."""
    found: list[SessionSnapshot] = []
    last: str | None = None
    while page := await client.list_sessions(limit=_PAGE, after=last):
        last = page[-1].session_id
        for summary in page:
            try:
                found.append(await client.get_snapshot(summary.session_id))
            except UnreadableSession:
                continue
    return tuple(found)


def _since_compaction(
    conversation: Sequence[ConversationMessage],
) -> tuple[Sequence[ConversationMessage], bool]:
    for index in range(len(conversation) - 1, -1, -1):
        message = conversation[index]
        if message.role == "user" and message.text.lstrip().startswith(_COMPACTED):
            return conversation[index:], True
    return conversation, False


def _unpaired(conversation: Sequence[ConversationMessage]) -> Iterator[str]:
    uses = Counter(use[0] for message in conversation for use in message.tool_uses)
    results = Counter(result.tool_use_id for message in conversation for result in message.tool_results)
    for identity in {**uses, **results}:
        if (uses[identity], results[identity]) != (1, 1):
            yield f"the tool use {identity} is there {uses[identity]} times, with {results[identity]} results"


def _interrupted(conversation: Sequence[ConversationMessage]) -> Iterator[str]:
    for message in conversation:
        if message.role == "user":
            for text in (*message.text.split("\n"), *(result.text for result in message.tool_results)):
                if text.strip().startswith(_WORDS_OF_THE_CLI):
                    yield f"the CLI says {_shown(text)}"


def _otherwise_told(conversation: Sequence[ConversationMessage], calls: Sequence[CallRecord]) -> Iterator[str]:
    records: defaultdict[str, list[CallRecord]] = defaultdict(list)
    for call in calls:
        records[call.tool_use_id].append(call)
    for message in conversation:
        for result in message.tool_results:
            known = records.get(result.tool_use_id)
            if known and not any(_is_recorded(call, result) for call in known):
                yield (
                    f"the result of {result.tool_use_id} is {_shown(result.text)} (error: {result.is_error}), and "
                    f"recorded is {_shown(known[-1].text)} ({known[-1].outcome.value})"
                )


def _is_recorded(call: CallRecord, told: ToolResult) -> bool:
    # An outcome that was settled later was unknown when the model heard of it.
    failed = call.outcome is not OutcomeKind.SUCCEEDED or call.settled_by is not None
    if told.is_error is not failed:
        return False
    text = bounded(call.text)
    if told.text == text:
        return True
    # The rest was found by trying, on CLI 2.1.332.
    if not trimmed(text):
        return told.text == "Command failed with no output" or told.text.endswith(" completed with no output)")
    return failed and told.text in (trimmed(text), _cut(trimmed(text)))


def _cut(text: str) -> str:
    """A long error as the CLI cuts it: JavaScript counts the halves of surrogate pairs."""
    units = text.encode("utf-16-le")
    length, half = len(units) // 2, _LONGEST_ERROR // 2
    if length <= _LONGEST_ERROR:
        return text
    mark = f"\n\n... [{length - _LONGEST_ERROR} characters truncated] ...\n\n".encode("utf-16-le")
    return (units[: 2 * half] + mark + units[-2 * half :]).decode("utf-16-le", "surrogatepass")


def _lost(
    conversation: Sequence[ConversationMessage], snapshot: SessionSnapshot, arrived: datetime, *, compacted: bool
) -> Iterator[str]:
    refused = {message.turn for message in snapshot.messages if message.left_out is LeftOut.REFUSED}
    answers = [
        message
        for message in snapshot.messages
        if message.role is Role.ASSISTANT and message.at <= arrived and message.turn not in refused
    ]
    yield from _lost_answers(conversation, answers, compacted=compacted)
    if compacted:
        return
    known = {use[0] for message in conversation for use in message.tool_uses}
    for call in snapshot.calls:
        if call.ended_at <= arrived and call.turn not in refused and call.tool_use_id not in known:
            yield f"the call {call.tool_use_id} of {call.tool} in turn {call.turn} is gone"


def _lost_answers(
    conversation: Sequence[ConversationMessage], answers: Sequence[Message], *, compacted: bool
) -> Iterator[str]:
    """In their order, so that of two answers alike both must be there."""
    said = _plain("\n".join(message.text for message in conversation if message.role == "assistant"))
    found, after = False, 0
    for answer in answers:
        text = _plain(answer.text.removesuffix(CUT_MARK))
        at = said.find(text, after)
        if at >= 0:
            found, after = True, at + len(text)
        elif found or not compacted:
            yield f"the answer {_shown(answer.text)} of turn {answer.turn} is gone"


def _plain(text: str) -> str:
    """Blocks of one answer may stand in several messages, cut within a word too; only space differs."""
    return "".join(well_formed(text).split())


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
