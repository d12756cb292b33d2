"""What a decoded value is, for JSON and TOML alike."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a decoded value is a JSON object or a TOML table."""
    return type(value) is dict


def is_list(value: object) -> TypeGuard[list[object]]:
    """Whether a decoded value is an array."""
    return type(value) is list
