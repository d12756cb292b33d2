"""Markdown as models write it, in Slack's mrkdwn. Whatever is no Markdown stays text, so it notifies nobody.

Source: Slack's page "Formatting message text".
"""

from __future__ import annotations

import re
from typing import Final

from dexbridge.connectors.slack.text import escape_text

_FENCE: Final = re.compile(r"[ \t]{0,3}```[^`]*")
_HEADING: Final = re.compile(r"#{1,6}[ \t]+(.+?)[ \t]*#*")
_BULLET: Final = re.compile(r"([ \t]*)[-*+][ \t]+(?=\S)")
_QUOTE: Final = re.compile(r"(?:>[ \t]*)+")
# Lengths are bounded, so that a text of stray marks takes no time that grows with its square.
_INLINE: Final = re.compile(
    r"`(?P<code>[^`\n]+)`"
    r"|!?\[(?P<label>[^\[\]\n]*)\]\((?P<url>(?:https?://|mailto:)[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)\)"
    r"|\*\*\*(?=[^\s*])(?P<both>[^*\n]{1,500}?)(?<=\S)\*\*\*"
    r"|\*\*(?=[^\s*])(?P<bold>.{1,500}?)(?<=\S)\*\*(?!\*)"
    r"|(?<!\w)__(?=[^\s_])(?P<strong>.{1,500}?)(?<=\S)__(?!\w)"
    r"|~~(?=[^\s~])(?P<struck>.{1,500}?)(?<=\S)~~"
    r"|(?<!\*)\*(?=[^\s*])(?P<slanted>[^*\n]{1,500}?)(?<=\S)\*(?!\*)"
)


def to_mrkdwn(markdown: str) -> str:
    """The text Slack shows as that Markdown: bold, italic, struck, code, links, headings, bullets and quotes."""
    shown: list[str] = []
    in_code = False
    for line in markdown.split("\n"):
        if _FENCE.fullmatch(line):
            in_code = not in_code
            shown.append("```")
        else:
            shown.append(escape_text(line) if in_code else _line(line))
    return "\n".join([*shown, "```"] if in_code else shown)


def _line(line: str) -> str:
    heading = _HEADING.fullmatch(line)
    if heading:
        return f"*{_inline(heading[1], is_bold=True)}*"
    quote = _QUOTE.match(line)
    if quote:
        return f"> {_line(line[quote.end() :])}"
    bullet = _BULLET.match(line)
    if bullet:
        return f"{bullet[1]}• {_inline(line[bullet.end() :])}"
    return _inline(line)


def _inline(text: str, *, is_bold: bool = False) -> str:
    parts: list[str] = []
    end = 0
    for found in _INLINE.finditer(text):
        parts += [escape_text(text[end : found.start()]), _shown(found, is_bold=is_bold)]
        end = found.end()
    return "".join([*parts, escape_text(text[end:])])


def _shown(found: re.Match[str], *, is_bold: bool) -> str:
    if found["code"] is not None:
        return f"`{escape_text(found['code'])}`"
    if found["url"] is not None:
        address = escape_text(found["url"]).replace("|", "%7C")
        label = escape_text(found["label"]).strip()
        return f"<{address}|{label}>" if label else f"<{address}>"
    if found["both"] is not None:
        both = f"_{_inline(found['both'], is_bold=True)}_"
        return both if is_bold else f"*{both}*"
    bold = found["bold"] or found["strong"]
    if bold is not None:
        inner = _inline(bold, is_bold=True)
        return inner if is_bold else f"*{inner}*"
    if found["struck"] is not None:
        return f"~{_inline(found['struck'], is_bold=is_bold)}~"
    return f"_{_inline(found['slanted'], is_bold=is_bold)}_"
