"""Who else can read or write a file that holds a credential, and what mends it in the place where the file is."""

from __future__ import annotations

import os
import shlex
import stat
import sys
from pathlib import Path
from typing import Final

from dexbridge.config.reading.file_fault import FileFault
from dexbridge.config.reading.links import is_read_only
from dexbridge.config.telling.codes import Code

POSIX: Final = hasattr(os, "geteuid")
_OWN: Final = 0o600
# Root decides who is in a group: Kubernetes (fsGroup) and systemd let one service read root's file by its group.
_OF_ROOT: Final = 0o640
_OTHERS_WRITE: Final = 0o002
_CREDENTIALS: Final = "/run/credentials/"
"""Where systemd puts what LoadCredential names, in a folder that only the service enters."""


def access_fault(path: str, real: str, owner: int, mode: int) -> FileFault | None:
    """Why a file may not hold a credential; None when it may.

    Args:
        path: as it was given.
        real: where its links lead.
        owner: its user ID.
        mode: its permission bits and more.
    """
    if not POSIX:
        return None
    me, bits = os.geteuid(), stat.S_IMODE(mode)
    if owner not in (me, 0):
        return FileFault(
            Code.FILE_OWNER,
            f"{_named(path, real)} belongs to user {owner}, not to user {me} who reads it, nor to root.",
            _mend(real, owner),
        )
    if not bits & ~(_OWN if owner else _OF_ROOT):
        return None
    right = "0600 or 0400" if owner else "0600, 0400, 0640 or 0440"
    return FileFault(
        Code.FILE_MODE,
        f"{_named(path, real)} has mode {bits:04o}{_who(bits)}; what holds a credential must have mode {right}.",
        _mend(real, owner),
    )


def open_to_writers(path: str, mode: int) -> FileFault | None:
    """A file without a credential needs no mode; that everybody can change it is worth a warning."""
    if not POSIX or not mode & _OTHERS_WRITE or is_read_only(path):
        return None
    return FileFault(
        Code.FILE_MODE,
        f"{path} has mode {stat.S_IMODE(mode):04o}, so others can write it: they can send its credentials elsewhere.",
        f"Run: chmod go-w {shlex.quote(path)}",
    )


def unreadable(path: str, real: str) -> FileFault:
    """The fault of a file that the system does not let this user read."""
    me = os.geteuid() if POSIX else 0
    folder = None if real.startswith(_CREDENTIALS) else _closed_folder(real)
    if folder is not None:
        return FileFault(
            Code.FILE_UNREADABLE,
            f"{path} may not be read by user {me}: the folder {folder} is closed to this user.",
            f"Give it to this user or let this user in, such as: {_sudo()}chmod o+x {shlex.quote(str(folder))}",
        )
    return FileFault(Code.FILE_UNREADABLE, f"{_named(path, real)} may not be read by user {me}.", _mend(real, None))


def _named(path: str, real: str) -> str:
    # Links in the folders above are of no interest, such as those of a temporary folder.
    given = Path(path)
    return path if path == real or str(given.parent.resolve() / given.name) == real else f"{path}, a link to {real},"


def _who(bits: int) -> str:
    for mask, words in (
        (0o004, "others can read it"),
        (0o002, "others can write it"),
        (0o020, "its group can write it"),
        (0o040, "its group can read it"),
    ):
        if bits & mask:
            return f", so {words}"
    return ""


def _mend(real: str, owner: int | None) -> str:
    me = os.geteuid() if POSIX else 0
    if (Path(real).parent.parent / "..data").is_symlink():
        group = "" if me == 0 else f' and "fsGroup: {os.getegid() or me}" in the pod\'s securityContext'
        return f'In the pod, set "defaultMode: 0440" on the volume{group}.'
    if real.startswith(_CREDENTIALS):
        unit, check = Path(real).parts[3], Path(sys.executable).parent / "dexbridge"
        return (
            f'It is there for {unit} alone. To check as that service, add to it: "ExecStartPre={check} config check".'
        )
    if real.startswith("/run/secrets/"):
        return (
            f'In the service\'s list of secrets, set "uid: \'{me}\'" and "mode: 0400"; of a Compose secret that is a '
            f"file of the host, run there: chown {me} FILE && chmod 400 FILE"
        )
    if is_read_only(real):
        who, give = (f"user {me}", "") if owner is not None else ("root", f" -o {me}")
        return (
            f"It is mounted read-only; name a copy instead, made as {who} at the container's start: "
            f"install -m 600{give} {shlex.quote(real)} /run/{shlex.quote(Path(real).name)}"
        )
    if owner == me:
        return f"Run: chmod 600 {shlex.quote(real)}"
    sudo = _sudo()
    return f"Run: {sudo}chown {me} {shlex.quote(real)} && {sudo}chmod 600 {shlex.quote(real)}"


def _sudo() -> str:
    return "sudo " if POSIX and os.geteuid() else ""


def _closed_folder(path: str) -> Path | None:
    """The highest folder above a path that this user may not enter."""
    closed = None
    for folder in Path(path).parents:
        if os.access(folder, os.X_OK):
            break
        closed = folder
    return closed
