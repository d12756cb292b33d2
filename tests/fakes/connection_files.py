"""Connection files for tests: valid documents, and what was said of a file."""

from __future__ import annotations

from typing import Any

from dexbridge.config import Inspection

BOT_TOKEN = "xoxb-2025-abcDEF"
USER_TOKEN = "xoxp-2025-abcDEF"
VERSION = "connectors.dex.dev/local-connections/v1alpha1"


def record(**changes: Any) -> dict[str, Any]:
    """A valid Slack record as Dex Web writes it; keyword arguments replace members, None removes one."""
    whole: dict[str, Any] = {
        "connectorId": "slack",
        "modulePath": "example.com/connectors/slack",
        "moduleVersion": "v0.21.0",
        "provider": "slack",
        "connectionName": "support-slack",
        "configuration": {},
        "credentials": {"bot_token": BOT_TOKEN},
        **changes,
    }
    return {key: value for key, value in whole.items() if value is not None}


def document(*records: Any, **changes: Any) -> dict[str, Any]:
    """A document with these records; keyword arguments replace or add top-level members."""
    return {"schemaVersion": VERSION, "connections": list(records), "triggerBindings": [], **changes}


def codes(inspection: Inspection) -> list[str]:
    """The codes of the diagnostics in file order."""
    return [str(one.code) for one in inspection.diagnostics]


def places(inspection: Inspection) -> list[tuple[str, int, int]]:
    """Code, line and column of each diagnostic."""
    return [
        (str(one.code), one.place.line, one.place.column) for one in inspection.diagnostics if one.place is not None
    ]
