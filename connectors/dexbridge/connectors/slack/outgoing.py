"""What of a message's text goes to Slack: literal by default, Markdown converted or mrkdwn as it is when asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from dexbridge.connectors.slack.markdown import to_mrkdwn
from dexbridge.connectors.slack.text import escape_text

_LINK: Final = re.compile(r"https?://[^\s<>\"|]*[^\s<>\"|.,;:!?()\[\]{}'*_~`]")
_PIECE: Final = 3_000
"""Characters of one element: the limit Slack names for the text objects of blocks."""


def sent_text(text: str, *, raw_mrkdwn: bool, markdown: bool) -> str:
    """The `text` of `chat.postMessage`; its length is what a limit counts."""
    if raw_mrkdwn:
        return text
    return to_mrkdwn(text) if markdown else escape_text(text)


def sent_fields(text: str, *, raw_mrkdwn: bool, markdown: bool) -> dict[str, Any]:
    """The fields of `chat.postMessage` that show a text.

    A literal text goes in a block of rich text, whose elements Slack shows character by character: in `text` alone
    it would format `*`, `_`, `~`, backticks, quotes and emoji codes, whatever is escaped. `text` is then what
    notifications and other apps read. Links are elements of their own, so that they can be clicked.
    """
    fields: dict[str, Any] = {"text": sent_text(text, raw_mrkdwn=raw_mrkdwn, markdown=markdown)}
    if not raw_mrkdwn and not markdown:
        section = {"type": "rich_text_section", "elements": list(_elements(text))}
        fields["blocks"] = [{"type": "rich_text", "elements": [section]}]
    return fields


def _elements(text: str) -> Iterator[dict[str, str]]:
    end = 0
    for link in _LINK.finditer(text):
        yield from _pieces(text[end : link.start()])
        yield {"type": "link", "url": link[0]}
        end = link.end()
    yield from _pieces(text[end:])


def _pieces(text: str) -> Iterator[dict[str, str]]:
    for start in range(0, len(text), _PIECE):
        yield {"type": "text", "text": text[start : start + _PIECE]}
