"""The errors of this room.

ConnectorError
├── InvalidOperation        an author's definition breaks the contract (also a ValueError)
├── InvalidConnector        an installed Connector cannot be used
├── InvalidInput            arguments that the operation refuses; nothing was sent
├── UnknownConnection       the project has no such connection, or no such Connector is installed
├── NeverSent               the request provably did not leave this process
│   ├── CredentialsUnavailable
│   ├── DispatchTooLate
│   └── NotConnected
├── NoAnswer                the request left and nothing readable came back: it may have been done
└── SecondRequest           one dispatch tried to send twice

The base turns NeverSent into a retry, and NoAnswer into an uncertain Mutation or a retried Query.
"""

from __future__ import annotations

from collections.abc import Sequence


class ConnectorError(Exception):
    """Base of every error this room raises on purpose."""


class InvalidOperation(ConnectorError, ValueError):
    """An operation, branch or call that breaks the Connector contract."""


class InvalidConnector(ConnectorError):
    """An installed Connector that cannot be loaded or clashes with another."""


class InvalidInput(ConnectorError):
    """Arguments an operation refuses; raised before credentials are read.

    `faults` names every fault at once, each as "field: what is wrong, what to do".
    """

    def __init__(self, operation: str, faults: Sequence[str]) -> None:
        self.operation = operation
        self.faults: tuple[str, ...] = tuple(faults)
        super().__init__(f"{operation} refused its arguments: {'; '.join(self.faults)}")


class UnknownConnection(ConnectorError, LookupError):
    """A connection the project does not hold, or a Connector that is not installed."""


class NeverSent(ConnectorError):
    """The request provably did not leave this process, so sending it again repeats nothing."""


class CredentialsUnavailable(NeverSent):
    """A credential is absent, expired or refused.

    Args:
        message: tells the operator which, where, and how to mend it; never a value.
        told: what the model and approvers may read of it: no place on this machine, nothing only an operator can do.
    """

    def __init__(self, message: str, *, told: str = "") -> None:
        self.told = told
        super().__init__(message)


class DispatchTooLate(NeverSent):
    """`Call.dispatch_before` had passed when the request was about to leave."""


class NotConnected(NeverSent):
    """No connection to the provider came up (refused, DNS, TLS, proxy, connect timeout)."""


class NoAnswer(ConnectorError):
    """The request left and no answer came (dropped connection, timeout); it may have been carried out."""


class SecondRequest(ConnectorError):
    """One dispatch tried to send a second request; the contract allows one."""
