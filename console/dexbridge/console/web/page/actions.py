"""What an operator can do with a form. Each deed answers with the place to go to next."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import quote

from dexbridge.console.web.page.access import Operator
from dexbridge.console.web.page.forms import Form
from dexbridge.console.web.refusals import Refused
from dexbridge.sessions import AgentSessionClient

__all__ = ["NOTES", "Actions"]

NOTES: Final[Mapping[str, str]] = {
    "gone": "That call does not wait any more: somebody has decided, or the turn has ended.",
    "settled": "That outcome is settled already.",
    "not-taken": "The session did not take that message: it has ended, or too many wait.",
    "not-steered": "No turn runs that could be steered; send it as a message.",
    "nothing-runs": "No turn runs that could be cancelled.",
    "ended": "The session has ended already.",
}
"""What a page says when the session did not accept, by the word in the address."""


class Actions:
    """The deeds.

    Args:
        reader: Any client of the engine.
        clients: By flow type, for what begins a turn.
    """

    def __init__(self, reader: AgentSessionClient, clients: Mapping[str, AgentSessionClient]) -> None:
        self._reader = reader
        self._clients = clients
        self._deeds: Mapping[str, Callable[[Operator, Form], Awaitable[str]]] = {
            "start": self._start,
            "send": self._send,
            "steer": self._steer,
            "approve": self._approve,
            "reject": self._reject,
            "settle": self._settle,
            "cancel": self._cancel,
            "end": self._end,
        }

    async def do(self, deed: str, operator: Operator, form: Form) -> str:
        """Does it; returns the path to show.

        Raises:
            Refused: there is no such deed, or a field is missing.
            InvalidRequest, UnknownSession: as the session says.
        """
        found = self._deeds.get(deed)
        if found is None:
            raise Refused(404, [("form", "There is no such form.")])
        return await found(operator, form)

    async def _start(self, _operator: Operator, form: Form) -> str:
        client = self._clients.get(form.need("flow_type"))
        if client is None:
            raise Refused(400, [("flow_type", "This server has no such flow.")])
        session_id = f"console-{uuid.uuid4()}"
        await client.start_session(session_id)
        text = form.text("text")
        if text is not None:
            await client.send_user_message(session_id, text)
        return _session(session_id)

    async def _send(self, _operator: Operator, form: Form) -> str:
        session_id = form.need("session_id")
        text = form.text("text")
        # A session that is not there is said also when there is nothing to send.
        flow_type = (await self._reader.get_snapshot(session_id)).state.flow_type
        if text is None:
            return _session(session_id)
        client = self._clients.get(flow_type, self._reader)
        return _session(session_id, "" if await client.send_user_message(session_id, text) else "not-taken")

    async def _steer(self, _operator: Operator, form: Form) -> str:
        session_id = form.need("session_id")
        text = form.text("text")
        if text is None:
            await self._reader.get_snapshot(session_id)
            return _session(session_id)
        return _session(session_id, "" if await self._reader.steer(session_id, text) else "not-steered")

    async def _approve(self, operator: Operator, form: Form) -> str:
        return await self._decide(operator, form, approved=True)

    async def _reject(self, operator: Operator, form: Form) -> str:
        return await self._decide(operator, form, approved=False)

    async def _decide(self, operator: Operator, form: Form, *, approved: bool) -> str:
        session_id, interrupt_id = form.need("session_id"), form.need("interrupt_id")
        waiting = (await self._reader.get_snapshot(session_id)).state.pending_interrupt
        # The decision is about what was on the screen, so what waits now must be just that.
        if waiting is None or (waiting.interrupt_id, waiting.fingerprint) != (interrupt_id, form.need("fingerprint")):
            return _place(form, session_id, "gone")
        accepted = await self._reader.resolve_interrupt(
            session_id,
            interrupt_id,
            approved=approved,
            rejection_message=None if approved else form.text("reason"),
            decided_by=operator.name,
        )
        return _place(form, session_id, "" if accepted else "gone")

    async def _settle(self, operator: Operator, form: Form) -> str:
        session_id, sent = form.need("session_id"), form.need("sent")
        if sent not in ("yes", "no"):
            raise Refused(400, [("sent", "must be yes or no")])
        accepted = await self._reader.resolve_outcome(
            session_id,
            form.need("step_execution_id"),
            sent=sent == "yes",
            note=form.text("note"),
            settled_by=operator.name,
        )
        return _place(form, session_id, "" if accepted else "settled")

    async def _cancel(self, _operator: Operator, form: Form) -> str:
        session_id = form.need("session_id")
        return _session(session_id, "" if await self._reader.cancel_turn(session_id) else "nothing-runs")

    async def _end(self, _operator: Operator, form: Form) -> str:
        session_id = form.need("session_id")
        return _session(session_id, "" if await self._reader.end_session(session_id) else "ended")


def _place(form: Form, session_id: str, note: str) -> str:
    """Back to where the form was."""
    if form.get("back") == "inbox":
        return f"/inbox{f'?note={note}' if note else ''}"
    return _session(session_id, note)


def _session(session_id: str, note: str = "") -> str:
    return f"/session?id={quote(session_id, safe='')}{f'&note={note}' if note else ''}"
