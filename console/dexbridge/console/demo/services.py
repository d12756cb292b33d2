"""The model and the Slack of the demo: local servers, or the real ones of the environment."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dexbridge.claude.testing import ScriptedModel, order_support_script
from dexbridge.config import FILE_VARIABLE
from dexbridge.config.writing import NewConnection, write_connection_file
from dexbridge.connectors import Secret
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.console.demo.settings import KEY_VARIABLE

CONNECTION_NAME: Final = "support-slack"

# The local Worker gets no credential, proxy or switch of the person who runs the demo.
_PASSED_ON: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")


@dataclass(frozen=True, slots=True)
class LocalServices:
    """A scripted model and a local Slack, and the environment of a Worker that uses them."""

    model: ScriptedModel
    slack: LocalSlack
    environment: Mapping[str, str]


@asynccontextmanager
async def local_services(folder: Path) -> AsyncGenerator[LocalServices]:
    """Serves both on free ports of 127.0.0.1, and writes the connection file into the folder."""
    async with ScriptedModel(order_support_script) as model, LocalSlack() as slack:
        connections = folder / "connections.json"
        write_connection_file(
            str(connections),
            [
                NewConnection(
                    "slack",
                    CONNECTION_NAME,
                    configuration={"endpoint": slack.endpoint},
                    credentials={"bot_token": Secret(slack.bot_token), "user_token": Secret(slack.user_token)},
                )
            ],
        )
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        environment[KEY_VARIABLE] = "no-key-is-needed-here"
        environment["ANTHROPIC_BASE_URL"] = model.url
        environment[FILE_VARIABLE] = str(connections)
        yield LocalServices(model, slack, environment)


def real_environment() -> dict[str, str]:
    """The environment of a Worker that uses the services this process's environment names."""
    # The Worker works in another folder, where a relative path would name another file.
    return {**os.environ, FILE_VARIABLE: str(Path(os.environ[FILE_VARIABLE]).absolute())}
