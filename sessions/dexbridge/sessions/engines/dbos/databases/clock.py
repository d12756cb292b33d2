"""The database's clock: what several machines date is dated, and compared, by one clock."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import ColumnElement, Engine, Float, literal_column

__all__ = ["clock_of", "moment"]


def clock_of(engine: Engine) -> ColumnElement[float]:
    """The time by the database's clock, in seconds since 1970; for a query."""
    if engine.dialect.name == "postgresql":
        return literal_column("extract(epoch from clock_timestamp())", Float)
    return literal_column("((julianday('now') - 2440587.5) * 86400.0)", Float)


def moment(clock: float) -> datetime:
    """What such a clock showed."""
    return datetime.fromtimestamp(clock, UTC)
