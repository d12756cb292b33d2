"""What of the machine this process may use: a container's share, not the host's."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["usable_cores", "usable_memory"]

_CGROUPS = Path("/sys/fs/cgroup")
_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")


def usable_memory(cgroups: Path = _CGROUPS) -> int:
    """Bytes: the machine's memory, or less when the control group of this process is limited.

    Args:
        cgroups: Where control groups are mounted; version 2 and version 1 are read. A container sees its own there.
    """
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in _LIMITS:
        try:
            limits.append(int((cgroups / name).read_text(encoding="ascii")))
        except (OSError, ValueError):
            # There is none, or it is "max".
            continue
    return min(limits)


def usable_cores() -> int:
    """Cores this process may be scheduled on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
