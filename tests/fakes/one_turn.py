"""One turn of the session s-1 in a process of its own: `python -m tests.fakes.one_turn <ask|leave|take> <url> <words>`.

`ask` says the words and waits for the answer, as a Worker. `leave` only says them, as a client, and `take` waits for
the answer to what was left, as a Worker.
"""

from __future__ import annotations

import asyncio
import sys

from dexbridge.sessions import AgentSessionClient, EventKind, open_engine
from tests.sessions.conftest import Talk, flow_of


async def main(how: str, url: str, words: str) -> None:
    async with open_engine(url, [flow_of([])], run_steps=how != "leave") as engine, asyncio.timeout(30):
        talk = Talk(AgentSessionClient(engine))
        await talk.client.start_session(talk.session_id)
        if how != "take":
            assert await talk.say(words)
        if how == "leave":
            return
        async for event in talk.client.read_events(talk.session_id, follow=True):
            if event.kind is EventKind.TURN_ANSWERED and str(event.data["text"]).endswith(words):
                print(event.data["text"])
                return


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
