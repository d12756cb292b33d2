"""The suite finds a `reconcile` that says "not sent" of what it did not read, at a provider without a search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dexbridge.connectors.testing.conformance import ConnectorConformance

Suite = ConnectorConformance[Any]
Change = Callable[..., Suite]

SEARCH = """    query = {"reference": inquiry.call.call_id}
    answer = await provider.get(inquiry.credential("api_key"), ANY_TIME, "/notes", query)
    if answer.proof is not Proof.DONE:
        return unread(answer, "The notes could not be searched.")
    found = answer.read(ProviderNotes)
    if found is None:
        return look_again("The notes could not be searched: the answer holds none.")
    for note in found.notes:
        return FoundSent(Note(note_id=note.id, text=note.text), inquiry.receipt(note.id))
    return FoundNotSent("There is no such note: it was not added, or was deleted since.")
"""
LIST = """    for page in range(PAGES):
        query = {"page": str(page), "limit": str(LIMIT)}
        answer = await provider.get(inquiry.credential("api_key"), ANY_TIME, "/notes", query)
        found = answer.read(ProviderNotes) if answer.proof is Proof.DONE else None
        if found is None:
            return look_again("The notes could not be read.")
        for note in found.notes:
            if note.reference == inquiry.call.call_id:
                return FoundSent(Note(note_id=note.id, text=note.text), inquiry.receipt(note.id))
        if not found.more:
            return FoundNotSent("There is no such note: it was not added.")
    return AT_THE_END("There are more notes than were read.")
"""
SEARCHED = """            wanted = request.body.get("reference")
            return Answered(200, {"notes": [_shown(note) for note in self.notes if note.reference == wanted]})
"""
PAGED = """            page, size = int(request.body.get("page", 0)), int(request.body.get("limit", 50))
            notes = self.notes[ORDER]
            rows = [{**_shown(note), "reference": note.reference} for note in notes[page * size : (page + 1) * size]]
            return Answered(200, {"notes": rows, "more": len(notes) > (page + 1) * size})
"""


@pytest.fixture
def listing(changed: Change) -> Callable[..., Suite]:
    """The scaffold at a provider that only lists its notes, page by page."""

    def build(*, pages: int, limit: int, at_the_end: str = "look_again", order: str = ":") -> Suite:
        words = {"PAGES": str(pages), "LIMIT": str(limit), "AT_THE_END": at_the_end}
        body = LIST
        for word, value in words.items():
            body = body.replace(word, value)
        return changed(
            "connection.py",
            SEARCH,
            body,
            ("local_provider.py", SEARCHED, PAGED.replace("ORDER", order)),
            ("provider.py", "    id: str\n    text: str\n", "    id: str\n    text: str\n    reference: str = ''\n"),
            (
                "provider.py",
                "    notes: list[ProviderNote]\n",
                "    notes: list[ProviderNote]\n    more: bool = False\n",
            ),
        )

    return build


OLDEST, NEWEST = ":", "::-1"


@pytest.mark.parametrize(("pages", "limit"), [(5, 20), (1, 50)])
def test_who_reads_every_page_or_cannot_tell_passes(listing: Callable[..., Suite], pages: int, limit: int) -> None:
    suite = listing(pages=pages, limit=limit)
    suite.test_it_is_found_among_many("addNote")
    suite.test_what_was_not_read_is_not_called_absent("addNote")


@pytest.mark.parametrize(("limit", "order"), [(15, OLDEST), (50, NEWEST)], ids=["oldest first", "newest first"])
def test_who_reads_only_the_first_page_is_found(listing: Callable[..., Suite], limit: int, order: str) -> None:
    suite = listing(pages=1, limit=limit, at_the_end="FoundNotSent", order=order)
    with pytest.raises(pytest.fail.Exception, match=r"after 1 request\(s\): read every page, or say CannotTell"):
        suite.test_it_is_found_among_many("addNote")
    with pytest.raises(pytest.fail.Exception, match="say CannotTell when there are too many"):
        suite.test_what_was_not_read_is_not_called_absent("addNote")


@pytest.mark.parametrize("pages", [2, 4])
def test_too_many_pages_called_absent_are_found(listing: Callable[..., Suite], pages: int) -> None:
    suite = listing(pages=pages, limit=20, at_the_end="FoundNotSent")
    with pytest.raises(pytest.fail.Exception, match="say CannotTell when there are too many"):
        suite.test_what_was_not_read_is_not_called_absent("addNote")


def test_who_reads_without_end_is_found(listing: Callable[..., Suite]) -> None:
    suite = listing(pages=1_000, limit=10)
    with pytest.raises(pytest.fail.Exception, match="stop after a handful of pages"):
        suite.test_what_was_not_read_is_not_called_absent("addNote")


def test_a_crowd_smaller_than_a_page_proves_nothing(listing: Callable[..., Suite]) -> None:
    suite = listing(pages=1, limit=5_000, at_the_end="FoundNotSent")
    with pytest.raises(pytest.fail.Exception, match=r"this crowd is too small.*set crowd_size"):
        suite.test_what_was_not_read_is_not_called_absent("addNote")


REFUSED = 'if "forbidden" in text:'
CONFLICT = 'if "forbidden" in text or text in {note.text for note in self.notes}:'
EXAMPLE = '{"providerRejected": {"text": "a forbidden word"}}'


def test_a_crowd_that_is_refused_is_none(changed: Change) -> None:
    suite = changed("local_provider.py", REFUSED, CONFLICT)
    for check in (suite.test_it_is_found_among_many, suite.test_what_was_not_read_is_not_called_absent):
        with pytest.raises(
            pytest.fail.Exception, match=r"number 1 ended as the branch 'providerRejected'.*`crowd=lambda number"
        ):
            check("addNote")


@pytest.mark.parametrize("setting", ['crowd=lambda number: {"text": f"Hello {number}"}', "crowd_size=0"])
def test_an_author_says_how_calls_differ_or_that_there_is_one_only(changed: Change, setting: str) -> None:
    suite = changed("local_provider.py", REFUSED, CONFLICT, ("test_conformance.py", EXAMPLE, f"{EXAMPLE}, {setting}"))
    suite.test_it_is_found_among_many("addNote")
    suite.test_what_was_not_read_is_not_called_absent("addNote")
