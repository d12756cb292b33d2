"""Hooks of the schemathesis run: a request that is meant to be good is about the session there is a token for."""

from __future__ import annotations

import os
from typing import Any

import schemathesis
from schemathesis import Case, GenerationMode, HookContext


@schemathesis.hook  # pyright: ignore[reportUnknownMemberType] - its own annotations are incomplete
def before_call(_context: HookContext, case: Case[Any], _kwargs: dict[str, Any]) -> None:
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE:
        return
    session_id = os.environ["DEXBRIDGE_TEST_SESSION"]
    body: object = case.body
    if isinstance(body, dict) and "session_id" in body:
        body["session_id"] = session_id
    query: dict[str, Any] = case.query
    if "session_id" in query:
        query["session_id"] = session_id
    if case.path == "/events":
        # A stream that waits for more has no end to check.
        query["follow"] = "false"
