"""What Slack's operations refuse before anything is approved or sent (cases S1, S2, S6)."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from dexbridge.connectors import InvalidInput, slack
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.connectors.testing.local_slack import LocalSlack

REPLY: dict[str, Any] = {"channel_id": "C0123456789", "thread_timestamp": "1710000000.000100", "text": "Hello"}
IDS: dict[str, Any] = {"channel_id": "C0123456789", "thread_timestamp": "1710000000.000100"}


def faults(bound: Any, arguments: dict[str, Any]) -> tuple[str, ...]:
    with pytest.raises(InvalidInput) as refused:
        bound.validate(arguments)
    return refused.value.faults


def test_s1_a_timestamp_as_a_number_is_refused_by_name(connection: slack.Connection) -> None:
    (fault,) = faults(connection.post_thread_reply(), {**REPLY, "thread_timestamp": 1602251441.0017})
    assert fault.startswith("thread_timestamp: must be a string in quotes, not a number")
    assert '"1710000000.000100"' in fault


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_s2_a_blank_timestamp_is_refused_and_nothing_reaches_slack(
    connection: slack.Connection, server: LocalSlack, blank: str
) -> None:
    (fault,) = faults(connection.post_thread_reply(), {**REPLY, "thread_timestamp": blank})
    assert fault.startswith("thread_timestamp: must not be blank")
    assert server.requests == []


@pytest.mark.parametrize(
    "wrong",
    ["1710000000", "1710000000.0001", "171000000.000100", "1710000000.000100 ", "١٧١0000000.000100", "now"],
)
def test_a_timestamp_has_one_form(connection: slack.Connection, wrong: str) -> None:
    (fault,) = faults(connection.post_thread_reply(), {**REPLY, "thread_timestamp": wrong})
    assert fault.startswith("thread_timestamp: does not have the right form")


@pytest.mark.parametrize("wrong", ["#support", "support", "c0123456789", "U0123456789", "C1", "C0123456789\n"])
def test_a_channel_is_an_id_and_the_fault_says_where_to_find_it(connection: slack.Connection, wrong: str) -> None:
    (fault,) = faults(connection.post_channel_message(), {"channel_id": wrong, "text": "Hello"})
    assert fault.startswith("channel_id: does not have the right form")
    assert "not its #name" in fault
    assert "channel's details" in fault


def test_s6_the_text_limit_is_named_and_in_the_schema(connection: slack.Connection) -> None:
    bound = connection.post_thread_reply()
    (fault,) = faults(bound, {**REPLY, "text": "x" * 4_001})
    assert fault.startswith("text: is 4,001 characters long, the limit is 4,000")
    assert bound.validate({**REPLY, "text": "x" * 4_000})["text"] == "x" * 4_000
    assert bound.input_schema()["properties"]["text"]["maxLength"] == 4_000


def test_s6_a_connection_may_set_another_limit() -> None:
    held = MemoryConnection("slack", "long", configuration={"maxMessageCharacters": 12_000})
    connection = slack.new_project_connection(MemoryProject(held), "long")
    for bound, given in (
        (connection.post_thread_reply(), REPLY),
        (connection.post_channel_message(), {"channel_id": "C0123456789", "text": "Hello"}),
    ):
        assert bound.input_schema()["properties"]["text"]["maxLength"] == 12_000
        assert "12000" in bound.input_schema()["properties"]["text"]["description"]
        bound.validate({**given, "text": "x" * 12_000})
        (fault,) = faults(bound, {**given, "text": "x" * 12_001})
        assert fault.startswith("text: is 12,001 characters long, the limit is 12,000")


def test_a_connection_may_post_to_its_channels_only() -> None:
    settings = {"channels": ["C0123456789", "C0000000002"], "maxMessageCharacters": 100}
    held = MemoryConnection("slack", "narrow", configuration=settings)
    connection = slack.new_project_connection(MemoryProject(held), "narrow")
    for bound, given in (
        (connection.post_thread_reply(), REPLY),
        (connection.post_channel_message(), {"channel_id": "C0123456789", "text": "Hello"}),
    ):
        assert bound.validate(given)["channel_id"] == "C0123456789"
        assert bound.input_schema()["properties"]["channel_id"]["enum"] == settings["channels"]
        (fault,) = faults(bound, {**given, "channel_id": "C0999999999"})
        assert fault.startswith("channel_id: ")
        assert "may post to C0123456789, C0000000002 only" in fault
        (fault,) = faults(bound, {**given, "text": "<" * 100})
        assert "the limit is 100" in fault
    assert connection.list_thread_messages().validate({**IDS, "channel_id": "C0999999999"})
    for wrong in (["#general"], "C0123456789", [1]):
        with pytest.raises(slack.InvalidSlackConfiguration, match="channels"):
            slack.new_project_connection(
                MemoryProject(MemoryConnection("slack", "narrow", configuration={"channels": wrong})), "narrow"
            )


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u00a0\u3000", *"\ufeff\u3164\u2800\u115f\u034f\u200d\ufe0f"])
def test_a_blank_text_is_refused(connection: slack.Connection, blank: str) -> None:
    (fault,) = faults(connection.post_thread_reply(), {**REPLY, "text": blank})
    assert fault.startswith("text: must not be blank")
    short = slack.new_project_connection(
        MemoryProject(MemoryConnection("slack", "short", configuration={"maxMessageCharacters": 80})), "short"
    )
    (fault,) = faults(short.post_thread_reply(), {**REPLY, "text": blank})
    assert fault.startswith("text: must not be blank")


def test_every_fault_is_named_at_once(connection: slack.Connection) -> None:
    found = faults(
        connection.post_thread_reply(),
        {"channel_id": "#support", "thread_timestamp": 1, "text": " ", "raw_mrkdwn": "yes", "colour": "red"},
    )
    assert [fault.split(":")[0] for fault in found] == [
        "channel_id",
        "thread_timestamp",
        "text",
        "raw_mrkdwn",
        "colour",
    ]
    assert "leave it out" in found[-1]
    assert [fault.split(":")[0] for fault in faults(connection.post_thread_reply(), {})] == [
        "channel_id",
        "thread_timestamp",
        "text",
    ]


def test_arguments_that_are_no_json_are_refused(connection: slack.Connection) -> None:
    bound = connection.post_thread_reply()
    for text in (float("nan"), b"bytes", object()):
        (fault,) = faults(bound, {**REPLY, "text": text})
        assert fault.startswith("arguments: must be a JSON object")
    (fault,) = faults(bound, {**REPLY, "text": "half a pair \ud83d"})
    assert "valid Unicode" in fault


def test_a_page_and_a_reply_have_their_rules(connection: slack.Connection) -> None:
    listing = connection.list_thread_messages()
    assert listing.validate(IDS) == {**IDS, "page_size": 15}
    assert listing.validate({**IDS, "cursor": None, "page_size": 1}) == {**IDS, "page_size": 1}
    for size in (0, 16, 1.5, "5", True):
        (fault,) = faults(listing, {**IDS, "page_size": size})
        assert fault.startswith("page_size: ")
    reply = connection.get_thread_reply()
    assert reply.validate({**IDS, "reply_timestamp": "1710000001.000100"})["reply_timestamp"] == "1710000001.000100"
    (fault,) = faults(reply, {**IDS, "reply_timestamp": "1710000000.000100"})
    assert fault.startswith("reply_timestamp: must differ from thread_timestamp")


def test_canonical_arguments_have_the_defaults_filled_in_and_stay_the_same(connection: slack.Connection) -> None:
    bound = connection.post_thread_reply()
    canonical = bound.validate(REPLY)
    assert canonical == {**REPLY, "raw_mrkdwn": False, "unfurl_links": False}
    assert bound.validate(canonical) == canonical


def test_schemas_are_plain_objects_that_judge_alike(connection: slack.Connection) -> None:
    given: dict[str, dict[str, Any]] = {
        "slack_post_thread_reply": REPLY,
        "slack_post_channel_message": {"channel_id": "C0123456789", "text": "Hello"},
        "slack_list_thread_messages": IDS,
        "slack_get_thread_reply": {**IDS, "reply_timestamp": "1710000001.000100"},
    }
    for bound in (
        connection.post_thread_reply(),
        connection.post_channel_message(),
        connection.list_thread_messages(),
        connection.get_thread_reply(),
    ):
        schema = bound.input_schema()
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert not {"anyOf", "oneOf", "allOf", "not", "$defs", "$ref"} & set(schema)
        assert "$ref" not in str(schema)
        assert all("description" in field for field in schema["properties"].values())
        right = given[bound.operation.tool_name]
        jsonschema.validate(right, schema)
        jsonschema.validate(bound.validate(right), schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**right, "channel_id": "#support"}, schema)
