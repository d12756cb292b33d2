"""The calls of a session on the operators' page, in a real Chromium: whole, what cannot be seen, who decided."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.console.browser import chromium, needs_chromium, person
from tests.console.conftest import Server

pytestmark = [needs_chromium, pytest.mark.asyncio(loop_scope="module")]

HIDDEN = "\u3164\u2800\u034f\ufe0f\U000e0100\u2061\u115f\u200d\u200c\U000e0041\u202e\u00a0\ufeff"
LONG = "".join(f"{number:04} " for number in range(60)).strip()


def call(tool: str, order_id: str) -> str:
    return f"call {tool} {json.dumps({'order_id': order_id})}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncGenerator[Browser]:
    async with chromium() as opened:
        yield opened


async def test_what_one_cannot_see_is_marked_before_and_after_the_decision(browser: Browser, server: Server) -> None:
    async with person(browser, server.url) as ada:
        await ada.log_in()
        await ada.start(call("cancel_order", f"10{HIDDEN}"))
        card = ada.page.locator(".ask")
        await card.wait_for()
        marks = [f"U+{ord(one):04X}" for one in HIDDEN]
        assert await card.locator("pre mark.unseen").all_inner_texts() == marks
        assert "10⟨U+3164⟩⟨U+2800⟩" in await card.locator(".what").inner_text()
        assert not set(HIDDEN) & set(await card.inner_text())
        await ada.page.get_by_role("button", name="Reject").click()
        record = ada.page.locator("#calls details")
        await record.wait_for()
        await record.locator("summary").click()
        assert await record.locator("pre mark.unseen").all_inner_texts() == marks


async def test_every_call_stays_whole_with_who_decided(browser: Browser, server: Server) -> None:
    async with person(browser, server.url, width=400) as ada:
        await ada.log_in("Ada Ünal")
        await ada.start(call("cancel_order", f"first {LONG}"))
        await ada.page.get_by_label("Reason, for the agent").fill("Not this one.")
        await ada.page.get_by_role("button", name="Reject").click()
        await ada.hears("Not this one.")
        await ada.page.get_by_label("Message").fill(call("cancel_order", f"second {LONG}"))
        await ada.page.get_by_role("button", name="Send").click()
        await ada.page.locator(".ask").wait_for()
        await ada.page.get_by_text("Cancel this turn").click()
        await ada.page.get_by_role("button", name="Cancel the turn").click()
        await ada.page.get_by_label("Message").fill(call("refund_order", f"third {LONG}"))
        await ada.page.get_by_role("button", name="Send").click()
        await ada.page.get_by_role("button", name="Approve").click()
        alarm = ada.page.locator(".alarm")
        await alarm.wait_for()
        assert "approved by Ada Ünal" in await alarm.inner_text()
        await alarm.get_by_label("How you know").fill("Seen in the books.")
        await alarm.get_by_role("button", name="It was sent").click()
        await alarm.wait_for(state="detached")
        await ada.hears("The connection broke")
        records = ada.page.locator("#calls details")
        assert await records.count() == 3
        shown: list[str] = []
        for number in range(3):
            await records.nth(number).locator("summary").click()
            shown.append(await records.nth(number).inner_text())
        assert await ada.fits()
        rejected, withdrawn, settled = shown
        assert f"first {LONG}" in rejected
        assert "rejected by Ada Ünal, 20" in rejected
        assert "They said: Not this one." in rejected
        assert "approved" not in rejected
        assert f"second {LONG}" in withdrawn
        assert "none recorded" in withdrawn
        assert "The user cancelled the turn before cancel_order was called" in withdrawn
        assert f"third {LONG}" in settled
        assert "approved by Ada Ünal, 20" in settled
        assert "by Ada Ünal, it was sent, 20" in settled
        assert "Seen in the books." in settled
        assert "rejected by Ada Ünal" in await ada.page.locator("#steps").inner_text()
