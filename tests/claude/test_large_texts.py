"""System prompts that fit into no argument of a program, and lines of the CLI that fit into no usual buffer."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import create_sdk_mcp_server, tool

from dexbridge.claude.testing import Reply, Text, ToolUse
from dexbridge.sessions import EventKind
from tests.fakes.claude_stage import Stage, answer_of, cli_processes, error_of, slack_reply

OpenStage = Callable[..., Awaitable[Stage]]
LONG = f"You answer in Slack threads.\n{'Größe. ' * 25_000}\n END "


@pytest.mark.parametrize(
    ("prompt", "begins"),
    [
        (LONG, True),
        ({"type": "custom", "prompt": LONG, "snapshot": False}, True),
        ({"type": "preset", "preset": "claude_code", "append": LONG}, False),
    ],
    ids=["text", "custom", "append"],
)
async def test_a_system_prompt_of_any_length_reaches_the_model_whole(
    open_stage: OpenStage, prompt: Any, begins: bool
) -> None:
    assert len(LONG.encode()) > 200_000
    stage = await open_stage(options={"system_prompt": prompt})
    stage.model.script(Reply(slack_reply()), Reply(Text("Posted.")))

    assert answer_of(await stage.turn("Post it.", approve=True)) == "Posted."

    for request in stage.model.requests:
        text = "".join(block["text"] for block in request.body["system"])
        assert text.endswith(LONG)
        assert text.count("END") >= 1
        assert begins == (request.body["system"][-1]["text"] == LONG)


def mode_of(file: Path) -> int:
    return file.stat().st_mode & 0o777


async def test_a_system_prompt_is_in_no_process_list_and_in_no_file_others_can_read(open_stage: OpenStage) -> None:
    commands: list[str] = []
    modes: list[int] = []
    files: list[Path] = []

    @tool("look", "Looks around.", {})
    async def look(_arguments: dict[str, Any]) -> dict[str, Any]:
        (process,) = cli_processes()
        command = process.cmdline()
        commands.append(" ".join(command))
        files.append(Path(command[command.index("--system-prompt-file") + 1]))
        modes.append(mode_of(files[0]))
        return {"content": [{"type": "text", "text": "nothing"}]}

    server = create_sdk_mcp_server("own", tools=[look])
    stage = await open_stage(options={"mcp_servers": {"own": server}, "allowed_tools": ["mcp__own__look"]})
    stage.model.script(Reply(ToolUse("mcp__own__look")), Reply(Text("Nothing.")))
    await stage.turn("Look.")

    assert modes == [0o600]
    assert "--system-prompt-file" in commands[0]
    assert "You support orders." not in commands[0]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"extra_args": {"append-system-prompt": LONG}}, "extra_args['append-system-prompt'] has 2"),
        ({"mcp_servers": {"own": {"command": "x", "env": {"LONG": LONG}}}}, "mcp_servers has 425,"),
        ({"settings": f'{{"companyAnnouncements": ["{"x" * 140_000}"]}}'}, "settings has 140,0"),
        ({"allowed_tools": [f"Bash({'x' * 140_000})"]}, "allowed_tools has 140,0"),
    ],
    ids=["flag", "servers", "settings", "allowed_tools"],
)
async def test_what_cannot_be_handed_over_is_refused_with_its_size(
    open_stage: OpenStage, options: dict[str, Any], named: str
) -> None:
    stage = await open_stage(options=options)

    error = error_of(await stage.turn("Post it."))

    assert named in error
    assert "131,071" in error
    assert len(error) < 1_000
    assert stage.model.requests == ()


def picture(file: Path) -> int:
    """Writes a PNG of noise, which no compression makes smaller; returns its size in bytes."""
    side = 700
    noise = random.Random(1)
    rows = b"".join(b"\0" + noise.randbytes(side * 3) for _ in range(side))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return file.write_bytes(png)


async def test_a_line_of_the_cli_over_a_mebibyte_is_read(open_stage: OpenStage, tmp_path: Path) -> None:
    file = tmp_path / "receipt.png"
    assert picture(file) > 1024 * 1024
    stage = await open_stage(options={"tools": ["Read"], "allowed_tools": ["Read"], "cwd": str(tmp_path)})
    stage.model.script(Reply(ToolUse("Read", {"file_path": str(file)})), Reply(Text("A receipt.")))

    events = await stage.turn("What is on it?")

    assert answer_of(events) == "A receipt."
    (step,) = [event for event in events if event.kind is EventKind.STEP_COMPLETED]
    assert step.data["segment_attempts"] == 1
    assert len(stage.results()) == 1
