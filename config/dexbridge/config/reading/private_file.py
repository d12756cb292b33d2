"""Reads a file that may hold credentials: kind, owner, mode and size are those of the descriptor that is read."""

from __future__ import annotations

import errno
import os
import shlex
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from dexbridge.config.reading.file_access import access_fault, unreadable
from dexbridge.config.reading.file_fault import FileFault
from dexbridge.config.reading.links import target_of
from dexbridge.config.sealing import Sealed
from dexbridge.config.telling.codes import Code

CONNECTION_FILE_LIMIT: Final = 16 * 1024 * 1024
CREDENTIAL_FILE_LIMIT: Final = 64 * 1024
_TRIES: Final = 5
# A file changed this recently may change again within one tick of its clock, with the same size and times.
_SETTLED_NS: Final = 100_000_000
_LINK: Final = frozenset({errno.ELOOP, errno.EMLINK})


class Identity(NamedTuple):
    """What tells that a file is the one that was read, unchanged; mode and owner are part of it."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int
    mode: int
    owner: int


@dataclass(frozen=True)
class PrivateFile:
    """A file that was read.

    Args:
        identity: of the descriptor it was read from.
        content: its bytes.
        settled: its times are old enough to prove by `identity` that it has not changed since.
        fault: its owner or mode, which refuses it if it holds a credential; it was read so that this can be told, and
            its other faults with it.
    """

    identity: Identity
    content: Sealed[bytes]
    settled: bool
    fault: FileFault | None = None


def _identity(status: os.stat_result) -> Identity:
    return Identity(
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_mode,
        status.st_uid,
    )


def identity_of(path: str) -> Identity | None:
    """The identity of the file a path leads to now, links followed; None when nothing is there."""
    try:
        return _identity(os.stat(path))  # noqa: PTH116  (asked at every call, and much faster than a Path)
    except OSError:
        return None


def read_private_file(path: str, *, limit: int) -> PrivateFile | FileFault:
    """Reads a file whole.

    A file that is replaced by rename while it is read is fine: one of the two is read; so is a link that is switched.
    One that is written in place meanwhile is read again, a few times.

    Args:
        path: absolute.
        limit: most bytes accepted.
    """
    for _ in range(_TRIES):
        outcome = _read_once(path, limit)
        if outcome is not None:
            return outcome
        time.sleep(0.01)
    return FileFault(
        Code.FILE_CHANGING,
        f"{path} is being written again and again while it is read.",
        "Write it to a new file and rename that over it, as `dexbridge config init` does.",
    )


def _read_once(path: str, limit: int) -> PrivateFile | FileFault | None:
    # O_NONBLOCK: opening a pipe must not wait for a writer. It changes nothing for a regular file.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in _LINK:
            return _read_linked(path, limit, flags)
        return _not_opened(path, path, error)
    return _read_opened(path, path, descriptor, limit)


def _read_linked(path: str, limit: int, flags: int) -> PrivateFile | FileFault | None:
    try:
        real = target_of(path)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return _dangling(path)
        return _not_opened(path, os.path.realpath(path), error)
    if isinstance(real, FileFault):
        return real
    try:
        descriptor = os.open(real, flags)
    except OSError as error:
        # The link was switched meanwhile, and what it led to is gone: it is followed again.
        if error.errno in (errno.ENOENT, *_LINK):
            return None
        return _not_opened(path, real, error)
    return _read_opened(path, real, descriptor, limit)


def _read_opened(path: str, real: str, descriptor: int, limit: int) -> PrivateFile | FileFault | None:
    try:
        before = os.fstat(descriptor)
        fault = _refusal(path, before, limit)
        if fault is not None:
            return fault
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(limit + 1)
        after = os.fstat(descriptor)
    except OSError as error:
        return _not_opened(path, real, error)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        return _too_large(path, limit)
    identity = _identity(after)
    # The link count and so the change time move when the file is renamed away; content and size did not.
    if _identity(before)[:4] != identity[:4] or len(data) != identity.size:
        return None
    settled = time.time_ns() - max(identity.modified_ns, identity.changed_ns) > _SETTLED_NS
    return PrivateFile(identity, Sealed(data), settled, access_fault(path, real, identity.owner, identity.mode))


def _refusal(path: str, status: os.stat_result, limit: int) -> FileFault | None:
    if not stat.S_ISREG(status.st_mode):
        kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        mend = (
            f"Name a file in it, such as {shlex.quote(path.rstrip('/') + '/connections.toml')}."
            if stat.S_ISDIR(status.st_mode)
            else "Name a regular file."
        )
        return FileFault(Code.FILE_KIND, f"{path} is {kind}.", mend)
    return _too_large(path, limit) if status.st_size > limit else None


def _too_large(path: str, limit: int) -> FileFault:
    size = f"{limit // (1024 * 1024)} MiB" if limit >= 1024 * 1024 else f"{limit // 1024} KiB"
    return FileFault(
        Code.FILE_TOO_LARGE, f"{path} is larger than {size}.", "Keep only connections and credentials in it."
    )


def _dangling(path: str) -> FileFault | None:
    if Path(path).exists():
        return None  # it was switched meanwhile
    return FileFault(
        Code.FILE_ABSENT,
        f"{path} is a link to {Path(path).readlink()}, and that does not exist.",
        "Put the file there, or name the file itself instead of the link.",
    )


def _not_opened(path: str, real: str, error: OSError | ValueError) -> FileFault:
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOENT, errno.ENOTDIR):
        return FileFault(
            Code.FILE_ABSENT,
            f"{path} does not exist.",
            f"Write it with: dexbridge config init {shlex.quote(path)}",
        )
    if number == errno.EACCES:
        return unreadable(path, real)
    if number in (errno.ENXIO, errno.EOPNOTSUPP):
        return FileFault(Code.FILE_KIND, f"{path} is not a regular file.", "Name a regular file.")
    reason = os.strerror(number) if number is not None else "it is not a path"
    return FileFault(Code.FILE_UNREADABLE, f"{path} cannot be read: {reason}.", "Name a file that this user can read.")
