"""Turns findings into diagnostics: looks up places, orders them, masks what must not be shown."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable
from dataclasses import replace

from dexbridge.config.codes import Code
from dexbridge.config.diagnostic import Diagnostic, Place
from dexbridge.config.finding import Finding, Path, harmless, pointer, quoted
from dexbridge.config.places import Spot
from dexbridge.config.source_line import mask_line
from dexbridge.config.syntax import Decoded

_HIDDEN = "(not shown)"
_SHORTEST_SECRET = 4


class Lines:
    """The lines of a file, to turn byte offsets into places."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._starts = [0]
        at = data.find(b"\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = data.find(b"\n", at + 1)
        self._last = max(0, len(data.rstrip()) - 1)

    def locate(self, start: int, end: int) -> tuple[Place, str, int]:
        """The place of a stretch, its first line, and how many characters of it are on that line.

        What is after the last visible character is taken to be at it, so that a place is inside of the file.
        """
        start = min(start, self._last)
        row = bisect.bisect_right(self._starts, start) - 1
        line_start = self._starts[row]
        line_end = self._data.find(b"\n", line_start)
        line_end = len(self._data) if line_end < 0 else line_end
        text = self._data[line_start:line_end].decode(errors="replace").rstrip("\r")
        column = len(self._data[line_start:start].decode(errors="replace"))
        width = len(self._data[start : min(max(end, start + 1), line_end)].decode(errors="replace"))
        return Place(row + 1, column + 1), text, max(1, width)


def diagnose(
    path: str,
    data: bytes,
    decoded: Decoded,
    findings: Iterable[Finding],
    spots: Callable[[bytes], Spot],
    *,
    words: frozenset[str],
    secrets: frozenset[str],
) -> tuple[Diagnostic, ...]:
    """Diagnostics in file order.

    Args:
        path: of the file.
        data: the file's bytes.
        decoded: what was decoded from them.
        findings: the faults.
        spots: parses the decoded text for places.
        words: what may be shown of a line.
        secrets: every credential that is known; the last line of defence, none may stand in any text.
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
    placed: list[tuple[int, int, Diagnostic]] = []
    for order, finding in enumerate(all_findings):
        start, end = _stretch(finding, root)
        place, line, width = lines.locate(start, end)
        diagnostic = Diagnostic(
            finding.severity,
            finding.code,
            path,
            place,
            pointer(finding.path[:-1] if finding.hides_key else finding.path),
            finding.connection,
            finding.message,
            finding.mend,
            mask_line(line, place.column - 1, width, words),
            tuple(lines.locate(*_span(root, other, at_key=False))[0] for other in finding.related),
        )
        placed.append((start, order, _scrubbed(diagnostic, secrets)))
    return tuple(diagnostic for _, _, diagnostic in sorted(placed, key=lambda one: one[:2]))


def _duplicates(root: Spot, words: frozenset[str]) -> list[Finding]:
    found: list[Finding] = []
    for path, first, again in root.duplicates():
        key = path[-1]
        hides = "credentials" in path and str(key) not in words
        found.append(
            Finding(
                Code.DUPLICATE_KEY,
                path,
                f"The key {'(not shown)' if hides else quoted(key)} is there twice in one object.",
                "Keep one of the two.",
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


def _scrubbed(diagnostic: Diagnostic, secrets: frozenset[str]) -> Diagnostic:
    def clean(text: str) -> str:
        for secret in secrets:
            if len(secret) >= _SHORTEST_SECRET and secret in text:
                text = text.replace(secret, _HIDDEN)
        return text

    source = diagnostic.source
    if source is not None and clean(source.text) != source.text:
        source = None
    return replace(
        diagnostic,
        path=diagnostic.path,
        pointer=clean(diagnostic.pointer),
        connection=clean(diagnostic.connection) if diagnostic.connection else None,
        message=clean(diagnostic.message),
        mend=clean(diagnostic.mend),
        source=source,
    )
