"""`make others`: our Connectors against servers others wrote. Exit code 1 when anything is not as it is listed."""

from __future__ import annotations

import asyncio
import sys

from benchmarks.others.backlot import look_at_slack
from benchmarks.others.differences import BACKLOT, PRISM
from benchmarks.others.findings import Report
from benchmarks.others.prism import look_at_github
from benchmarks.others.servers import NotInstalled


async def _main() -> int:
    reports = (
        Report("Slack against backlot", await look_at_slack(), BACKLOT),
        Report("GitHub against its own description behind prism", await look_at_github(), PRISM),
    )
    for report in reports:
        print(report)
    surprises = sum(len(report.surprises) for report in reports)
    print(f"Not listed: {surprises}.")
    return 1 if surprises else 0


try:
    sys.exit(asyncio.run(_main()))
except NotInstalled as error:
    sys.exit(str(error))
