"""No credential shows in anything a Connector gives, logs, keeps or raises."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from dexbridge.connectors.contract.attempts.attempt import Attempt, BranchTaken, Uncertain
from dexbridge.connectors.contract.attempts.reconciliation import FoundSent
from dexbridge.connectors.contract.attempts.rendering import render_for_model
from dexbridge.connectors.testing.conformance.secret_search import kept_in, shown_in
from dexbridge.connectors.testing.conformance.stage import Scenes, Server, Stage, complain, require
from dexbridge.connectors.testing.conformance.words import short
from dexbridge.connectors.testing.faults import Answered, AnswerLate, SpoiltAnswer
from dexbridge.connectors.testing.local_server import ANY_REQUEST

ECHOES: tuple[int, ...] = (0, 200, 302, 400, 401, 403, 404, 422, 429, 500)


@dataclass(frozen=True)
class Echo(SpoiltAnswer):
    """Answers with the credential in every place; the status 0 stands for that of the right answer."""

    status: int
    secret: str
    posted: bool = True

    def spoil(self, answered: Answered) -> Answered:
        extra = dict.fromkeys(("error", "message", "code", "detail", "title", "errors", "description"), self.secret)
        payload = _with_text(answered.payload, self.secret)
        if self.status and isinstance(payload, dict):
            payload = {**cast(dict[str, Any], payload), **extra}
        elif self.status:
            payload = extra
        headers = dict.fromkeys(answered.headers, self.secret) | {
            "X-Request-Id": self.secret,
            "Location": f"/elsewhere?token={self.secret}",
        }
        return replace(answered, status=self.status or answered.status, payload=payload, headers=headers)


def _with_text(value: Any, text: str) -> Any:
    if isinstance(value, str):
        return text
    if isinstance(value, list):
        return [_with_text(item, text) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        return {key: _with_text(item, text) for key, item in cast(dict[str, Any], value).items()}
    return value


class SecretChecks(Scenes[Server]):
    """Credentials stay where they are."""

    def test_an_echoed_credential_is_not_passed_on(
        self,
        operation_id: str,
        echo: int,
        caplog: pytest.LogCaptureFixture,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        caplog.set_level(logging.DEBUG)
        given: dict[str, str] = {}

        async def scene(stage: Stage[Server]) -> list[str]:
            given.update(await _revealed(stage))
            texts: list[str] = []
            for secret in given.values():
                stage.server.fail_always(Echo(echo, secret))
                attempt = await stage.dispatch(operation_id, self.example(operation_id).arguments)
                texts += _texts(self, operation_id, attempt)
                if self.operation(operation_id).can_reconcile:
                    now = datetime.now(UTC)
                    found = await stage.bound[operation_id].reconcile(
                        stage.call(operation_id),
                        self.example(operation_id).arguments,
                        opened_at=now - timedelta(minutes=2),
                        ended_by=now - timedelta(minutes=1),
                    )
                    texts += [f"{found!r} {found!s}"]
                    if isinstance(found, FoundSent):
                        texts.append(json.dumps(found.receipt.to_json()))
            return texts

        self._search(given, "its result", self.play(scene))
        self._search(given, "its log", [caplog.text, *_locals_of(caplog.records)])
        self._search(given, "its output", list(capfd.readouterr()))

    def test_nothing_keeps_a_credential_outside_of_a_secret(self, operation_id: str) -> None:
        async def scene(stage: Stage[Server]) -> str | None:
            given = await _revealed(stage)
            await stage.dispatch(operation_id, self.example(operation_id).arguments)
            bound = stage.bound[operation_id]
            shown = shown_in(f"{bound!r} {bound!s}", given)
            require(shown is None, f"The repr of {operation_id} shows its {shown}.")
            await stage.held.aclose()
            return kept_in(bound, given, leave_out=[stage.held, stage.server])

        place = self.play(scene)
        require(place is None, f"A credential is kept at {place}: take it with dispatch.credential(...) at each call.")

    def test_a_rotated_credential_works_at_the_next_call(self, operation_id: str) -> None:
        async def scene(stage: Stage[Server]) -> tuple[Attempt, str]:
            await stage.dispatch(operation_id, self.example(operation_id).arguments)
            for name, token in list(stage.server.tokens.items()):
                stage.server.tokens[name] = f"{token}2"
                stage.held.set_credential(name, f"{token}2")
            attempt = await stage.dispatch(operation_id, self.example(operation_id).arguments, flow="rotated")
            return attempt, stage.server.requests[-1].token_kind

        attempt, kind = self.play(scene)
        if self.operation(operation_id).credentials:
            require(
                kind not in {"wrong", "none"},
                f"After a rotation {operation_id} still sent the old credential ({short(attempt)}): read it at each "
                "call.",
            )

    def test_a_cancelled_call_raises_no_credential(self, operation_id: str) -> None:
        given: dict[str, str] = {}

        async def scene(stage: Stage[Server]) -> asyncio.CancelledError | None:
            stage.server.fail_next(ANY_REQUEST, AnswerLate(0.2))
            task = asyncio.create_task(stage.dispatch(operation_id, self.example(operation_id).arguments))
            async with asyncio.timeout(10):
                await stage.server.wait_until(lambda: bool(stage.server.requests))
            task.cancel()
            try:
                await task
            except asyncio.CancelledError as cancelled:
                given.update(await _revealed(stage))
                return cancelled
            return None

        cancelled = self.play(scene)
        if cancelled is None:
            complain(f"{operation_id} was cancelled, but did not stop: let CancelledError through.")
        told = traceback.TracebackException.from_exception(cancelled, capture_locals=True)
        shown = "".join(line for line in told.format() if __file__ not in line)
        self._search(given, "the traceback of its cancellation", [shown])

    @staticmethod
    def _search(given: dict[str, str], where: str, texts: list[str]) -> None:
        for text in texts:
            name = shown_in(text, given)
            require(name is None, f"The credential {name} shows in {where}.")


async def _revealed(stage: Stage[Any]) -> dict[str, str]:
    return {name: secret.reveal() for name, secret in (await stage.held.read_credentials()).items()}


def _texts(scenes: Scenes[Any], operation_id: str, attempt: Attempt) -> list[str]:
    texts = [f"{attempt!r} {attempt!s}", render_for_model(scenes.operation(operation_id), attempt)]
    if isinstance(attempt, BranchTaken) and attempt.receipt is not None:
        texts.append(json.dumps(attempt.receipt.to_json()))
    if isinstance(attempt, Uncertain):
        texts.append(attempt.failure.message)
    return texts


def _locals_of(records: list[logging.LogRecord]) -> Iterator[str]:
    for record in records:
        if record.exc_info and record.exc_info[1] is not None:
            with contextlib.suppress(Exception):  # a repr of a local may fail
                told = traceback.TracebackException.from_exception(record.exc_info[1], capture_locals=True)
                yield "".join(told.format())
