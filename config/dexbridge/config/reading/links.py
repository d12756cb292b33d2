"""Follows a link to its file: mounted secrets are links (Kubernetes: `token` → `..data/token` → `..2026_…/token`)."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from dexbridge.config.reading.file_fault import FileFault
from dexbridge.config.telling.codes import Code

_MOST_LINKS: Final = 40
_OTHERS_WRITE: Final = 0o022


def target_of(path: str) -> str | FileFault:
    """The file at the end of a link, as a path without links.

    A link is as good as its folder: who can write there can put another link in its place. So each link that is met
    from the path's last part on is judged by the folder it stands in.

    Args:
        path: absolute; its last part is a link.

    Raises:
        OSError: a part is absent or may not be looked at.
    """
    done = Path(path).parent.resolve()
    rest = [Path(path).name]
    links = 0
    while rest:
        part = rest.pop()
        if part in ("", "."):
            continue
        if part == "..":
            done = done.parent
            continue
        here = done / part
        status = here.lstat()
        if not stat.S_ISLNK(status.st_mode):
            done = here
            continue
        links += 1
        if links > _MOST_LINKS:
            return FileFault(
                Code.FILE_SYMLINK, f"{path} is a link that leads in a circle.", "Name the file itself instead."
            )
        if _others_can_replace(done, status):
            return FileFault(
                Code.FILE_SYMLINK,
                f"{path} leads over a link in the folder {done}, which others can write: they can put another there.",
                "Name the file itself instead of the link.",
            )
        target = here.readlink()
        if target.is_absolute():
            done = Path("/")
        rest += reversed(target.parts[1:] if target.is_absolute() else target.parts)
    return str(done)


def _others_can_replace(folder: Path, link: os.stat_result) -> bool:
    status = folder.stat()
    trusted = (0, os.geteuid())
    if status.st_uid in trusted and not status.st_mode & _OTHERS_WRITE:
        return False
    # In a sticky folder, as Kubernetes mounts its Secrets, a link is replaced by its owner or the folder's alone.
    if status.st_uid in trusted and status.st_mode & stat.S_ISVTX and link.st_uid in trusted:
        return False
    return not is_read_only(str(folder))


def is_read_only(path: str) -> bool:
    """Whether the file system a path is on is mounted read-only."""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False
