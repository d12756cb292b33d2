"""When a call waits for a person."""

from __future__ import annotations

import copy
import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from dexbridge.toolsource.effect import ToolEffect

__all__ = ["ApprovalRule", "ToolPolicy", "asks_for_approval"]

logger = logging.getLogger(__name__)

ApprovalRule = bool | Callable[[Mapping[str, Any]], bool]
"""A fixed answer, or a predicate over the validated arguments of one call."""


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """How a session treats one tool, named by the tool's own name.

    Args:
        effect: The effect of a custom tool. For a Connector tool the operation decides, this is ignored.
        requires_approval: Whether a call waits for a person. `None` means: writes of custom tools ask, reads do
            not; a Connector tool keeps what `connector_tool` and its operation say.
    """

    effect: ToolEffect
    requires_approval: ApprovalRule | None = None


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
