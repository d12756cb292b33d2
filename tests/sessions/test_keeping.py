"""prune leaves what a person has yet to settle: an unknown outcome is never lost."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from dexbridge.sessions import UnknownSession
from dexbridge.toolsource import AttemptResult, Dispatch, Unsettled
from tests.fakes.function_tool import FunctionTool
from tests.sessions.conftest import Opening, Talk

BOTH_DATABASES = True


async def lost(_dispatch: Dispatch, _arguments: Mapping[str, Any]) -> AttemptResult:
    return Unsettled("cut")


@pytest.mark.parametrize("ended", [False, True])
async def test_an_outcome_nobody_knows_keeps_its_session(opening: Opening, ended: bool) -> None:
    loses = FunctionTool("send_parcel", rule=False, function=lost)
    async with opening(loses, FunctionTool(rule=False)) as talk:
        await talk.ask('call send_parcel {"order_id": "7"}\ncall send_parcel {"order_id": "8"}')
        # What only mentions an unknown outcome is none.
        known = Talk(talk.client, "s-2")
        await talk.client.start_session("s-2")
        await known.ask('call cancel_order {"order_id": "outcome_unknown"}')
        if ended:
            await talk.client.end_session("s-1")
        assert await talk.client.prune(timedelta(0)) == ["s-2"]
        seven, eight = (await talk.snapshot()).unknown_calls
        await talk.client.resolve_outcome("s-1", seven.step_execution_id, sent=True)
        assert await talk.client.prune(timedelta(0)) == []
        assert (await talk.snapshot()).unknown_calls == (eight,)
        await talk.client.resolve_outcome("s-1", eight.step_execution_id, sent=False)
        assert await talk.client.prune(timedelta(0)) == ["s-1"]
        with pytest.raises(UnknownSession):
            await talk.snapshot()
