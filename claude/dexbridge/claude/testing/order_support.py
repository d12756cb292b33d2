"""The model's part of the order-support example, so that the demo runs without a key."""

import re

from dexbridge.claude.testing.model_request import JsonObject, ModelRequest, ToolResult
from dexbridge.claude.testing.replies import Reply, Text, ToolUse

_PREFIX = "mcp__tools__"
_SLACK_REPLY = re.compile(
    r"reply in slack thread\s+(?P<channel>[CDG][A-Z0-9]+)\s+(?P<thread>\d+\.\d+)\s*:\s*(?P<text>.+)",
    re.IGNORECASE | re.DOTALL,
)
_CANCEL = re.compile(
    r"\bcancel\s+(?:my\s+|the\s+)?order\s+#?(?P<order>\w+)(?:\W+(?:because|reason:?)\s+(?P<reason>.+))?",
    re.IGNORECASE | re.DOTALL,
)
_STATUS = re.compile(r"\border\s+#?(?P<order>\d\w*)", re.IGNORECASE)


def order_support_script(request: ModelRequest) -> Reply:
    """Answer as the order-support agent would; a respond function for `ScriptedModel`.

    It keeps nothing between requests, so sessions may run side by side.
    """
    if request.tool_results:
        return Reply(Text(" ".join(_describe(request, result) for result in request.tool_results.values())))
    return _start_turn(request.last_user_text.strip())


def _start_turn(text: str) -> Reply:
    if found := _SLACK_REPLY.search(text):
        arguments = {
            "channel_id": found["channel"],
            "thread_timestamp": found["thread"],
            "text": found["text"].strip(),
        }
        return Reply(Text("I will post that reply."), ToolUse(f"{_PREFIX}slack_post_thread_reply", arguments))
    if found := _CANCEL.search(text):
        reason = (found["reason"] or "").strip(" .") or "The customer asked for it"
        arguments = {"order_id": found["order"], "reason": reason}
        return Reply(Text("I will cancel it."), ToolUse(f"{_PREFIX}cancel_order", arguments))
    if found := _STATUS.search(text):
        return Reply(ToolUse(f"{_PREFIX}look_up_order", {"order_id": found["order"]}))
    return Reply(Text("I can look up an order, cancel one, or reply in a Slack thread. Which order is it about?"))


def _describe(request: ModelRequest, result: ToolResult) -> str:
    name, arguments = request.tool_uses.get(result.tool_use_id, ("", {}))
    tool = name.removeprefix(_PREFIX)
    if result.is_error:
        return _describe_failure(_purpose(tool, arguments), result.text.strip())
    match tool:
        case "slack_post_thread_reply":
            return f"I posted the reply in the Slack thread {arguments.get('thread_timestamp')}."
        case "cancel_order":
            return f"The cancellation of order {arguments.get('order_id')} went through: {result.text.strip()}"
        case "look_up_order":
            return f"Here is what I found: {result.text.strip()}"
        case _:
            return f"The tool answered: {result.text.strip()}"


def _purpose(tool: str, arguments: JsonObject) -> str:
    match tool:
        case "slack_post_thread_reply":
            return f"the reply in the Slack thread {arguments.get('thread_timestamp')}"
        case "cancel_order":
            return f"the cancellation of order {arguments.get('order_id')}"
        case "look_up_order":
            return f"the look-up of order {arguments.get('order_id')}"
        case _:
            return "the request"


def _describe_failure(purpose: str, text: str) -> str:
    lowered = text.lower()
    if "unknown" in lowered or "not known" in lowered:
        return f"I cannot tell whether {purpose} went through, so please check before anyone tries again: {text}"
    if "reject" in lowered:
        return f"I did not go ahead with {purpose}, because it was rejected: {text}"
    if "cancel" in lowered and "order" not in purpose:
        return f"I did not go ahead with {purpose}, because it was cancelled: {text}"
    return f"Sorry, {purpose} failed: {text}"
