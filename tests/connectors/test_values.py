"""Secrets, receipts, references, waits and what the model reads."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import UTC, datetime, timedelta

import pytest

from dexbridge.connectors import (
    BranchTaken,
    ConnectionReference,
    Failure,
    FailureKind,
    Receipt,
    Retry,
    Secret,
    Uncertain,
    render_for_model,
)
from dexbridge.connectors.http.retry_after import parse_retry_after
from dexbridge.connectors.slack import SlackMessage, ThreadMessages
from dexbridge.connectors.slack.operations import LIST_THREAD_MESSAGES, POST_THREAD_REPLY

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
FAILURE = Failure(FailureKind.TRANSPORT, "slack", "postThreadReply", "No answer came.")


def test_a_secret_shows_itself_only_when_asked() -> None:
    secret = Secret("xoxb-very-secret")
    assert secret.reveal() == "xoxb-very-secret"
    for text in (str(secret), repr(secret), "%s %r" % (secret, secret), repr([secret]), repr({"a": secret})):  # noqa: UP031
        assert "very-secret" not in text
    assert secret == Secret("xoxb-very-secret")
    assert secret != Secret("xoxb-another")


def test_a_secret_refuses_every_way_into_stored_data() -> None:
    secret = Secret("xoxb-very-secret")
    for leak in (
        lambda: json.dumps({"token": secret}),
        lambda: pickle.dumps(secret),
        lambda: copy.copy(secret),
        lambda: copy.deepcopy({"token": secret}),
        lambda: f"{secret}",
        lambda: vars(secret),
        lambda: dict(secret),  # type: ignore[call-overload]  # pyright: ignore
    ):
        with pytest.raises(TypeError) as refused:
            leak()
        assert "very-secret" not in str(refused.value)


def test_a_reference_reads_as_connector_and_name() -> None:
    assert str(ConnectionReference("slack", "support-slack")) == "slack/support-slack"


def test_a_receipt_becomes_json() -> None:
    receipt = Receipt("id", "key", "slack", "1710000000.000100", "req", NOW, {"team": "T1"})
    assert json.loads(json.dumps(receipt.to_json())) == {
        "call_id": "id",
        "idempotency_key": "key",
        "provider": "slack",
        "provider_object_id": "1710000000.000100",
        "provider_request_id": "req",
        "observed_at": "2026-06-01T12:00:00+00:00",
        "metadata": {"team": "T1"},
    }
    with pytest.raises(ValueError, match="time zone"):
        Receipt("id", None, "slack", observed_at=datetime(2026, 1, 1))


@pytest.mark.parametrize(
    ("value", "delay"),
    [
        ("2", timedelta(seconds=2)),
        (" 30 ", timedelta(seconds=30)),
        ("Mon, 01 Jun 2026 12:00:10 GMT", timedelta(seconds=10)),
        ("7200", timedelta(hours=1)),
        ("Tue, 02 Jun 2026 12:00:00 GMT", timedelta(hours=1)),
        (None, None),
        ("", None),
        ("0", None),
        ("-5", None),
        ("1.5", timedelta(seconds=2)),
        ("0.2", timedelta(seconds=1)),
        ("0.0", None),
        ("1.", None),
        ("soon", None),
        ("٣", None),
        ("9" * 400, None),
        ("Mon, 01 Jun 2026 11:59:00 GMT", None),
        ("Mon, 99 Foo 2026 11:59:00 GMT", None),
    ],
)
def test_retry_after(value: str | None, delay: timedelta | None) -> None:
    assert parse_retry_after(value, now=NOW) == delay


def test_the_model_reads_the_output_as_json_and_failures_as_advice() -> None:
    page = ThreadMessages(messages=(SlackMessage(channel_id="C01", timestamp="1710000000.000100", text="é"),))
    assert json.loads(render_for_model(LIST_THREAD_MESSAGES, BranchTaken("read", page, None))) == {
        "messages": [{"channel_id": "C01", "timestamp": "1710000000.000100", "text": "é"}]
    }
    rejected = render_for_model(POST_THREAD_REPLY, BranchTaken("providerRejected", None, None, FAILURE))
    assert rejected == "Post Slack thread reply failed (providerRejected): No answer came."
    assert "do not repeat" in render_for_model(POST_THREAD_REPLY, Uncertain(FAILURE))
    assert "unknown" in render_for_model(POST_THREAD_REPLY, BranchTaken("surprise", None, None, FAILURE))
    retry = render_for_model(POST_THREAD_REPLY, Retry(FAILURE, timedelta(seconds=90)))
    assert "nothing was done" in retry
    assert "90 s" in retry


def test_a_long_output_stays_json_and_within_the_limit() -> None:
    messages = tuple(
        SlackMessage(channel_id="C01", timestamp=f"17100000{n:02d}.000100", text="x" * 40_000) for n in range(15)
    )
    text = render_for_model(
        LIST_THREAD_MESSAGES, BranchTaken("read", ThreadMessages(messages=messages, next_cursor="c"), None)
    )
    assert len(text) <= 20_000
    page = json.loads(text)
    assert len(page["messages"]) == 15
    assert page["next_cursor"] == "c"
    assert "cut, 40,000 characters in all" in page["messages"][0]["text"]
