"""What a call of a tool does to the world, which decides the Step it runs in."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["ToolEffect"]


class ToolEffect(StrEnum):
    """The effect of one call.

    `READ` changes nothing. `IDEMPOTENT_WRITE` may be repeated without harm (CallTool).
    `NON_IDEMPOTENT_WRITE` must never be repeated (CallSingleAttemptTool).
    """

    READ = "read"
    IDEMPOTENT_WRITE = "idempotent_write"
    NON_IDEMPOTENT_WRITE = "non_idempotent_write"

    @property
    def is_write(self) -> bool:
        """Whether a call changes anything."""
        return self is not ToolEffect.READ
