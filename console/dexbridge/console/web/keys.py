"""The two secrets of a server: what signs session tokens, and what lets operators in."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["OPERATOR_KEY_VARIABLE", "SESSION_KEY_VARIABLE", "ServerKeys"]

SESSION_KEY_VARIABLE: Final = "DEX_AGENT_SESSION_KEY"
OPERATOR_KEY_VARIABLE: Final = "DEX_OPERATOR_KEY"


@dataclass(frozen=True, slots=True)
class ServerKeys:
    """Both keys, and which of them was set on purpose. A random one ends tokens and logins at every restart.

    Attributes:
        session: Signs session tokens.
        operator: What operators log in with.
        given: Name and value of each variable; `None` when it was not set.
    """

    session: str = field(repr=False)
    operator: str = field(repr=False)
    given: Mapping[str, str | None] = field(repr=False)

    @staticmethod
    def from_environment(environment: Mapping[str, str]) -> ServerKeys:
        """The keys of DEX_AGENT_SESSION_KEY and DEX_OPERATOR_KEY; a random one for each that is not set."""
        given = {name: environment.get(name) or None for name in (SESSION_KEY_VARIABLE, OPERATOR_KEY_VARIABLE)}
        return ServerKeys(
            session=given[SESSION_KEY_VARIABLE] or secrets.token_urlsafe(32),
            operator=given[OPERATOR_KEY_VARIABLE] or secrets.token_urlsafe(18),
            given=given,
        )
