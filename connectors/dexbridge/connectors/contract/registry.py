"""Which Connectors are installed: the built-in ones and those packages add by entry point."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from dexbridge.connectors.contract.definition import ConnectorDefinition
from dexbridge.connectors.contract.errors import InvalidConnector, UnknownConnection

ENTRY_POINT_GROUP: Final = "dexbridge.connectors"

_LOG: Final = logging.getLogger("dexbridge.connectors")

# By name, as a package would: a Connector, and with it its provider's library, is only met when asked for.
_BUILT_IN: Final[Mapping[str, EntryPoint]] = {
    "github": EntryPoint("github", "dexbridge.connectors.github.definition:GITHUB", ENTRY_POINT_GROUP),
    "slack": EntryPoint("slack", "dexbridge.connectors.slack.definition:SLACK", ENTRY_POINT_GROUP),
}


@dataclass(frozen=True)
class InstalledConnector:
    """One Connector that is installed, usable or not.

    Args:
        connector_id: the entry point's name.
        package: the distribution that brings it, and its version; None for a built-in one.
        definition: None when it cannot be used.
        fault: why it cannot be used, and what to do; empty when it can.
    """

    connector_id: str
    package: str | None
    definition: ConnectorDefinition | None
    fault: str = ""


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
        raise InvalidConnector(
            f"The {_origin(point)} must name a ConnectorDefinition, not a {type(loaded).__name__}: "
            f'write it as {point.name} = "package.module:DEFINITION".'
        )
    if loaded.connector_id != point.name:
        raise InvalidConnector(
            f"The {_origin(point)} holds the Connector {loaded.connector_id!r}: give both the same name."
        )
    return loaded


def _clash(points: list[EntryPoint]) -> str:
    name = points[0].name
    if name in _BUILT_IN:
        return f"The {_origin(points[0])} has the name of a built-in Connector: give it and its Connector another ID."
    if len(points) > 1:
        both = " and ".join(f"the {_origin(point)}" for point in points)
        return f"{both[0].upper()}{both[1:]} claim the same Connector ID: uninstall one of the packages."
    return ""


def _entry_points() -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        found.setdefault(point.name, []).append(point)
    return dict(sorted(found.items()))


def survey_connectors() -> tuple[InstalledConnector, ...]:
    """Every Connector that is installed, sorted by ID; those that cannot be used say why.

    Packages add one with an entry point in the group `dexbridge.connectors`, named as the connector ID.
    """
    found = [InstalledConnector(name, None, _load(point)) for name, point in _BUILT_IN.items()]
    for name, points in _entry_points().items():
        package = ", ".join(f"{point.dist.name} {point.dist.version}" for point in points if point.dist)
        fault = _clash(points)
        definition: ConnectorDefinition | None = None
        if not fault:
            try:
                definition = _load(points[0])
            except InvalidConnector as error:
                fault = str(error)
        found.append(InstalledConnector(name, package, definition, fault))
    return tuple(sorted(found, key=lambda one: (one.connector_id, one.package or "")))


def installed_connectors() -> Mapping[str, ConnectorDefinition]:
    """Every usable Connector by its ID, sorted by ID.

    A package whose Connector cannot be used does not stop the others; it is logged, by name.
    """
    usable: dict[str, ConnectorDefinition] = {}
    for one in survey_connectors():
        if one.definition is None:
            _LOG.warning("%s", one.fault)
        else:
            usable[one.connector_id] = one.definition
    return usable


def connector(connector_id: str) -> ConnectorDefinition:
    """The installed Connector of that ID; others are not loaded.

    Raises:
        UnknownConnection: none of that ID is installed; the message lists those that are.
        InvalidConnector: the package that brings it cannot be used.
    """
    if connector_id in _BUILT_IN:
        return _load(_BUILT_IN[connector_id])
    points = _entry_points()
    if connector_id in points:
        fault = _clash(points[connector_id])
        if fault:
            raise InvalidConnector(fault)
        return _load(points[connector_id][0])
    known = ", ".join(sorted({*_BUILT_IN, *points}))
    raise UnknownConnection(
        f"No Connector {connector_id!r} is installed; known are: {known}. Install the package that brings it."
    )
