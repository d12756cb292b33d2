"""The operators' page in a real Chromium."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.console.browser import chromium, needs_chromium, person
from tests.console.conftest import Server, scripted_server

pytestmark = [needs_chromium, pytest.mark.asyncio(loop_scope="module")]

HOSTILE = (
    "<img src=x onerror=alert(1)><script>alert(2)</script>"
    "<a href='javascript:alert(3)'>x</a>{{7*7}}</textarea><svg onload=alert(4)>"
)


def call(tool: str, order_id: str) -> str:
    return f"call {tool} {json.dumps({'order_id': order_id})}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncGenerator[Browser]:
    async with chromium() as opened:
        yield opened


async def steps(page: Page) -> list[str]:
    return await page.locator("#steps .title").all_inner_texts()


async def test_a_message_is_sent_and_answered_without_a_reload(browser: Browser, server: Server) -> None:
    async with person(browser, server.url) as ada:
        await ada.log_in()
        await ada.start("hello")
        await ada.hears("you said hello")
        await ada.page.get_by_label("Message").fill("again")
        await ada.page.get_by_role("button", name="Send").click()
        await ada.hears("you said again")
        assert await steps(ada.page) == ["Model · answers", "Model · answers"]


async def test_what_ran_inside_the_agents_process_has_a_line(browser: Browser, server: Server) -> None:
    async with person(browser, server.url) as ada:
        await ada.log_in()
        await ada.start("inside <b>rm -r</b>")
        await ada.hears("you said inside <b>rm -r</b>")
        assert await steps(ada.page) == ["Inside · Bash", "Model · answers"]
        shown = await ada.page.locator(".step.inside").inner_text()
        assert '{"command": "inside <b>rm -r</b>"}' in shown
        assert "begun by the agent in attempt 1" in shown


async def test_a_call_is_approved_after_its_arguments_are_seen(browser: Browser, server: Server) -> None:
    async with person(browser, server.url) as ada:
        await ada.log_in("Ada Ünal")
        await ada.start(call("cancel_order", "1002"))
        card = ada.page.locator(".ask")
        await card.wait_for()
        shown = await card.inner_text()
        assert "cancel_order" in shown
        assert "none, a function of the application" in shown
        assert "order_id" in shown
        assert "1002" in shown
        assert (await ada.page.title()).startswith("(")
        await ada.page.get_by_role("button", name="Approve").click()
        await ada.hears("done with 1002")
        assert await card.count() == 0
        assert await steps(ada.page) == [
            "Model · asks for cancel_order",
            "Approval of cancel_order",
            "cancel_order: order_id 1002",
            "Back to the model with the result",
            "Model · answers",
        ]
        assert "approved by Ada Ünal" in await ada.page.locator("#steps").inner_text()


async def test_a_call_is_rejected_with_a_reason_from_the_inbox(browser: Browser, server: Server) -> None:
    async with person(browser, server.url) as ada, person(browser, server.url) as grace:
        await ada.log_in()
        await ada.start(call("cancel_order", "2077"))
        await ada.page.locator(".ask").wait_for()
        await grace.log_in("Grace")
        await grace.page.get_by_role("link", name="Inbox").click()
        wanting = grace.page.locator("article.wanting", has_text="2077")
        await wanting.get_by_label("Reason, for the agent").fill("The customer called\nand keeps it.")
        await wanting.get_by_role("button", name="Reject").click()
        await grace.page.wait_for_url("**/inbox")
        await wanting.wait_for(state="detached")
        # Ada's page moved by itself.
        await ada.hears("The customer called\nand keeps it.")
        assert "rejected" in await ada.page.locator("#steps").inner_text()


async def test_an_unknown_outcome_is_loud_until_a_person_settles_it(browser: Browser, server: Server) -> None:
    async with person(browser, server.url) as ada:
        await ada.log_in()
        for button, outcome in (("It was sent", "succeeded"), ("It was not sent", "failed")):
            await ada.start(call("refund_order", "3003"))
            await ada.page.get_by_role("button", name="Approve").click()
            alarm = ada.page.locator(".alarm")
            await alarm.wait_for()
            assert "outcome unknown" in (await alarm.inner_text()).lower()
            await alarm.get_by_label("How you know").fill("Seen in the shop's books.")
            await alarm.get_by_role("button", name=button, exact=True).click()
            await alarm.wait_for(state="detached")
            line = ada.page.locator("#steps .step", has_text="refund_order: order_id 3003")
            text = await line.inner_text()
            assert f"{outcome}, settled by Ada" in text
            assert "Seen in the shop's books." in text
            address = ada.page.url
            await ada.page.goto(f"{ada.url}/inbox")
            assert await ada.page.locator(".alarm").count() == 0
            await ada.page.goto(address)


async def test_the_badge_counts_what_waits_and_moves_by_itself(browser: Browser, server: Server) -> None:
    async with person(browser, server.url) as ada, person(browser, server.url) as grace:
        await ada.log_in()
        await grace.log_in()
        before = int(await grace.page.locator("#badge").inner_text())
        await ada.start(call("cancel_order", "4004"))
        await grace.page.locator("#badge", has_text=str(before + 1)).wait_for()
        await ada.page.get_by_role("button", name="Approve").click()
        await grace.page.locator("#badge", has_text=str(before)).wait_for()


async def test_two_decisions_at_once_are_one(browser: Browser, server: Server) -> None:
    async with person(browser, server.url) as ada, person(browser, server.url) as grace:
        await ada.log_in()
        await ada.start(call("cancel_order", "5005"))
        await ada.page.locator(".ask").wait_for()
        await grace.log_in()
        await grace.page.route("**/live**", lambda route: route.abort())
        await grace.page.goto(ada.page.url)
        await ada.page.get_by_role("button", name="Approve").click()
        await ada.hears("done with 5005")
        await grace.page.get_by_role("button", name="Reject").click()
        await grace.page.get_by_text("That call does not wait any more").wait_for()
        grace.errors.clear()


async def test_a_click_too_many_does_not_decide_about_the_next_call(browser: Browser, tmp_path: Path) -> None:
    server = scripted_server(tmp_path)
    server.start()
    try:
        async with person(browser, server.url) as ada:
            await ada.log_in()
            for order_id in ("1", "2"):
                await ada.start(call("cancel_order", order_id))
                await ada.page.locator(".ask").wait_for()
            await ada.page.goto(f"{ada.url}/inbox")
            cards = ada.page.locator(".ask")
            assert await cards.count() == 2
            button = cards.first.get_by_role("button", name="Approve")
            await button.click(trial=True)
            box = await button.bounding_box()
            assert box is not None
            place = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            async with ada.page.expect_navigation():
                await ada.page.mouse.dblclick(*place)
            await ada.page.mouse.click(*place)
            await ada.page.wait_for_timeout(300)
            assert await ada.page.locator("#badge").inner_text() == "1"
            assert await cards.count() == 1
            await cards.get_by_role("button", name="Approve").click()
            await ada.page.get_by_text("Nothing waits for you.").wait_for()
    finally:
        assert server.stop() == 0


async def test_hostile_text_stays_text(browser: Browser, server: Server) -> None:
    async with person(browser, server.url) as ada:
        await ada.log_in("<script>alert(9)</script>")
        await ada.start(HOSTILE)
        await ada.hears(HOSTILE)
        await ada.page.get_by_label("Message").fill(call("cancel_order", f"{HOSTILE}\u202e\u200b\x1b[31m"))
        await ada.page.get_by_role("button", name="Send").click()
        card = ada.page.locator(".ask")
        await card.wait_for()
        assert await card.locator("mark.unseen").all_inner_texts() == ["U+202E", "U+200B", "U+001B"]
        assert HOSTILE in await card.locator("pre").inner_text()
        await ada.page.get_by_role("button", name="Approve").click()
        await ada.hears("done with")
        await ada.page.goto(ada.url)
        await ada.page.goto(f"{ada.url}/inbox")
        await ada.page.goto(f"{ada.url}/session?id={'<script>alert(5)</script>'}&note=<script>alert(6)</script>")
        assert await ada.page.locator("main img, main script, main svg").count() == 0


async def test_inline_script_would_not_run_even_if_it_got_in(browser: Browser, server: Server) -> None:
    async with person(browser, server.url) as ada:
        await ada.log_in()
        ran = await ada.page.evaluate(
            """() => {
                const script = document.createElement("script");
                script.textContent = "window.ran = true";
                document.body.append(script);
                const picture = document.createElement("img");
                picture.setAttribute("onerror", "window.ran = true");
                picture.src = "/static/none.png";
                document.body.append(picture);
                return new Promise(done => setTimeout(() => done(window.ran === true), 300));
            }"""
        )
        assert ran is False


async def test_what_a_person_writes_survives_what_happens_meanwhile(browser: Browser, server: Server) -> None:
    async with person(browser, server.url) as ada, person(browser, server.url) as grace:
        await ada.log_in()
        await ada.start("hello")
        await ada.hears("you said hello")
        box = ada.page.get_by_label("Message")
        await box.press_sequentially("half a sen")
        await grace.log_in()
        await grace.page.goto(ada.page.url)
        await grace.page.get_by_label("Message").fill(call("cancel_order", "6006"))
        await grace.page.get_by_role("button", name="Send").click()
        await ada.page.locator(".ask").wait_for()
        await ada.page.keyboard.type("tence")
        assert await box.input_value() == "half a sentence"


async def test_text_is_seen_while_the_model_writes_it(browser: Browser, server: Server) -> None:
    async with person(browser, server.url) as ada:
        await ada.log_in()
        await ada.start("slow one")
        draft = ada.page.locator("#draft")
        await ada.page.get_by_text("Let me <b>think</b>⟨U+202E⟩…").wait_for()
        assert "running" in await ada.page.locator("#steps").inner_text()
        await ada.hears("you said slow one")
        await draft.wait_for(state="hidden")


async def test_everything_is_done_with_the_keyboard(browser: Browser, server: Server) -> None:
    async with person(browser, server.url) as ada:
        keyboard = ada.page.keyboard

        async def tab_to(name: str) -> None:
            for _ in range(40):
                await keyboard.press("Tab")
                focused = await ada.page.evaluate("document.activeElement.innerText || document.activeElement.id")
                if name in focused:
                    return
            raise AssertionError(f"{name} cannot be reached")

        await ada.page.goto(ada.url)
        await keyboard.type("operator-key-of-the-tests")
        await keyboard.press("Enter")
        await ada.page.wait_for_url(f"{ada.url}/")
        await tab_to("Skip")
        await keyboard.press("Enter")
        await tab_to("text")
        await keyboard.type(call("cancel_order", "7007"))
        await tab_to("Start")
        await keyboard.press("Enter")
        await ada.page.locator(".ask").wait_for()
        await tab_to("Approve")
        outline = await ada.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
        await keyboard.press("Space")
        await ada.hears("done with 7007")


@pytest.mark.parametrize("dark", [False, True])
async def test_it_fits_a_phone(browser: Browser, server: Server, dark: bool) -> None:
    async with person(browser, server.url, width=400, dark=dark) as ada:
        await ada.page.goto(ada.url)
        assert await ada.fits()
        await ada.log_in()
        assert await ada.fits()
        await ada.start(call("refund_order", "8008" + "x" * 300))
        await ada.page.locator(".ask").wait_for()
        assert await ada.fits()
        button = await ada.page.get_by_role("button", name="Approve").bounding_box()
        assert button is not None
        assert button["height"] >= 44
        await ada.page.get_by_role("button", name="Approve").click()
        await ada.page.locator(".alarm").wait_for()
        assert await ada.fits()
        await ada.page.goto(f"{ada.url}/inbox")
        assert await ada.fits()


async def test_a_slack_reply_of_the_example_is_approved(browser: Browser, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'sessions.db'}"
    command = [sys.executable, "-m", "dexbridge.console", "serve", "--port", "PORT", "--url", url]
    workspace = ["--slack-workspace", "support-slack=https://acme.slack.com"]
    server = Server([*command, *workspace], tmp_path, {"OFFLINE": "1"})
    server.start()
    try:
        async with person(browser, server.url) as ada:
            await ada.log_in()
            await ada.start("Reply in Slack thread C0123456789 1710000000.000100: Ships Thursday")
            await ada.page.locator(".ask").wait_for()
            shown = await ada.page.locator(".ask").inner_text()
            for part in ("slack_post_thread_reply", "slack/support-slack", "C0123456789", "1710000000.000100"):
                assert part in shown
            await ada.page.get_by_role("button", name="Approve").click()
            await ada.hears("I posted the reply")
            title = "Slack · reply in C0123456789 thread 1710000000.000100: 'Ships Thursday'"
            line = ada.page.locator("#steps .step", has_text=title)
            text = await line.inner_text()
            found = re.search(r"Call ID\s+([0-9a-f-]{36})", text)
            assert found is not None
            assert "1 attempt" in text
            assert re.search(r"seen at\s+\d\d \w{3} \d\d:\d\d:\d\d UTC", text)
            posted = re.search(r"object\s+(\d+)\.(\d{6})", text)
            assert posted is not None
            assert await line.get_by_role("link", name="open in Slack").get_attribute("href") == (
                f"https://acme.slack.com/archives/C0123456789/p{posted[1]}{posted[2]}"
                "?thread_ts=1710000000.000100&cid=C0123456789"
            )
    finally:
        assert server.stop() == 0


@pytest.mark.slow
async def test_it_comes_back_after_the_server_was_away(browser: Browser, tmp_path: Path) -> None:
    server = scripted_server(tmp_path)
    server.start()
    try:
        async with person(browser, server.url) as ada:
            await ada.log_in()
            await ada.start(call("cancel_order", "9009"))
            await ada.page.locator(".ask").wait_for()
            await ada.page.locator("#light", has_text="live").wait_for()
            assert server.stop() == 0
            await ada.page.locator("#light", has_text="waiting").wait_for()
            server.start()
            await ada.page.locator("#light", has_text="live").wait_for()
            await ada.page.get_by_role("button", name="Approve").click()
            await ada.hears("done with 9009")
            assert len(await steps(ada.page)) == 5
    finally:
        server.stop()
