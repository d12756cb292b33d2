"""The shared rows of what an answer proves, and that a forgotten row proves nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dexbridge.connectors import FailureKind
from dexbridge.connectors.http.answer_table import Finding, Proof, judge
from dexbridge.connectors.http.pool import HttpAnswer


def created(answer: HttpAnswer, payload: Any) -> Finding | None:
    return Finding(Proof.DONE) if answer.status == 201 and isinstance(payload, dict) else None


def refused(answer: HttpAnswer, payload: Any) -> Finding | None:
    if answer.status == 422 and isinstance(payload, dict):
        return Finding(Proof.NOT_DONE_REFUSED, FailureKind.VALIDATION, code="wrong")
    return None


SHARED: list[tuple[HttpAnswer, Proof, str]] = [
    (HttpAnswer(201, {}, b'{"id":1}'), Proof.DONE, ""),
    (HttpAnswer(422, {}, b'{"id":1}'), Proof.NOT_DONE_REFUSED, ""),
    (HttpAnswer(500, {}, b'{"id":1}'), Proof.UNAVAILABLE, "HTTP 500"),
    (HttpAnswer(408, {}, b""), Proof.UNAVAILABLE, "HTTP 408"),
    (HttpAnswer(302, {}, b'{"id":1}'), Proof.UNREADABLE, "redirect"),
    (HttpAnswer(201, {}, b"", "too large"), Proof.UNREADABLE, "larger than"),
    (HttpAnswer(201, {}, b'{"id":', "cut off"), Proof.UNREADABLE, "cut off"),
    (HttpAnswer(422, {}, b'{"id":1,"id":2}'), Proof.UNREADABLE, "two ways"),
    (HttpAnswer(201, {}, '{"id":1}'.encode("utf-16")), Proof.UNREADABLE, "two ways"),
    (HttpAnswer(201, {}, b""), Proof.UNREADABLE, "empty body"),
    (HttpAnswer(201, {}, b"<html>"), Proof.UNREADABLE, "not JSON"),
    (HttpAnswer(201, {}, b"[" * 30_000), Proof.UNREADABLE, "not JSON"),
    (HttpAnswer(403, {}, b'{"id":1}'), Proof.UNREADABLE, "neither yes nor no"),
]


@pytest.mark.parametrize(("answer", "proof", "reason"), SHARED)
def test_what_an_answer_proves(answer: HttpAnswer, proof: Proof, reason: str) -> None:
    found = judge(answer, provider="Notes", rows=(created, refused))
    assert found.proof is proof
    assert reason in found.reason
    assert "id" not in found.reason


def always(answer: HttpAnswer, payload: Any) -> Finding | None:
    return Finding(Proof.NOT_DONE_REFUSED, FailureKind.VALIDATION)


@pytest.mark.parametrize("redirects_are_told", [False, True])
def test_a_redirect_is_judged_by_an_own_row_only_where_the_provider_explains_it(*, redirects_are_told: bool) -> None:
    for answer in (HttpAnswer(301, {}, b'{"message":"moved"}'), HttpAnswer(308, {}, b"")):
        found = judge(answer, provider="Notes", rows=(always,), redirects_are_told=redirects_are_told)
        assert found.proof is (Proof.NOT_DONE_REFUSED if redirects_are_told else Proof.UNREADABLE)


@pytest.mark.parametrize("answer", [row[0] for row in SHARED if row[2] in {"HTTP 500", "cut off", "two ways"}])
def test_no_row_of_a_provider_stands_above_the_shared_ones(answer: HttpAnswer) -> None:
    found = judge(answer, provider="Notes", rows=(always,), redirects_are_told=True)
    assert found.proof in {Proof.UNAVAILABLE, Proof.UNREADABLE}


def test_what_is_known_besides() -> None:
    headers = {"x-request-id": "abc-1", "date": "Mon, 30 Nov 2026 12:00:00 GMT"}
    found = judge(HttpAnswer(201, headers, b'{"id":1}'), provider="Notes", rows=(created,))
    assert (found.request_id, found.clock, found.fields) == ("abc-1", datetime(2026, 11, 30, 12, tzinfo=UTC), {"id": 1})
    assert found.listed("x-oauth-scopes") is None
    scopes = {"x-oauth-scopes": " repo,, chat:write"}
    found = judge(HttpAnswer(201, scopes, b'{"id":1}'), provider="Notes", rows=(created,))
    assert found.listed("x-oauth-scopes") == ("repo", "chat:write")
    odd = {"x-request-id": "a b", "date": "soon"}
    found = judge(HttpAnswer(201, odd, b"[1]"), provider="Notes", rows=(created,))
    assert (found.request_id, found.clock, dict(found.fields)) == (None, None, {})
