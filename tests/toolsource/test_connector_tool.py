"""Operations of a small Connector as tools: definition, approval, effect, outcome."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dexbridge.connectors import (
    Attempt,
    BranchTaken,
    CannotTell,
    ConnectionReference,
    FailureKind,
    FoundNotSent,
    FoundSent,
    Inquiry,
    Reconciliation,
    derive_call_id,
)
from dexbridge.connectors import Dispatch as Sending
from dexbridge.toolsource import (
    AttemptResult,
    Completed,
    ConnectorTool,
    ConnectorToolSource,
    Dispatch,
    InvalidToolDefinition,
    NotDone,
    OfferedTools,
    OutcomeKind,
    StillUnknown,
    ToolEffect,
    ToolOutcome,
    ToolPolicy,
    Unsettled,
    asks_for_approval,
    connector_tool,
    leaves_segment,
)
from tests.fakes.connector import Item, Letter, bound_get, bound_post
from tests.fakes.function_tool import FunctionTool

LETTER = {"to": "ann", "text": "hello"}
DISPATCH = Dispatch("s-1", "CallSingleAttemptTool-1", 1, datetime(2999, 1, 1, tzinfo=UTC))


def post(**changes: Any) -> ConnectorTool:
    operation = bound_post(**changes)
    return connector_tool(operation, operation.reference)


def test_an_operation_not_exposed_to_agents_is_refused_by_name() -> None:
    with pytest.raises(InvalidToolDefinition, match=r"mail\.postLetter is not marked as exposed to agents"):
        post(exposed_to_agents=False)


def test_another_connections_reference_is_refused() -> None:
    with pytest.raises(InvalidToolDefinition, match="mail/other, but its operation belongs to mail/main"):
        connector_tool(bound_post(), ConnectionReference("mail", "other"))


def test_a_tool_is_named_after_its_operation_or_as_asked() -> None:
    operation = bound_post()
    assert connector_tool(operation, operation.reference).name == "mail_post_letter"
    assert connector_tool(operation, operation.reference, name="write").name == "write"
    assert post().input_schema["required"] == ["to", "text"]
    assert post().description == "Posts a letter."


def test_kind_and_safety_decide_the_effect() -> None:
    get = bound_get()
    assert connector_tool(get, get.reference).effect is ToolEffect.READ
    assert post().effect is ToolEffect.NON_IDEMPOTENT_WRITE
    assert post(safe_to_retry=True).effect is ToolEffect.IDEMPOTENT_WRITE
    assert connector_tool(get, get.reference).attempts == 3
    few = bound_get(attempts=2)
    assert connector_tool(few, few.reference).attempts == 2


def test_every_connector_call_and_every_write_leaves_the_segment() -> None:
    get = bound_get()
    assert leaves_segment(connector_tool(get, get.reference))
    assert leaves_segment(post())
    assert leaves_segment(FunctionTool())
    assert not leaves_segment(FunctionTool(effect=ToolEffect.READ))


@pytest.mark.parametrize(
    ("recommended", "asked", "asks"),
    [(False, None, False), (True, None, True), (False, True, True), (True, False, False)],
)
def test_the_recommendation_holds_unless_overridden(recommended: bool, asked: bool | None, asks: bool) -> None:
    operation = bound_post(recommends_approval=recommended)
    assert connector_tool(operation, operation.reference, requires_approval=asked).asks(LETTER) is asks


@pytest.mark.parametrize(("set_to", "policy", "asks"), [(True, None, True), (True, False, False), (False, True, True)])
def test_a_policy_changes_the_approval_and_never_the_effect(set_to: bool, policy: bool | None, asks: bool) -> None:
    operation = bound_post()
    tool = connector_tool(operation, operation.reference, requires_approval=set_to)
    policies = {"mail_post_letter": ToolPolicy(ToolEffect.READ, policy)}
    offered = OfferedTools([], [ConnectorToolSource([tool])], policies).find("mail_post_letter")
    assert offered is not None
    assert offered.asks(LETTER) is asks
    assert offered.effect is ToolEffect.NON_IDEMPOTENT_WRITE
    assert leaves_segment(offered)


def test_only_a_clear_false_does_not_ask(caplog: pytest.LogCaptureFixture) -> None:
    def raises(_: Mapping[str, Any]) -> bool:
        raise ValueError("the text is secret")

    answers: list[object] = [False, True, None, 0, "", "no", []]
    asked = [asks_for_approval("t", lambda _, a=answer: a, {}) for answer in answers]  # pyright: ignore[reportArgumentType]
    assert asked == [False, True, True, True, True, True, True]
    with caplog.at_level(logging.WARNING):
        assert asks_for_approval("t", raises, {})
    assert "raised ValueError" in caplog.text
    assert "secret" not in caplog.text


def test_an_asynchronous_predicate_asks() -> None:
    async def later(_: Mapping[str, Any]) -> bool:
        return False

    assert asks_for_approval("t", later, {})  # pyright: ignore[reportArgumentType]


def test_a_predicate_cannot_change_the_call() -> None:
    arguments = {"to": ["ann"]}

    def changes(given: Mapping[str, Any]) -> bool:
        given["to"].append("bob")
        return False

    assert not asks_for_approval("t", changes, arguments)
    assert arguments == {"to": ["ann"]}


Ending = Callable[[Sending[Letter]], Attempt]


async def attempt(ending: Ending, **changes: Any) -> AttemptResult:
    async def send(dispatch: Sending[Letter]) -> Attempt:
        dispatch.about_to_send()
        return ending(dispatch)

    return await post(send=send, **changes).attempt(DISPATCH, LETTER)


async def test_the_happy_branch_succeeds_with_a_receipt() -> None:
    result = await post().attempt(DISPATCH, LETTER)
    assert isinstance(result, Completed)
    assert result.outcome.kind is OutcomeKind.SUCCEEDED
    assert not result.outcome.is_error
    assert "42" in result.outcome.text
    receipt = result.outcome.receipt
    assert receipt is not None
    call_id = derive_call_id("s-1", "CallSingleAttemptTool-1", "mail", "postLetter")
    assert receipt["call_id"] == call_id == post().call_id(DISPATCH)
    assert receipt["provider_object_id"] == "42"


async def test_a_failing_branch_fails_and_a_defect_too() -> None:
    for branch in ("refused", "defect"):
        result = await attempt(lambda d, b=branch: d.failed(b, FailureKind.PROVIDER_REJECTION, "No."))
        assert isinstance(result, Completed)
        assert result.outcome.kind is OutcomeKind.FAILED


async def test_uncertain_and_unknown_branches_of_a_mutation_are_unsettled() -> None:
    def uncertain(dispatch: Sending[Letter]) -> Attempt:
        return dispatch.uncertain(FailureKind.TRANSPORT, "Cut.")

    def unlisted(_: Sending[Letter]) -> Attempt:
        return BranchTaken("surprise", Item(id="1"), None)

    def raises(_: Sending[Letter]) -> Attempt:
        raise ValueError

    endings: list[Ending] = [uncertain, unlisted, raises]
    assert all([isinstance(await attempt(ending), Unsettled) for ending in endings])


async def test_an_unlisted_branch_of_a_query_fails() -> None:
    async def send(dispatch: Sending[Letter]) -> Attempt:
        dispatch.about_to_send()
        return BranchTaken("surprise", Item(id="1"), None)

    operation = bound_get(send=send)
    result = await connector_tool(operation, operation.reference).attempt(DISPATCH, LETTER)
    assert isinstance(result, Completed)
    assert result.outcome.kind is OutcomeKind.FAILED


async def test_a_retry_proves_that_nothing_was_done() -> None:
    result = await attempt(lambda d: d.retry(FailureKind.RATE_LIMIT, "Later.", timedelta(seconds=7)))
    assert isinstance(result, NotDone)
    assert result.delay == timedelta(seconds=7)
    assert "Later." in result.text


async def test_a_request_that_is_late_does_not_leave() -> None:
    late = Dispatch("s-1", "CallSingleAttemptTool-1", 1, datetime(2020, 1, 1, tzinfo=UTC))
    result = await post().attempt(late, LETTER)
    assert isinstance(result, NotDone)


def found_by(
    answer: Callable[[Inquiry[Letter]], Reconciliation],
) -> Callable[[Inquiry[Letter]], Awaitable[Reconciliation]]:
    async def reconcile(inquiry: Inquiry[Letter]) -> Reconciliation:
        return answer(inquiry)

    return reconcile


LONG_AGO = {"opened_at": datetime(2020, 1, 1, tzinfo=UTC), "ended_by": datetime(2020, 1, 2, tzinfo=UTC)}


async def test_a_call_is_found_sent_or_not_sent_or_stays_unknown() -> None:
    sent = post(reconcile=found_by(lambda i: FoundSent(Item(id="9"), i.receipt("9"))))
    found = await sent.reconcile(DISPATCH, LETTER, **LONG_AGO)
    assert isinstance(found, ToolOutcome)
    assert found.kind is OutcomeKind.SUCCEEDED
    assert found.receipt is not None
    assert found.receipt["provider_object_id"] == "9"

    not_sent = post(reconcile=found_by(lambda _: FoundNotSent("It is not there.")))
    assert await not_sent.reconcile(DISPATCH, LETTER, **LONG_AGO) == ToolOutcome(OutcomeKind.FAILED, "It is not there.")
    soon = datetime.now(UTC) + timedelta(minutes=1)
    early = await not_sent.reconcile(DISPATCH, LETTER, opened_at=LONG_AGO["opened_at"], ended_by=soon)
    assert isinstance(early, StillUnknown)
    assert early.ask_again_at == soon

    for tool in (post(reconcile=found_by(lambda _: CannotTell("Who knows."))), post()):
        unknown = await tool.reconcile(DISPATCH, LETTER, **LONG_AGO)
        assert isinstance(unknown, StillUnknown)
        assert unknown.ask_again_at is None
        assert "Do not repeat it" in unknown.text
