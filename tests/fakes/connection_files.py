"""Connection files for tests: valid documents, ways to break them, and what was said of a file."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from hypothesis import strategies as st

from dexbridge.config import Inspection, Sealed, inspect_file
from dexbridge.connectors import ConnectorDefinition

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


_NAME = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=12).filter(str.strip)
_TOKEN_TAIL = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=12, max_size=24)
_EXTRA = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_CONFIGURATION = st.fixed_dictionaries(
    {},
    optional={
        "endpoint": st.sampled_from(["https://slack.com/api", "http://127.0.0.1:8790/api"]),
        "maxResponseBytes": st.integers(1, 4_194_304),
        "maxMessageCharacters": st.integers(1, 40_000),
    },
)
_CREDENTIALS = st.fixed_dictionaries(
    {},
    optional={
        "bot_token": _TOKEN_TAIL.map("xoxb-1-{}".format),
        "user_token": _TOKEN_TAIL.map("xoxp-1-{}".format),
        "auth_method": st.just("bot"),
    },
)
_EXTRA_MEMBERS = st.dictionaries(st.sampled_from(["future", "authMethodId", "note"]), _EXTRA, max_size=2)
_RECORD = st.builds(
    record,
    connectionName=_NAME,
    configuration=_CONFIGURATION,
    credentials=_CREDENTIALS,
    credentialExpiresAt=st.none() | st.just("2999-12-31T00:00:00Z"),
    extra=_EXTRA_MEMBERS,
)
VALID_DOCUMENTS = st.lists(_RECORD, max_size=3, unique_by=lambda one: one["connectionName"]).map(
    lambda records: document(*records)
)
"""Documents that must be accepted."""


def to_toml(whole: dict[str, Any]) -> str:
    """The document as TOML; members TOML cannot say, such as null, are left out."""

    def value(one: Any) -> str:
        if isinstance(one, dict):
            return "{" + ", ".join(members(cast(dict[str, Any], one))) + "}"
        if isinstance(one, list):
            return "[" + ", ".join(value(each) for each in cast(list[Any], one) if each is not None) + "]"
        return json.dumps(one, ensure_ascii=False).replace("\x7f", "\\u007f")

    def members(one: dict[str, Any]) -> list[str]:
        return [f"{value(k)} = {value(v)}" for k, v in one.items() if v is not None]

    lines = [f"schemaVersion = {value(whole['schemaVersion'])}", ""]
    if not whole["connections"]:
        lines.append("connections = []")
    for one in whole["connections"]:
        lines += ["[[connections]]", *members(one), ""]
    return "\n".join(lines) + "\n"


def tokens_of(whole: dict[str, Any]) -> list[str]:
    """The credentials of a document."""
    return [
        value for one in whole["connections"] for name, value in one["credentials"].items() if name.endswith("_token")
    ]


@dataclass(frozen=True)
class Mutated:
    """A file made from a valid one.

    Args:
        data: its bytes.
        name: its name.
        tokens: what must not be said.
        certainly_invalid: it has to be refused.
    """

    data: bytes
    name: str
    tokens: list[str] = field(repr=False)
    certainly_invalid: bool


def _breaks(whole: dict[str, Any], draw: st.DrawFn) -> dict[str, Any]:
    """Breaks one rule of the schema."""
    broken: dict[str, Any] = copy.deepcopy(whole)
    if broken["connections"] and draw(st.booleans()):
        _break_record(broken["connections"], draw)
        return broken
    match draw(st.sampled_from(["version", "top", "no-version", "no-connections", "bindings"])):
        case "version":
            broken["schemaVersion"] = draw(_EXTRA)
        case "top":
            broken[draw(_NAME)] = draw(_EXTRA)
        case "no-version":
            del broken["schemaVersion"]
        case "no-connections":
            broken["connections"] = draw(_EXTRA.filter(lambda value: value != []))
        case _:
            broken["triggerBindings"] = [{"connectorId": "slack"}]
    return broken


def _break_record(records: list[dict[str, Any]], draw: st.DrawFn) -> None:
    one = draw(st.sampled_from(records))
    key = draw(st.sampled_from(["connectorId", "provider", "connectionName", "configuration", "credentials"]))
    ways = ["twice", "case", "missing", "type", "blank", "credential", "shape", "configuration", "expiry"]
    match draw(st.sampled_from(ways)):
        case "twice":
            records.append(one)
        case "case":
            one[key.upper()] = one.pop(key)
        case "missing":
            del one[draw(st.sampled_from(["connectorId", "connectionName", "configuration", "credentials"]))]
        case "type":
            one[key] = draw(st.integers() | st.lists(_NAME))
        case "blank":
            one[draw(st.sampled_from(["connectorId", "provider", "connectionName"]))] = " "
        case "credential":
            one["credentials"][draw(st.sampled_from(["bot_tokn", "password", "xoxb-1-SWAPPED"]))] = "x"
        case "shape":
            one["credentials"]["bot_token"] = draw(st.sampled_from(["", "x y", "xoxp-1", "xoxb-1\n2", "xoxb-é"]))
        case "configuration":
            one["configuration"][draw(st.sampled_from(["endpoint", "maxResponseBytes", "other"]))] = -1
        case _:
            one["credentialExpiresAt"] = draw(st.sampled_from(["soon", "2026-13-01T00:00:00Z", 7]))


_PIECES = st.sampled_from([b"", b",", b'"', b"{", b"}", b"[", b"]", b"\n", b"\\", b"\xff", b"\0", b"//", b"'", b"="])


def _damages(data: bytes, draw: st.DrawFn) -> bytes:
    """Changes bytes at random places."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        length = draw(st.integers(0, 3))
        new = draw(_PIECES)
        data = data[:at] + new + data[at + length :]
    return data


