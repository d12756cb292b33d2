"""The demo as a person or a script runs it: a process, its output, its exit code, and what it leaves behind."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import pytest_asyncio

from dexbridge.claude.testing import Reply, ScriptedModel, Text, ToolUse
from dexbridge.config.writing import NewConnection, write_connection_file
from dexbridge.connectors import Secret
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_workspace import SEEDED_CHANNEL, SEEDED_THREAD

STEP = re.compile(r"^  ([A-Z]\w+-\d+) +([\d.]+ m?s)  (.*)$", re.MULTILINE)
APPROVED = ["RunModel-1", "AwaitToolApproval-1", "CallSingleAttemptTool-1", "ResumeTurn-1", "RunModel-2"]
REJECTED = ["RunModel-1", "AwaitToolApproval-1", "ResumeTurn-1", "RunModel-2"]
REPLY = "Order 1002 ships on Thursday."
ESCAPES = "Posted. \x1b[31mred\x1b]0;title\x07 \u202egnorw"


@dataclass(frozen=True)
class Run:
    code: int | None
    output: str
    errors: str
    left_in_folder: tuple[str, ...]
    left_running: tuple[int, ...]

    def steps(self, after: str) -> list[str]:
        return [found[0] for found in STEP.findall(self.output.partition(after)[2].partition("\nChecked:")[0])]


def new_folder(parent: Path, name: str = "run") -> Path:
    """A temporary folder for one run alone."""
    folder = parent / name
    folder.mkdir()
    return folder


async def run_demo(folder: Path, **environment: str) -> Run:
    """Runs the demo without a terminal."""
    process = await _start(folder, environment, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(60):
        output, errors = await process.communicate()
    return Run(process.returncode, output.decode(), errors.decode(), _left_in(folder), _left_running(folder))


async def run_in_terminal(folder: Path, answers: Sequence[tuple[str, str | signal.Signals]], **environment: str) -> Run:
    """Runs the demo in a terminal; each answer is typed, or the signal sent, when its prompt is there."""
    ours, theirs = os.openpty()
    process = await _start(folder, environment, stdin=theirs, stdout=theirs)
    os.close(theirs)
    loop = asyncio.get_running_loop()
    shown, more, waiting = bytearray(), asyncio.Event(), list(answers)

    def read() -> None:
        try:
            shown.extend(os.read(ours, 65536))
        except OSError:
            loop.remove_reader(ours)
        more.set()

    loop.add_reader(ours, read)
    seen = 0
    try:
        async with asyncio.timeout(150):
            while waiting and process.returncode is None:
                at = shown.find(waiting[0][0].encode(), seen)
                if at < 0:
                    await more.wait()
                    more.clear()
                    continue
                prompt, answer = waiting.pop(0)
                seen = at + len(prompt.encode())
                if isinstance(answer, signal.Signals):
                    process.send_signal(answer)
                else:
                    os.write(ours, f"{answer}\n".encode())
            _, errors = await process.communicate()
    finally:
        loop.remove_reader(ours)
        os.close(ours)
    output = shown.decode().replace("\r\n", "\n")
    return Run(process.returncode, output, errors.decode(), _left_in(folder), _left_running(folder))


async def _start(
    folder: Path, environment: Mapping[str, str], *, stdin: int, stdout: int
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "dexbridge.console.demo",
        stdin=stdin,
        stdout=stdout,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder.parent,
        env={"PATH": os.environ["PATH"], "HOME": str(folder.parent), "TMPDIR": str(folder), **environment},
    )


def _left_in(folder: Path) -> tuple[str, ...]:
    return tuple(str(path) for path in folder.rglob("*"))


def _left_running(folder: Path) -> tuple[int, ...]:
    """Processes that were started with this run's temporary folder in their command line or environment."""
    left: list[int] = []
    for process in psutil.process_iter():
        try:
            if any(str(folder) in part for part in (*process.cmdline(), process.environ().get("TMPDIR", ""))):
                left.append(process.pid)
        except psutil.Error:
            continue
    return tuple(left)


