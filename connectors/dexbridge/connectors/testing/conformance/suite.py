"""ConnectorConformance: all checks as one test class."""

from __future__ import annotations

import pytest

from dexbridge.connectors.testing.conformance.address_checks import AddressChecks
from dexbridge.connectors.testing.conformance.branch_checks import BranchChecks
from dexbridge.connectors.testing.conformance.connection_checks import ConnectionChecks
from dexbridge.connectors.testing.conformance.crowd_checks import CrowdChecks
from dexbridge.connectors.testing.conformance.identity_checks import IdentityChecks, SchemaChecks
from dexbridge.connectors.testing.conformance.reconcile_checks import ReconcileChecks
from dexbridge.connectors.testing.conformance.request_checks import RequestChecks
from dexbridge.connectors.testing.conformance.secret_checks import ECHOES, SecretChecks
from dexbridge.connectors.testing.conformance.stage import Server
from dexbridge.connectors.testing.conformance.troubles import REFUSALS, UNCLEAR


# pytest runs the checks of the last base first: what everything else rests on.
class ConnectorConformance(
    ConnectionChecks[Server],
    CrowdChecks[Server],
    ReconcileChecks[Server],
    SecretChecks[Server],
    AddressChecks[Server],
    RequestChecks[Server],
    BranchChecks[Server],
    SchemaChecks[Server],
    IdentityChecks[Server],
):
    """The suite. Derive a class whose name begins with Test, and pytest runs every check on every operation.

    Each check plays on a local server of its own, over real HTTP, in an event loop of its own; no pytest plugin is
    needed. A failing check says in one sentence what is wrong and what to do.
    """

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Gives each check its operations, branches and faults."""
        operations = self.definition.operations
        if "branch_id" in metafunc.fixturenames:
            pairs = [(one.operation_id, branch.id) for one in operations for branch in one.branches]
            metafunc.parametrize(("operation_id", "branch_id"), pairs)
        elif "operation_id" in metafunc.fixturenames:
            metafunc.parametrize("operation_id", [one.operation_id for one in operations])
        if "reconcilable_id" in metafunc.fixturenames:
            metafunc.parametrize("reconcilable_id", [one.operation_id for one in operations if one.can_reconcile])
        if "unclear" in metafunc.fixturenames:
            metafunc.parametrize("unclear", UNCLEAR, ids=str)
        if "refusal" in metafunc.fixturenames:
            metafunc.parametrize("refusal", REFUSALS, ids=str)
        if "echo" in metafunc.fixturenames:
            metafunc.parametrize("echo", ECHOES, ids=lambda status: f"HTTP {status}" if status else "right answer")
