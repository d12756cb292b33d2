"""Values on the wire: their limit, and large ones kept aside as the Dex Server keeps them."""

from __future__ import annotations

import hashlib

from dex.dexpb import dex_pb2 as pb

__all__ = ["Blobs", "ValueTooLarge"]

MOST_BYTES = 2 * 1024 * 1024
"""What the engines behind Dex take as one payload."""

ASIDE_BYTES = 16 * 1024


class ValueTooLarge(Exception):
    """A value is over the limit."""


class Blobs:
    """Keeps large strings and objects by ID, so that Workers and clients have to load them."""

    def __init__(self) -> None:
        self._blobs: dict[tuple[str, str], pb.Value] = {}
        self.largest = 0

    def outward(self, flow_id: str, value: pb.Value) -> pb.Value:
        """The value as it is sent."""
        size = value.ByteSize()
        self.largest = max(self.largest, size)
        if size > MOST_BYTES:
            raise ValueTooLarge(f"{size} bytes")
        if size <= ASIDE_BYTES:
            return value
        blob_id = hashlib.sha256(value.SerializeToString()).hexdigest()
        self._blobs[flow_id, blob_id] = value
        if value.WhichOneof("kind") == "string_value":
            return pb.Value(internal_blob_id_for_string_value=blob_id)
        return pb.Value(internal_blob_id_for_obj_value=blob_id)

    def load(self, request: pb.LoadBlobsRequest) -> pb.LoadBlobsResponse:
        response = pb.LoadBlobsResponse()
        for entry in request.entries:
            value = entry.blob_value
            blob_id = value.internal_blob_id_for_string_value or value.internal_blob_id_for_obj_value
            response.values[blob_id].CopyFrom(self._blobs[entry.flow_id, blob_id])
        return response
