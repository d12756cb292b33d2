"""Debian's Chromium, driven as a person would use the page."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from tests.console.conftest import OPERATOR_KEY

CHROMIUM = os.environ.get("DEXBRIDGE_TEST_CHROMIUM") or shutil.which("chromium")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: make services installs it")


@asynccontextmanager
async def chromium() -> AsyncGenerator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            await browser.close()


@dataclass
class Person:
    """Somebody at the page: a window of their own, and what went wrong in it."""

    page: Page
    url: str
    dialogs: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])
    foreign: list[str] = field(default_factory=list[str])

    async def log_in(self, name: str = "Ada") -> None:
        await self.page.goto(self.url)
        await self.page.get_by_label("Operator's key").fill(OPERATOR_KEY)
        await self.page.get_by_label("Your name").fill(name)
        await self.page.get_by_role("button", name="Log in").click()
        await self.page.wait_for_url(f"{self.url}/")

    async def start(self, text: str) -> None:
        """Starts a session from the list and comes to its page."""
        await self.page.goto(self.url)
        await self.page.get_by_label("Start a session with a message").fill(text)
        await self.page.get_by_role("button", name="Start", exact=True).click()
        await self.page.wait_for_url(f"{self.url}/session?id=*")

    async def hears(self, text: str) -> None:
        """Waits until the agent has said that."""
        await self.page.locator("#conversation .assistant p", has_text=text).first.wait_for()

    async def fits(self) -> bool:
        """Whether nothing is wider than the window."""
        return bool(
            await self.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        )


@asynccontextmanager
async def person(browser: Browser, url: str, *, width: int = 1200, dark: bool = False) -> AsyncGenerator[Person]:
    """A window; at its end nothing may have run or been fetched that is not the page's own."""
    context: BrowserContext = await browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light"
    )
    context.set_default_timeout(15_000)
    page = await context.new_page()
    somebody = Person(page, url)

    async def dismiss(dialog: object) -> None:
        somebody.dialogs.append(str(dialog))

    page.on("dialog", dismiss)
    page.on("pageerror", lambda error: somebody.errors.append(str(error)))
    page.on("request", lambda request: somebody.foreign.append(request.url))
    try:
        yield somebody
        assert somebody.dialogs == []
        assert somebody.errors == []
        assert [one for one in somebody.foreign if not one.startswith(url)] == []
    finally:
        await context.close()
