"""The place of one member of a connection file, for what is found only after the file was read."""

from __future__ import annotations

from pathlib import Path as FilePath

from dexbridge.config.reading.file_fault import FileFault
from dexbridge.config.reading.private_file import CONNECTION_FILE_LIMIT, read_private_file
from dexbridge.config.sealing import sealed
from dexbridge.config.telling.diagnostic import Place
from dexbridge.config.telling.finding import Path


def place_of(file: str, member: Path) -> Place | None:
    """Where a member stands in the file now, or the nearest value around it; None when the file cannot be read."""
    return sealed("looking up a place in the connection file", lambda: _place_of(file, member))


def _place_of(file: str, member: Path) -> Place | None:
    # Only here: a good file needs no grammar.
    from dexbridge.config.telling import places  # noqa: PLC0415
    from dexbridge.config.telling.locating import Lines  # noqa: PLC0415

    read = read_private_file(file, limit=CONNECTION_FILE_LIMIT)
    if isinstance(read, FileFault):
        return None
    data = read.content.open()
    spots = places.json_spots if FilePath(file).suffix.lower() == ".json" else places.toml_spots
    spot, _ = spots(data).at(member)
    return Lines(data).place(spot.start)
