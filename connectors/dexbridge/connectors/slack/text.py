"""Slack's text form, out and in: what is sent is escaped once, what is read is plain text.

Source: Slack's page "Formatting message text".
"""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")


def escape_text(text: str) -> str:
    """Text whose `&`, `<` and `>` stay characters at Slack."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def plain_text(text: str) -> str:
    """A message's text as a reader sees it: links, mentions and entities written out.

    `<https://x.example|the log>` becomes `the log (https://x.example)`, `<@U012>` becomes `@U012`.
    """
    return _unescape(_TOKEN.sub(_written_out, text))


def _written_out(found: re.Match[str]) -> str:
    target, label = found[1], found[2] or ""
    if target.startswith("@"):
        return f"@{label.removeprefix('@')} ({target})" if label else target
    if target.startswith("#"):
        return f"#{label.removeprefix('#')} ({target[1:]})" if label else target
    if target.startswith("!"):
        return label or "@" + target[1:].split("^")[0]
    address = target.removeprefix("mailto:")
    if not label or label in {target, address} or target.partition("://")[2] == label:
        return address
    return f"{label} ({address})"


def _unescape(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
