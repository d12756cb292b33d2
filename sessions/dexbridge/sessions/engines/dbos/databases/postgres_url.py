"""The URL of a Postgres database: what SQLAlchemy would misread of it, said in a sentence or put right."""

from __future__ import annotations

from urllib.parse import unquote

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from dexbridge.sessions.errors import UnsupportedEngine

__all__ = ["DEFAULT_POOL_SIZE", "pool_size", "postgres_url"]

DEFAULT_POOL_SIZE = 3
"""Connections a process keeps for its transactions when the URL does not say `pool_size`."""

_SMALLEST_POOL = 3
_LARGEST_POOL = 100
_HOW = "write postgresql://user:password@host:5432/database"


def postgres_url(url: str) -> URL:
    """The URL for SQLAlchemy and psycopg, without what is ours.

    Several hosts, as `postgresql://user@one:5432,two:5432/database`, are tried in their order; with
    `?target_session_attrs=read-write` until one is not a replica.

    Raises:
        UnsupportedEngine: It cannot be read.
    """
    scheme, _, rest = url.partition("://")
    before, at, hosts = rest.partition("/")[0].partition("?")[0].rpartition("@")
    path = rest[len(before + at + hosts) :]
    places = [_place(place) for place in hosts.split(",")]
    several = len(places) > 1
    try:
        parsed = make_url(f"{scheme}://{before}{at}{'' if several else hosts}{path}")
    except (ArgumentError, ValueError):
        raise UnsupportedEngine(f"The engine URL cannot be read: {_HOW}.") from None
    if not parsed.database:
        raise UnsupportedEngine(f"The engine URL names no database: {_HOW}.")
    if several:
        hosts, ports = zip(*places, strict=True)
        parsed = parsed.update_query_dict({"host": ",".join(hosts), "port": ",".join(ports)})
    return parsed.set(drivername="postgresql+psycopg").difference_update_query(["pool_size"])


def pool_size(url: str) -> int:
    """How many connections a process keeps: `?pool_size=` of the URL.

    Raises:
        UnsupportedEngine: It is no number, or one that does not do.
    """
    given = make_url(f"postgresql://{url.partition('?')[1]}{url.partition('?')[2]}").query.get("pool_size")
    if given is None:
        return DEFAULT_POOL_SIZE
    if not isinstance(given, str) or not given.isdecimal() or not _SMALLEST_POOL <= int(given) <= _LARGEST_POOL:
        raise UnsupportedEngine(
            f"pool_size in the engine URL must be a number from {_SMALLEST_POOL} to {_LARGEST_POOL}, not {given!r}."
        )
    return int(given)


def _place(place: str) -> tuple[str, str]:
    """Host and port of a place in a URL."""
    host, _, port = place.rpartition(":") if ":" in place.rpartition("]")[2] else (place, "", "")
    if port and not (port.isdecimal() and 0 < int(port) < 65_536):
        raise UnsupportedEngine(f"The port {unquote(port)!r} in the engine URL is no number from 1 to 65535: {_HOW}.")
    return host.strip("[]"), port or "5432"
