"""A private folder of this Worker process for the CLI's configuration, swept when the Worker is gone."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import claude_agent_sdk

__all__ = ["SegmentFolder", "WorkerFolder"]

_PREFIX = "dexbridge-worker-"
_LOCK = "alive"
_PID = "pid"


@dataclass(frozen=True, slots=True)
class SegmentFolder:
    """What one segment has on the disk.

    Attributes:
        path: The folder, mode 0700.
    """

    path: Path

    @property
    def configuration(self) -> Path:
        """The CLI's `CLAUDE_CONFIG_DIR`."""
        return self.path / "configuration"

    def kill(self) -> None:
        """Ends the CLI of a segment that has failed; else it could go on asking the model for seconds.

        Does nothing when it is over already, or was not started by `WorkerFolder.cli`.
        """
        with contextlib.suppress(OSError, ValueError):
            pid = int((self.path / _PID).read_text(encoding="ascii"))
            # The number may be another process's by now.
            if os.fsencode(self.configuration) in Path(f"/proc/{pid}/environ").read_bytes():
                os.kill(pid, signal.SIGKILL)


class WorkerFolder:
    """Holds one folder per running segment (mode 0700), and the CLI's starter.

    A Worker that was killed leaves its folder behind, with parts of transcripts in it; the next one that starts in the
    same temporary folder removes it. A held file lock tells the living from the dead.
    """

    def __init__(self) -> None:
        self._path: Path | None = None
        self._lock: int | None = None

    @contextlib.contextmanager
    def segment(self) -> Generator[SegmentFolder]:
        """A new folder for one segment; removed afterwards."""
        folder = SegmentFolder(Path(tempfile.mkdtemp(prefix="segment-", dir=self._open())))
        folder.configuration.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder.path, ignore_errors=True)

    def cli(self, chosen: str | os.PathLike[str] | None) -> str | None:
        """Path of a program that runs the CLI and dies with this Worker; `None` lets the SDK choose.

        A CLI whose Worker was killed would otherwise go on until its model call ends. The kernel ends it when the
        thread that started it does, which is the thread of the Worker's event loop. Linux only.

        Args:
            chosen: `cli_path` of the application's options.
        """
        program = str(chosen) if chosen is not None else _bundled_cli()
        with_parent = shutil.which("setpriv")
        if program is None or with_parent is None or not sys.platform.startswith("linux"):
            return program
        folder = self._open()
        if os.statvfs(folder).f_flag & os.ST_NOEXEC:
            return program
        name = "claude" if chosen is None else f"claude-{hashlib.sha256(program.encode()).hexdigest()[:16]}"
        starter = folder / name
        if not starter.exists():
            runs = f'exec {shlex.quote(with_parent)} --pdeathsig KILL -- {shlex.quote(program)} "$@"'
            script = f'#!/bin/sh\necho $$ > "$CLAUDE_CONFIG_DIR/../{_PID}"\n{runs}\n'
            starter.write_text(script, encoding="utf-8")
            starter.chmod(0o700)
        return str(starter)

    def close(self) -> None:
        """Removes the folder."""
        if self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)
            self._path = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _open(self) -> Path:
        if self._path is None:
            _sweep()
            self._path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            unnamed = self._path / "starting"
            self._lock = os.open(unnamed, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Named only once it is held, so that no other Worker can take it for a dead one's.
            unnamed.rename(self._path / _LOCK)
        return self._path


def _sweep() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            # Somebody is just making it, or removing it.
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(descriptor)


def _bundled_cli() -> str | None:
    bundled = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
    return str(bundled) if bundled.is_file() else shutil.which("claude")
