"""What of the machine this process may use: a container's share, not the host's."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["available_memory", "usable_cores", "usable_memory"]

_CGROUPS = Path("/sys/fs/cgroup")
_MEMINFO = Path("/proc/meminfo")
# Limit, use and what of it can be given up at once: of version 2, then of version 1.
_MEMORY = (
    ("memory.max", "memory.current", "memory.stat", "inactive_file"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat", "total_inactive_file"),
)


def usable_memory(cgroups: Path = _CGROUPS) -> int:
    """Bytes: the machine's memory, or less when the control group of this process is limited.

    Args:
        cgroups: Where control groups are mounted; version 2 and version 1 are read. A container sees its own there.
    """
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = (_number(cgroups / name) for name, *_ in _MEMORY)
    return min([physical, *(limit for limit in limits if limit is not None)])


def available_memory(cgroups: Path = _CGROUPS, meminfo: Path = _MEMINFO) -> int:
    """Bytes that can be had without taking them from anybody; where the kernel does not say, all there are.

    Args:
        cgroups: As for `usable_memory`.
        meminfo: The kernel's own account, of the whole machine.
    """
    free = [_entry(meminfo, "MemAvailable:", 1024)]
    for limit_name, used_name, stat_name, given_up in _MEMORY:
        limit, used = _number(cgroups / limit_name), _number(cgroups / used_name)
        if limit is not None and used is not None:
            free.append(limit - used + (_entry(cgroups / stat_name, given_up) or 0))
    return min((known for known in free if known is not None), default=usable_memory(cgroups))


def usable_cores() -> int:
    """Cores this process may be scheduled on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        # There is no such limit, or it is "max".
        return None


def _entry(path: Path, name: str, unit: int = 1) -> int | None:
    try:
        for line in path.read_text(encoding="ascii").splitlines():
            words = line.split()
            if words and words[0] == name:
                return int(words[1]) * unit
    except (OSError, ValueError):
        pass
    return None
