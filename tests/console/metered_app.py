"""The scripted application in a process that measures for how long its event loop stands still.

Every thousandth of a second the loop is due again; how late it comes at worst is written into the file that the
variable STALLS names, in seconds. Who takes the file away begins anew. Only what this process itself had of a processor
counts: on a busy machine it also waits for others.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from dexbridge.sessions import AgentSessionFlow
from tests.console.scripted_app import flows

_TICK_SECONDS = 0.001


class _Stalls:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._worst = 0.0

    def note(self, late: float) -> None:
        anew = not self._file.exists()
        if anew or late > self._worst:
            self._worst = late
            self._file.write_text(f"{late:.6f}")


async def _measure(stalls: _Stalls) -> None:
    while True:
        began, used = time.perf_counter(), time.process_time()
        await asyncio.sleep(_TICK_SECONDS)
        stalls.note(min(time.perf_counter() - began - _TICK_SECONDS, time.process_time() - used))


@asynccontextmanager
async def opened() -> AsyncGenerator[Sequence[AgentSessionFlow]]:
    measuring = asyncio.create_task(_measure(_Stalls(Path(os.environ["STALLS"]))))
    try:
        yield flows()
    finally:
        measuring.cancel()
