"""The base of every value that is stored: frozen, strict about what it does not know."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

__all__ = ["Instant", "Persisted", "now"]


class Persisted(BaseModel):
    """A stored value. An unknown member is an error: it was written by another version."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _aware(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("an instant needs a time zone")
    return value.astimezone(UTC)


Instant = Annotated[datetime, AfterValidator(_aware)]
"""An aware time in UTC."""


def now() -> datetime:
    """The present, aware, in UTC."""
    return datetime.now(UTC)
