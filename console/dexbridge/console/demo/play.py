"""The demo from its start to its end: settings, folder, services, Worker, acts, and the exit code."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from dexbridge.claude.testing import snapshots_of
from dexbridge.console.demo.acts import Stage, reply_after_approval, reply_through_a_kill
from dexbridge.console.demo.errors import CannotStart, DemoError, NotTrue
from dexbridge.console.demo.real import reply_for_real
from dexbridge.console.demo.screen import Screen
from dexbridge.console.demo.services import local_services, real_environment
from dexbridge.console.demo.settings import Settings, read_settings
from dexbridge.console.demo.worker_process import WorkerProcess
from dexbridge.console.shown.text import exact_plain
from dexbridge.console.signals import not_ignored
from dexbridge.sessions import AgentSessionClient, open_engine

__all__ = ["main"]


def main() -> int:
    """Runs the demo the environment asks for; returns the exit code."""
    stopped_by: list[signal.Signals] = []
    try:
        settings = read_settings(os.environ, terminal=sys.stdin.isatty())
        asyncio.run(_run(settings, stopped_by))
    except DemoError as error:
        said = exact_plain(str(error)).replace("\n", "\n  ")
        print(f"\n{said}", file=sys.stderr)
        return 2 if isinstance(error, CannotStart) else 1
    except (asyncio.CancelledError, KeyboardInterrupt):
        signal_number = stopped_by[0] if stopped_by else signal.SIGINT
        print("\nStopped; the Worker is ended and the folder removed.", file=sys.stderr)
        return 128 + signal_number
    return 0


async def _run(settings: Settings, stopped_by: list[signal.Signals]) -> None:
    task = asyncio.current_task()
    assert task is not None

    def stop(by: signal.Signals) -> None:
        stopped_by.append(by)
        task.cancel()

    # SIGHUP: the terminal was closed.
    for one in not_ignored(signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(one, stop, one)
    began = time.monotonic()
    screen = Screen()
    with tempfile.TemporaryDirectory(prefix="dexbridge-demo-") as folder:
        if settings.real:
            await _run_real(settings, Path(folder), screen)
        else:
            await _run_local(settings, Path(folder), screen)
    screen.gap()
    screen.say(f"Done in {time.monotonic() - began:.1f} s. The Worker is ended, the folder removed.")


async def _run_local(settings: Settings, folder: Path, screen: Screen) -> None:
    screen.title("dexbridge: the order-support agent, offline, without a key or an account")
    async with local_services(folder) as services:
        screen.fact("model", f"a scripted Messages API server, {services.model.url}")
        screen.fact("Slack", f"a local Slack server, {services.slack.url}")
        screen.fact("CLI", "the real Claude Code CLI")
        async with _worker(settings, folder, services.environment, screen) as (worker, sessions):
            stage = Stage(services.slack, worker, sessions, screen, settings.approve)
            if await reply_after_approval(stage):
                await reply_through_a_kill(stage)
            else:
                screen.gap()
                screen.say("Act 2 kills the Worker right after a post, so it needs an approval; it is left out.")
            if told := services.model.told_faults(await snapshots_of(sessions)):
                raise NotTrue("The model was told something else than what is recorded. " + " ".join(told))


async def _run_real(settings: Settings, folder: Path, screen: Screen) -> None:
    screen.title("dexbridge: the order-support agent, on the real model and the real Slack")
    screen.say(
        "Said plainly: this way was never tried with a real key and a real Slack by those who wrote it, only with "
        "local servers. It posts one reply where you say, after you have approved it."
    )
    async with _worker(settings, folder, real_environment(), screen) as (worker, sessions):
        await reply_for_real(worker, sessions, screen)


@asynccontextmanager
async def _worker(
    settings: Settings, folder: Path, environment: Mapping[str, str], screen: Screen
) -> AsyncGenerator[tuple[WorkerProcess, AgentSessionClient]]:
    """A Worker in a process of its own, and a client of its database in this one."""
    url = f"sqlite:///{folder / 'sessions.db'}"
    worker = WorkerProcess(url, environment, settings.examples_root, folder)
    try:
        await worker.start()
        screen.fact("Worker", f"process {worker.process_id}; this one, {os.getpid()}, is only its client")
        async with open_engine(url, run_steps=False) as engine:
            yield worker, AgentSessionClient(engine, worker.flow_type)
    finally:
        await worker.stop()
