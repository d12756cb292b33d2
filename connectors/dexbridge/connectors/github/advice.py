"""What GitHub's refusals mean, and what would help.

Sources: GitHub's pages "Troubleshooting the REST API", "Managing allowed IP addresses for your organization",
"Setting a personal access token policy for your organization", "Authenticating with single sign-on".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

from dexbridge.connectors.contract.failure import FailureKind
from dexbridge.connectors.contract.secrets.redaction import MASK
from dexbridge.connectors.github.refusal import Refusal

Advised: TypeAlias = tuple[FailureKind, str]

_CONNECTION: Final = "this is for whoever runs the agent, another call will not help:"

_MOVED: Final = (
    FailureKind.NOT_FOUND,
    "the repository was renamed or the issue was moved: ask for its new place and use that.",
)
_STATUSES: Final[Mapping[int, Advised]] = {
    301: _MOVED,
    302: _MOVED,
    307: _MOVED,
    308: _MOVED,
    401: (
        FailureKind.AUTHENTICATION,
        f"{_CONNECTION} GitHub does not accept the token, put a current one into the connection.",
    ),
    404: (
        FailureKind.NOT_FOUND,
        "check repository and issue_number; a private repository that the token may not see looks the same.",
    ),
    410: (FailureKind.NOT_FOUND, "the issue was deleted, or the repository has its issues switched off."),
    413: (FailureKind.VALIDATION, "shorten the text."),
    451: (FailureKind.AUTHORIZATION, "the repository is closed for legal reasons: use another one."),
}
_UNEXPLAINED: Final[Mapping[int, Advised]] = {
    403: (FailureKind.AUTHORIZATION, "GitHub does not let this token do it."),
    409: (FailureKind.CONFLICT, "the repository's state does not allow it now."),
    422: (FailureKind.VALIDATION, "check every argument against the tool's schema."),
}
_OTHER: Final = (
    FailureKind.PROVIDER_REJECTION,
    "GitHub refused the call; look the status up in GitHub's documentation before trying again.",
)
_SINGLE_SIGN_ON: Final = (
    FailureKind.AUTHORIZATION,
    f"{_CONNECTION} the organisation wants single sign-on, authorise the token for it in the token's settings.",
)
_REASONS: Final[tuple[tuple[str, Advised], ...]] = (
    (r"repository access blocked", (FailureKind.AUTHORIZATION, "GitHub has closed this repository: use another one.")),
    (
        r"ip allow list",
        (
            FailureKind.AUTHORIZATION,
            f"{_CONNECTION} the organisation takes requests only from the IP addresses it lists, and this one is not "
            "among them.",
        ),
    ),
    (
        r"token'?s?'? lifetime|lifetime is greater",
        (
            FailureKind.AUTHORIZATION,
            f"{_CONNECTION} the organisation takes only tokens that expire sooner, put one with a shorter lifetime "
            "into the connection.",
        ),
    ),
    (
        r"forbids access via",
        (
            FailureKind.AUTHORIZATION,
            f"{_CONNECTION} the organisation does not take this kind of token, put one of another kind into the "
            "connection.",
        ),
    ),
    (r"\bsaml\b|single sign-on", _SINGLE_SIGN_ON),
    (r"archived", (FailureKind.CONFLICT, "the repository is archived and takes no comments: write elsewhere.")),
    (r"migrat", (FailureKind.CONFLICT, "the repository is locked while it is moved: write elsewhere, or later.")),
    (
        r"suspended|billing",
        (
            FailureKind.AUTHORIZATION,
            f"{_CONNECTION} GitHub has suspended or locked the account that the token or the repository belongs to.",
        ),
    ),
    (
        r"(issue|conversation|pull request|discussion)\b.*\blocked",
        (
            FailureKind.CONFLICT,
            "the conversation is locked, so the token's account may not comment: write elsewhere, or ask a maintainer.",
        ),
    ),
    (
        r"\buser (is|has been) blocked|you (are|have been) blocked",
        (
            FailureKind.AUTHORIZATION,
            "the token's account is blocked by the repository's owner: tell whoever runs the agent.",
        ),
    ),
    (
        r"interaction limit|prior contributors|limited to collaborators",
        (FailureKind.AUTHORIZATION, "the repository limits for now who may comment: write later, or ask a maintainer."),
    ),
    (
        r"not accessible by|must have .* rights|permission",
        (
            FailureKind.AUTHORIZATION,
            f"{_CONNECTION} the token may not do this, give it access to the repository and the permission Issues.",
        ),
    ),
)
_LONGEST_QUOTE: Final = 200
_LIKE_A_TOKEN: Final = re.compile(r"(?=\S*(?:\d|[a-z][A-Z]))[A-Za-z0-9_.+=%~-]{16,}")
_AFTER_A_PATH: Final = re.compile(r"(https?://[^\s?#]*)[?#]\S*")


def advice_for(refusal: Refusal) -> Advised:
    """The kind of a refusal, and a text that names the status and what would help.

    GitHub's own sentence is quoted, without what looks like a token, only where nothing better is known.
    """
    kind, advice = _reason(refusal)
    details = f" ({', '.join(refusal.faults)})" if refusal.faults else ""
    return kind, f"GitHub answered HTTP {refusal.status}{details}: {advice}"


def _reason(refusal: Refusal) -> Advised:
    if refusal.needs_sso:
        return _SINGLE_SIGN_ON
    if refusal.status in {403, 422}:
        said = refusal.said.lower()
        for phrase, advised in _REASONS:
            if re.search(phrase, said):
                return advised
    if refusal.status in _STATUSES:
        return _STATUSES[refusal.status]
    kind, advice = _UNEXPLAINED.get(refusal.status, _OTHER)
    return kind, f'{advice} GitHub says: "{_quoted(refusal.said)}"'


def _quoted(said: str) -> str:
    plain = " ".join("".join(c if c.isprintable() else " " for c in said).replace('"', "'").split())
    safe = _LIKE_A_TOKEN.sub(MASK, _AFTER_A_PATH.sub(r"\1", plain))
    return safe if len(safe) <= _LONGEST_QUOTE else f"{safe[: _LONGEST_QUOTE - 1]}…"
