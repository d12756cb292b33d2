"""Receipt: the proof a provider gave for one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


def _no_metadata() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Receipt:
    """What ties a Call ID to an object at the provider.

    Args:
        call_id: the Call ID of the dispatch.
        idempotency_key: the key of a Mutation; None for a Query.
        provider: such as `slack`.
        provider_object_id: such as a message's timestamp.
        provider_request_id: the provider's own ID of the HTTP request, for its support.
        observed_at: aware instant at which the answer was read.
        metadata: further short facts; no secrets.
    """

    call_id: str
    idempotency_key: str | None
    provider: str
    provider_object_id: str | None = None
    provider_request_id: str | None = None
    observed_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    metadata: Mapping[str, str] = field(default_factory=_no_metadata)

    def __post_init__(self) -> None:
        if self.observed_at.utcoffset() is None:
            raise ValueError("A Receipt's observed_at must carry a time zone; use datetime.now(UTC).")

    def to_json(self) -> dict[str, Any]:
        """The receipt as a JSON-able object with snake_case keys."""
        return {
            "call_id": self.call_id,
            "idempotency_key": self.idempotency_key,
            "provider": self.provider,
            "provider_object_id": self.provider_object_id,
            "provider_request_id": self.provider_request_id,
            "observed_at": self.observed_at.astimezone(UTC).isoformat(),
            "metadata": dict(self.metadata),
        }
