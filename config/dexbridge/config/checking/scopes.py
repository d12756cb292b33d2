"""The scopes an operation needs of the credentials a connection holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dexbridge.connectors import ConnectionReference, Operation


@dataclass(frozen=True)
class NeededScopes:
    """Scopes that one credential has to have.

    Args:
        credential: the one the connection uses, which may stand in for another.
        scopes: sorted.
        operation_id: what needs them.
        is_look_up: only to find out whether an unclear call was carried out.
    """

    credential: str
    scopes: tuple[str, ...]
    operation_id: str
    is_look_up: bool

    def to_json(self, reference: ConnectionReference) -> dict[str, Any]:
        """The shape documented in docs/configuration.md."""
        return {
            "connection": str(reference),
            "credential": self.credential,
            "scopes": list(self.scopes),
            "operation": self.operation_id,
            "lookUp": self.is_look_up,
        }

    def __str__(self) -> str:
        purpose = f"to look up an unclear {self.operation_id}" if self.is_look_up else f"for {self.operation_id}"
        return f"{self.credential}: {', '.join(self.scopes)}, {purpose}"


def scopes_needed(
    operation: Operation, held: frozenset[str], granted: Mapping[str, Sequence[str]] | None = None
) -> Iterator[NeededScopes]:
    """What an operation needs of each credential that is held.

    Args:
        operation: the definition.
        held: the names of the connection's credentials.
        granted: the scopes each credential is known to have: then only those that are lacking are told, and nothing of
            a credential whose scopes are not known.
    """
    looking_up = operation.reconcile_credentials if operation.can_reconcile else ()
    for names, is_look_up in ((operation.credentials, False), (looking_up, True)):
        for credential in names:
            used = operation.held_for(credential, held)
            if used is None or (granted is not None and used not in granted):
                continue
            has = () if granted is None else granted[used]
            scopes = tuple(sorted({*operation.scopes.get(credential, ())} - {*has}))
            if scopes:
                yield NeededScopes(used, scopes, operation.operation_id, is_look_up)
