"""Offered tools against a project: case F10."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dexbridge.config import InvalidToolOffer, check_offer, open_project, validate_tools
from dexbridge.connectors import ConnectionReference, slack
from dexbridge.connectors.slack.operations import POST_THREAD_REPLY
from dexbridge.connectors.testing import MemoryConnection, MemoryProject
from dexbridge.toolsource import ConnectorToolSource, connector_tool
from tests.config.conftest import Write
from tests.fakes.connection_files import BOT_TOKEN, USER_TOKEN, document, record
from tests.fakes.offers import Offered


async def test_a_tool_whose_connection_and_credential_are_there_is_fine(write: Write) -> None:
    async with await open_project(write(document(record()))) as project:
        connection = slack.new_project_connection(project, "support-slack")
        validate_tools(
            project, [ConnectorToolSource([connector_tool(connection.post_thread_reply(), connection.reference)])]
        )


async def test_a_tool_whose_unclear_calls_cannot_be_looked_up_is_a_warning(
    write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    offered = Offered(replace(POST_THREAD_REPLY, stand_ins={}), ConnectionReference("slack", "support-slack"))
    bot_alone = record(credentials={"bot_token": BOT_TOKEN})
    async with await open_project(write(document(bot_alone))) as project:
        (warning,) = check_offer(project, offered.name, offered)
        validate_tools(project, [offered])
    assert (warning.severity, warning.code) == ("warning", "tool-look-up")
    assert "has no user_token" in warning.message
    assert "Add user_token" in warning.mend
    assert "tool-look-up" in caplog.text


async def test_every_tool_that_cannot_work_is_named_with_connection_and_credential(write: Write) -> None:
    elsewhere = slack.new_project_connection(MemoryProject(MemoryConnection("slack", "sales-slack")), "sales-slack")
    user_alone = record(credentials={"user_token": USER_TOKEN})
    async with await open_project(write(document(user_alone))) as project:
        connection = slack.new_project_connection(project, "support-slack")
        source = ConnectorToolSource(
            [
                connector_tool(connection.list_thread_messages(), connection.reference),
                connector_tool(connection.post_thread_reply(), connection.reference),
                connector_tool(elsewhere.post_thread_reply(), elsewhere.reference, name="sales_reply"),
            ]
        )
        with pytest.raises(InvalidToolOffer) as caught:
            validate_tools(project, [source])
    lacking, absent = caught.value.diagnostics
    assert lacking.code == "tool-credential"
    assert "slack_post_thread_reply needs the credential bot_token of the connection slack/support-slack" in str(
        caught.value
    )
    assert absent.code == "tool-connection"
    assert "sales_reply needs the connection slack/sales-slack" in absent.message
