"""The Connector contract, the built-in Connectors and what an author needs to write another."""

from dexbridge.connectors.answer_branches import (
    INVALID_RESPONSE,
    PROVIDER_REJECTED,
    mutation_branches,
    query_branches,
    unread,
    unsuccessful,
)
from dexbridge.connectors.answer_table import Finding, JudgedAnswer, Proof, judge
from dexbridge.connectors.attempt import Attempt, BranchTaken, Retry, Uncertain
from dexbridge.connectors.binding import SETTLING_TIME, bind_operation
from dexbridge.connectors.bound_operation import BoundOperation
from dexbridge.connectors.call import Call
from dexbridge.connectors.call_id import derive_call_id
from dexbridge.connectors.configuration import (
    ENDPOINT_RULES,
    ConnectorConfiguration,
    HttpConfiguration,
    HttpEndpoint,
    InvalidConfiguration,
    check_endpoint,
    read_configuration,
)
from dexbridge.connectors.definition import ConnectorDefinition, CredentialField, LiveCheck
from dexbridge.connectors.dispatch import Dispatch, Inquiry
from dexbridge.connectors.errors import (
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
from dexbridge.connectors.failure import Failure, FailureKind
from dexbridge.connectors.http_api import HttpApi
from dexbridge.connectors.http_connection import HttpConnection
from dexbridge.connectors.http_pool import ANY_TIME, HTTP_TIMEOUT, HttpAnswer, HttpPool, Leave
from dexbridge.connectors.input_schema import Advice, NotBlank, OperationInput, OperationOutput
from dexbridge.connectors.operation import (
    Branch,
    BranchOutcome,
    Mutation,
    Operation,
    OperationKind,
    Query,
    RetryPolicy,
)
from dexbridge.connectors.project import ConnectionProject, ConnectionReference, ProjectConnection
from dexbridge.connectors.receipt import Receipt
from dexbridge.connectors.reconciliation import CannotTell, FoundNotSent, FoundSent, Reconciliation, look_again
from dexbridge.connectors.registry import (
    ENTRY_POINT_GROUP,
    InstalledConnector,
    connector,
    installed_connectors,
    survey_connectors,
)
from dexbridge.connectors.rendering import MODEL_TEXT_LIMIT, render_for_model
from dexbridge.connectors.retry_after import parse_retry_after
from dexbridge.connectors.secret import Secret
from dexbridge.connectors.unseen import is_blank, is_unseen
from dexbridge.connectors.withheld import Withheld

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