@st.composite
def mutated_files(draw: st.DrawFn) -> Mutated:
    """Files one rule away from a valid one, or a few bytes away from one."""
    whole = draw(VALID_DOCUMENTS)
    toml = draw(st.booleans())
    damages = draw(st.booleans())
    broken = whole if damages else _breaks(whole, draw)
    certain = not damages
    if toml and set(broken) <= _TOP and "schemaVersion" in broken and _has_records(broken):
        if broken["triggerBindings"] or broken["schemaVersion"] is None:
            certain = False
        data, name = to_toml(broken).encode(), "connections.toml"
    else:
        data, name = json.dumps(broken, indent=draw(st.sampled_from([None, 2]))).encode(), "connections.json"
    return Mutated(_damages(data, draw) if damages else data, name, tokens_of(whole), certain)


def _has_records(whole: dict[str, Any]) -> bool:
    records: object = whole.get("connections")
    return isinstance(records, list) and all(isinstance(one, dict) for one in cast(list[object], records))


_TOP = frozenset({"schemaVersion", "connections", "triggerBindings"})


def check_mutated(mutated: Mutated, folder: Path, connectors: Mapping[str, ConnectorDefinition]) -> Inspection:
    """Inspects a mutated file and checks what must hold for every file."""
    path = folder / mutated.name
    path.write_bytes(mutated.data)
    path.chmod(0o600)
    inspection = inspect_file(str(path), Sealed({}), connectors)
    if mutated.certainly_invalid or not _parses(mutated):
        assert inspection.errors, mutated.data
    lines = [line + "\n" for line in mutated.data.decode(errors="replace").split("\n")]
    lines[-1] = lines[-1][:-1]
    for one in inspection.diagnostics:
        assert one.place is not None
        assert 1 <= one.place.line <= len(lines), (one, mutated.data)
        assert 1 <= one.place.column <= max(1, len(lines[one.place.line - 1])), (one, mutated.data)
        said = f"{one}{one.source}".replace(str(path), "")
        for token in mutated.tokens:
            assert token not in said
            assert token[7:] not in said, (one, mutated.data)
    ordered = [one.place for one in inspection.diagnostics if one.place is not None]
    assert ordered == sorted(ordered)
    return inspection


def _parses(mutated: Mutated) -> bool:
    try:
        text = mutated.data.decode()
        _ = tomllib.loads(text) if mutated.name.endswith(".toml") else json.loads(text)
    except ValueError:
        return False
    return True
