"""Prints docs/claude-options.md: `python -m dexbridge.claude.options.page > docs/claude-options.md`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dexbridge.claude.options.table import FIELDS, FLAGS, PERMISSIONS, SETTINGS, Treatment

__all__ = ["options_page"]

_INTRODUCTION = """\
# Claude options: what works, what is ours, what is refused

Made from the table by which options are checked (`claude/dexbridge/claude/options/table.py`); a test holds it against
the installed SDK. *works*: passed on unchanged, except as noted; *ours* is set by every session; *refused*
fails the turn in a sentence that names it, before the model or a person is asked and before anything is sent. An option
that is not here, of a newer SDK or CLI, is refused when it is set.

## What is protected, and what is not

**Only calls that leave the CLI are protected**: Connector operations, and those functions of `custom_tools` that are
not declared `ToolEffect.READ`. They wait for approval where they must, and are sent once. Two locks keep them out of
the CLI, each enough alone: a PreToolUse hook that stops the call, and the tool's handler, which never makes it there.

**Everything else runs inside the CLI, and asks nobody but the CLI's own rules**: built-in tools such as Bash and Write,
tools of `mcp_servers`, functions declared `READ`, which are believed. It may run more than once: when a Worker is lost,
its unfinished segment is run again. Each such call is an event of the session, `inside_call_began`, committed before
the tool runs and kept when its segment fails; it is in the timeline of the page and of `dexbridge sessions show`. The
event proves the call was asked for, not that it ran. No event: it did not run. At the first message the log names what
may write so.

`claude_agent_session_flow(…, inline_writes="refuse")` makes a turn fail whose options would let such a tool write, by
name, and denies such a tool if the CLI has one all the same. Built-in tools that only read, and `READ` functions, still
run. It covers tools. Command hooks in settings, status lines, `apiKeyHelper` and your own Python hooks are your code:
they run, and are neither named nor refused.

## What the application may say about a call

PreToolUse hooks and `can_use_tool` of the options are asked with a copy of each call of an offered tool before it
leaves or runs, never about one that was sent. Only a deny counts: the model is told the reason, nothing leaves and no
person is asked. A call that the application denies is not in the record; log it in your hook. A hook that raises, or
takes more than 30 s, denies. What else they answer is ignored and named in the log once.
"""


def options_page() -> str:
    """The page, as it must be in the docs."""
    return "\n".join(
        [
            _INTRODUCTION,
            *_table("Fields of `ClaudeAgentOptions`", FIELDS),
            *_table("Keys of `settings` and of settings files", SETTINGS),
            "Settings files count too: those of the sources that `setting_sources` chooses (`.claude/settings.json`, "
            "`.claude/settings.local.json`),",
            "an administrator's (`managed-settings.json`, always), and hooks of plugins.",
            "",
            *_table("Keys of `permissions` in them", PERMISSIONS),
            *_table("Flags in `extra_args`", FLAGS),
        ]
    )


def _table(title: str, rows: Mapping[str, Treatment]) -> Iterator[str]:
    """One line per treatment; names that have the same one share it."""
    together: dict[Treatment, list[str]] = {}
    for name, treatment in rows.items():
        together.setdefault(treatment, []).append(f"`{name}`")
    yield from (f"## {title}", "", "| option | | why, or when |", "|---|---|---|")
    for treatment, names in together.items():
        yield f"| {', '.join(names)} | {treatment.kind} | {treatment.why} |"
    yield ""


if __name__ == "__main__":
    print(options_page(), end="")
