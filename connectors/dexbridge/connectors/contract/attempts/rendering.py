"""What the model reads about an attempt."""

from __future__ import annotations

import json
from typing import Any, Final, cast

from dexbridge.connectors.contract.attempts.attempt import Attempt, BranchTaken, Retry, Uncertain
from dexbridge.connectors.contract.operation import BranchOutcome, Operation

MODEL_TEXT_LIMIT: Final = 20_000
"""Characters of one rendering; a longer one fills the model's context with a single call."""

_SHORTEST_CUT: Final = 64


def render_for_model(operation: Operation, attempt: Attempt, *, limit: int = MODEL_TEXT_LIMIT) -> str:
    """The attempt as text for the model: the output as JSON, or plain advice.

    At most `limit` characters: the longest texts of an output are cut, each with a note that says so.
    """
    if isinstance(attempt, BranchTaken):
        outcome = operation.outcome_of(attempt.branch)
        if outcome is BranchOutcome.SUCCEEDED and attempt.output is not None:
            return _bounded_json(attempt.output.model_dump(mode="json", exclude_none=True), limit)
        advice = attempt.failure.message if attempt.failure else _branch_description(operation, attempt.branch)
        if outcome is BranchOutcome.FAILED:
            return _cut(f"{operation.title} failed ({attempt.branch}): {advice}", limit)
        return _cut(_unknown(operation, advice), limit)
    if isinstance(attempt, Uncertain):
        return _cut(_unknown(operation, attempt.failure.message), limit)
    return _cut(_not_done(operation, attempt), limit)


def _unknown(operation: Operation, advice: str) -> str:
    return (
        f"{operation.title}: the outcome is unknown. {advice} It may have been carried out: do not repeat "
        "it, tell the user that it has to be checked."
    )


def _not_done(operation: Operation, attempt: Retry) -> str:
    wait = f" Try again in {attempt.delay.total_seconds():.0f} s or later." if attempt.delay else ""
    return f"{operation.title} failed, nothing was done: {attempt.failure.message}{wait}"


def _branch_description(operation: Operation, branch_id: str) -> str:
    return next((b.description for b in operation.branches if b.id == branch_id), "no further details.")


def _bounded_json(value: Any, limit: int) -> str:
    text = json.dumps(value, ensure_ascii=False)
    longest = limit
    while len(text) > limit and longest > _SHORTEST_CUT:
        longest //= 2
        text = json.dumps(_with_short_texts(value, longest), ensure_ascii=False)
    return _cut(text, limit)


def _with_short_texts(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return _cut(value, longest)
    if isinstance(value, list):
        return [_with_short_texts(item, longest) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        return {key: _with_short_texts(item, longest) for key, item in cast(dict[str, Any], value).items()}
    return value


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    note = f" [cut, {len(text):,} characters in all]"
    return text[: max(0, limit - len(note))] + note
