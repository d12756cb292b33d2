"""Example: what the suite has to know of one operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dexbridge.connectors.testing.faults import Fault

Reach: TypeAlias = Fault | Mapping[str, Any]
"""How a branch is reached: a fault of the local server, or arguments that replace the example's."""


def _no_branches() -> Mapping[str, Reach]:
    return {}


def _same_arguments(_number: int) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class Example:
    """One call that succeeds on a new local server, and how the other branches are reached.

    Args:
        arguments: of the call that succeeds.
        branches: for each branch but the happy one, `defect` and `uncertain`: how it is reached.
        reads_answer: the answer's body says what was done; False for an operation that a status alone settles.
        proves_not_sent: `reconcile` answers FoundNotSent when the provider shows everything and the call is not
            there; False when this provider can never prove that.
        crowd: what replaces the example's arguments in the call of that number, counted from 0, when many calls are
            to be carried out; for a provider that refuses the same thing twice.
        crowd_size: how many other calls surround one that is looked up, to begin with; 0 when a second call can never
            be carried out.
    """

    arguments: Mapping[str, Any]
    branches: Mapping[str, Reach] = field(default_factory=_no_branches)
    reads_answer: bool = True
    proves_not_sent: bool = True
    crowd: Callable[[int], Mapping[str, Any]] = _same_arguments
    crowd_size: int = 40

    def crowd_arguments(self, number: int) -> dict[str, Any]:
        """The arguments of the call of that number in a crowd."""
        return {**self.arguments, **self.crowd(number)}
