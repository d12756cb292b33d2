"""When a call waits for a person."""

from __future__ import annotations

import copy
import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from dexbridge.toolsource.effect import ToolEffect
from dexbridge.toolsource.errors import InvalidToolDefinition

__all__ = ["ApprovalRule", "ToolPolicy", "asks_for_approval", "check_policies"]

logger = logging.getLogger(__name__)

_LONGEST_TIMEOUT = timedelta(days=1)

ApprovalRule = bool | Callable[[Mapping[str, Any]], bool]
"""A fixed answer, or a predicate over the validated arguments of one call."""


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """How a session treats one tool, named by the tool's own name.

    Args:
        effect: The effect of a custom tool. For a Connector tool the operation decides, this is ignored.
        requires_approval: Whether a call waits for a person. `None` means: writes of custom tools ask, reads do
            not; a Connector tool keeps what `connector_tool` and its operation say.
        timeout: How long one call of a custom tool may take, up to a day. `None`: 10 minutes in a Step; a read that
            runs inside the CLI then has until its segment ends. A write that takes longer is cancelled and its outcome
            is unknown. Not for a Connector tool, whose operation has its own.

    Raises:
        InvalidToolDefinition: A value that cannot be; names all of them.
    """

    effect: ToolEffect
    requires_approval: ApprovalRule | None = None
    timeout: timedelta | None = None

    def __post_init__(self) -> None:
        effect, rule, timeout = (cast("object", v) for v in (self.effect, self.requires_approval, self.timeout))
        faults: list[str] = []
        if not isinstance(effect, ToolEffect):
            names = ", ".join(f"ToolEffect.{each.name}" for each in ToolEffect)
            faults.append(f"effect must be one of {names}, not {effect!r}")
        if not (rule is None or isinstance(rule, bool) or callable(rule)):
            faults.append(f"requires_approval must be True, False, a function of the arguments or None, not {rule!r}")
        if timeout is not None and not (isinstance(timeout, timedelta) and timedelta(0) < timeout <= _LONGEST_TIMEOUT):
            faults.append(f"timeout must be a timedelta longer than 0, up to a day, or None, not {timeout!r}")
        if faults:
            raise InvalidToolDefinition(f"ToolPolicy cannot be so: {'; '.join(faults)}.")


def check_policies(policies: Mapping[str, ToolPolicy]) -> None:
    """Refuses what is no policy.

    Raises:
        InvalidToolDefinition: Names each.
    """
    others = [name for name, policy in policies.items() if not isinstance(cast("object", policy), ToolPolicy)]
    if others:
        raise InvalidToolDefinition(
            f"tool_policies of {', '.join(map(repr, others))} must be a ToolPolicy: write "
            "ToolPolicy(ToolEffect.READ), or the effect the tool has."
        )


def asks_for_approval(tool_name: str, rule: ApprovalRule, arguments: Mapping[str, Any]) -> bool:
    """Whether this call waits for a person; anything but a clear `False` asks.

    Args:
        tool_name: Named in the log when a predicate fails.
        rule: The rule of the tool.
        arguments: The validated arguments; a predicate gets a copy it may change.
    """
    if isinstance(rule, bool):
        return rule
    try:
        said = cast("object", rule(copy.deepcopy(dict(arguments))))
    except Exception as error:  # noqa: BLE001 - a predicate is the application's code; its failure must ask
        # The arguments may stand in the exception's text, so only its type is logged.
        logger.warning("The approval predicate of %s raised %s; the call asks.", tool_name, type(error).__name__)
        return True
    if inspect.iscoroutine(said):
        said.close()
    if not isinstance(said, bool):
        logger.warning("The approval predicate of %s returned %s; the call asks.", tool_name, type(said).__name__)
    return said is not False
