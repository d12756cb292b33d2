"""The settings a segment's CLI would read, wherever they are: the option, files of its sources, an administrator's."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from claude_agent_sdk import ClaudeAgentOptions

__all__ = ["ManagedFolder", "SettingsSource", "UnreadableSettings", "managed_folder", "option_settings", "sources"]

ManagedFolder = Path
"""The folder of an administrator's settings."""


@dataclass(frozen=True, slots=True)
class SettingsSource:
    """One settings object the CLI takes into account.

    Attributes:
        where: As an error names it: the option or the file.
        content: Its keys.
        hooks_only: Whether only its hooks count (a plugin's).
    """

    where: str
    content: Mapping[str, Any]
    hooks_only: bool = False

    def part(self, name: str) -> Mapping[str, Any]:
        """That object in it; empty when there is none."""
        found = self.content.get(name)
        return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class UnreadableSettings:
    """Settings that are there and cannot be looked at. `reason` is a sentence that names them."""

    reason: str


Found = SettingsSource | UnreadableSettings


def managed_folder() -> ManagedFolder:
    """Where an administrator's settings are, which no option leaves out. Source: Claude Code docs, "Settings files"."""
    if sys.platform == "darwin":
        return Path("/Library/Application Support/ClaudeCode")
    return Path("/etc/claude-code")


def option_settings(options: ClaudeAgentOptions) -> Mapping[str, Any]:
    """The content of the option `settings`; empty when there is none or it cannot be read."""
    found = next(iter(_option(options, _folder(options))), None)
    return found.content if isinstance(found, SettingsSource) else {}


def sources(options: ClaudeAgentOptions, managed: ManagedFolder) -> Iterator[Found]:
    """All settings of a segment. The source `user` is the CLI's configuration folder, which is ours and empty."""
    folder = _folder(options)
    yield from _option(options, folder)
    chosen = options.setting_sources
    if chosen is None:
        chosen = ["user", "project", "local"] if options.skills is None else ["user", "project"]
    if "project" in chosen:
        yield from _file(folder / ".claude" / "settings.json")
    if "local" in chosen:
        # The CLI takes the repository's too when it runs in a folder within.
        for place in dict.fromkeys((folder, *_repository(folder))):
            yield from _file(place / ".claude" / "settings.local.json")
    yield from _file(managed / "managed-settings.json")
    for file in sorted((managed / "managed-settings.d").glob("*.json")):
        yield from _file(file)
    for plugin in options.plugins:
        yield from _plugin(folder / str(plugin["path"]))


def _folder(options: ClaudeAgentOptions) -> Path:
    return Path(options.cwd) if options.cwd else Path.cwd()


def _option(options: ClaudeAgentOptions, folder: Path) -> Iterator[Found]:
    text = (options.settings or "").strip()
    if not text:
        return
    if not text.startswith("{"):
        file = folder / text
        if not file.is_file():
            yield UnreadableSettings(f"settings names the file {text!r}, which is not there")
        yield from _file(file, "settings")
        return
    yield _parsed(text, "settings")


def _file(file: Path, where: str | None = None) -> Iterator[Found]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, UnicodeDecodeError) as error:
        yield UnreadableSettings(f"{where or file} cannot be read ({type(error).__name__})")
        return
    yield _parsed(text, where or str(file))


def _parsed(text: str, where: str) -> Found:
    try:
        content: Any = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        return UnreadableSettings(f"{where} is not a JSON object")
    return SettingsSource(where, cast("dict[str, Any]", content))


def _repository(folder: Path) -> Iterator[Path]:
    """The root of the repository a folder is in, and the one its worktree belongs to."""
    for place in (folder, *folder.absolute().parents):
        mark = place / ".git"
        if mark.is_dir():
            yield place
            return
        if mark.is_file():
            yield place
            text = mark.read_text(encoding="utf-8", errors="replace").strip()
            main = (place / text.removeprefix("gitdir:").strip()).resolve()
            if main.parent.name == "worktrees":
                yield main.parent.parent.parent
            return


def _plugin(folder: Path) -> Iterator[Found]:
    if not folder.is_dir():
        yield UnreadableSettings(f"plugins has {str(folder)!r}, which is not a folder and cannot be looked into")
        return
    for root in (folder, *(child.parent for child in sorted(folder.glob("*/.claude-plugin")))):
        yield from _file(root / "settings.json")
        for found in _file(root / "hooks" / "hooks.json"):
            yield _hooks_of(found)
        for found in _file(root / ".claude-plugin" / "plugin.json"):
            yield from _manifest(root, found)


def _manifest(root: Path, found: Found) -> Iterator[Found]:
    if isinstance(found, UnreadableSettings):
        yield found
        return
    named: Any = found.content.get("hooks")
    for one in cast("list[Any]", named) if isinstance(named, list) else [named]:
        if isinstance(one, str):
            for file in _file(root / one):
                yield _hooks_of(file)
        elif isinstance(one, dict):
            yield _hooks_of(SettingsSource(found.where, cast("dict[str, Any]", one)))


def _hooks_of(found: Found) -> Found:
    if isinstance(found, UnreadableSettings):
        return found
    hooks = found.part("hooks") or found.content
    return SettingsSource(found.where, {"hooks": hooks}, hooks_only=True)
