"""Where each member of a document stands in the file, by the tree-sitter grammars of JSON and TOML.

Imported and asked only once there is a fault: a good file is never parsed twice.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

import tree_sitter_json
import tree_sitter_toml
from tree_sitter import Language, Node, Parser

from dexbridge.config.telling.finding import Path

_DEPTH: Final = 70
_JSON: Final = Language(tree_sitter_json.language())
_TOML: Final = Language(tree_sitter_toml.language())


@dataclass(slots=True)
class Spot:
    """A value in the file.

    Args:
        start: byte offset of the value.
        end: byte offset after it.
        key: byte offsets of its key; None for array elements and the document.
        fill: adds the members when they are first asked for; most of a file is never asked for.
        keeps_first: of a key that is there twice the first is taken, else the last.
    """

    start: int
    end: int
    key: tuple[int, int] | None = None
    fill: Callable[[Spot], None] | None = None
    keeps_first: bool = False
    _members: dict[str | int, Spot] = field(default_factory=dict[str | int, "Spot"])
    _repeated: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])

    @property
    def members(self) -> dict[str | int, Spot]:
        """By key or index; of a key that is there twice, one."""
        fill, self.fill = self.fill, None
        if fill is not None:
            fill(self)
        return self._members

    def add(self, name: str, inner: Spot) -> None:
        """Adds a member, and notes a key that is there twice."""
        first = self._members.get(name)
        if first is not None and first.key is not None and inner.key is not None:
            self._repeated.append((name, first.key[0], inner.key[0]))
        if first is None or not self.keeps_first:
            self._members[name] = inner

    def at(self, path: Path) -> tuple[Spot, bool]:
        """The spot of a path, or of the nearest value around it; and whether it is the path's own."""
        spot = self
        for step in path:
            inner = spot.members.get(step)
            if inner is None:
                return spot, False
            spot = inner
        return spot, True

    def duplicates(self, path: Path = ()) -> Iterator[tuple[Path, int, int]]:
        """Every key that is there twice: its path, where it stood first, where it stands again."""
        members = self.members
        for key, first, again in self._repeated:
            yield (*path, key), first, again
        for step, inner in members.items():
            yield from inner.duplicates((*path, step))


def json_spots(text: bytes, *, keeps_first: bool = False) -> Spot:
    """The spots of a JSON document."""
    root = Parser(_JSON).parse(text).root_node
    values = [child for child in root.named_children if child.type not in ("comment", "ERROR")]
    return _json(values[0], 0, keeps_first) if values else Spot(0, len(text))


def _json(node: Node, depth: int, keeps_first: bool) -> Spot:
    def fill(spot: Spot) -> None:
        if node.type == "object":
            for pair in node.named_children:
                key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
                if key is not None and value is not None:
                    inner = _json(value, depth + 1, keeps_first)
                    inner.key = (key.start_byte, key.end_byte)
                    spot.add(_name(key, json.loads), inner)
        elif node.type == "array":
            spot.members.update((at, _json(one, depth + 1, keeps_first)) for at, one in enumerate(node.named_children))

    return Spot(node.start_byte, node.end_byte, fill=fill if depth <= _DEPTH else None, keeps_first=keeps_first)


def _name(node: Node, load: Callable[[str], object]) -> str:
    text = (node.text or b"").decode()
    try:
        return str(load(text))
    except ValueError:
        return text


def toml_spots(text: bytes, *, keeps_first: bool = False) -> Spot:
    """The spots of a TOML document. A table's spot is its header. TOML is never read past a key that is there twice."""
    del keeps_first
    root = Spot(0, len(text))
    for node in Parser(_TOML).parse(text).root_node.named_children:
        if node.type == "pair":
            _toml_pair(root, node, 0)
        elif node.type in ("table", "table_array_element"):
            _toml_table(root, node)
    return root


def _toml_table(root: Spot, node: Node) -> None:
    keys = _toml_keys(node.named_children[0]) if node.named_children else []
    spot = root
    for name, key in keys[:-1]:
        spot = _last(spot.members.setdefault(name, Spot(key.start_byte, key.end_byte, (key.start_byte, key.end_byte))))
    if not keys:
        return
    name, key = keys[-1]
    header = Spot(node.start_byte, key.end_byte, (key.start_byte, key.end_byte))
    if node.type == "table_array_element":
        array = spot.members.setdefault(name, header)
        spot = Spot(header.start, header.end, header.key)
        array.members[len(array.members)] = spot
    else:
        spot = spot.members.setdefault(name, header)
    for pair in node.named_children[1:]:
        if pair.type == "pair":
            _toml_pair(spot, pair, 1)


def _last(spot: Spot) -> Spot:
    last = len(spot.members) - 1
    return spot.members.get(last, spot)


def _toml_pair(spot: Spot, pair: Node, depth: int) -> None:
    children = pair.named_children
    if len(children) < 2 or depth > _DEPTH:
        return
    keys = _toml_keys(children[0])
    for name, key in keys[:-1]:
        spot = spot.members.setdefault(name, Spot(key.start_byte, key.end_byte, (key.start_byte, key.end_byte)))
    name, key = keys[-1]
    inner = _toml_value(children[1], depth + 1)
    inner.key = (key.start_byte, key.end_byte)
    spot.add(name, inner)


def _toml_value(node: Node, depth: int) -> Spot:
    spot = Spot(node.start_byte, node.end_byte)
    if depth > _DEPTH:
        return spot
    if node.type == "inline_table":
        for pair in node.named_children:
            if pair.type == "pair":
                _toml_pair(spot, pair, depth)
    elif node.type == "array":
        elements = [element for element in node.named_children if element.type != "comment"]
        for index, element in enumerate(elements):
            spot.members[index] = _toml_value(element, depth + 1)
    return spot


def _toml_keys(node: Node) -> list[tuple[str, Node]]:
    if node.type != "dotted_key":
        return [(_toml_name(node), node)]
    return [found for child in node.named_children for found in _toml_keys(child)]


def _toml_name(node: Node) -> str:
    if node.type == "bare_key":
        return (node.text or b"").decode()
    return _name(node, lambda text: next(iter(tomllib.loads(f"{text} = 0"))))
