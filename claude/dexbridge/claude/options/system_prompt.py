"""The system prompt as files in the segment's folder: one argument of a program takes no more than 128 KiB."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from claude_agent_sdk.types import SystemPromptCustom, SystemPromptFile, SystemPromptPreset

from dexbridge.claude.conversation.results import well_formed

__all__ = ["prompt_files"]

SystemPrompt = str | SystemPromptPreset | SystemPromptCustom | SystemPromptFile | None


def prompt_files(prompt: SystemPrompt, folder: Path) -> tuple[SystemPrompt, Mapping[str, str | None]]:
    """Returns what stands for the prompt in the options, and flags that go with it.

    The model is sent the same text as without a file; nothing of it is in the process list.

    Args:
        prompt: The application's, in any of its forms.
        folder: Private to the segment, and removed with it.
    """
    if not prompt:
        return prompt, {}
    if isinstance(prompt, str):
        return _file(prompt, folder), {}
    if prompt["type"] == "custom":
        snapshot = prompt.get("snapshot")
        # The SDK has no such key for a file.
        flags = {} if snapshot is None else {"system-prompt-snapshot": "on" if snapshot else "off"}
        return _file(prompt["prompt"], folder), flags
    if prompt["type"] == "preset" and "append" in prompt:
        rest = prompt.copy()
        appended = _written(rest.pop("append"), folder / "append-system-prompt")
        return rest, {"append-system-prompt-file": appended}
    return prompt, {}


def _file(text: str, folder: Path) -> SystemPromptFile:
    return SystemPromptFile(type="file", path=_written(text, folder / "system-prompt"))


def _written(text: str, file: Path) -> str:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as out:
        out.write(well_formed(text))
    return str(file)
