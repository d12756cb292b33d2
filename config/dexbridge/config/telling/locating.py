"""Turns findings into diagnostics: looks up places, orders them, masks what must not be shown."""

from __future__ import annotations

import bisect
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from dexbridge.config.reading.syntax import Decoded
from dexbridge.config.telling.codes import Code
from dexbridge.config.telling.diagnostic import Diagnostic, Place
from dexbridge.config.telling.finding import HIDDEN, Finding, Path, harmless, pointer, quoted
from dexbridge.config.telling.places import Spot
from dexbridge.config.telling.source_line import mask_line

_SHORTEST_SECRET = 4
_NO_WORD_OF_OURS = 16
_CONTEXT = 400


class Lines:
    """The lines of a file, to turn byte offsets into places. Quick for rising offsets, however long a line is."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._ascii = data.isascii()
        self._starts = [0, *(match.end() for match in re.finditer(b"\n", data))]
        self._last = max(0, len(data.rstrip()) - 1)
        # Where counting characters stopped: byte offset, and characters from the start of its line.
        self._counted = (0, 0)

    def place(self, offset: int) -> Place:
        """The place of a byte. What is after the last visible character is taken to be at it."""
        offset = min(offset, self._last)
        row = bisect.bisect_right(self._starts, offset) - 1
        return Place(row + 1, self._characters(self._starts[row], offset) + 1)

    def _characters(self, line: int, offset: int) -> int:
        if self._ascii:
            return offset - line
        at, characters = self._counted
        if not line <= at <= offset:
            at, characters = line, 0
        characters += len(self._data[at:offset].decode(errors="replace"))
        self._counted = (offset, characters)
        return characters

    def around(self, start: int, end: int) -> tuple[str, int, int]:
        """What stands around a stretch on its first line, and where in it the stretch is, in characters."""
        start = min(start, self._last)
        row = bisect.bisect_right(self._starts, start) - 1
        last = self._starts[row + 1] - 1 if row + 1 < len(self._starts) else len(self._data)
        left = max(self._starts[row], start - _CONTEXT)
        right = min(last, max(end, start + 1) + _CONTEXT, start + 2 * _CONTEXT)
        before = self._data[left:start].decode(errors="replace")
        inside = self._data[start : min(right, max(end, start + 1))].decode(errors="replace")
        after = self._data[min(right, max(end, start + 1)) : right].decode(errors="replace").rstrip("\r")
        return before + inside + after, len(before), max(1, len(inside))


def diagnose(
    path: str,
    data: bytes,
    decoded: Decoded,
    findings: Iterable[Finding],
    spots: Callable[[bytes], Spot],
    *,
    words: frozenset[str],
    secrets: Callable[[Path], frozenset[str]],
) -> tuple[Diagnostic, ...]:
    """Diagnostics in file order.

    Args:
        path: of the file.
        data: the file's bytes.
        decoded: what was decoded from them.
        findings: the faults.
        spots: parses the decoded text for places.
        words: what may be shown of a line.
        secrets: the credentials that a fault at a path may be about, for the last line of defence; see `_scrubbed`.
    """
    root = Spot(0, len(data)) if decoded.broken and decoded.value is None else spots(decoded.text)
    lines = Lines(data)
    all_findings = list(findings)
    if decoded.has_duplicates:
        all_findings += _duplicates(root, words)
    # Keys the findings name may be shown on every line, as the messages show them too.
    named = {
        str(one.path[-1])
        for one in all_findings
        if one.at_key and one.path and not one.hides_key and harmless(str(one.path[-1]))
    }
    words = frozenset(words | named)
    placed = sorted(((*_stretch(finding, root), finding) for finding in all_findings), key=lambda one: one[0])
    return tuple(_diagnostic(path, lines, root, one, words=words, secrets=secrets(one[2].path)) for one in placed)


def _diagnostic(
    path: str,
    lines: Lines,
    root: Spot,
    placed: tuple[int, int, Finding],
    *,
    words: frozenset[str],
    secrets: frozenset[str],
) -> Diagnostic:
    start, end, finding = placed
    diagnostic = Diagnostic(
        finding.severity,
        finding.code,
        path,
        lines.place(start),
        pointer(finding.path[:-1] if finding.hides_key else finding.path),
        finding.connection,
        finding.message,
        finding.mend,
        mask_line(*lines.around(start, end), words),
        tuple(lines.place(_span(root, other, at_key=False)[0]) for other in finding.related),
    )
    return _scrubbed(diagnostic, finding, secrets)


def _duplicates(root: Spot, words: frozenset[str]) -> list[Finding]:
    found: list[Finding] = []
    repeated = list(root.duplicates())
    times = Counter(path for path, _, _ in repeated)
    for path, first, again in repeated:
        key = path[-1]
        partly = times[path] > 1 or any(path[:end] in times for end in range(1, len(path)))
        hides = "credentials" in path and str(key) not in words
        found.append(
            Finding(
                Code.DUPLICATE_KEY,
                path,
                f"The key {HIDDEN if hides else quoted(key)} is there twice in one object.",
                "Keep one of them. Only the first and the last were checked." if partly else "Keep one of the two.",
                offset=again,
                related=(("\0offset", first),),
                hides_key=hides,
            )
        )
    return found


def _stretch(finding: Finding, root: Spot) -> tuple[int, int]:
    if finding.offset is not None:
        return finding.offset, finding.offset + 1
    return _span(root, finding.path, at_key=finding.at_key)


def _span(root: Spot, path: Path, *, at_key: bool) -> tuple[int, int]:
    if path[:1] == ("\0offset",) and isinstance(path[1], int):
        return path[1], path[1] + 1
    spot, own = root.at(path)
    if at_key and own and spot.key is not None:
        return spot.key
    # A whole object or table is too much to underline: its first character, or its key, stands for it.
    if spot.members and spot.key is not None:
        return spot.key
    return (spot.start, spot.start + 1) if spot.members else (spot.start, spot.end)


def _scrubbed(diagnostic: Diagnostic, finding: Finding, secrets: frozenset[str]) -> Diagnostic:
    """The diagnostic with no secret in it.

    A short one is looked for only in what came from elsewhere: our own words may hold it and tell nothing. A long one
    is hidden wherever it stands, also where nobody said that it came from elsewhere.
    """

    def clean(text: str, shortest: int = _SHORTEST_SECRET) -> str:
        for secret in secrets:
            if len(secret) >= shortest and secret in text:
                text = text.replace(secret, HIDDEN)
        return text

    foreign = {repr(step): HIDDEN for step in finding.path if isinstance(step, str)} | dict(finding.foreign)
    if finding.connection:
        foreign[finding.connection] = clean(finding.connection)
    hidden = [(text, instead) for text, instead in foreign.items() if clean(text) != text]

    def hide(text: str) -> str:
        for piece, instead in hidden:
            text = text.replace(piece, instead)
        return clean(text, _NO_WORD_OF_OURS)

    source = diagnostic.source
    if source is not None and clean(source.text) != source.text:
        source = None
    return replace(
        diagnostic,
        pointer=clean(diagnostic.pointer),
        connection=clean(diagnostic.connection) if diagnostic.connection else None,
        message=hide(diagnostic.message),
        mend=hide(diagnostic.mend),
        source=source,
    )
