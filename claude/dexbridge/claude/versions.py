"""The versions of the SDK and the CLI this adapter was measured on; both change what a deferral does."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import claude_agent_sdk

__all__ = ["TESTED_CLI", "TESTED_SDK", "warn_if_untested"]

logger = logging.getLogger(__name__)

TESTED_SDK = "0.2.189"
TESTED_CLI = "2.1.332"

_warned: set[tuple[str, str]] = set()


def warn_if_untested(init: Mapping[str, Any]) -> None:
    """Logs one warning per pair of versions that is not the tested one.

    Args:
        init: Data of the CLI's init message.

    Source: design "Checks on every start and resume".
    """
    pair = (claude_agent_sdk.__version__, str(init.get("claude_code_version", "unknown")))
    if pair == (TESTED_SDK, TESTED_CLI) or pair in _warned:
        return
    _warned.add(pair)
    logger.warning(
        "dexbridge was tested with claude-agent-sdk %s and Claude Code %s; this Worker has %s and %s. "
        "Run tests/claude before you rely on it.",
        TESTED_SDK,
        TESTED_CLI,
        *pair,
    )
