"""What `~` at the start of a path stands for: only a shell replaces it, and not where a service is described."""

from __future__ import annotations

from pathlib import Path


def without_tilde(path: str, home: str | None = None) -> str | None:
    """The path with the home folder in the place of `~`; None when there is no such folder.

    Args:
        path: of a file.
        home: the home folder of whoever `~` is; the process's own user's unless told.
    """
    if not path.startswith("~"):
        return path
    if home and (path == "~" or path.startswith("~/")):
        return home + path[1:]
    try:
        return str(Path(path).expanduser())
    except RuntimeError:
        return None
