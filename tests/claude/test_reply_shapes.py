"""Replies of several blocks, in the first and in later turns: the model is told what is recorded, and nothing else.

A part of the combinations that holds each pair of values runs always, all of them with `make matrix`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, fields
from itertools import combinations, product
from typing import Any

import pytest

from dexbridge.claude import CliProcesses
from dexbridge.claude.conversation.results import bounded
from dexbridge.claude.testing import Block, ModelRequest, Reply, Text, Thinking, ToolUse
from dexbridge.toolsource import OutcomeKind
from tests.fakes.claude_stage import CHANNEL, COLD, LIST, LOOK_UP, THREAD, Stage, answer_of, slack_reply

OpenStage = Callable[..., Awaitable[Stage]]

READ = ToolUse(LIST, {"channel_id": CHANNEL, "thread_timestamp": THREAD})
INLINE = ToolUse(LOOK_UP, {"order_id": "1"})
BAD = ToolUse(LOOK_UP, {"number": "1"})
UNKNOWN = ToolUse("mcp__tools__look_up_parcel", {"order_id": "1"})


def write() -> ToolUse:
    return slack_reply("On its way.")


# A reply, and how many of its posts are made when they are approved: a second write of one reply is refused.
SHAPES: Mapping[str, tuple[list[Block], int]] = {
    "write": ([write()], 1),
    "write, inline read": ([write(), INLINE], 1),
    "inline read, write": ([INLINE, write()], 1),
    "write, bad arguments": ([write(), BAD], 1),
    "write, unknown tool": ([write(), UNKNOWN], 1),
    "write, write": ([write(), slack_reply("Twice.")], 1),
    "read, read": ([READ, READ], 0),
    "read, write": ([READ, write()], 0),
    "texts around": ([Text("First."), write(), Text("Then."), INLINE, Text("Last.")], 1),
    "thinking": ([Thinking("A post, and a look."), write(), INLINE], 1),
}


@dataclass(frozen=True)
class Scene:
    """One combination.

    Attributes:
        shape: Of the reply, a key of `SHAPES`.
        cold: Whether each result goes to a new process.
        long_prompt: Whether the system prompt has over 8,000 characters.
        long_result: Whether a look-up's result has over 15,000.
        approve: What the person says.
    """

    shape: str
    cold: bool
    long_prompt: bool
    long_result: bool
    approve: bool

    def __str__(self) -> str:
        flags = [field.name for field in fields(self) if getattr(self, field.name) is True]
        return "-".join([self.shape.replace(", ", "+").replace(" ", "_"), *flags])

    @property
    def pairs(self) -> frozenset[Any]:
        return frozenset(combinations([(field.name, getattr(self, field.name)) for field in fields(self)], 2))


def all_scenes() -> list[Scene]:
    flags = (True, False)
    return [Scene(*values) for values in product(SHAPES, flags, flags, flags, flags)]


def pairwise(scenes: list[Scene]) -> list[Scene]:
    """Some of them that hold each pair of values the others hold."""
    missing = {pair for scene in scenes for pair in scene.pairs}
    chosen: list[Scene] = []
    while missing:
        best = max(scenes, key=lambda scene: len(scene.pairs & missing))
        chosen.append(best)
        missing -= best.pairs
    return chosen


SOME = pairwise(all_scenes())


@pytest.mark.parametrize("scene", SOME, ids=str)
async def test_each_call_is_told_its_record(open_stage: OpenStage, scene: Scene) -> None:
    await play(open_stage, scene)


@pytest.mark.slow
@pytest.mark.parametrize("scene", [scene for scene in all_scenes() if scene not in SOME], ids=str)
async def test_each_call_is_told_its_record_in_all_combinations(open_stage: OpenStage, scene: Scene) -> None:
    await play(open_stage, scene)


async def play(open_stage: OpenStage, scene: Scene) -> None:
    """Two turns with that reply, and one in which the model only looks back."""
    blocks, posts = SHAPES[scene.shape]
    stage = await open_stage(
        processes=COLD if scene.cold else CliProcesses(),
        options={"system_prompt": "You support orders. " * (450 if scene.long_prompt else 1)},
    )
    stage.desk.found = "not shipped " * (1_400 if scene.long_result else 1)

    for turn in (1, 2):
        stage.model.script(Reply(*blocks), Reply(Text(f"Answer {turn}.")))
        assert answer_of(await stage.turn(f"Message {turn}.", approve=scene.approve)) == f"Answer {turn}."
    stage.model.script(Reply(Text("Answer 3.")))
    assert answer_of(await stage.turn("Message 3.")) == "Answer 3."

    assert len(stage.posted) == (2 * posts if scene.approve else 0)
    wanted = OutcomeKind.SUCCEEDED if scene.approve or not posts else OutcomeKind.REJECTED
    assert {call.outcome for call in await stage.calls()} == {wanted}
    told = {call.tool_use_id: (bounded(call.text), wanted) for call in await stage.calls()}
    stage.model.assert_script_used()
    for number in (1, 3, 4):
        assert_told(stage.model.requests[number], told)
    last = stage.model.requests[4]
    assert [m.text for m in last.conversation if m.role == "user" and m.text] == [f"Message {n}." for n in (1, 2, 3)]
    said = "\n".join(block.text for block in blocks if isinstance(block, Text))
    answered = [text for turn in (1, 2) for text in (said, f"Answer {turn}.")]
    assert [m.text for m in last.conversation if m.role == "assistant" and m.text] == [t for t in answered if t]
    thought = [block.text for block in blocks if isinstance(block, Thinking)]
    assert thinking(last) == thought * 2


def assert_told(request: ModelRequest, recorded: Mapping[str, tuple[str, OutcomeKind]]) -> None:
    """Each call has one result, and that of a recorded call is its record's."""
    for tool_use_id in request.tool_uses:
        (result,) = request.results_of(tool_use_id)
        if tool_use_id in recorded:
            text, outcome = recorded[tool_use_id]
            assert (result.text, result.is_error) == (text, outcome is not OutcomeKind.SUCCEEDED)
        else:
            assert "internal error" not in result.text


def thinking(request: ModelRequest) -> list[str]:
    """What the model is told that it thought."""
    messages: list[dict[str, Any]] = request.body["messages"]
    return [
        block["thinking"]
        for message in messages
        if message["role"] == "assistant"
        for block in message["content"]
        if block["type"] == "thinking"
    ]
