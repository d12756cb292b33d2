"""DBOS with nothing to do, as little of it as its public settings allow: `python dbos_alone.py <url> <ready file>`.

Started by `idle_load`; ended by a signal.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from dbos import DBOS

from dexbridge.sessions.engines.dbos.databases.database import open_database, open_for_dbos

if __name__ == "__main__":
    url, ready = sys.argv[1:]
    DBOS(
        config={
            "name": "alone",
            "system_database_engine": open_for_dbos(url, open_database(url)),
            "application_version": "1",
            "log_level": "WARNING",
            "notification_listener_polling_interval_sec": 0.1,
            "notification_coalesce_sec": 0.1,
            "scheduler_polling_interval_sec": 3600.0,
        }
    )
    DBOS.listen_queues([])
    DBOS.launch()
    Path(ready).touch()
    threading.Event().wait()
