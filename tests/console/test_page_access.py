"""Who gets in, and which forms count; without a browser, since a forger has none."""

from __future__ import annotations

import asyncio
import io
import re
from http.cookies import SimpleCookie

import aiohttp
import pytest
from yarl import URL

from tests.console.conftest import OPERATOR_KEY, Server, scripted_server, start


async def log_in(http: aiohttp.ClientSession, name: str = "Ada", key: str = OPERATOR_KEY, **headers: str) -> str | None:
    """The cookie of a login; `None` when it was refused."""
    async with http.post(
        "/login", data={"key": key, "name": name, "then": "/"}, headers=headers, allow_redirects=False
    ) as answer:
        found = SimpleCookie(answer.headers.get("Set-Cookie", ""))
        return f"dexbridge_operator={found['dexbridge_operator'].value}" if found else None


async def form_token(http: aiohttp.ClientSession, cookie: str) -> str:
    async with http.get("/", headers={"Cookie": cookie}) as answer:
        found = re.search(r'name="form_token" value="(\w+)"', await answer.text())
    assert found is not None
    return found[1]


async def act(
    http: aiohttp.ClientSession, deed: str, cookie: str, form: dict[str, str], headers: dict[str, str] | None = None
) -> int:
    sent = {"Cookie": cookie, **(headers or {})}
    async with http.post(f"/do/{deed}", data=form, headers=sent, allow_redirects=False) as answer:
        return answer.status


async def test_nothing_is_shown_before_a_login(http: aiohttp.ClientSession) -> None:
    talk = await start(http, "hello")
    for path in ("/", "/inbox", f"/session?id={talk.session_id}"):
        async with http.get(path, allow_redirects=False) as answer:
            assert answer.status == 303
            assert answer.headers["Location"].startswith("/login")
    async with http.get(f"/live?session_id={talk.session_id}", allow_redirects=False) as answer:
        assert answer.status == 401


async def test_a_session_that_is_gone_may_have_been_pruned(http: aiohttp.ClientSession) -> None:
    cookie = await log_in(http)
    assert cookie is not None
    async with http.get("/session?id=gone", headers={"Cookie": cookie}) as answer:
        assert (answer.status, "it may have been pruned" in await answer.text()) == (404, True)


async def test_a_wrong_key_or_a_forged_cookie_opens_nothing(http: aiohttp.ClientSession) -> None:
    assert await log_in(http, key="wrong") is None
    assert await log_in(http, key="") is None
    good = await log_in(http)
    assert good is not None
    for cookie in (good[:-3] + "abc", "dexbridge_operator=x", "dexbridge_operator="):
        async with http.get("/", headers={"Cookie": cookie}, allow_redirects=False) as answer:
            assert answer.status == 303
    async with http.get("/", headers={"Cookie": good}, allow_redirects=False) as answer:
        assert answer.status == 200


