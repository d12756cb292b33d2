"""Findings: what was right to see, what was seen, and whose the difference is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Whose(StrEnum):
    """Whose a difference is."""

    OURS = "ours"
    THEIRS = "theirs"
    HARMLESS = "theirs, harmless"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: what the provider's own pages say of it, and what was seen."""

    name: str
    right: str
    seen: str

    @property
    def differs(self) -> bool:
        """Whether something else was seen than is right."""
        return self.seen != self.right


@dataclass(frozen=True)
class Difference:
    """A difference that is known: exactly what is seen, whose it is, and why."""

    seen: str
    whose: Whose
    why: str


@dataclass(frozen=True)
class Report:
    """The findings of one server beside the differences known of it."""

    server: str
    findings: tuple[Finding, ...]
    known: Mapping[str, Difference]

    @property
    def surprises(self) -> tuple[str, ...]:
        """What is neither right nor known, and what is known but was not seen."""
        seen = {finding.name: finding for finding in self.findings if finding.differs}
        new = [
            f"{finding.name}: right is {finding.right!r}, seen {finding.seen!r}"
            for finding in seen.values()
            if finding.name not in self.known or self.known[finding.name].seen != finding.seen
        ]
        gone = [f"{name}: listed as a difference, not seen any more" for name in self.known if name not in seen]
        return (*new, *gone)

    def __str__(self) -> str:
        right = sum(not finding.differs for finding in self.findings)
        lines = [f"{self.server}: {len(self.findings)} looked at, {right} right, {len(self.known)} known differences"]
        lines += [f"  {'differs' if finding.differs else 'right':8}{finding.name}" for finding in self.findings]
        lines += [
            f"  {name}\n    whose: {known.whose}\n    seen: {known.seen}\n    {known.why}"
            for name, known in self.known.items()
        ]
        lines += [f"  NOT LISTED  {surprise}" for surprise in self.surprises]
        return "\n".join(lines)
