"""The differences known between what is right and what backlot and prism do; docs/other-servers.md has them, too."""

from __future__ import annotations

from typing import Final

from benchmarks.others.findings import Difference, Whose

_NO_METADATA: Final = Difference(
    "cannot tell",
    Whose.THEIRS,
    "backlot keeps no metadata of a message, so the Call ID is lost. The outcome stays unknown and nothing is sent "
    "again: the right answer where metadata is hidden.",
)

BACKLOT: Final = {
    "auth.test names the scopes of a token": Difference(
        "False", Whose.HARMLESS, "It sends no X-OAuth-Scopes, so `config check --live` says nothing of scopes."
    ),
    "a page holds at most what was asked for": Difference(
        "18", Whose.HARMLESS, "conversations.replies takes no `limit`; all of the thread is read."
    ),
    "a page that is not the last has a cursor": Difference(
        "False", Whose.HARMLESS, "It follows from the whole thread being one page; our paging is not tried here."
    ),
    "an answer has a request ID": Difference(
        "False", Whose.HARMLESS, "It sends no X-Slack-Req-Id; a receipt has none."
    ),
    "its blocks are kept as they were sent, literal text": Difference(
        "['text', 'text', 'text', 'text']",
        Whose.HARMLESS,
        "It makes blocks of its own from `text`, formatted, and leaves out those that were sent. That a text is shown "
        "literally is not tried here; what is read back is the text as it was given.",
    ),
    "look-up of a reply that was sent": _NO_METADATA,
    "look-up of a reply whose answer was lost": _NO_METADATA,
    "look-up of a message whose answer was lost": _NO_METADATA,
}

PRISM: Final = {
    "the description's example of an issue is an issue": Difference(
        "2",
        Whose.HARMLESS,
        "Two examples are given as `value: {$ref: …}`, which OpenAPI takes for the issue itself; prism answers it so. "
        "The reference is put in its place before prism reads the description.",
    ),
    "the media type GitHub recommends is one of the description": Difference(
        "invalidResponse, PROTOCOL",
        Whose.HARMLESS,
        "The description has only `application/json`, so prism refuses `application/vnd.github+json` with 406. The "
        "Connector sends what GitHub's pages recommend; for prism it is replaced on the way.",
    ),
}
