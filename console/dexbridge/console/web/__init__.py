"""HTTP for sessions: routes and a page, as ASGI applications that any application can mount.

`session_routes` is what a front end calls with a session's token; `operator_page` is where people follow sessions and
decide about calls.
"""

from dexbridge.console.web.guards import LOOPBACK_HOSTS
from dexbridge.console.web.keys import ServerKeys
from dexbridge.console.web.openapi import openapi_document
from dexbridge.console.web.page import operator_page
from dexbridge.console.web.server import serve_sessions
from dexbridge.console.web.serving import UnsafeBind, check_bind, serve
from dexbridge.console.web.session_routes import session_routes
from dexbridge.console.web.streams import EventStreams
from dexbridge.console.web.tokens import Approvals

__all__ = [
    "LOOPBACK_HOSTS",
    "Approvals",
    "EventStreams",
    "ServerKeys",
    "UnsafeBind",
    "check_bind",
    "openapi_document",
    "operator_page",
    "serve",
    "serve_sessions",
    "session_routes",
]
