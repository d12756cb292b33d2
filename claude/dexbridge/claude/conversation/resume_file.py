"""The file a new process of the CLI resumes from. It is ours: here is its one writer, and here are its rules.

The CLI's own file cannot be handed back line by line. Its bookkeeping points at lines of a process that is gone
(`last-prompt`), and it writes the results of a reply's other calls behind the deferral of the one that left. A process
that resumes from that tells the model that a call has no result, or forgets what was said. So:

1. Conversation is what the last spoken line leads back to by `parentUuid`, with the other blocks of each reply and the
   results of its calls. What hangs elsewhere (a reply that was broken off and asked for again), what has no `uuid` (the
   CLI's bookkeeping) and what the CLI said in the model's place are left out.
2. The blocks of a reply stand together, in their order. Behind them stand the results of its calls, in the order of
   the calls. Each line hangs on the line before it.
3. The deferral entry of the call whose result is handed over is the last line, and the only one of its kind.

Results made by us (`made_entries`) are lines like the CLI's. What stands before the last compaction is kept as it is:
the CLI reads of it only what the compaction names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from claude_agent_sdk import project_key_for_directory

from dexbridge.claude.conversation.transcript_line import TranscriptLine
from dexbridge.sessions import TranscriptEntry

__all__ = ["known_ids", "resume_lines", "write_resume_file"]

_AGENT_METADATA = '"agent_metadata"'


def write_resume_file(
    configuration: Path,
    cwd: str,
    conversation_id: str,
    entries: Sequence[TranscriptEntry],
    pending: str | None = None,
) -> None:
    """Writes the committed transcript where the CLI looks for the conversation it resumes.

    Args:
        configuration: The CLI's `CLAUDE_CONFIG_DIR`, private to one segment.
        cwd: The CLI's working folder; the CLI keeps conversations by it.
        conversation_id: Claude's session ID.
        entries: Committed entries in order.
        pending: Tool-use ID of the call whose result the process will ask for; `None` when it gets a message.
    """
    project = configuration / "projects" / project_key_for_directory(cwd)
    main = [entry.json for entry in entries if entry.subpath is None]
    lines: dict[Path, list[str]] = {project / f"{conversation_id}.jsonl": resume_lines(main, pending)}
    for entry in entries:
        if entry.subpath is None:
            continue
        file = project / conversation_id / f"{entry.subpath}.jsonl"
        if _AGENT_METADATA in entry.json and (metadata := _agent_metadata(entry.json)) is not None:
            # The CLI keeps what describes a subagent beside its transcript; the newest one holds.
            lines[file.with_name(f"{file.name.removesuffix('.jsonl')}.meta.json")] = [metadata]
        else:
            lines.setdefault(file, []).append(entry.json)
    for file, texts in lines.items():
        if not file.resolve().is_relative_to(configuration.resolve()):
            raise ValueError(f"The transcript names the place {str(file)!r}, outside its own folder.")
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as out:
            out.writelines(f"{text}\n" for text in texts)


def resume_lines(entries: Sequence[str], pending: str | None = None) -> list[str]:
    """The lines of the main conversation, by the rules above.

    Args:
        entries: JSON of the main conversation's entries, in the order they were committed.
        pending: The call whose deferral ends the file.
    """
    lines = [line for line in map(TranscriptLine, entries) if line.uuid is not None]
    compacted = max((number for number, line in enumerate(lines) if line.is_compaction), default=0)
    ordered = _in_order(_conversation(lines[compacted:]))
    if pending is not None:
        ordered.extend([line for line in lines if line.deferred == pending][-1:])
    parents = [None, *(line.uuid for line in ordered)]
    linked = [line.under(parent) for line, parent in zip(ordered, parents, strict=False)]
    return [*(line.text for line in lines[:compacted]), *linked]


def known_ids(entries: Iterable[TranscriptEntry]) -> frozenset[str]:
    """The IDs of the model's replies and of its tool uses in the main conversation."""
    said = (entry.json for entry in entries if entry.subpath is None and '"assistant"' in entry.json)
    return frozenset(known for text in said for known in TranscriptLine(text).ids)


def _conversation(lines: Sequence[TranscriptLine]) -> Sequence[TranscriptLine]:
    """What belongs to the conversation, in the order it was written."""
    places = {line.uuid: number for number, line in enumerate(lines)}
    kept: set[int] = set()
    number = max((number for number, line in enumerate(lines) if line.is_spoken), default=-1)
    while number >= 0:
        kept.add(number)
        parent = lines[number].parent
        # What hangs on a line that is not here hangs on the line before it: nothing that was said is lost.
        above = places.get(parent, number - 1) if parent is not None else -1
        number = above if above < number else number - 1
    for number, line in enumerate(lines):
        above = places.get(line.parent)
        if above in kept and line.continues(lines[above]):
            kept.add(number)
    asked = {call for number in kept for call in lines[number].calls}
    kept.update(number for number, line in enumerate(lines) if asked.intersection(line.answered))
    return [line for number, line in enumerate(lines) if number in kept]


def _in_order(lines: Sequence[TranscriptLine]) -> list[TranscriptLine]:
    """The blocks of each reply together, then the results of its calls; everything else in its place."""
    results = {call: line for line in lines for call in line.answered}
    asked = {call for line in lines for call in line.calls}
    replies = _replies(lines)
    ordered: dict[str | None, TranscriptLine] = {}
    for line in lines:
        if asked.intersection(line.answered):
            continue
        reply = replies.get(line.uuid, [line])
        answers = [results[call] for asks in reply for call in asks.calls if call in results]
        ordered.update((said.uuid, said) for said in (*reply, *answers) if said.uuid not in ordered)
    return [line for line in ordered.values() if line.deferred is None and not line.is_made_up]


def _replies(lines: Sequence[TranscriptLine]) -> dict[str | None, list[TranscriptLine]]:
    """The blocks of the reply each line of the model belongs to."""
    replies: dict[str | None, list[TranscriptLine]] = {}
    for line in lines:
        if line.is_models:
            reply = replies.get(line.parent)
            if reply is None or not line.continues(reply[0]):
                reply = []
            reply.append(line)
            replies[line.uuid] = reply
    return replies


def _agent_metadata(text: str) -> str | None:
    entry = cast("dict[str, Any]", json.loads(text))
    if entry.pop("type", None) != "agent_metadata":
        return None
    return json.dumps(entry)
