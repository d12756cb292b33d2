"""What GitHub's refusals mean, and what would help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dexbridge.connectors.failure import FailureKind
from dexbridge.connectors.github.answers import GitHubAnswer

_CONNECTION: Final = "this is for whoever runs the agent, another call will not help:"

_MOVED: Final = (
    FailureKind.NOT_FOUND,
    "the repository was renamed or the issue was moved: ask for its new place and use that.",
)
_STATUSES: Final[Mapping[int, tuple[FailureKind, str]]] = {
    301: _MOVED,
    302: _MOVED,
    307: _MOVED,
    308: _MOVED,
    401: (
        FailureKind.AUTHENTICATION,
        f"{_CONNECTION} GitHub does not accept the token, put a current one into the connection.",
    ),
    403: (
        FailureKind.AUTHORIZATION,
        f"{_CONNECTION} the token may not do this, give it access to the repository and the permission Issues.",
    ),
    404: (
        FailureKind.NOT_FOUND,
        "check repository and issue_number; a private repository that the token may not see looks the same.",
    ),
    409: (FailureKind.CONFLICT, "the repository's state does not allow it now."),
    410: (FailureKind.NOT_FOUND, "the issue was deleted, or the repository has its issues switched off."),
    413: (FailureKind.VALIDATION, "shorten the text."),
    422: (FailureKind.VALIDATION, "check every argument against the tool's schema."),
    451: (FailureKind.AUTHORIZATION, "the repository is closed for legal reasons: use another one."),
}
_OTHER: Final = (
    FailureKind.PROVIDER_REJECTION,
    "GitHub refused the call; look the status up in GitHub's documentation before trying again.",
)
_LOCKED: Final = (
    FailureKind.CONFLICT,
    "the conversation is locked, so the token's account may not comment: write elsewhere, or ask a maintainer.",
)
_ARCHIVED: Final = (FailureKind.CONFLICT, "the repository is archived and takes no comments: write elsewhere.")
_SINGLE_SIGN_ON: Final = (
    FailureKind.AUTHORIZATION,
    f"{_CONNECTION} the organisation wants single sign-on, authorise the token for it in the token's settings.",
)
_BLOCKED: Final = (
    FailureKind.AUTHORIZATION,
    "the token's account is blocked by the repository's owner: tell whoever runs the agent.",
)


def advice_for(answer: GitHubAnswer) -> tuple[FailureKind, str]:
    """The kind of a refusal and a text that names the status and what would help; never GitHub's own words."""
    said = answer.message.lower()
    if answer.needs_sso:
        kind, advice = _SINGLE_SIGN_ON
    elif answer.status == 403 and "archived" in said:
        kind, advice = _ARCHIVED
    elif answer.status in {403, 422} and "is locked" in said:
        kind, advice = _LOCKED
    elif answer.status == 403 and "blocked" in said:
        kind, advice = _BLOCKED
    else:
        kind, advice = _STATUSES.get(answer.status, _OTHER)
    details = f" ({', '.join(answer.faults)})" if answer.faults else ""
    return kind, f"GitHub answered HTTP {answer.status}{details}: {advice}"
