"""The Call ID: the identity a provider call keeps over every retry and restart."""

from __future__ import annotations

import hashlib
import struct
import uuid
from typing import Final

CALL_ID_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "https://superdurable.dev/dex-connectors/call-id/v1")


def derive_call_id(flow_id: str, step_execution_id: str, connector_id: str, operation_id: str) -> str:
    """The Call ID of one provider call: UUIDv5 over the four length-prefixed fields, in this order.

    Run, attempt, Worker, time and connection are not part of it, so a repeated Step keeps its Call ID.
    This is a compatibility contract with the public Connector library ("Call ID", dex-contract.md).

    Raises:
        ValueError: a field is not encodable as UTF-8.
    """
    name = bytearray()
    for field in (flow_id, step_execution_id, connector_id, operation_id):
        encoded = field.encode("utf-8")
        name += struct.pack(">I", len(encoded)) + encoded
    # uuid.uuid5 takes a name of bytes only from Python 3.12 on; SHA-1 is what UUIDv5 prescribes.
    digest = hashlib.sha1(CALL_ID_NAMESPACE.bytes + bytes(name), usedforsecurity=False).digest()
    return str(uuid.UUID(bytes=digest[:16], version=5))
