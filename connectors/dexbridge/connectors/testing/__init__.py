"""What a Connector's tests need: a local Slack, and a project made in memory.

`dexbridge.connectors.testing.local_slack` is imported by its own name; it needs aiohttp.
"""

from dexbridge.connectors.testing.memory_project import MemoryConnection, MemoryProject

__all__ = ["MemoryConnection", "MemoryProject"]