@dataclass(frozen=True)
class Runs:
    approved: Run
    rejected: Run
    interrupted: Run
    terminated: Run
    hung_up: Run
    unanswered: Run
    real: Run
    real_slack: LocalSlack


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runs(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Runs]:
    """The runs that take seconds, side by side."""
    folder = tmp_path_factory.mktemp("demo")
    async with ScriptedModel() as model, LocalSlack() as slack:
        arguments = {"channel_id": SEEDED_CHANNEL, "thread_timestamp": SEEDED_THREAD, "text": REPLY}
        model.script(Reply(ToolUse("mcp__tools__slack_post_thread_reply", arguments)), Reply(Text(ESCAPES)))
        connections = folder / "connections.json"
        credentials = {"bot_token": Secret(slack.bot_token), "user_token": Secret(slack.user_token)}
        connection = NewConnection("slack", "support-slack", {"endpoint": slack.endpoint}, credentials)
        write_connection_file(str(connections), [connection])
        approved, rejected, interrupted, terminated, hung_up, unanswered, real = await asyncio.gather(
            run_demo(new_folder(folder, "approved"), DEMO_APPROVE="yes"),
            run_demo(new_folder(folder, "rejected"), DEMO_APPROVE="no"),
            run_in_terminal(new_folder(folder, "interrupted"), [("[y/n] ", signal.SIGINT)]),
            run_in_terminal(new_folder(folder, "terminated"), [("[y/n] ", signal.SIGTERM)]),
            run_in_terminal(new_folder(folder, "hung_up"), [("[y/n] ", signal.SIGHUP)]),
            run_in_terminal(new_folder(folder, "unanswered"), [("[y/n] ", "\x04")]),
            run_in_terminal(
                new_folder(folder, "real"),
                [
                    ("Channel ID", SEEDED_CHANNEL),
                    ("Thread timestamp", SEEDED_THREAD),
                    ("What to reply", REPLY),
                    ("[y/n] ", "yse"),
                    ("[y/n] ", "y"),
                ],
                REAL="1",
                ANTHROPIC_API_KEY="local-key",
                ANTHROPIC_BASE_URL=model.url,
                # Relative to where the demo is started, not to where its Worker works.
                DEX_CONNECTOR_CONFIG_FILE=connections.name,
            ),
        )
        yield Runs(approved, rejected, interrupted, terminated, hung_up, unanswered, real, slack)


def test_shows_each_step_of_an_approved_reply_once(runs: Runs) -> None:
    assert (runs.approved.code, runs.approved.errors) == (0, "")
    assert runs.approved.steps("Act 1") == APPROVED
    assert "Checked: one request, one message, outcome succeeded." in runs.approved.output


def test_shows_that_a_killed_worker_does_not_send_again(runs: Runs) -> None:
    output = runs.approved.output.partition("Act 2")[2]
    assert runs.approved.steps("Act 2") == APPROVED
    killed, after = output.split("SIGKILL to the Worker, process ")[1].split("A new Worker runs, process ")
    assert killed.split(":")[0] != after.split(".")[0]
    assert "AwaitToolApproval-1" not in after
    (call_id,) = set(re.findall(r"Call ID\s+([0-9a-f-]{36})", output))
    assert re.search(rf"Call ID\s+{call_id},\s+and\s+recorded\s+it\s+as\s+sent\.", output)
    assert output.count(f"  U0BOT00001  {REPLY}") == 1
    assert "Checked: one request to post in all, one message, outcome succeeded." in output


def test_shows_that_a_rejected_reply_reaches_nobody(runs: Runs) -> None:
    assert (runs.rejected.code, runs.rejected.errors) == (0, "")
    assert runs.rejected.steps("Act 1") == REJECTED
    assert "Checked: rejected, no request to post reached Slack" in runs.rejected.output
    assert "U0BOT00001" not in runs.rejected.output
    assert "it is left out" in re.sub(r"\s+", " ", runs.rejected.output)


