"""The conformance suite: what every Connector has to hold to, run by its author with pytest. Needs pytest and aiohttp.

class TestNotes(ConnectorConformance[LocalNotes]):
    definition = NOTES
    examples: ClassVar = {
        "getNote": Example({"note_id": "n1"}, {"notFound": {"note_id": "n2"}, ...}),
        "addNote": Example({"text": "Hello"}, {"refused": {"text": "forbidden"}}),
    }

    def new_server(self) -> LocalNotes: ...
    def new_connection(self, server: LocalNotes) -> MemoryConnection: ...
    def bind(self, held: MemoryConnection, http_timeout: timedelta) -> Sequence[BoundOperation]: ...
    def count_written(self, server: LocalNotes) -> int: ...
"""

from dexbridge.connectors.testing.conformance.example import Example, Reach
from dexbridge.connectors.testing.conformance.sequences import Tally, play_sequences
from dexbridge.connectors.testing.conformance.suite import ConnectorConformance

__all__ = ["ConnectorConformance", "Example", "Reach", "Tally", "play_sequences"]
