"""What an operation's definition says and refuses."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from dexbridge.connectors import (
    Branch,
    BranchOutcome,
    InvalidOperation,
    Mutation,
    OperationInput,
    OperationKind,
    OperationOutput,
    Query,
)
from dexbridge.connectors.slack.operations import SLACK_OPERATIONS


class Given(OperationInput):
    name: str


class Got(OperationOutput):
    name: str


class Loose(BaseModel):
    name: str


READ = Branch("read", BranchOutcome.SUCCEEDED, "Read.")
DEFECT = Branch("defect", BranchOutcome.FAILED, "Refused.")
UNCERTAIN = Branch("uncertain", BranchOutcome.OUTCOME_UNKNOWN, "Unknown.")


def query(**changes: Any) -> Query:
    fields: dict[str, Any] = {
        "connector_id": "mock-provider",
        "operation_id": "getProfile",
        "title": "Get profile",
        "description": "Gets a profile.",
        "input": Given,
        "output": Got,
        "branches": (READ, DEFECT),
    }
    return Query(**{**fields, **changes})


def mutation(**changes: Any) -> Mutation:
    fields: dict[str, Any] = {
        "connector_id": "mock-provider",
        "operation_id": "grantCredit",
        "title": "Grant credit",
        "description": "Grants a credit.",
        "input": Given,
        "output": Got,
        "branches": (READ, UNCERTAIN, DEFECT),
    }
    return Mutation(**{**fields, **changes})


def test_a_query_and_a_mutation_know_their_kind_and_tool_name() -> None:
    assert (query().kind, query().tool_name) == (OperationKind.QUERY, "mock_provider_get_profile")
    assert (mutation().kind, mutation().tool_name) == (OperationKind.MUTATION, "mock_provider_grant_credit")


def test_unlisted_branches_fail_a_query_and_leave_a_mutation_unknown() -> None:
    assert query().outcome_of("surprise") is BranchOutcome.FAILED
    assert mutation().outcome_of("surprise") is BranchOutcome.OUTCOME_UNKNOWN
    assert mutation().outcome_of("read") is BranchOutcome.SUCCEEDED
    assert mutation().outcome_of("uncertain") is BranchOutcome.OUTCOME_UNKNOWN
    assert mutation().outcome_of("defect") is BranchOutcome.FAILED


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"connector_id": "Mock"}, "connector ID"),
        ({"operation_id": "get_profile"}, "operation ID"),
        ({"description": " "}, "description"),
        ({"branches": (READ,)}, "`defect`"),
        ({"branches": (DEFECT,)}, "success"),
        ({"branches": (READ, READ, DEFECT)}, "once"),
        ({"branches": (Branch("Not_Camel", BranchOutcome.FAILED, ""), READ, DEFECT)}, "lower camel"),
        ({"branches": (READ, UNCERTAIN, DEFECT)}, "no uncertain"),
        ({"input": Loose}, "OperationInput"),
        ({"safe_to_retry": True}, "Mutations"),
        ({"can_reconcile": True}, "Mutations"),
        ({"scopes": {"bot_token": ("a",)}}, "does not list"),
    ],
)
def test_a_definition_that_breaks_the_contract_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidOperation, match=says):
        query(**changes)


def test_a_mutation_declares_uncertain() -> None:
    with pytest.raises(InvalidOperation, match="uncertain"):
        mutation(branches=(READ, DEFECT))


def test_slack_has_its_four_operations_as_the_contract_names_them() -> None:
    found = {
        operation.operation_id: (
            operation.kind.value,
            tuple(branch.id for branch in operation.branches),
            operation.credentials,
            operation.exposed_to_agents,
            operation.recommends_approval,
            operation.safe_to_retry,
            operation.can_reconcile,
        )
        for operation in SLACK_OPERATIONS
    }
    reads, posts = ("user_token",), ("bot_token",)
    sent = ("sent", "providerRejected", "uncertain", "defect")
    assert found == {
        "listThreadMessages": (
            "query",
            ("read", "providerRejected", "invalidResponse", "defect"),
            reads,
            True,
            False,
            False,
            False,
        ),
        "getThreadReply": (
            "query",
            ("found", "notFound", "providerRejected", "invalidResponse", "defect"),
            reads,
            True,
            False,
            False,
            False,
        ),
        "postChannelMessage": ("mutation", sent, posts, True, False, False, True),
        "postThreadReply": ("mutation", ("sent", "sentOutsideThread", *sent[1:]), posts, True, False, False, True),
    }
    assert [operation.tool_name for operation in SLACK_OPERATIONS] == [
        "slack_list_thread_messages",
        "slack_get_thread_reply",
        "slack_post_channel_message",
        "slack_post_thread_reply",
    ]