def test_shows_the_exact_arguments_before_asking(runs: Runs) -> None:
    asked = runs.rejected.output.partition("tool        slack_post_thread_reply")[2].partition("Approve this call?")[0]
    assert "connection  slack/support-slack" in asked
    assert f'"channel_id": "{SEEDED_CHANNEL}"' in asked
    assert f'"text": "{REPLY}"' in asked


def test_is_plain_and_narrow_without_a_terminal(runs: Runs) -> None:
    for run in (runs.approved, runs.rejected):
        assert "\x1b" not in run.output
        assert max(len(line) for line in run.output.splitlines()) <= 80


def test_asks_at_the_terminal_and_uses_the_services_of_the_environment(runs: Runs) -> None:
    assert (runs.real.code, runs.real.errors) == (0, "")
    assert runs.real.steps("One reply in your Slack") == APPROVED
    assert "never tried with a real key" in re.sub(r"\s+", " ", runs.real.output)
    assert [post.text for post in runs.real_slack.posts] == [REPLY]


def test_writes_out_what_would_steer_the_terminal(runs: Runs) -> None:
    assert "⟨U+001B⟩[31mred⟨U+001B⟩]0;title⟨U+0007⟩ ⟨U+202E⟩gnorw" in re.sub(r"\s+", " ", runs.real.output)
    assert all(steering not in runs.real.output for steering in ("\x1b[31m", "\x1b]0;", "\x07", "\u202e"))


def test_says_what_became_of_an_answer_that_is_none(runs: Runs) -> None:
    assert "Answer y or n." in runs.real.output
    assert runs.unanswered.code == 0
    assert "The input has ended without an answer.\n  Rejected; the call is not made." in runs.unanswered.output
    assert runs.unanswered.steps("Act 1") == REJECTED


async def test_is_stopped_without_a_traceback_while_it_loads() -> None:
    interrupted = (
        "import runpy, sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'dexbridge.console.demo.turn':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "runpy.run_module('dexbridge.console.demo', run_name='__main__')\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", interrupted, stderr=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
    )
    _, errors = await process.communicate()
    assert (process.returncode, errors.decode()) == (130, "\nStopped before anything was started.\n")


@pytest.mark.parametrize(("name", "code"), [("interrupted", 130), ("terminated", 143), ("hung_up", 129)])
def test_a_signal_ends_it_with_a_word_and_a_code(runs: Runs, name: str, code: int) -> None:
    run: Run = getattr(runs, name)
    assert run.code == code
    assert run.errors == "\nStopped; the Worker is ended and the folder removed.\n"


@pytest.mark.parametrize("name", ["approved", "rejected", "interrupted", "terminated", "hung_up", "unanswered", "real"])
def test_leaves_no_process_and_no_file(runs: Runs, name: str) -> None:
    run: Run = getattr(runs, name)
    assert run.left_running == ()
    assert run.left_in_folder == ()


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({}, "DEMO_APPROVE=yes or DEMO_APPROVE=no"),
        ({"DEMO_APPROVE": "maybe"}, "DEMO_APPROVE must be yes or no"),
        ({"REAL": "1", "DEMO_APPROVE": "yes"}, "ANTHROPIC_API_KEY and DEX_CONNECTOR_CONFIG_FILE"),
        (
            {"REAL": "1", "DEMO_APPROVE": "yes", "ANTHROPIC_API_KEY": "k", "DEX_CONNECTOR_CONFIG_FILE": "c.json"},
            "a person must approve",
        ),
    ],
)
async def test_says_what_it_needs_and_starts_nothing(tmp_path: Path, environment: dict[str, str], named: str) -> None:
    run = await run_demo(new_folder(tmp_path), **environment)
    assert (run.code, run.output) == (2, "")
    assert named in run.errors


async def test_shows_why_the_worker_did_not_start(tmp_path: Path) -> None:
    connections = tmp_path / "connections.json"
    connections.write_text("{}")
    connections.chmod(0o644)
    run = await run_in_terminal(
        new_folder(tmp_path), [], REAL="1", ANTHROPIC_API_KEY="k", DEX_CONNECTOR_CONFIG_FILE=str(connections)
    )
    assert run.code == 1
    assert "[missing-key]" in run.errors
    assert "Traceback" not in run.errors
