"""An argument that holds one of the connection's own credentials: no request may carry it.

A user types a token, the model repeats it in a call, and a person approves what looks like text. Credentials are read
when the request is made, so that is where it is noticed, for every operation of every Connector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dexbridge.connectors.contract.project import ConnectionReference
from dexbridge.connectors.contract.secrets.redaction import MASK, redact_given
from dexbridge.connectors.contract.secrets.secret import Secret


@dataclass(frozen=True)
class Withheld:
    """Arguments that must not leave.

    Args:
        arguments: as they may be shown: what holds a credential is masked.
        told: what the model and people read of it; it names the arguments, never a value.
    """

    arguments: dict[str, Any]
    told: str


def withhold(
    arguments: Mapping[str, Any], reference: ConnectionReference, secrets: Iterable[Secret]
) -> Withheld | None:
    """What must be withheld of arguments; None when they hold none of the credentials.

    A credential is found in a longer text too, escaped as in JSON, a URL, HTML or Base64, with characters between its
    own that nobody sees, or as a number. One shorter than 8 characters is not looked for: it would be found in
    ordinary text.
    """
    masked: dict[str, Any] = redact_given(dict(arguments), secrets)
    if masked == arguments:
        return None
    names = [name if name in masked else MASK for name, value in arguments.items() if masked.get(name) != value]
    return Withheld(
        masked,
        f"Nothing was sent: {', '.join(names)} would carry a credential of the connection {reference} itself. Leave it "
        "out. Whoever runs the agent should replace that credential, since it stands in this conversation.",
    )
