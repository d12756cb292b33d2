"""Secrets as Kubernetes, Docker and systemd mount them, made for real: needs root."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

USER = 10001
GROUP = 20001


def can_mount() -> str:
    """Why mounts cannot be made here; empty when they can."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "only root on Linux makes mounts and other users' files"
    if not shutil.which("setpriv"):
        return "there is no setpriv"
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False)
        if made.returncode:
            return "this container may not mount"
        subprocess.run(["umount", folder], check=True)
    return ""


needs_mounts = pytest.mark.skipif(bool(why := can_mount()), reason=why)


@contextmanager
def open_folder() -> Generator[Path]:
    """A folder that every user can enter; pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="dexbridge-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def tmpfs(folder: Path, mode: int) -> Generator[Path]:
    """A file system in memory, in the folder."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode={mode:o}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def read_only(folder: Path) -> None:
    """What a container sees of a mounted secret."""
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)


@dataclass(frozen=True)
class KubernetesSecret:
    """A Secret's volume: a sticky tmpfs; each name is a link over `..data` to a folder of that version.

    Args:
        folder: where it is mounted.
        mode: of the files, the volume's defaultMode.
        group: the pod's fsGroup; the kubelet adds 0440 to the mode for it.
    """

    folder: Path
    mode: int
    group: int | None = None

    def put(self, version: str, **files: str) -> None:
        """Writes a version and switches `..data` to it, as the kubelet does."""
        of_version = self.folder / f"..{version}"
        of_version.mkdir(mode=0o755)
        for name, text in files.items():
            path = of_version / name
            path.write_text(text)
            path.chmod(self.mode if self.group is None else self.mode | 0o440)
            os.chown(path, 0, self.group or 0)
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        data = self.folder / "..data"
        old = data.readlink() if data.is_symlink() else None
        new = self.folder / "..data_tmp"
        new.symlink_to(f"..{version}")
        new.rename(data)
        if old is not None:
            shutil.rmtree(self.folder / old)


def check_as(path: Path, *, user: int = USER, groups: tuple[int, ...] = (), **environment: str) -> list[dict[str, Any]]:
    """The diagnostics that `dexbridge config check` gives another user."""
    program = "import sys; from dexbridge.console.cli import main; main(sys.argv[1:])"
    privileges = ["--reuid", str(user), "--regid", str(user)]
    privileges += ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    ended = subprocess.run(
        ["setpriv", *privileges, sys.executable, "-c", program, "config", "check", "--json", str(path)],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout)["diagnostics"]


def run_as(user: int, command: str) -> None:
    """Runs a mend's shell command as another user."""
    privileges = ["--reuid", str(user), "--regid", str(user), "--clear-groups"]
    subprocess.run(["setpriv", *privileges, "sh", "-c", command], check=True)
