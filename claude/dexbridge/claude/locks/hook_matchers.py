"""Which tools a hook's matcher covers, as the CLI understands matchers."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["covered_by_matcher"]

_NAMES = re.compile(r"[\w,|\s-]+")
_BETWEEN = re.compile(r"[,|\s]+")


def covered_by_matcher(matcher: object, names: Iterable[str]) -> str | None:
    """The first of the names a matcher covers, or may cover; `None` when there is none.

    Args:
        matcher: Nothing, `*`, names with `|` between them, or a regular expression. What cannot be read covers all.
        names: As the CLI names tools.
    """
    return next((name for name in names if _covers(matcher, name)), None)


def _covers(matcher: object, name: str) -> bool:
    if matcher is None or not isinstance(matcher, str) or matcher.strip() in ("", "*"):
        return True
    if _NAMES.fullmatch(matcher):
        return any(name == one or name.startswith(f"{one}__") for one in _BETWEEN.split(matcher) if one)
    try:
        return re.search(matcher, name) is not None
    except re.error:
        # The CLI's regular expressions are another language's.
        return True
