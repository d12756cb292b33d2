"""Sessions on the real Dex Worker and client, against the test peer.

The scenarios are those of tests/sessions: modules here import all of them, and they get this folder's `opening` and
`database`. What cannot be so on Dex is named in `LEFT_OUT` with the reason; docs/dex.md says what differs.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from dex.dexpb import dex_pb2 as pb

from dexbridge.sessions import AgentSessionClient, SessionLimits, open_engine
from tests.engines.dex.peer.server import DexPeer, dex_peer
from tests.fakes.function_tool import FunctionTool
from tests.fakes.scripted_runner import ScriptedRunner
from tests.sessions.conftest import LIMITS, Opening, Talk, flow_of

OWN_TABLES = "looks into the tables of the DBOS engine"
OWN_FILES = "is about SQLite files, or about DBOS's one engine per process"
NO_WORKER = "asks something of a session while no Worker runs; on Dex a Worker answers every request"
COUNTS = "a stop costs an attempt on Dex, which counts it as it counts a lost Worker; see docs/dex.md"
OTHER_RUNS = "has an edit of the state stand for another run; see test_lost_workers_on_dex.py"
COVERED = "is the same rule as another one that is run, and takes longer"

LEFT_OUT = {
    "test_files_are_private": OWN_FILES,
    "test_a_file_that_others_could_read_is_closed_to_them": OWN_FILES,
    "test_one_engine_per_process": OWN_FILES,
    "test_it_closes_in_a_loop_in_which_the_application_used_dbos": OWN_FILES,
    "test_what_cannot_be_opened_is_said_and_leaves_the_process_free": OWN_FILES,
    "test_a_client_may_come_before_the_first_worker": NO_WORKER,
    "test_what_is_not_written_over": OWN_TABLES,
    "test_what_was_typed_stays_in_the_transcript_and_no_record_or_state_holds_it": OWN_TABLES,
    "test_both_workflows_of_a_leg_end_and_one_of_them_ran_it": OWN_TABLES,
    "test_a_session_waits_for_a_worker_that_serves_its_flow": OWN_TABLES,
    "test_a_segment_that_was_taken_over_is_not_committed": OTHER_RUNS,
    "test_nothing_begins_inside_a_session_that_was_taken_over": OTHER_RUNS,
    "test_a_call_that_was_taken_over_is_not_sent_again": OTHER_RUNS,
    "test_the_answer_of_a_worker_that_was_taken_over_settles_it": OTHER_RUNS,
    "test_a_leg_that_is_run_again_here_waits_for_the_answer_this_process_is_about_to_get": OTHER_RUNS,
    "test_a_call_whose_approval_is_not_of_exactly_this_call_is_not_made": NO_WORKER,
    "test_an_approval_that_was_not_used_yet_is_stale_too": NO_WORKER,
    "test_a_call_that_was_approved_and_then_cancelled_is_not_made": NO_WORKER,
    "test_an_approval_outlives_its_worker_and_the_call_then_runs_once": NO_WORKER,
    "test_a_call_that_was_decided_is_not_pending_before_a_worker_makes_it": NO_WORKER,
    "test_a_worker_that_was_frozen_neither_commits_nor_sends": OTHER_RUNS,
    "test_a_session_is_never_on_two_workers": OWN_TABLES,
    "test_a_clean_close_hands_over_at_once": OWN_TABLES,
    "test_workers_that_start_at_once_on_an_empty_database": OWN_TABLES,
    "test_a_worker_that_was_closed_did_not_end_in_its_segment": COUNTS,
    "test_what_a_killed_worker_was_doing_is_taken_over": COVERED,
    "test_after_three_failures_the_turn_fails_and_the_next_message_brings_both": COVERED,
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    left_out = [item for item in items if item.path.parent == here and item.name.partition("[")[0] in LEFT_OUT]
    if left_out:
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


@dataclass(frozen=True)
class PeerDatabase:
    """The peer, in the place of a database in the scenarios of tests/sessions."""

    peer: DexPeer
    folder: Path
    is_postgres: bool = False

    @property
    def url(self) -> str:
        return self.peer.url

    def envelope(self, session_id: str) -> dict[str, Any]:
        """The session's Attribute as the server has it."""
        return json.loads(self.peer.flows[session_id].attributes["session"].string_value)["value"]

    def entries(self, session_id: str, name: str) -> dict[str, str]:
        """Entries of one of the session's AttributeMaps."""
        attributes = self.peer.flows[session_id].attributes
        return {key: value.string_value for key, value in attributes.items() if key.startswith(f"{name}/")}

    def rows(self, query: str) -> list[str]:
        """The one question of the scenarios that has an answer here: all attempts."""
        assert query == "select * from dexbridge_attempts"
        return [text for session_id in self.peer.flows for text in self.entries(session_id, "attempts").values()]

    def change_state(self, session_id: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Edits a session's state, as another process's commit does."""
        envelope = self.envelope(session_id)
        change(envelope["state"])
        envelope.update(version=envelope["version"] + 1, token="edited")
        text = json.dumps({"format": 1, "value": envelope})
        self.peer.flows[session_id].attributes["session"] = pb.Value(string_value=text)

    def change_attempt(self, session_id: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Edits the one row of the session's attempt ledger."""
        ((key, text),) = self.entries(session_id, "attempts").items()
        stored = json.loads(text)
        change(stored["value"])
        self.peer.flows[session_id].attributes[key] = pb.Value(string_value=json.dumps(stored))


@pytest.fixture
async def peer() -> AsyncGenerator[DexPeer]:
    async with dex_peer() as running:
        yield running


@pytest.fixture
def database(peer: DexPeer, tmp_path: Path) -> PeerDatabase:
    return PeerDatabase(peer, tmp_path)


@pytest.fixture
def opening(peer: DexPeer) -> Opening:
    """Opens an engine on the test's peer; the session `s-1` is started when it is new."""

    @asynccontextmanager
    async def opened(
        *tools: FunctionTool, runner: ScriptedRunner | None = None, limits: SessionLimits = LIMITS
    ) -> AsyncGenerator[Talk]:
        flow = flow_of(tools, runner, limits)
        async with open_engine(peer.url, [flow]) as engine:
            client = AgentSessionClient(engine)
            await client.start_session("s-1")
            yield Talk(client)

    return opened
