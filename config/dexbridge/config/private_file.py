"""Reads a file only its owner can read: kind, owner, mode and size are those of the descriptor that is read."""

from __future__ import annotations

import errno
import os
import shlex
import stat
import time
from dataclasses import dataclass
from typing import Final, NamedTuple

from dexbridge.config.codes import Code
from dexbridge.config.sealing import Sealed

CONNECTION_FILE_LIMIT: Final = 16 * 1024 * 1024
CREDENTIAL_FILE_LIMIT: Final = 64 * 1024
_TRIES: Final = 5
# A file changed this recently may change again within one tick of its clock, with the same size and times.
_SETTLED_NS: Final = 100_000_000
_POSIX: Final = hasattr(os, "geteuid")


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
        fault: its mode, which refuses the file; it was read so that its other faults can be told with this one.
    """

    identity: Identity
    content: Sealed[bytes]
    settled: bool
    fault: FileFault | None = None


@dataclass(frozen=True)
class FileFault:
    """Why a file is refused: a sentence naming it, and the command that mends it."""

    code: Code
    message: str
    mend: str


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
    """The identity of what the path names now, links not followed; None when nothing is there."""
    try:
        return _identity(os.lstat(path))
    except OSError:
        return None


def read_private_file(path: str, *, limit: int, modes: frozenset[int]) -> PrivateFile | FileFault:
    """Reads a file whole.

    A file that is replaced by rename while it is read is fine: one of the two is read. One that is written in
    place meanwhile is read again, a few times.

    Args:
        path: absolute.
        limit: most bytes accepted.
        modes: the permission bits accepted, exactly; not looked at where the system has none.
    """
    for _ in range(_TRIES):
        outcome = _read_once(path, limit, modes)
        if outcome is not None:
            return outcome
        time.sleep(0.01)
    return FileFault(
        Code.FILE_CHANGING,
        f"{path} is being written again and again while it is read.",
        "Write it to a new file and rename that over it, as `dexbridge config init` does.",
    )


def _read_once(path: str, limit: int, modes: frozenset[int]) -> PrivateFile | FileFault | None:
    # O_NONBLOCK: opening a pipe must not wait for a writer. It changes nothing for a regular file.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        if not hasattr(os, "O_NOFOLLOW") and stat.S_ISLNK(os.lstat(path).st_mode):
            return _symlink(path)
        descriptor = os.open(path, flags)
    except (OSError, ValueError) as error:
        return _not_opened(path, error)
    try:
        before = os.fstat(descriptor)
        fault = _refusal(path, before, limit)
        if fault is not None:
            return fault
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(limit + 1)
        after = os.fstat(descriptor)
    except OSError as error:
        return _not_opened(path, error)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        return _too_large(path, limit)
    identity = _identity(after)
    # The link count and so the change time move when the file is renamed away; content and size did not.
    if _identity(before)[:4] != identity[:4] or len(data) != identity.size:
        return None
    settled = time.time_ns() - max(identity.modified_ns, identity.changed_ns) > _SETTLED_NS
    return PrivateFile(identity, Sealed(data), settled, _mode_fault(path, identity, modes))


def _refusal(path: str, status: os.stat_result, limit: int) -> FileFault | None:
    quoted = shlex.quote(path)
    if not stat.S_ISREG(status.st_mode):
        kind = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        mend = (
            f"Name a file in it, such as {shlex.quote(path.rstrip('/') + '/connections.toml')}."
            if stat.S_ISDIR(status.st_mode)
            else "Name a regular file."
        )
        return FileFault(Code.FILE_KIND, f"{path} is {kind}.", mend)
    if _POSIX and status.st_uid != os.geteuid():
        return FileFault(
            Code.FILE_OWNER,
            f"{path} belongs to user {status.st_uid}, not to user {os.geteuid()} who reads it.",
            f"Run: sudo chown {os.geteuid()} {quoted}",
        )
    if status.st_size > limit:
        return _too_large(path, limit)
    return None


def _mode_fault(path: str, identity: Identity, modes: frozenset[int]) -> FileFault | None:
    mode = stat.S_IMODE(identity.mode)
    if not _POSIX or mode in modes:
        return None
    right = " or ".join(f"{one:04o}" for one in sorted(modes, reverse=True))
    return FileFault(
        Code.FILE_MODE,
        f"{path} has mode {mode:04o}; it must be {right}, so that nobody else reads its credentials.",
        f"Run: chmod 600 {shlex.quote(path)}",
    )


def _too_large(path: str, limit: int) -> FileFault:
    size = f"{limit // (1024 * 1024)} MiB" if limit >= 1024 * 1024 else f"{limit // 1024} KiB"
    return FileFault(
        Code.FILE_TOO_LARGE, f"{path} is larger than {size}.", "Keep only connections and credentials in it."
    )


def _symlink(path: str) -> FileFault:
    quoted = shlex.quote(path)
    return FileFault(
        Code.FILE_SYMLINK,
        f"{path} is a symbolic link.",
        f"Name the file itself, or put it in the link's place: "
        f'(umask 077 && cp "$(readlink -f {quoted})" {shlex.quote(path + ".new")} '
        f"&& mv {shlex.quote(path + '.new')} {quoted})",
    )


def _not_opened(path: str, error: OSError | ValueError) -> FileFault:
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOENT, errno.ENOTDIR):
        return FileFault(
            Code.FILE_ABSENT,
            f"{path} does not exist.",
            f"Write it with: dexbridge config init {shlex.quote(path)}",
        )
    if number == errno.ELOOP:
        return _symlink(path)
    if number == errno.EACCES:
        return FileFault(
            Code.FILE_UNREADABLE,
            f"{path} may not be read by this user.",
            f"Run: sudo chown {os.geteuid() if _POSIX else 'USER'} {shlex.quote(path)}",
        )
    if number in (errno.ENXIO, errno.EOPNOTSUPP):
        return FileFault(Code.FILE_KIND, f"{path} is not a regular file.", "Name a regular file.")
    reason = os.strerror(number) if number is not None else "it is not a path"
    return FileFault(Code.FILE_UNREADABLE, f"{path} cannot be read: {reason}.", "Name a file that this user can read.")
