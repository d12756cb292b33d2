"""Limits that cannot be are refused when they are made, not when a session meets them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dexbridge.sessions import InvalidRequest, SessionLimits


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"segment_runs": 0}, ["segment_runs must be a whole number from 1, not 0"]),
        ({"segment_attempts": "3"}, ["segment_attempts", "not '3'"]),
        ({"queued_messages": -1}, ["queued_messages must be a whole number from 0"]),
        ({"state_bytes": 0, "message_characters": True}, ["state_bytes", "message_characters"]),
        ({"run_model": 900}, ["run_model must be a timedelta longer than 0, not 900"]),
        ({"dispatch_window": timedelta(0)}, ["dispatch_window"]),
        ({"reconcile_margin": timedelta(seconds=-1)}, ["reconcile_margin must be a timedelta that is not negative"]),
    ],
)
def test_what_cannot_be_is_refused_with_all_its_faults(values: dict[str, Any], named: list[str]) -> None:
    with pytest.raises(InvalidRequest) as raised:
        SessionLimits(**values)
    assert all(word in str(raised.value) for word in named)


def test_the_least_that_can_be_is_accepted() -> None:
    assert SessionLimits(queued_messages=0, reconcile_margin=timedelta(0), segment_runs=1).queued_messages == 0
