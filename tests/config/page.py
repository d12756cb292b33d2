"""A connection file's text with a place in it, as somebody sees it in an editor."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_VALUE = re.compile(r'"(?:[^"\\\n]|\\.)*"|[^\s,}\]#"\[{][^\n,}\]#]*')
_KEY = re.compile(r'"(?:[^"\\\n]|\\.)*"|[A-Za-z0-9_-]+')


@dataclass(frozen=True)
class Page:
    """The file's text, and the place the diagnostic points at, as an offset."""

    text: str
    at: int

    @property
    def is_json(self) -> bool:
        return self.text.lstrip().startswith(("{", "["))

    @property
    def line(self) -> tuple[int, int]:
        """Where the line of the place starts and ends, without its line break."""
        end = self.text.find("\n", self.at)
        return self.text.rfind("\n", 0, self.at) + 1, len(self.text) if end < 0 else end

    def with_line(self, *lines: str) -> str:
        start, end = self.line
        return self.text[:start] + "\n".join(lines) + self.text[end:]

    def without_line(self) -> str:
        start, end = self.line
        return self.text[:start] + self.text[end + 1 :]

    def above(self, line: str) -> str:
        start, _ = self.line
        return f"{self.text[:start]}{line}\n{self.text[start:]}"

    def below(self, header: str, line: str) -> str:
        """A line right below a header; of several such headers, the last one at or above the place."""
        start = self.text.rfind(header, 0, self.line[1])
        end = (start if start >= 0 else self.text.index(header)) + len(header)
        return f"{self.text[:end]}\n{line}{self.text[end:]}"

    def with_characters(self, count: int, new: str) -> str:
        """So many characters from the place on replaced."""
        return self.text[: self.at] + new + self.text[self.at + count :]

    @property
    def value(self) -> tuple[int, int]:
        """The value at the place, or of the key at the place."""
        key = _KEY.match(self.text, self.at)
        assign = re.compile(r"\s*:\s*" if self.is_json else r"\s*=\s*").match(self.text, key.end()) if key else None
        start = assign.end() if assign else self.at
        return start, _end_of_value(self.text, start)

    def with_value(self, new: str) -> str:
        start, end = self.value
        return self.text[:start] + new + self.text[end:]

    def with_key(self, new: str) -> str:
        key = _KEY.match(self.text, self.at)
        assert key
        return self.text[: self.at] + (json.dumps(new) if key[0].startswith('"') else new) + self.text[key.end() :]

    def key(self) -> str:
        """The key of the member at the place."""
        found = re.findall(r'"?([A-Za-z_]+)"?\s*[=:]', self.text[self.line[0] : self.value[0]])
        return found[-1]

    def removed(self) -> str:
        """Without the member or the element at the place."""
        start, end = self.value
        if not self.is_json:
            header = self.text[slice(*self.line)].strip()
            if not header.startswith("["):
                return self.without_line()
            following = re.compile(r"^\[\[|\Z", re.MULTILINE).search(self.text, self.line[1])
            assert following
            return self.text[: self.line[0]] + self.text[following.start() :]
        before = re.compile(r'"(?:[^"\\\n]|\\.)*"\s*:\s*\Z').search(self.text, self.line[0], start)
        return _without(self.text, before.start() if before else start, end)

    def without_member_around(self) -> str:
        """Without the member of a connection, or the line, that the place is somewhere inside of."""
        if not self.is_json:
            return self.without_line()
        last = [found for found in re.finditer(r'"\w+":\s*', self.text) if found.end() <= self.at][-1]
        return Page(self.text, last.start()).removed()

    def without_object(self) -> str:
        """Without the innermost object that the place is in."""
        if not self.is_json:
            return Page(self.text, self.text.rfind("[[", 0, self.at)).removed()
        decoder = json.JSONDecoder()
        start = self.text.rfind("{", 0, self.at + 1)
        return _without(self.text, start, decoder.raw_decode(self.text, start)[1])


def _without(text: str, start: int, end: int) -> str:
    """A JSON text without a member, and without the comma that then is one too many."""
    after = re.compile(r"\s*,\s*").match(text, end)
    if after:
        return text[:start] + text[after.end() :]
    before = re.search(r",\s*\Z", text[:start])
    return text[: before.start() if before else start] + text[end:]


def _end_of_value(text: str, start: int) -> int:
    if text[start] not in "[{":
        found = _VALUE.match(text, start)
        assert found, text[start : start + 40]
        return start + len(found[0].rstrip())
    depth = 0
    for token in re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL).finditer(text, start):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    raise AssertionError("a bracket is not closed")
