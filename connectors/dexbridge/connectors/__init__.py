"""The Connector contract, the built-in Connectors and what an author needs to write another."""

from dexbridge.connectors.contract.arguments.input_schema import Advice, NotBlank, OperationInput, OperationOutput
from dexbridge.connectors.contract.arguments.unseen import is_blank, is_unseen
from dexbridge.connectors.contract.attempts.attempt import Attempt, BranchTaken, Retry, Uncertain
from dexbridge.connectors.contract.attempts.dispatch import Dispatch, Inquiry
from dexbridge.connectors.contract.attempts.reconciliation import (
    CannotTell,
    FoundNotSent,
    FoundSent,
    Reconciliation,
    look_again,
)
from dexbridge.connectors.contract.attempts.rendering import MODEL_TEXT_LIMIT, render_for_model
from dexbridge.connectors.contract.binding import SETTLING_TIME, bind_operation
from dexbridge.connectors.contract.bound_operation import BoundOperation
from dexbridge.connectors.contract.call import Call
from dexbridge.connectors.contract.call_id import derive_call_id
from dexbridge.connectors.contract.definition import ConnectorDefinition, CredentialField, LiveCheck
from dexbridge.connectors.contract.errors import (
    ConnectorError,
    CredentialsUnavailable,
    DispatchTooLate,
    InvalidConnector,
    InvalidInput,
    InvalidOperation,
    NeverSent,
    NoAnswer,
    NotConnected,
    SecondRequest,
    UnknownConnection,
)
from dexbridge.connectors.contract.failure import Failure, FailureKind
from dexbridge.connectors.contract.operation import (
    Branch,
    BranchOutcome,
    Mutation,
    Operation,
    OperationKind,
    Query,
    RetryPolicy,
)
from dexbridge.connectors.contract.project import ConnectionProject, ConnectionReference, ProjectConnection
from dexbridge.connectors.contract.receipt import Receipt
from dexbridge.connectors.contract.registry import (
    ENTRY_POINT_GROUP,
    InstalledConnector,
    connector,
    installed_connectors,
    survey_connectors,
)
from dexbridge.connectors.contract.secrets.secret import Secret
from dexbridge.connectors.contract.secrets.withheld import Withheld
from dexbridge.connectors.http.answer_branches import (
    INVALID_RESPONSE,
    PROVIDER_REJECTED,
    mutation_branches,
    query_branches,
    unread,
    unsuccessful,
)
from dexbridge.connectors.http.answer_table import Finding, JudgedAnswer, Proof, judge
from dexbridge.connectors.http.api import HttpApi
from dexbridge.connectors.http.configuration import (
    ENDPOINT_RULES,
    ConnectorConfiguration,
    HttpConfiguration,
    HttpEndpoint,
    InvalidConfiguration,
    check_endpoint,
    read_configuration,
)
from dexbridge.connectors.http.connection import HttpConnection
from dexbridge.connectors.http.pool import ANY_TIME, HTTP_TIMEOUT, HttpAnswer, HttpPool, Leave
from dexbridge.connectors.http.retry_after import parse_retry_after

__all__ = [
    "ANY_TIME",
    "ENDPOINT_RULES",
    "ENTRY_POINT_GROUP",
    "HTTP_TIMEOUT",
    "INVALID_RESPONSE",
    "MODEL_TEXT_LIMIT",
    "PROVIDER_REJECTED",
    "SETTLING_TIME",
    "Advice",
    "Attempt",
    "BoundOperation",
    "Branch",
    "BranchOutcome",
    "BranchTaken",
    "Call",
    "CannotTell",
    "ConnectionProject",
    "ConnectionReference",
    "ConnectorConfiguration",
    "ConnectorDefinition",
    "ConnectorError",
    "CredentialField",
    "CredentialsUnavailable",
    "Dispatch",
    "DispatchTooLate",
    "Failure",
    "FailureKind",
    "Finding",
    "FoundNotSent",
    "FoundSent",
    "HttpAnswer",
    "HttpApi",
    "HttpConfiguration",
    "HttpConnection",
    "HttpEndpoint",
    "HttpPool",
    "Inquiry",
    "InstalledConnector",
    "InvalidConfiguration",
    "InvalidConnector",
    "InvalidInput",
    "InvalidOperation",
    "JudgedAnswer",
    "Leave",
    "LiveCheck",
    "Mutation",
    "NeverSent",
    "NoAnswer",
    "NotBlank",
    "NotConnected",
    "Operation",
    "OperationInput",
    "OperationKind",
    "OperationOutput",
    "ProjectConnection",
    "Proof",
    "Query",
    "Receipt",
    "Reconciliation",
    "Retry",
    "RetryPolicy",
    "SecondRequest",
    "Secret",
    "Uncertain",
    "UnknownConnection",
    "Withheld",
    "bind_operation",
    "check_endpoint",
    "connector",
    "derive_call_id",
    "installed_connectors",
    "is_blank",
    "is_unseen",
    "judge",
    "look_again",
    "mutation_branches",
    "parse_retry_after",
    "query_branches",
    "read_configuration",
    "render_for_model",
    "survey_connectors",
    "unread",
    "unsuccessful",
]
