"""PgBouncer in front of the tests' PostgreSQL, in transaction mode."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import make_url

__all__ = ["pooled"]


@contextmanager
def pooled(url: str, folder: Path, *, connections: int = 20) -> Generator[str]:
    """The URL of the same database through a PgBouncer with so many connections to the server."""
    command = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if command is None:
        pytest.skip("pgbouncer is missing: run `make services`")
    server = make_url(url)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n* = host={server.host} port={server.port} user={server.username}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
        f"pool_mode = transaction\ndefault_pool_size = {connections}\nmax_client_conn = 200\n"
        # It does not run as root.
        + ("user = nobody\n" if os.geteuid() == 0 else "")
    )
    with (folder / "pgbouncer.log").open("wb") as log:
        process = subprocess.Popen([command, str(settings)], stdout=log, stderr=log)
    try:
        _wait_for(port, process)
        yield server.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        assert process.poll() is None, "pgbouncer ended; see pgbouncer.log"
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("pgbouncer does not listen")
