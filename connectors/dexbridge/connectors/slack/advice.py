"""What each of Slack's error codes means, and what would help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dexbridge.connectors.contract.failure import FailureKind

_CONNECTION: Final = "this is for whoever runs the agent, another call will not help:"

_CODES: Final[Mapping[str, tuple[FailureKind, str]]] = {
    # Fix the connection.
    "invalid_auth": (
        FailureKind.AUTHENTICATION,
        f"{_CONNECTION} Slack does not accept the token, put a current one into the connection.",
    ),
    "not_authed": (
        FailureKind.AUTHENTICATION,
        f"{_CONNECTION} Slack saw no token, put one into the connection.",
    ),
    "token_revoked": (
        FailureKind.AUTHENTICATION,
        f"{_CONNECTION} the token was revoked, install the app again and store its new token.",
    ),
    "token_expired": (
        FailureKind.AUTHENTICATION,
        f"{_CONNECTION} the token has expired, refresh it and store the new one.",
    ),
    "account_inactive": (
        FailureKind.AUTHENTICATION,
        f"{_CONNECTION} the token's account or workspace is deactivated, use another account's token.",
    ),
    "not_allowed_token_type": (
        FailureKind.AUTHENTICATION,
        f"{_CONNECTION} this kind of token may not make the call, check bot_token and user_token.",
    ),
    "missing_scope": (
        FailureKind.AUTHORIZATION,
        f"{_CONNECTION} the token lacks a scope, add it to the Slack app and install the app again.",
    ),
    "no_permission": (
        FailureKind.AUTHORIZATION,
        f"{_CONNECTION} the token's owner may not do this, ask a workspace admin.",
    ),
    "org_login_required": (
        FailureKind.AUTHORIZATION,
        f"{_CONNECTION} the workspace moves to an organisation, sign in there and store a new token.",
    ),
    "ekm_access_denied": (
        FailureKind.AUTHORIZATION,
        f"{_CONNECTION} an admin has suspended access to messages, ask a workspace admin.",
    ),
    "access_denied": (
        FailureKind.AUTHORIZATION,
        f"{_CONNECTION} access to this resource is denied, ask a workspace admin.",
    ),
    "team_access_not_granted": (
        FailureKind.AUTHORIZATION,
        f"{_CONNECTION} the app has no access to this workspace, install it there.",
    ),
    # Fix the call.
    "channel_not_found": (
        FailureKind.NOT_FOUND,
        "check channel_id; the app sees a private channel only when it is a member of it.",
    ),
    "not_in_channel": (
        FailureKind.AUTHORIZATION,
        "the app is not a member of the channel: someone has to invite it there (/invite), or use another channel.",
    ),
    "is_archived": (FailureKind.CONFLICT, "the channel is archived: use another channel."),
    "thread_not_found": (
        FailureKind.NOT_FOUND,
        "check thread_timestamp: it is the timestamp of the thread's first message in this channel.",
    ),
    "message_not_found": (FailureKind.NOT_FOUND, "check the timestamp: this channel has no such message."),
    "msg_too_long": (FailureKind.VALIDATION, "shorten the text, or split it into several messages."),
    "msg_blocks_too_long": (FailureKind.VALIDATION, "shorten the text, or split it into several messages."),
    "no_text": (FailureKind.VALIDATION, "give a text that is not blank."),
    "invalid_arguments": (FailureKind.VALIDATION, "check every argument against the tool's schema."),
    "invalid_cursor": (
        FailureKind.VALIDATION,
        "use the next_cursor of the page before, or start again without cursor.",
    ),
    "invalid_ts_latest": (FailureKind.VALIDATION, "check the timestamps."),
    "invalid_ts_oldest": (FailureKind.VALIDATION, "check the timestamps."),
    "cannot_reply_to_message": (FailureKind.CONFLICT, "this kind of message takes no replies: post elsewhere."),
    "user_not_in_channel": (
        FailureKind.AUTHORIZATION,
        "the token's user is not a member of the channel: someone has to add them, or use another channel.",
    ),
    "message_limit_exceeded": (
        FailureKind.QUOTA_EXHAUSTED,
        "the workspace has used up its messages: tell whoever runs the workspace.",
    ),
}

_RESTRICTED: Final = (
    FailureKind.AUTHORIZATION,
    "a workspace rule forbids posting here: use another channel, or ask a workspace admin.",
)
_UNKNOWN: Final = (
    FailureKind.PROVIDER_REJECTION,
    "Slack refused the call; look the code up in Slack's documentation of the method before trying again.",
)


def advice_for(code: str) -> tuple[FailureKind, str]:
    """The kind of a conclusive error code and a text that names the code and what would help."""
    if code.startswith("restricted_action"):
        kind, advice = _RESTRICTED
    else:
        kind, advice = _CODES.get(code, _UNKNOWN)
    return kind, f"Slack answered {code}: {advice}"
