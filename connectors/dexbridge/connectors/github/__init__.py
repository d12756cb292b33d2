"""GitHub: reading an issue and its comments, adding a comment.

    connection = github.new_project_connection(project, "engineering")
    tool = connector_tool(connection.add_issue_comment(), connection.reference)

aiohttp (`pip install 'dexbridge[github]'`) is imported when the first request is made.
"""

from dexbridge.connectors.github.configuration import GitHubConfiguration
from dexbridge.connectors.github.connection import Connection, new_project_connection
from dexbridge.connectors.github.definition import GITHUB
from dexbridge.connectors.github.models import AddedComment, FoundIssue, Issue, IssueComment, IssueComments

__all__ = [
    "GITHUB",
    "AddedComment",
    "Connection",
    "FoundIssue",
    "GitHubConfiguration",
    "Issue",
    "IssueComment",
    "IssueComments",
    "new_project_connection",
]
