"""The operators' page: sessions, what waits for a person, and the decision. Server-rendered; no build step."""

from dexbridge.console.web.page.app import operator_page

__all__ = ["operator_page"]
