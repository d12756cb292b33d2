"""A tool as the model is offered it: name, description and input schema, checked together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dexbridge.toolsource.errors import DefinitionFaults
from dexbridge.toolsource.listing import check_description, check_listed_schema
from dexbridge.toolsource.names import check_tool_name
from dexbridge.toolsource.schema import prepare_input_schema

__all__ = ["prepare_offer"]


def prepare_offer(name: str, description: object, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the input schema to offer: see `prepare_input_schema`.

    Raises:
        InvalidToolDefinition: What the Messages API would refuse, or the CLI would change; names all of it.
    """
    faults = DefinitionFaults()
    prepared: dict[str, Any] = {}
    with faults.gathered():
        check_tool_name(name)
    with faults.gathered():
        check_description(name, description)
    with faults.gathered():
        prepared = prepare_input_schema(name, schema)
        check_listed_schema(name, prepared)
    faults.raise_any()
    return prepared
