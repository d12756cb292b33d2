"""The templates: every value is escaped unless a function of ours made it HTML."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from dexbridge.console.shown.text import exact, exact_json, plain, shortened
from dexbridge.console.shown.wording import call_title, decision_words, left_out_label, outcome_label, settled_words

__all__ = ["FOLDER", "render"]

FOLDER: Final = Path(__file__).parent


def _moment(value: datetime) -> Markup:
    return Markup('<time datetime="{}">{}</time>').format(value.isoformat(), f"{value:%d %b %H:%M:%S}")


def _in_query(text: str) -> str:
    return quote(text, safe="")


_environment = Environment(
    loader=FileSystemLoader(FOLDER / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_filters: dict[str, Callable[..., Any]] = {
    "call_title": call_title,
    "decision_words": decision_words,
    "exact": exact,
    "exact_json": exact_json,
    "in_query": _in_query,
    "moment": _moment,
    "left_out": left_out_label,
    "outcome_label": outcome_label,
    "plain": plain,
    "settled_words": settled_words,
    "shortened": shortened,
}
_environment.filters.update(_filters)


def render(template: str, **values: Any) -> str:
    """The page of a template."""
    return _environment.get_template(template).render(**values)
