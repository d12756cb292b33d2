"""What a connection can be set to: the base of a Connector's configuration, and the address of a provider."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from dexbridge.connectors.contract.errors import ConnectorError
from dexbridge.connectors.contract.project import ProjectConnection
from dexbridge.connectors.http.pool import MAX_BODY_BYTES
from dexbridge.connectors.http.proxies import LOOPBACK_HOSTS

Configuration = TypeVar("Configuration", bound=BaseModel)

_NO_URL: Final = "must be an absolute URL, such as https://api.example.com"
_MORE_THAN_ADDRESS: Final = "must not hold user info, a query or a fragment"
_NOT_HTTPS: Final = "must be https; http is accepted on 127.0.0.1, ::1 and localhost only"
ENDPOINT_RULES: Final = frozenset({_NO_URL, _MORE_THAN_ADDRESS, _NOT_HTTPS})
"""Every sentence `check_endpoint` refuses with; none holds a value, so all may be shown."""


class InvalidConfiguration(ConnectorError, ValueError):
    """A connection's configuration has faults; the message names the fields, never their values."""


class ConnectorConfiguration(BaseModel):
    """Base of every Connector's configuration: frozen, strict, no unknown fields, values never echoed.

    Names are those of the connection file; give a field with several words a camelCase alias.
    """

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, hide_input_in_errors=True, populate_by_name=False
    )


def check_endpoint(value: str) -> str:
    """A provider's address: absolute, https (http on this machine only), no user info, query or fragment.

    Returns it without slashes at its end.

    Raises:
        ValueError: it is none; the text never holds the value.
    """
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ValueError(_NO_URL) from None
    if parts.scheme not in {"http", "https"} or not host or any(c.isspace() for c in value):
        raise ValueError(_NO_URL)
    if parts.username is not None or parts.password is not None or "?" in value or "#" in value:
        raise ValueError(_MORE_THAN_ADDRESS)
    if parts.scheme == "http" and host not in LOOPBACK_HOSTS:
        raise ValueError(_NOT_HTTPS)
    return value.rstrip("/")


HttpEndpoint: TypeAlias = Annotated[str, AfterValidator(check_endpoint)]
"""A configuration field that holds a provider's address; see `check_endpoint`."""


class HttpConfiguration(ConnectorConfiguration):
    """Base of the configuration of a provider over HTTP; a Connector gives `endpoint` its default and description."""

    endpoint: HttpEndpoint
    max_response_bytes: int = Field(
        default=MAX_BODY_BYTES,
        alias="maxResponseBytes",
        ge=1,
        le=16 * MAX_BODY_BYTES,
        description="The largest answer that is read, in bytes.",
    )


def read_configuration(connection: ProjectConnection, model: type[Configuration]) -> Configuration:
    """A connection's configuration, checked.

    Raises:
        InvalidConfiguration: names every field that is wrong, without its value.
    """
    try:
        return model.model_validate(dict(connection.configuration))
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)
    faults = "; ".join(f"{'.'.join(map(str, d['loc'])) or 'configuration'}: {d['msg']}" for d in details)
    raise InvalidConfiguration(
        f"Connection {connection.reference} has a wrong configuration: {faults}. Mend it in the connection file."
    )
