"""A credential that cannot be read is the operator's: the model hears no path and no command."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dexbridge.config import open_project
from dexbridge.connectors import BranchTaken, Call, CannotTell, FailureKind, slack
from tests.config.conftest import Write
from tests.fakes.connection_files import document, record

CALL = Call("flow-1", "CallSingleAttemptTool-1", "slack", "postThreadReply")
ARGUMENTS = {"channel_id": "C0123456789", "thread_timestamp": "1710000000.000100", "text": "hello"}


@pytest.mark.parametrize("fault", ["mode", "absent", "broken", "expired", "lacking"])
async def test_the_model_hears_of_an_operator_and_the_operator_of_the_rest(
    write: Write, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    path = write(document(record()))
    async with await open_project(path) as project:
        operation = slack.new_project_connection(project, "support-slack").post_thread_reply()
        break_it(write, path, fault)
        attempt = await operation.dispatch(CALL, ARGUMENTS)
        now = datetime.now(UTC)
        found = await operation.reconcile(CALL, ARGUMENTS, opened_at=now, ended_by=now)
    assert isinstance(attempt, BranchTaken)
    assert attempt.failure is not None
    assert attempt.failure.kind is FailureKind.AUTHENTICATION
    assert isinstance(found, CannotTell)
    for heard in (attempt.failure.message, repr(found)):
        assert "slack/support-slack" in heard
        assert "whoever runs the agent, whose log says more" in heard
        assert not [part for part in ("/tmp", str(path.parent), "chmod", "dexbridge ", "Run:") if part in heard]
    told = [one.getMessage() for one in caplog.records if one.levelno == logging.ERROR]
    reasons = {
        "mode": f"Run: chmod 600 {path}",
        "absent": f"{path} does not exist",
        "broken": f"{path}:1:",
        "expired": f"Put new ones into {path}",
        "lacking": "add it to the connection file",
    }
    assert len(told) == 2
    assert all(reasons[fault] in one and "slack/support-slack" in one for one in told)


def break_it(write: Write, path: Path, fault: str) -> None:
    match fault:
        case "mode":
            path.chmod(0o644)
        case "absent":
            path.unlink()
        case "broken":
            write('{"connections": [')
        case "expired":
            write(document(record(credentialExpiresAt="2020-01-01T00:00:00Z")))
        case _:
            write(document(record(credentials={})))