async def test_the_cookie_is_kept_from_scripts_and_other_sites(http: aiohttp.ClientSession) -> None:
    data = {"key": OPERATOR_KEY, "name": "Ada", "then": "/"}
    async with http.post("/login", data=data, allow_redirects=False) as answer:
        cookie = answer.headers["Set-Cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert OPERATOR_KEY not in cookie


@pytest.mark.parametrize("then", ["https://evil.example", "//evil.example", "/\\evil.example", "evil", "/\nx"])
async def test_a_login_leads_nowhere_else(http: aiohttp.ClientSession, then: str) -> None:
    data = {"key": OPERATOR_KEY, "name": "Ada", "then": then}
    async with http.post("/login", data=data, allow_redirects=False) as answer:
        assert answer.headers["Location"] == "/"
    async with http.get("/login", params={"then": then}) as answer:
        assert 'name="then" value="/"' in await answer.text()


async def test_a_form_counts_only_with_its_token(http: aiohttp.ClientSession) -> None:
    ada, eve = await log_in(http), await log_in(http, "Eve")
    assert ada is not None
    assert eve is not None
    talk = await start(http)
    sending = {"session_id": talk.session_id, "text": "forged"}
    assert await act(http, "send", ada, sending) == 403
    assert await act(http, "send", ada, {**sending, "form_token": await form_token(http, eve)}) == 403
    assert await act(http, "send", "", {**sending, "form_token": await form_token(http, ada)}) == 303
    token = await form_token(http, ada)
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert await act(http, "send", ada, {**sending, "form_token": token}, headers) == 403
    assert (await talk.snapshot())["messages"] == []
    assert await act(http, "send", ada, {**sending, "form_token": token}) == 303
    await talk.events("turn_answered")


async def test_a_login_from_another_site_is_refused(http: aiohttp.ClientSession) -> None:
    assert await log_in(http, Origin="https://evil.example") is None


async def test_an_approval_is_for_the_call_that_was_shown(http: aiohttp.ClientSession) -> None:
    cookie = await log_in(http)
    assert cookie is not None
    talk = await start(http, 'call cancel_order {"order_id": "1"}')
    await talk.events("interrupt_opened")
    waiting = (await talk.snapshot())["pending_interrupts"][0]
    form = {
        "session_id": talk.session_id,
        "interrupt_id": waiting["interrupt_id"],
        "form_token": await form_token(http, cookie),
    }
    assert await act(http, "approve", cookie, form) == 400
    assert await act(http, "approve", cookie, {**form, "fingerprint": "0" * 64}) == 303
    assert len((await talk.snapshot())["pending_interrupts"]) == 1
    assert await act(http, "approve", cookie, {**form, "fingerprint": waiting["fingerprint"]}) == 303
    await talk.events("turn_answered")


async def test_forms_are_read_strictly(http: aiohttp.ClientSession) -> None:
    cookie = await log_in(http)
    assert cookie is not None
    token = await form_token(http, cookie)
    assert await act(http, "no-such-deed", cookie, {"form_token": token}) == 404
    assert await act(http, "send", cookie, {"form_token": token}) == 400
    for text in ("x", " "):
        for deed in ("send", "steer"):
            form = {"form_token": token, "session_id": "no-such", "text": text}
            assert await act(http, deed, cookie, form) == 404
    assert await act(http, "settle", cookie, {"form_token": token, "session_id": "x", "sent": "maybe"}) == 400
    for body, kind, status in (
        (f"form_token={token}&session_id=a&session_id=b", "application/x-www-form-urlencoded", 400),
        ("%zz&=", "application/x-www-form-urlencoded", 400),
        ('{"form_token": 1}', "application/json", 415),
        ("x=" + "y" * (2 * 1024 * 1024), "application/x-www-form-urlencoded", 413),
    ):
        headers = {"Cookie": cookie, "Content-Type": kind}
        async with http.post(
            "/do/send", data=io.BytesIO(body.encode()), headers=headers, allow_redirects=False
        ) as answer:
            assert answer.status == status


async def test_logging_out_takes_the_cookie_back(http: aiohttp.ClientSession) -> None:
    cookie = await log_in(http)
    assert cookie is not None
    data = {"form_token": await form_token(http, cookie)}
    async with http.post("/do/log-out", data=data, headers={"Cookie": cookie}, allow_redirects=False) as answer:
        assert 'dexbridge_operator=""' in answer.headers["Set-Cookie"]


async def test_no_page_holds_a_key_or_a_session_token(http: aiohttp.ClientSession, server: Server) -> None:
    cookie = await log_in(http)
    assert cookie is not None
    talk = await start(http, 'call cancel_order {"order_id": "1"}')
    await talk.events("interrupt_opened")
    for path in ("/", "/inbox", f"/session?id={talk.session_id}", "/login", "/nothing"):
        async with http.get(path, headers={"Cookie": cookie}) as answer:
            text = await answer.text()
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert OPERATOR_KEY not in text
        assert talk.token not in text
        assert server.url not in text


@pytest.mark.slow
async def test_guessing_the_key_is_slowed_down_and_nobody_is_locked_out(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    served = scripted_server(tmp_path_factory.mktemp("guessing"))
    served.start()
    try:
        async with aiohttp.ClientSession(served.url, connector=aiohttp.TCPConnector(limit=0)) as http:

            async def guess(number: int) -> tuple[int, str | None]:
                async with http.post("/login", data={"key": f"guess {number}"}, allow_redirects=False) as answer:
                    return answer.status, answer.headers.get("Retry-After")

            assert [await guess(number) for number in range(10)] == [(403, None)] * 10
            at_once = await asyncio.gather(*(guess(number) for number in range(12)))
            assert sorted(at_once, key=str) == [(403, None)] * 5 + [(429, "5")] * 7
            assert await log_in(http) is not None
    finally:
        served.stop()


@pytest.mark.parametrize("path", ["none.css", "none/deeper.js", "/etc/passwd", "..%2f..%2fapp.py", "%00"])
async def test_what_is_no_file_is_said_on_a_whole_page(http: aiohttp.ClientSession, server: Server, path: str) -> None:
    async with http.get(URL(f"{server.url}/static/{path}", encoded=True)) as answer:
        assert answer.status == 404
        text = await answer.text()
    assert 'href="/static/console.css"' in text
    assert '<a href="/">To the sessions</a>' in text
