"""Slack as a ConnectorDefinition, and its live check."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from dexbridge.connectors.contract.definition import ConnectorDefinition, LiveCheck
from dexbridge.connectors.contract.errors import ConnectorError
from dexbridge.connectors.contract.project import ProjectConnection
from dexbridge.connectors.contract.secrets.redaction import redact
from dexbridge.connectors.contract.secrets.secret import Secret
from dexbridge.connectors.http.answer_table import Proof
from dexbridge.connectors.http.configuration import read_configuration
from dexbridge.connectors.http.pool import ANY_TIME
from dexbridge.connectors.slack.configuration import SLACK_CREDENTIALS, SlackConfiguration
from dexbridge.connectors.slack.operations import SLACK_OPERATIONS
from dexbridge.connectors.slack.web_api import WebApi

_CHECK_TIMEOUT: Final = timedelta(seconds=10)
_CHECKED: Final = ("bot_token", "user_token")


async def check_live(connection: ProjectConnection) -> LiveCheck:
    """Asks Slack `auth.test` with each token the connection holds; it changes nothing."""
    try:
        held = await connection.read_credentials()
        configuration = read_configuration(connection, SlackConfiguration)
    except ConnectorError as error:
        return LiveCheck(ok=False, message=str(error))
    tokens = {name: held[name] for name in _CHECKED if name in held}
    if not tokens:
        return LiveCheck(ok=False, message=f"Connection {connection.reference} holds no token to check.")
    api = WebApi(configuration, _CHECK_TIMEOUT)
    try:
        return await _check_tokens(api, tokens)
    finally:
        await api.close()


async def _check_tokens(api: WebApi, tokens: dict[str, Secret]) -> LiveCheck:
    account, scopes, faults = "", dict[str, tuple[str, ...]](), list[str]()
    for name, token in tokens.items():
        try:
            answer = await api.test_token(token, ANY_TIME)
        except ConnectorError as error:
            faults.append(f"{name}: {error}")
            continue
        if answer.proof is Proof.DONE:
            granted = answer.listed("x-oauth-scopes")
            if granted is not None:
                scopes[name] = granted
            who = [str(answer.fields.get(key, "")) for key in ("user", "team")]
            account = account or " in ".join(part for part in who if part)
        else:
            faults.append(f"{name}: {answer.reason}")
    message = "; ".join(faults) or "Slack accepts " + " and ".join(tokens) + "."
    return LiveCheck(not faults, redact(account, tokens.values()), scopes, message)


SLACK: Final = ConnectorDefinition(
    connector_id="slack",
    title="Slack",
    configuration=SlackConfiguration,
    credentials=SLACK_CREDENTIALS,
    operations=SLACK_OPERATIONS,
    check_live=check_live,
)
