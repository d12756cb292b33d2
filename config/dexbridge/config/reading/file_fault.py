"""FileFault: why a file is refused before anything in it is judged."""

from __future__ import annotations

from dataclasses import dataclass

from dexbridge.config.telling.codes import Code


@dataclass(frozen=True)
class FileFault:
    """Why a file is refused: a sentence naming it, and what mends it where the file is."""

    code: Code
    message: str
    mend: str
