"""The page of each built-in Connector names everything the Connector has."""

from __future__ import annotations

from pathlib import Path

import pytest

from dexbridge.connectors import ConnectorDefinition, Operation, OperationKind, installed_connectors
from dexbridge.connectors.contract.operation import DEFECT, UNCERTAIN

PAGES = Path(__file__).resolve().parents[2] / "docs" / "connectors"
CONNECTORS = list(installed_connectors().values())


def page_of(definition: ConnectorDefinition) -> str:
    return (PAGES / f"{definition.connector_id}.md").read_text(encoding="utf-8")


def row_of(operation: Operation) -> str:
    """The row of the table of operations, in the order branches are told: good, bad, unknown."""
    happy, others = operation.happy_branch, [branch.id for branch in operation.branches]
    rest = [one for one in others if one not in {happy, DEFECT, UNCERTAIN}]
    ends = [[happy], [*rest, DEFECT], [UNCERTAIN] if operation.kind is OperationKind.MUTATION else []]
    told = "; ".join(", ".join(f"`{one}`" for one in group) for group in ends if group)
    return f"| `{operation.operation_id}` | `{operation.tool_name}` | {told} |"


@pytest.mark.parametrize("definition", CONNECTORS, ids=lambda one: one.connector_id)
def test_the_page_tells_of_operations_scopes_credentials_and_settings(definition: ConnectorDefinition) -> None:
    page = page_of(definition)
    for operation in definition.operations:
        assert row_of(operation) in page
        for scopes in operation.scopes.values():
            assert all(f"`{scope}`" in page for scope in scopes)
    assert all(f"`{credential.name}`" in page for credential in definition.credentials)
    for name, field in definition.configuration.model_fields.items():
        default = "all the token sees" if field.default == () else str(field.default)
        assert any(
            line.startswith(f"| `{field.alias or name}` | ") and default in line for line in page.splitlines()
        ), field.alias or name
    assert f"--connector {definition.connector_id} " in page
    assert f"dexbridge.connectors.testing.local_{definition.connector_id} " in page
