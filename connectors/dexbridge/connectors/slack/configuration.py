"""What a Slack connection can be set to, and the credentials it can hold."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from dexbridge.connectors.contract.definition import CredentialField
from dexbridge.connectors.http.configuration import HttpConfiguration, HttpEndpoint

DEFAULT_TEXT_LIMIT: Final = 4_000
LARGEST_TEXT_LIMIT: Final = 40_000

CHANNEL_PATTERN: Final = r"^[CGD][A-Z0-9]{2,}$"


class SlackConfiguration(HttpConfiguration):
    """The `configuration` of a Slack connection. Its errors never echo a value."""

    endpoint: HttpEndpoint = Field(
        default="https://slack.com/api",
        description="Where Slack's Web API is; https, or http on this machine only.",
    )
    channels: tuple[Annotated[str, Field(pattern=CHANNEL_PATTERN)], ...] = Field(
        default=(),
        strict=False,
        description="The only channels this connection may post to, by ID; none listed means every channel it can "
        "post to. Reading is not limited.",
    )
    max_message_characters: int = Field(
        default=DEFAULT_TEXT_LIMIT,
        alias="maxMessageCharacters",
        ge=1,
        le=LARGEST_TEXT_LIMIT,
        description="The longest text that is sent, in characters.",
    )


_APPS: Final = "at api.slack.com/apps, choose the app"

SLACK_CREDENTIALS: Final = (
    CredentialField(
        "bot_token",
        "Bot token",
        r"(xoxe\.)?xoxb-[A-Za-z0-9.-]+",
        f'a bot token starts with "xoxb-"; {_APPS}, then "OAuth & Permissions"',
    ),
    CredentialField(
        "user_token",
        "User token",
        r"(xoxe\.)?xoxp-[A-Za-z0-9.-]+",
        f'a user token starts with "xoxp-"; {_APPS}, then "OAuth & Permissions"',
    ),
    CredentialField(
        "app_token",
        "App-level token",
        r"xapp-[A-Za-z0-9.-]+",
        f'an app-level token starts with "xapp-"; {_APPS}, then "Basic Information"',
    ),
    CredentialField(
        "oauth_client_id",
        "OAuth client ID",
        r"[0-9]+\.[0-9]+",
        f'two numbers with a dot between; {_APPS}, then "Basic Information"',
    ),
    CredentialField(
        "oauth_client_secret",
        "OAuth client secret",
        None,
        f'{_APPS}, then "Basic Information"',
    ),
    CredentialField(
        "bot_refresh_token",
        "Bot refresh token",
        r"xoxe-[A-Za-z0-9.-]+",
        'a refresh token starts with "xoxe-"; Slack gives it with a rotating bot token',
    ),
    CredentialField(
        "user_refresh_token",
        "User refresh token",
        r"xoxe-[A-Za-z0-9.-]+",
        'a refresh token starts with "xoxe-"; Slack gives it with a rotating user token',
    ),
)
