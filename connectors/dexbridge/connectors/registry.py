"""Which Connectors are installed: the built-in ones and those packages add by entry point."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from dexbridge.connectors.definition import ConnectorDefinition
from dexbridge.connectors.errors import InvalidConnector, UnknownConnection

ENTRY_POINT_GROUP: Final = "dexbridge.connectors"


# By name, as a package would: a Connector, and with it its provider's library, is only met when asked for.
_BUILT_IN: Final[Mapping[str, EntryPoint]] = {
    "slack": EntryPoint("slack", "dexbridge.connectors.slack.definition:SLACK", ENTRY_POINT_GROUP)
}


def _origin(point: EntryPoint) -> str:
    distribution = f" of the package {point.dist.name!r}" if point.dist else ""
    return f"entry point {point.name!r}{distribution}"


def _load(point: EntryPoint) -> ConnectorDefinition:
    try:
        loaded: object = point.load()
    except Exception as error:
        raise InvalidConnector(
            f"The Connector behind {_origin(point)} cannot be loaded ({type(error).__name__}: {error}); "
            "repair or uninstall that package."
        ) from error
    if not isinstance(loaded, ConnectorDefinition):
        raise InvalidConnector(f"{_origin(point)} must name a ConnectorDefinition, not a {type(loaded).__name__}.")
    if loaded.connector_id != point.name:
        raise InvalidConnector(
            f"{_origin(point)} holds the Connector {loaded.connector_id!r}; give the entry point that name."
        )
    return loaded


def _entry_points() -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        if point.name in _BUILT_IN:
            raise InvalidConnector(f"{_origin(point)} has the name of a built-in Connector; it needs another ID.")
        if point.name in found:
            raise InvalidConnector(
                f"{_origin(point)} and {_origin(found[point.name])} claim the same Connector ID; uninstall one."
            )
        found[point.name] = point
    return found


def installed_connectors() -> Mapping[str, ConnectorDefinition]:
    """Every installed Connector by its ID, sorted by ID.

    Packages add one with an entry point in the group `dexbridge.connectors`, named as the connector ID.

    Raises:
        InvalidConnector: a package's Connector cannot be loaded, or its ID is taken.
    """
    found = {name: _load(point) for name, point in {**_BUILT_IN, **_entry_points()}.items()}
    return dict(sorted(found.items()))


def connector(connector_id: str) -> ConnectorDefinition:
    """The installed Connector of that ID; others are not loaded.

    Raises:
        UnknownConnection: none of that ID is installed; the message lists those that are.
        InvalidConnector: the package that brings it cannot be loaded.
    """
    if connector_id in _BUILT_IN:
        return _load(_BUILT_IN[connector_id])
    points = _entry_points()
    if connector_id in points:
        return _load(points[connector_id])
    known = ", ".join(sorted({*_BUILT_IN, *points}))
    raise UnknownConnection(
        f"No Connector {connector_id!r} is installed; known are: {known}. Install the package that brings it."
    )
