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
from dexbridge.sessions.engines.dex.starting import start_session

__all__ = [
    "Answer",
    "DexEngine",
    "DexSessionFlow",
    "InterruptDecision",
    "OutcomeSettlement",
    "UserText",
    "dex_flow",
    "start_session",
]
