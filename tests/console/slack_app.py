"""An application with a Slack tool, for the console's tests.

`$TOKEN` in a message becomes a token in what the agent does, as if it had it from elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from dexbridge.sessions import AgentSessionFlow, Conversation, SegmentEnd
from tests.fakes.scripted_runner import ScriptedRunner
from tests.fakes.slack_flow import slack_flow


class _Repeating(ScriptedRunner):
    async def run_until_call(self, conversation: Conversation, prompts: Sequence[str]) -> SegmentEnd:
        told = [prompt.replace("$TOKEN", os.environ["REPEATED"]) for prompt in prompts]
        return await super().run_until_call(conversation, told)


@asynccontextmanager
async def opened() -> AsyncGenerator[Sequence[AgentSessionFlow]]:
    async with slack_flow(os.environ["DEX_CONNECTOR_CONFIG_FILE"], runner=_Repeating()) as flow:
        yield [flow]
