"""Who sits at this terminal, for the record of decisions."""

from __future__ import annotations

import os
import pwd

from dexbridge.connectors import is_blank

__all__ = ["local_user"]

_LONGEST = 200


def local_user() -> str:
    """The account this process runs as, by the system's own list; `uid 12345` when that has no name for it.

    Not `USER` or `LOGNAME`: they are what somebody set, and a container or a change of user leaves them wrong. A
    decision must not be lost for a name, so one that no record can hold counts as none.
    """
    uid = os.getuid()
    name = _account(uid)
    if name is None or is_blank(name) or len(name) > _LONGEST or not name.isprintable():
        return f"uid {uid}"
    return name


def _account(uid: int) -> str | None:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None
