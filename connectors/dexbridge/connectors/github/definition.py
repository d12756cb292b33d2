"""GitHub as a ConnectorDefinition, and its live check."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from dexbridge.connectors.contract.definition import ConnectorDefinition, LiveCheck
from dexbridge.connectors.contract.errors import ConnectorError
from dexbridge.connectors.contract.project import ProjectConnection
from dexbridge.connectors.contract.secrets.redaction import redact
from dexbridge.connectors.github.configuration import GITHUB_CREDENTIALS, GitHubConfiguration
from dexbridge.connectors.github.operations import GITHUB_OPERATIONS
from dexbridge.connectors.github.rest_api import RestApi
from dexbridge.connectors.http.answer_table import Proof
from dexbridge.connectors.http.configuration import read_configuration
from dexbridge.connectors.http.pool import ANY_TIME

_CHECK_TIMEOUT: Final = timedelta(seconds=10)


async def check_live(connection: ProjectConnection) -> LiveCheck:
    """Asks GitHub whose the token is; it changes nothing.

    Only classic tokens name their scopes. What a fine-grained token may do shows at the call itself.
    """
    try:
        held = await connection.read_credentials()
        configuration = read_configuration(connection, GitHubConfiguration)
    except ConnectorError as error:
        return LiveCheck(ok=False, message=str(error))
    token = held.get("token")
    if token is None:
        return LiveCheck(ok=False, message=f"Connection {connection.reference} holds no token to check.")
    api = RestApi(configuration, _CHECK_TIMEOUT)
    try:
        answer = await api.test_token(token, ANY_TIME)
    except ConnectorError as error:
        return LiveCheck(ok=False, message=f"token: {error}")
    finally:
        await api.close()
    if answer.proof is not Proof.DONE or not isinstance(answer.payload, dict):
        return LiveCheck(ok=False, message=f"token: {answer.reason or 'GitHub did not name an account.'}")
    login: object = answer.fields.get("login")
    account = login if isinstance(login, str) else "an App's installation"
    scopes = answer.listed("x-oauth-scopes")
    known = {} if scopes is None else {"token": _with_implied(scopes)}
    return LiveCheck(ok=True, account=redact(account, [token]), scopes=known, message="GitHub accepts token.")


def _with_implied(scopes: tuple[str, ...]) -> tuple[str, ...]:
    return (*scopes, "public_repo") if "repo" in scopes and "public_repo" not in scopes else scopes


GITHUB: Final = ConnectorDefinition(
    connector_id="github",
    title="GitHub",
    configuration=GitHubConfiguration,
    credentials=GITHUB_CREDENTIALS,
    operations=GITHUB_OPERATIONS,
    check_live=check_live,
)
