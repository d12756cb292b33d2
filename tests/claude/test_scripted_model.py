"""The scripted model, asked by the real Claude Code CLI."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    TextBlock,
    create_sdk_mcp_server,
    tool,
)

from dexbridge.claude.testing import (
    ApiError,
    CutStream,
    ModelReply,
    ModelRequest,
    Reply,
    ScriptedModel,
    ScriptFileError,
    Slow,
    Text,
    ToolUse,
    order_support_script,
    read_script,
)

JsonObject = dict[str, Any]
LOOK_UP = "mcp__tools__look_up_order"


@tool("look_up_order", "Look up one order.", {"order_id": str})
async def look_up_order(arguments: dict[str, Any]) -> dict[str, Any]:
    if arguments["order_id"] == "404":
        return {"content": [{"type": "text", "text": "No such order."}], "is_error": True}
    return {"content": [{"type": "text", "text": f"Order {arguments['order_id']} ships on Thursday."}]}


async def ask(model: ScriptedModel, folder: Path, *prompts: str) -> tuple[list[str], ResultMessage]:
    """The texts the agent said in one run of the real CLI, and its last result."""
    (folder / "config").mkdir()
    options = ClaudeAgentOptions(
        tools=[],
        setting_sources=[],
        strict_mcp_config=True,
        cwd=folder,
        mcp_servers={"tools": create_sdk_mcp_server("tools", tools=[look_up_order])},
        allowed_tools=[LOOK_UP],
        env={
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "a-dummy-key",
            "CLAUDE_CONFIG_DIR": str(folder / "config"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
        },
    )
    said: list[str] = []
    result: ResultMessage | None = None
    async with ClaudeSDKClient(options) as client:
        for prompt in prompts:
            await client.query(prompt)
            async for message in client.receive_response():
                if isinstance(message, AssistantMessage):
                    said += [block.text for block in message.content if isinstance(block, TextBlock)]
                if isinstance(message, ResultMessage):
                    result = message
    assert result is not None
    return said, result


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    async with ScriptedModel() as running:
        yield running


async def test_the_cli_gets_the_scripted_replies_in_order(model: ScriptedModel, tmp_path: Path) -> None:
    model.script(
        Reply(Text("I will  look.\n"), ToolUse(LOOK_UP, {"order_id": "1002", "ü": [1, 2]})),
        Slow(Text("It ships on Thursday."), pause=0.001),
        Reply(Text("You are welcome."), delay=0.01),
    )

    said, result = await ask(model, tmp_path, "What is the status of order 1002?", "Thanks")

    assert said == ["I will  look.\n", "It ships on Thursday.", "You are welcome."]
    assert not result.is_error
    model.assert_script_used()
    first, second, third = model.requests
    assert first.last_user_text == "What is the status of order 1002?"
    assert first.tools == (LOOK_UP,)
    assert first.tool_results == {}
    (answered,) = second.tool_results.values()
    assert (answered.text, answered.is_error) == ("Order 1002 ships on Thursday.", False)
    assert second.tool_uses[answered.tool_use_id] == (
        LOOK_UP,
        {"order_id": "1002", "ü": [1, 2]},
    )
    assert second.results_of(answered.tool_use_id) == (answered,)
    assert third.last_user_text == "Thanks"
    assert third.tool_results == {}
    roles = [message.role for message in third.conversation]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    assert first.session_id == third.session_id == result.session_id
    assert first.received_at <= second.received_at <= third.received_at
    assert model.side_requests == ()


async def test_an_error_result_is_seen_as_one(model: ScriptedModel, tmp_path: Path) -> None:
    model.script(
        Reply(ToolUse(LOOK_UP, {"order_id": "404"}, id="toolu_mine")),
        Reply(Text("Sorry.")),
    )

    await ask(model, tmp_path, "Order 404?")

    result = model.requests[1].tool_results["toolu_mine"]
    assert (result.text, result.is_error) == ("No such order.", True)


async def test_the_cli_asks_again_after_an_overload_and_after_a_cut_stream(
    model: ScriptedModel, tmp_path: Path
) -> None:
    model.script(ApiError(529), Reply(Text("One.")))
    model.script(CutStream(Text("Never seen")), Reply(Text("Two.")))

    said, _ = await ask(model, tmp_path, "First", "Second")

    assert said[0] == "One."
    assert said[-1] == "Two."
    assert [request.last_user_text for request in model.requests][:2] == ["First", "First"]
    model.assert_script_used()


async def test_a_call_that_arrived_whole_runs_before_the_stream_breaks(model: ScriptedModel, tmp_path: Path) -> None:
    model.script(CutStream(ToolUse(LOOK_UP, {"order_id": "7"}, id="toolu_cut"), pause=0.4), Reply(Text("Seven.")))

    said, _ = await ask(model, tmp_path, "Order 7?")

    assert said[-1] == "Seven."
    assert model.requests[-1].tool_results["toolu_cut"].text == "Order 7 ships on Thursday."


async def test_a_request_without_a_reply_is_refused_and_remembered(model: ScriptedModel, tmp_path: Path) -> None:
    _, result = await ask(model, tmp_path, "Is anyone there?")

    assert result.is_error
    assert result.api_error_status == 400
    with pytest.raises(AssertionError, match="no reply for request 1: the last user text is 'Is anyone there"):
        model.assert_script_used()


async def test_a_reply_nobody_asked_for_is_named(model: ScriptedModel) -> None:
    model.script(Reply(Text("Unused")))

    with pytest.raises(AssertionError, match=r"never asked for.*Unused"):
        model.assert_script_used()
    assert model.replies_left == (Reply(Text("Unused")),)


async def test_side_requests_do_not_take_replies(model: ScriptedModel) -> None:
    model.script(Reply(Text("For the conversation")))
    schema: JsonObject = {"type": "object", "properties": {"title": {"type": "string"}}}
    message = {"role": "user", "content": "Hello"}
    async with aiohttp.ClientSession(model.url) as http:
        probe = {"model": "m", "max_tokens": 1, "messages": [message]}
        async with http.post("/v1/messages?beta=true", json=probe) as response:
            assert response.status == 200
        title = {
            "model": "m",
            "max_tokens": 9,
            "messages": [message],
            "output_config": {"format": {"schema": schema}},
        }
        async with http.post("/v1/messages?beta=true", json=title) as response:
            body = await response.json()
            assert json.loads(body["content"][0]["text"]) == {"title": "Scripted session"}
        async with http.post("/v1/messages/count_tokens", json=probe) as response:
            assert (await response.json())["input_tokens"] > 0
        async with http.head("/api/hello") as response:
            assert response.status == 200

        assert model.requests == ()
        assert [request.kind for request in model.side_requests] == ["probe", "title"]
        main = {"model": "m", "max_tokens": 9, "messages": [message]}
        async with http.post("/v1/messages?beta=true", json=main) as response:
            assert (await response.json())["content"] == [{"type": "text", "text": "For the conversation"}]
    model.assert_script_used()


async def test_tool_use_ids_are_new_to_the_conversation(model: ScriptedModel) -> None:
    call = ToolUse(LOOK_UP, {"order_id": "1"})
    earlier: JsonObject = {"type": "tool_use", "id": "toolu_" + "1".zfill(24), "name": call.name, "input": {}}
    body: JsonObject = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "assistant", "content": [earlier]}],
    }
    model.script(Reply(call, call))
    async with (
        aiohttp.ClientSession(model.url) as http,
        http.post("/v1/messages", json=body) as response,
    ):
        ids = [block["id"] for block in (await response.json())["content"]]

    assert ids == ["toolu_" + "2".zfill(24), "toolu_" + "3".zfill(24)]


async def test_a_respond_function_serves_sessions_side_by_side(tmp_path: Path) -> None:
    def answer(request: ModelRequest) -> ModelReply:
        return Reply(Text(f"You said {request.last_user_text}"))

    async with ScriptedModel(answer) as model:
        folders = [tmp_path / name for name in ("one", "two")]
        for folder in folders:
            folder.mkdir()
        runs = await asyncio.gather(*(ask(model, folder, f"I am {folder.name}") for folder in folders))
        model.assert_script_used()

    assert [said for said, _ in runs] == [["You said I am one"], ["You said I am two"]]


async def test_a_fault_of_the_respond_function_is_reported(tmp_path: Path) -> None:
    def answer(request: ModelRequest) -> ModelReply:
        raise KeyError(request.last_user_text)

    async with ScriptedModel(answer) as model:
        _, result = await ask(model, tmp_path, "Anything")
        assert result.api_error_status == 400
        with pytest.raises(AssertionError, match="respond function failed on request 1: KeyError"):
            model.assert_script_used()


async def test_the_order_support_agent_looks_up_an_order(tmp_path: Path) -> None:
    async with ScriptedModel(order_support_script) as model:
        said, _ = await ask(model, tmp_path, "What is the status of order 1002?")

    assert said == ["Here is what I found: Order 1002 ships on Thursday."]


def _request(*messages: dict[str, Any]) -> ModelRequest:
    return ModelRequest({"messages": list(messages)}, received_at=0.0)


def _after(name: str, arguments: dict[str, Any], text: str, *, is_error: bool) -> ModelRequest:
    call = {"type": "tool_use", "id": "t1", "name": f"mcp__tools__{name}", "input": arguments}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": text, "is_error": is_error}
    note = {"type": "text", "text": "Continue from where you left off."}
    return _request(
        {"role": "user", "content": "Please do it"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result, note]},
    )


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        (
            "Reply in Slack thread C0123456789 1710000000.000100: Order 1002 ships on Thursday.",
            "slack_post_thread_reply",
            {
                "channel_id": "C0123456789",
                "thread_timestamp": "1710000000.000100",
                "text": "Order 1002 ships on Thursday.",
            },
        ),
        ("Cancel order 1002", "cancel_order", {"order_id": "1002", "reason": "The customer asked for it"}),
        (
            "Please cancel order 1003 because it is late.",
            "cancel_order",
            {"order_id": "1003", "reason": "it is late"},
        ),
        ("What is the status of order 1002?", "look_up_order", {"order_id": "1002"}),
    ],
)
def test_the_order_support_agent_calls_the_right_tool(text: str, name: str, arguments: dict[str, str]) -> None:
    reply = order_support_script(_request({"role": "user", "content": text}))

    assert reply.blocks[-1] == ToolUse(f"mcp__tools__{name}", arguments)


@pytest.mark.parametrize(
    ("text", "is_error", "said"),
    [
        ("posted", False, "I posted the reply in the Slack thread 17.1."),
        (
            "Rejected: not this customer.",
            True,
            "I did not go ahead with the reply in the Slack thread 17.1, because it was rejected: "
            "Rejected: not this customer.",
        ),
        (
            "The outcome is unknown.",
            True,
            "I cannot tell whether the reply in the Slack thread 17.1 went through, so please check before "
            "anyone tries again: The outcome is unknown.",
        ),
        (
            "channel_not_found",
            True,
            "Sorry, the reply in the Slack thread 17.1 failed: channel_not_found",
        ),
    ],
)
def test_the_order_support_agent_says_what_became_of_a_call(text: str, is_error: bool, said: str) -> None:
    request = _after("slack_post_thread_reply", {"thread_timestamp": "17.1"}, text, is_error=is_error)

    assert order_support_script(request) == Reply(Text(said))


def test_the_order_support_agent_offers_help_otherwise() -> None:
    (block,) = order_support_script(_request({"role": "user", "content": "Good morning"})).blocks

    assert isinstance(block, Text)
    assert "Which order" in block.text


def test_a_cut_beyond_its_blocks_is_refused() -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        CutStream(Text("a"), after_blocks=2)


def test_a_script_file_holds_every_kind_of_reply(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    entries = [
        {"reply": [{"text": "One moment."}, {"tool": "t", "input": {"a": 1}}], "delay": 0.5},
        {"reply": [{"text": "It ships on Thurs"}], "stop_reason": "max_tokens"},
        {"slow": [{"text": "Slowly."}], "pause": 0.2},
        {"cut": [{"text": "Never"}], "after_blocks": 0, "pause": 0.1},
        {"error": 529, "message": "Overloaded"},
    ]
    file.write_text(json.dumps(entries))

    assert read_script(file) == (
        Reply(Text("One moment."), ToolUse("t", {"a": 1}), delay=0.5),
        Reply(Text("It ships on Thurs"), stop_reason="max_tokens"),
        Slow(Text("Slowly."), pause=0.2),
        CutStream(Text("Never"), after_blocks=0, pause=0.1),
        ApiError(529, message="Overloaded"),
    )


def test_a_bad_script_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text('[{"reply": [{"texts": "x"}]}]')

    with pytest.raises(ScriptFileError, match=r"script\.json.*"):
        read_script(file)


async def test_the_command_serves_a_script(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text('[{"reply": [{"text": "From the file"}]}]')
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "dexbridge.claude.testing.scripted_model",
        "--script",
        str(file),
        stdout=PIPE,
        stderr=PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        url = (await process.stdout.readline()).decode().strip()
        body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
        async with aiohttp.ClientSession(url) as http, http.post("/v1/messages", json=body) as response:
            assert (await response.json())["content"] == [{"type": "text", "text": "From the file"}]
    finally:
        process.terminate()
        _, errors = await process.communicate()
    assert errors == b""
