"""What a GitHub connection can be set to, and the credential it holds."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from dexbridge.connectors.contract.definition import CredentialField
from dexbridge.connectors.http.configuration import HttpConfiguration, HttpEndpoint

MAX_COMMENT_CHARACTERS: Final = 65_000
"""GitHub takes 65,536; the hidden marker needs some of them."""

REPOSITORY_PATTERN: Final = (
    r"^[A-Za-z0-9][A-Za-z0-9_-]{0,38}/(?:[A-Za-z0-9_-]|\.[A-Za-z0-9_-]|\.\.[A-Za-z0-9._-])[A-Za-z0-9._-]{0,99}$"
)
"""Owner and name; a name of dots alone would lead to another place of the API."""


class GitHubConfiguration(HttpConfiguration):
    """The `configuration` of a GitHub connection. Its errors never echo a value."""

    endpoint: HttpEndpoint = Field(
        default="https://api.github.com",
        description="Where GitHub's REST API is; of a GitHub Enterprise Server https://HOST/api/v3.",
    )
    repositories: tuple[Annotated[str, Field(pattern=REPOSITORY_PATTERN)], ...] = Field(
        default=(),
        strict=False,
        description="The only repositories this connection may be used for, as OWNER/NAME; none listed means all "
        "that the token can see.",
    )
    max_comment_characters: int = Field(
        default=MAX_COMMENT_CHARACTERS,
        alias="maxCommentCharacters",
        ge=1,
        le=MAX_COMMENT_CHARACTERS,
        description="The longest comment that is sent, in characters.",
    )


GITHUB_CREDENTIALS: Final = (
    CredentialField(
        "token",
        "Access token",
        r"(?:gh[pousr]_|github_pat_)[A-Za-z0-9._-]{16,}|[0-9a-f]{40}",
        'a fine-grained token starts with "github_pat_", a classic one with "ghp_"; on github.com open Settings, '
        '"Developer settings", "Personal access tokens"',
        required=True,
    ),
)
