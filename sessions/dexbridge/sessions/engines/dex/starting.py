"""Starting a session: its Flow begins with the session's state as an Attribute, and with no Step."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import dex

from dexbridge.sessions.changes.requests import new_session
from dexbridge.sessions.engines.dex.flow import DexSessionFlow
from dexbridge.sessions.engines.dex.kept.schema import EVENTS, SESSION, number
from dexbridge.sessions.engines.dex.kept.stored import Envelope, encode
from dexbridge.sessions.engines.dex.kept.writing import commit_of
from dexbridge.sessions.state.event import SessionEvent
from dexbridge.sessions.state.transition import Transition

__all__ = ["begin", "start_session"]


async def start_session(client: dex.AsyncClient, flow: DexSessionFlow, session_id: str) -> bool:
    """Starts a session with an application's own client; `False` when the ID was used before.

    Args:
        client: A client whose Registry holds the flow.
        flow: Of `dex_flow`.
        session_id: As `AgentSessionClient.start_session` takes it; it is the Flow ID of every Call ID.
    """
    try:
        await begin(client, flow, new_session(session_id, flow.session_flow.flow_type))
    except dex.FlowAlreadyStartedError:
        return False
    return True


async def begin(client: dex.AsyncClient, flow: DexSessionFlow, first: Transition) -> Sequence[SessionEvent]:
    """Starts the Flow and returns the session's first events. Raises what the client raises."""
    nothing = Envelope(version=-1, token="", updated_at=first.state.created_at, state=first.state)
    commit = commit_of(nothing, first, uuid.uuid4().hex)
    envelope = nothing.model_copy(update={"version": 0, "token": commit.token, "state": commit.state})
    # A Flow ID that was used again would repeat Call IDs.
    options = dex.StartFlowOptions(id_reuse_policy=dex.IdReusePolicy.DISALLOW).with_attribute(SESSION, encode(envelope))
    for event in commit.events:
        options = options.with_attribute(EVENTS, number(event.sequence), encode(event))
    await client.start_flow(flow, first.state.session_id, None, options)
    return commit.events
