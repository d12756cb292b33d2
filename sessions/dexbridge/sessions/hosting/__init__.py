"""The one host of Steps: what an engine gives it, how a Step is run, and which attempts this process knows of."""

from dexbridge.sessions.hosting.port import HostedSessions
from dexbridge.sessions.hosting.step_host import StepHost

__all__ = ["HostedSessions", "StepHost"]
