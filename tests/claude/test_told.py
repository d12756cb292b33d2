"""The check behind every test that runs the CLI: it catches each way to tell the model something else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest
from claude_agent_sdk import tool

from dexbridge.claude.testing import ModelRequest, Reply, ScriptedModel, Text, ToolUse
from dexbridge.claude.testing.told import faults_in
from dexbridge.sessions import CallRecord, Message, Role, SessionSnapshot, SessionState
from dexbridge.toolsource import OutcomeKind, ToolEffect, ToolPolicy
from tests.fakes.claude_stage import Stage, answer_of, slack_reply

OpenStage = Callable[..., Awaitable[Stage]]
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
CONVERSATION = "7b1c5bb3-58a6-4c1c-9df3-6e7a3b0f6a52"
MISSING = "[Tool result missing due to internal error]"


def record(**changes: Any) -> CallRecord:
    """A post of the first turn that went out."""
    given: dict[str, Any] = {
        "step_execution_id": "CallSingleAttemptTool-1",
        "tool_use_id": "toolu_1",
        "tool": "post",
        "connection": None,
        "arguments": {},
        "fingerprint": "f",
        "turn": 1,
        "outcome": OutcomeKind.SUCCEEDED,
        "text": "Posted as 1.2.",
        "started_at": NOON,
        "ended_at": NOON,
    }
    return CallRecord(**{**given, **changes})


def session(*calls: CallRecord, answers: Sequence[str] = ("Done.",)) -> SessionSnapshot:
    """A session with these calls and a turn for each answer; the message of turn n came n minutes past noon."""
    state = SessionState(session_id="s-1", flow_type="f", conversation_id=CONVERSATION, created_at=NOON)
    messages: list[Message] = []
    for turn, answer in enumerate(answers, start=1):
        at = NOON + timedelta(minutes=turn)
        messages.append(Message(role=Role.USER, text=f"Message {turn}.", turn=turn, at=at))
        messages.append(Message(role=Role.ASSISTANT, text=answer, turn=turn, at=at + timedelta(seconds=30)))
    return SessionSnapshot(state, tuple(messages), calls, 1)


def use(identity: str = "toolu_1") -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": "mcp__tools__post", "input": {}}


def result(text: str = "Posted as 1.2.", identity: str = "toolu_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": [{"type": "text", "text": text}], **more}


def said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def talk(*contents: Sequence[dict[str, Any]], agent: str | None = None, minutes: float = 60) -> ModelRequest:
    """A request of these messages, the user's first, then in turns."""
    messages = [
        {"role": "user" if index % 2 == 0 else "assistant", "content": list(content)}
        for index, content in enumerate(contents)
    ]
    return ModelRequest({"messages": messages}, 0.0, CONVERSATION, agent, NOON + timedelta(minutes=minutes))


FIRST = ([said("Message 1.")], [use()], [result()], [said("Done.")])


def test_nothing_is_wrong_with_what_is_recorded() -> None:
    assert faults_in(talk(*FIRST, [said("Message 2.")]), session(record())) == ()


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ((*FIRST[:2], [said("Message 2.")]), "toolu_1 is there 1 times, with 0 results"),
        ((*FIRST[:2], [result(), result()]), "toolu_1 is there 1 times, with 2 results"),
        ((*FIRST[:2], [result(), result(identity="toolu_2")]), "toolu_2 is there 0 times, with 1 results"),
        ((FIRST[0], [use(), use()], [result()]), "toolu_1 is there 2 times, with 1 results"),
        ((*FIRST[:2], [result(MISSING, is_error=True)]), f"the CLI says '{MISSING}'"),
        ((*FIRST[:2], [result(MISSING, is_error=True)]), "recorded is 'Posted as 1.2.' (succeeded)"),
        (([said("Hi."), said("[Request interrupted by user]")],), "the CLI says '[Request interrupted by user]'"),
        ((FIRST[0], [use("toolu_9")], [result(MISSING, "toolu_9")]), f"the CLI says '{MISSING}'"),
        ((*FIRST[:2], [result("Posted as 1.3.")]), "the result of toolu_1 is 'Posted as 1.3.'"),
        ((*FIRST[:2], [result("Posted as 1.2")]), "the result of toolu_1 is 'Posted as 1.2' "),
        ((*FIRST[:2], [result(is_error=True)]), "(error: True)"),
        ((*FIRST[:3], [said("Something else.")], [said("Message 2.")]), "the answer 'Done.' of turn 1 is gone"),
        ((*FIRST[:3],), "the answer 'Done.' of turn 1 is gone"),
        (([said("Message 2.")],), "the call toolu_1 of post in turn 1 is gone"),
    ],
)
def test_each_fault_is_caught(messages: tuple[Any, ...], fault: str) -> None:
    assert any(fault in found for found in faults_in(talk(*messages), session(record())))


def test_a_difference_beyond_any_beginning_is_caught() -> None:
    text = "x" * 19_000
    known = session(record(text=f"{text}y"))
    assert faults_in(talk(*FIRST[:2], [result(f"{text}y")], [said("Done.")]), known) == ()
    assert len(faults_in(talk(*FIRST[:2], [result(f"{text}z")], [said("Done.")]), known)) == 1


