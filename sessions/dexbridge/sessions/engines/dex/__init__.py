"""Durable execution by a Dex Server, through the Dex SDK for Python."""

from dexbridge.sessions.engines.dex.engine import DexEngine
from dexbridge.sessions.engines.dex.flow import (
    Answer,
    DexSessionFlow,
    InterruptDecision,
    OutcomeSettlement,
    UserText,
    dex_flow,
)

__all__ = [
    "Answer",
    "DexEngine",
    "DexSessionFlow",
    "InterruptDecision",
    "OutcomeSettlement",
    "UserText",
    "dex_flow",
]
