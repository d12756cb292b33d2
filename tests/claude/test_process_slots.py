"""The bound of CLI processes: first come first served, nothing lost, shared by the flows of a Worker."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from dexbridge.claude import CliProcesses
from dexbridge.claude.processes.slots import ProcessSlots, default_most, shared_slots
from dexbridge.claude.testing import Reply, Text
from dexbridge.sessions import AgentSessionClient, EventKind, InvalidRequest
from tests.fakes.claude_stage import Stage, cli_processes

GIBIBYTE = 2**30


class Holder:
    """Holds slots with processes that may be ended."""

    def __init__(self, slots: ProcessSlots, waiting: int) -> None:
        self.slots = slots
        self.waiting = waiting

    async def make_room(self) -> bool:
        if self.waiting == 0:
            return False
        self.waiting -= 1
        self.slots.give_back()
        return True


async def taken(slots: ProcessSlots, order: list[int], number: int) -> None:
    await slots.take()
    order.append(number)


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_slots_are_given_in_the_order_they_were_asked_for() -> None:
    slots, order = ProcessSlots(1), list[int]()
    await slots.take()
    asking: list[asyncio.Task[None]] = []
    for number in range(4):
        asking.append(asyncio.create_task(taken(slots, order, number)))
        await settled()
    assert slots.wanted
    for _ in asking:
        slots.give_back()
        await settled()
    assert order == [0, 1, 2, 3]
    assert not slots.wanted


async def test_who_comes_while_others_wait_does_not_go_before_them() -> None:
    slots, order = ProcessSlots(1), list[int]()
    await slots.take()
    first = asyncio.create_task(taken(slots, order, 1))
    await settled()
    slots.give_back()
    second = asyncio.create_task(taken(slots, order, 2))
    await settled()
    assert order == [1]
    slots.give_back()
    await asyncio.gather(first, second)
    assert order == [1, 2]


@pytest.mark.parametrize("given", [False, True])
async def test_a_slot_is_not_lost_when_its_asker_is_cancelled(given: bool) -> None:
    slots, order = ProcessSlots(1), list[int]()
    await slots.take()
    gone = asyncio.create_task(taken(slots, order, 1))
    await settled()
    if given:
        # Given and cancelled at once: it never hears that it has it.
        slots.give_back()
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    if not given:
        slots.give_back()
    await asyncio.wait_for(taken(slots, order, 2), 5)
    assert order == [2]


async def test_a_slot_that_waits_for_long_is_taken_from_whoever_holds_one() -> None:
    slots, order = ProcessSlots(2), list[int]()
    idle, long = Holder(slots, 0), Holder(slots, 1)
    slots.evict_from(idle)
    slots.evict_from(long)
    await slots.take()
    await slots.take()
    await asyncio.wait_for(taken(slots, order, 1), 5)
    assert (order, long.waiting) == ([1], 0)


def test_equal_bounds_are_one_bound() -> None:
    mine = shared_slots(CliProcesses(most=7))
    assert shared_slots(CliProcesses(most=7)) is mine
    assert shared_slots(CliProcesses(most=7, park_call=timedelta(0))) is not mine


@pytest.mark.parametrize(
    ("memory", "cores", "most"),
    [(16 * GIBIBYTE, 2, 16), (2 * GIBIBYTE, 2, 4), (64 * GIBIBYTE, 8, 64), (GIBIBYTE // 4, 2, 1)],
)
def test_the_default_follows_memory_and_cores(memory: int, cores: int, most: int) -> None:
    assert default_most(memory, cores) == most


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"most": 0}, ["most must be a whole number from 1", "not 0"]),
        ({"most": "3"}, ["most", "not '3'"]),
        ({"most": True}, ["most", "not True"]),
        ({"park_call": 5}, ["park_call must be a timedelta", "not 5"]),
        ({"park_call": timedelta(minutes=10)}, ["park_call", "0:09:00"]),
        ({"park_approval": timedelta(seconds=-1), "most": -1}, ["park_approval", "most", "not -1"]),
    ],
)
def test_a_bound_that_cannot_be_is_refused_at_once_with_all_its_faults(
    values: dict[str, Any], named: list[str]
) -> None:
    with pytest.raises(InvalidRequest) as raised:
        CliProcesses(**values)
    assert all(word in str(raised.value) for word in named)


async def test_two_flows_of_a_worker_share_the_bound(bare_stage: Stage) -> None:
    stage = bare_stage
    stage.model.script(Reply(Text("One."), delay=0.5), Reply(Text("Two.")))
    most_one = CliProcesses(most=1)
    await stage.open(stage.flow(processes=most_one), stage.flow(processes=most_one, flow_type="Other"))
    clients = {"s-1": stage.client, "s-2": AgentSessionClient(stage.engine, "Other")}
    for session_id, client in clients.items():
        await client.start_session(session_id)
        await client.send_user_message(session_id, "Hello.")
    most = 0

    async def answered(session_id: str, client: AgentSessionClient) -> None:
        async for event in client.read_events(session_id, follow=True):
            if event.kind is EventKind.TURN_ANSWERED:
                return

    answers = asyncio.gather(*(answered(*one) for one in clients.items()))
    while not answers.done():
        most = max(most, len(cli_processes()))
        await asyncio.sleep(0.02)
    await answers
    assert most == 1