def test_of_two_answers_alike_both_must_be_there() -> None:
    known = session(answers=["Done.", "Done."])
    both = ([said("Message 1.")], [said("Done.")], [said("Message 2.")], [said("Done.")], [said("Message 3.")])
    assert faults_in(talk(*both), known) == ()
    assert faults_in(talk(*both[:2], [said("Message 3.")]), known) == ("the answer 'Done.' of turn 2 is gone",)


def test_only_what_was_committed_when_it_arrived_must_be_there() -> None:
    assert faults_in(talk([said("Message 1.")], minutes=1.2), session(record(ended_at=NOON + timedelta(hours=1)))) == ()


def test_an_outcome_that_was_settled_later_was_told_as_unknown() -> None:
    settled = session(record(text="It is not known.", settled_by="person", settled_at=NOON))
    told = (*FIRST[:2], [result("It is not known.", is_error=True)], [said("Done.")])
    assert faults_in(talk(*told), settled) == ()


def test_what_stands_before_the_compaction_mark_is_left_out() -> None:
    mark = said("This session is being continued from a previous conversation that ran out of context. It posted.")
    known = session(record(), answers=["One.", "Two.", "Three."])
    after = ([mark], [said("Two.")], [said("Message 3.")], [said("Three.")], [said("Message 4.")])
    assert faults_in(talk(*after), known) == ()
    assert faults_in(talk(*after[:2], [said("Message 4.")]), known) == ("the answer 'Three.' of turn 3 is gone",)


def test_a_subagent_has_a_conversation_of_its_own() -> None:
    assert faults_in(talk([said("Look it up.")], agent="a1"), session(record())) == ()
    missing = talk([said("Look it up.")], [use("toolu_9")], [said("Well?")], agent="a1")
    assert len(faults_in(missing, session(record()))) == 1


async def test_the_server_checks_every_request_but_those_that_are_exempt() -> None:
    async with ScriptedModel(lambda _request: Reply(Text("Well."))) as model, aiohttp.ClientSession() as http:

        async def ask(request: ModelRequest) -> None:
            headers = {"X-Claude-Code-Session-Id": request.session_id or ""}
            async with http.post(f"{model.url}/v1/messages", json=dict(request.body), headers=headers) as answer:
                assert answer.status == 200

        await ask(talk(*FIRST))
        model.assert_told([session(record())])
        assert model.told_faults([]) == (f"Request 1, of {CONVERSATION}: the records of its session were not given.",)
        with model.unchecked("a lock is open"):
            await ask(talk(*FIRST[:2], [result("Not made.")], FIRST[3]))
        model.assert_told([session(record())])
        await ask(talk(*FIRST[:2], [result("Not made.")], FIRST[3]))
        with pytest.raises(AssertionError, match=r"^Request 3, of s-1: the result of toolu_1 is 'Not made\.'"):
            model.assert_told([session(record())])
        with pytest.raises(ValueError, match="needs the reason"), model.unchecked(" "):
            pass


async def test_the_stage_has_the_records_of_every_session(stage: Stage) -> None:
    stage.model.script(Reply(slack_reply()), Reply(Text("Posted.")), Reply(Text("As I said.")))
    assert answer_of(await stage.turn("Post it.", approve=True)) == "Posted."
    assert answer_of(await stage.turn("Sure?")) == "As I said."
    await stage.remember()
    (known,) = stage.recorded.values()
    stage.assert_told()
    for changed in (
        SessionSnapshot(known.state, known.messages, (known.calls[0].model_copy(update={"text": "No."}),), 1),
        SessionSnapshot(known.state, known.messages[:1] + known.messages[:2] + known.messages[1:], known.calls, 1),
    ):
        assert len(stage.model.told_faults([changed])) == (2 if changed.calls != known.calls else 1)


TEXTS = ["", " \n", "  in the middle \n", "\ufeffmarked\u2028", "x" * 15_000, "\U0001f600" * 6_000, "\x85\x1f\x00"]


async def test_whatever_a_write_returns_the_model_is_told_it_whole(open_stage: OpenStage) -> None:
    """What the CLI itself makes of a result: the fixture compares all of them."""

    @tool("export", "Export.", {"text": str, "failed": bool})
    async def export(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": arguments["text"]}], "is_error": arguments["failed"]}

    policy = {"export": ToolPolicy(ToolEffect.NON_IDEMPOTENT_WRITE, requires_approval=False)}
    stage = await open_stage(tools=[export], policies=policy)
    calls = [{"text": text, "failed": failed} for failed in (False, True) for text in TEXTS]
    stage.model.script(*(Reply(ToolUse("mcp__tools__export", call)) for call in calls), Reply(Text("All exported.")))
    assert answer_of(await stage.turn("Export.")) == "All exported."
    assert [call.text for call in await stage.calls()] == TEXTS * 2
    ran = [event.data for event in await stage.events() if event.data.get("step") == "RunModel"]
    assert {step["segment_attempts"] for step in ran} == {1}
