"""What a Slack message says, wherever its content stands: text, blocks, attachments, files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from dexbridge.connectors.slack.text import plain_text

NOT_SHOWN: Final = "[content not shown]"
"""Stands for the text of a message whose content is of a kind that is not read."""

_DEEPEST: Final = 12

_NAMED: Final[Mapping[str, str]] = {"user": "user_id", "usergroup": "usergroup_id", "channel": "channel_id"}


def text_of(raw: Mapping[str, Any]) -> str:
    """A message's text, plain; without one, that of its blocks or attachments. Files are named below it.

    A text of nothing at all is NOT_SHOWN.
    """
    text = _line(raw.get("text")) or _joined(_blocks(raw)) or _joined(map(_attachment, _rows(raw.get("attachments"))))
    files = (f"[file: {name}]" for name in map(_file_name, _rows(raw.get("files"))))
    return _joined((text, *files)) or NOT_SHOWN


def _blocks(raw: Mapping[str, Any]) -> Iterator[str]:
    return ("".join(_block_text(block, 0)) for block in _rows(raw.get("blocks")))


def _block_text(node: Mapping[str, Any], depth: int) -> Iterator[str]:
    """The texts in a block: its text objects, and the elements of rich text."""
    if depth > _DEEPEST:
        return
    kind = node.get("type")
    for key in ("text", "title", "alt_text"):
        value: object = node.get(key)
        if isinstance(value, str):
            # Rich text is literal, only the text of a `mrkdwn` object is in Slack's form.
            yield plain_text(value) if kind == "mrkdwn" else value
            break
        if isinstance(value, dict):
            yield from _block_text(cast(Mapping[str, Any], value), depth + 1)
            break
    else:
        yield _named(node)
    for key in ("fields", "elements"):
        for row in _rows(node.get(key)):
            yield from _block_text(row, depth + 1)
            if key == "fields" or kind in {"context", "rich_text", "rich_text_list"}:
                yield "\n"


def _named(node: Mapping[str, Any]) -> str:
    kind = node.get("type")
    if kind == "emoji":
        return f":{_line(node.get('name'))}:"
    if kind == "broadcast":
        return f"@{_line(node.get('range'))}"
    if kind in _NAMED:
        return ("#" if kind == "channel" else "@") + _line(node.get(_NAMED[kind]))
    return _line(node.get("url")) if kind == "link" else ""


def _attachment(row: Mapping[str, Any]) -> str:
    fields = (_joined((_line(one.get("title")), _line(one.get("value")))) for one in _rows(row.get("fields")))
    shown = _joined((_line(row.get("pretext")), _line(row.get("title")), _line(row.get("text")), *fields))
    return shown or _joined(_blocks(row)) or _line(row.get("fallback"))


def _file_name(row: Mapping[str, Any]) -> str:
    return next((name for key in ("name", "title", "id") if (name := _line(row.get(key)))), "without a name")


def _line(value: object) -> str:
    return plain_text(value).strip("\n") if isinstance(value, str) and value.strip() else ""


def _joined(parts: Any) -> str:
    return "\n".join(part.strip("\n") for part in parts if part.strip())


def _rows(value: object) -> Iterator[Mapping[str, Any]]:
    for row in cast(list[object], value) if isinstance(value, list) else ():
        if isinstance(row, dict):
            yield cast(Mapping[str, Any], row)
