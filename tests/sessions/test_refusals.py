"""What the model's API refuses for good is not given to it again, and nothing that was done is lost by that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dexbridge.sessions import EventKind, LeftOut, Refused, SegmentFailed
from dexbridge.toolsource import AttemptResult, Dispatch
from tests.fakes.function_tool import FunctionTool, succeeded
from tests.fakes.scripted_runner import ScriptedRunner, Segment
from tests.sessions.conftest import Database, Opening, Talk

CANCEL = 'call cancel_order {"order_id": "7"}'


def refusing(bad: Callable[[Segment], bool], refused: Refused = Refused.REQUEST) -> ScriptedRunner:
    """A framework whose API refuses the segments the function names."""

    async def before(segment: Segment) -> None:
        if bad(segment):
            raise SegmentFailed("The API refused it.", refused=refused)

    return ScriptedRunner(before=before)


async def marks(talk: Talk) -> list[tuple[str, LeftOut | None]]:
    return [(message.text, message.left_out) for message in (await talk.snapshot()).messages]


async def test_a_refused_message_is_asked_once_and_never_again(opening: Opening) -> None:
    runner = refusing(lambda segment: "A" in segment.prompts)
    async with opening(runner=runner) as talk:
        assert await talk.ask("A") == "The API refused it."
        assert await talk.ask("B") == "you said B"
        assert runner.segments == [Segment(("A",), None), Segment(("B",), None)]
        assert await marks(talk) == [("A", LeftOut.REFUSED), ("B", None), ("you said B", None)]
        snapshot = (await talk.snapshot()).to_json()["snapshot"]
        assert [line["left_out"] for line in snapshot["messages"]] == ["refused", None, None]
        (left_out,) = [event for event in await talk.events() if event.kind is EventKind.LEFT_OUT]
        assert left_out.data["message_ids"] == [(await talk.snapshot()).messages[0].message_id]


async def test_a_refused_turn_leaves_the_conversation_and_its_calls_are_told(opening: Opening) -> None:
    tool = FunctionTool()
    runner = refusing(lambda segment: segment.result is not None)
    async with opening(tool, runner=runner) as talk:
        assert await talk.ask("hello") == "you said hello"
        error = await talk.ask(CANCEL)
        assert error == "The API refused it. What was called: cancel_order: succeeded."
        state = (await talk.snapshot()).state
        assert (state.transcript_rows, state.left_out, state.result) == (4, ((2, 4),), None)

        # The transcript the framework is given ends with the first turn; it would assert on a call that waits.
        note = (await talk.ask("B")).removeprefix("you said ").partition("; you said ")
        assert note[2] == "B"
        assert 'cancel_order {"order_id": "7"}: succeeded: done with 7' in note[0]
        assert "do not ask for a call again" in note[0]
        (event,) = [event for event in await talk.events() if event.kind is EventKind.LEFT_OUT]
        assert event.data["notes"] == [note[0]]

        # Told once, then no more.
        assert await talk.ask("C") == "you said C"
        assert runner.segments[-1] == Segment(("C",), None)
        assert len(tool.dispatches) == 1
        assert (await talk.snapshot()).state.notes == ()
        assert [line for line, left_out in await marks(talk) if left_out] == [CANCEL, "I call cancel_order."]


async def test_a_whole_conversation_that_is_left_out_begins_afresh(opening: Opening) -> None:
    runner = refusing(lambda segment: segment.result is not None)
    async with opening(FunctionTool(), runner=runner) as talk:
        await talk.ask(CANCEL)
        assert (await talk.snapshot()).state.left_out == ((0, 2),)
        # The framework asserts that nothing has begun.
        assert (await talk.ask("B")).endswith("you said B")
        assert (await talk.snapshot()).state.transcript_rows == 5


async def test_a_note_is_told_again_when_its_own_turn_is_refused(opening: Opening) -> None:
    runner = refusing(lambda segment: segment.result is not None)
    async with opening(FunctionTool(), runner=runner) as talk:
        await talk.ask(CANCEL)
        await talk.ask('call cancel_order {"order_id": "8"}')
        state = (await talk.snapshot()).state
        assert state.left_out == ((0, state.transcript_rows),)
        answer = await talk.ask("C")
        assert "- cancel_order: succeeded" in answer
        assert '- cancel_order {"order_id": "8"}: succeeded: done with 8' in answer
        assert (await talk.snapshot()).state.notes[0].given
        await talk.ask("D")
        assert (await talk.snapshot()).state.notes == ()


async def test_a_note_the_api_refuses_is_given_without_words_from_outside(opening: Opening) -> None:
    runner = refusing(lambda segment: segment.result is not None or "done with 7" in "".join(segment.prompts))
    async with opening(FunctionTool(), runner=runner) as talk:
        await talk.ask(CANCEL)
        answer = await talk.ask("B")
        # B itself was not at fault, so it is not refused with the note.
        assert answer.endswith("- cancel_order: succeeded]; you said B")
        assert [len(segment.prompts) for segment in runner.segments[-2:]] == [2, 2]


async def test_a_message_that_was_not_given_yet_is_given_without_what_was_refused(opening: Opening) -> None:
    down = [True]

    async def before(segment: Segment) -> None:
        if segment.result is not None and down[0]:
            raise SegmentFailed("busy")
        if segment.result is not None:
            raise SegmentFailed("The API refused it.", refused=Refused.CONVERSATION)

    tool, runner = FunctionTool(), ScriptedRunner(before=before)
    async with opening(tool, runner=runner) as talk:
        assert await talk.ask(CANCEL) == "busy"
        down[0] = False
        assert (await talk.ask("B")).endswith("you said B")
        assert len(tool.dispatches) == 1
        assert [text for text, left_out in await marks(talk) if left_out] == [CANCEL, "I call cancel_order."]
        assert "done with 7" in runner.segments[-1].prompts[0]


async def test_a_message_a_hook_blocks_takes_nothing_with_it(opening: Opening) -> None:
    failing = [True]

    async def before(segment: Segment) -> None:
        if segment.result is not None and failing[0]:
            raise SegmentFailed("busy")
        if "bad" in segment.prompts:
            raise SegmentFailed("A hook blocked it.", refused=Refused.MESSAGES)

    runner = ScriptedRunner(before=before)
    async with opening(FunctionTool(), runner=runner) as talk:
        await talk.ask(CANCEL)
        failing[0] = False
        assert (await talk.ask("bad")).startswith("A hook blocked it.")
        assert (await talk.snapshot()).state.result is not None
        # The result is still given, with the next message alone.
        await talk.ask("B")
        assert runner.segments[-1].prompts == ("B",)
        assert runner.segments[-1].result is not None
        assert [text for text, left_out in await marks(talk) if left_out] == ["bad"]


async def test_cancelling_an_idle_session_drops_the_messages_it_keeps(opening: Opening) -> None:
    runner = ScriptedRunner(failures=[SegmentFailed("busy") for _ in range(3)])
    async with opening(runner=runner) as talk:
        assert not await talk.cancel()
        assert await talk.ask("A") == "busy"
        assert await talk.cancel()
        assert not await talk.cancel()
        assert (await talk.snapshot()).state.leg is None
        assert await talk.ask("B") == "you said B"
        assert await marks(talk) == [("A", LeftOut.CANCELLED), ("B", None), ("you said B", None)]


async def test_cancelling_an_idle_session_keeps_a_result(opening: Opening) -> None:
    async def before(segment: Segment) -> None:
        if segment.result is not None and "C" not in segment.prompts:
            raise SegmentFailed("busy", permanent=True)

    runner = ScriptedRunner(before=before)
    async with opening(FunctionTool(), runner=runner) as talk:
        await talk.ask(CANCEL)
        await talk.ask("B")
        assert await talk.cancel()
        assert await talk.ask("C") == "you said C"
        assert runner.segments[-1].prompts == ("C",)
        assert runner.segments[-1].result is not None


async def test_no_answer_is_said_with_what_was_called(opening: Opening) -> None:
    runner = ScriptedRunner(blank=True)
    async with opening(FunctionTool(), runner=runner) as talk:
        error = await talk.ask(CANCEL)
        assert error.startswith("The model gave no answer. What was called: cancel_order: succeeded.")
        state = (await talk.snapshot()).state
        assert (state.last_error, state.prompt, state.result) == (error, (), None)
        runner.blank = False
        await talk.ask("B")
        assert runner.segments[-1] == Segment(("B",), None)


async def test_what_was_said_before_the_answer_is_in_the_conversation(opening: Opening) -> None:
    runner = ScriptedRunner(earlier=("Let me look.",))
    async with opening(runner=runner) as talk:
        assert await talk.ask("A") == "you said A"
        assert [text for text, _ in await marks(talk)] == ["A", "Let me look.", "you said A"]


async def test_a_turn_an_earlier_version_began_is_left_out_with_all_before_it(
    opening: Opening, database: Database
) -> None:
    runner = refusing(lambda segment: segment.result is not None)

    def forget(state: dict[str, Any]) -> None:
        for name in ("exchange", "notes", "left_out"):
            del state[name]

    async def function(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
        database.change_state("s-1", forget)
        return succeeded("done")

    async with opening(FunctionTool(function=function), runner=runner) as talk:
        await talk.ask("hello")
        await talk.ask(CANCEL)
        # Where the turn began is not known, and a session that is stuck is worse than one that forgets.
        assert (await talk.snapshot()).state.left_out == ((0, 4),)
        assert "cancel_order" in await talk.ask("B")
