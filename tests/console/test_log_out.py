"""A login that has ended is over, whatever became of its cookie: in every process of the database, over restarts."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from starlette.requests import Request
from starlette.responses import Response

from dexbridge.console.web.page.access import Access
from tests.console.conftest import OPERATOR_KEY, Server, scripted_server, start
from tests.console.test_page_access import act, form_token, log_in


@pytest.fixture
def pair(tmp_path: Path) -> Generator[tuple[Server, Server]]:
    """Two processes of one database, as behind one address."""
    first = scripted_server(tmp_path)
    (tmp_path / "second").mkdir()
    second = scripted_server(tmp_path / "second", "--no-worker")
    second.command[-1] = first.command[-1]
    first.start()
    second.start()
    yield first, second
    second.stop()
    first.stop()


@pytest_asyncio.fixture
async def clients(pair: tuple[Server, Server]) -> AsyncGenerator[tuple[aiohttp.ClientSession, aiohttp.ClientSession]]:
    jar = aiohttp.DummyCookieJar()
    async with (
        aiohttp.ClientSession(pair[0].url, cookie_jar=jar) as first,
        aiohttp.ClientSession(pair[1].url, cookie_jar=jar) as second,
    ):
        yield first, second


async def opens(http: aiohttp.ClientSession, cookie: str) -> bool:
    async with http.get("/", headers={"Cookie": cookie}, allow_redirects=False) as page:
        async with http.get("/live", headers={"Cookie": cookie}) as live:
            assert (page.status, live.status) in ((200, 200), (303, 401))
        return page.status == 200


async def log_out(http: aiohttp.ClientSession, cookie: str) -> None:
    assert await act(http, "log-out", cookie, {"form_token": await form_token(http, cookie)}) == 303


async def test_after_the_log_out_the_cookie_opens_nothing_anywhere(
    clients: tuple[aiohttp.ClientSession, aiohttp.ClientSession], pair: tuple[Server, Server]
) -> None:
    ada, again, eve = await log_in(clients[0]), await log_in(clients[0]), await log_in(clients[1], "Eve")
    assert ada is not None
    assert again is not None
    assert eve is not None
    for http in clients:
        for cookie in (ada, again, eve):
            assert await opens(http, cookie)
    talk = await start(clients[0])
    form = {"session_id": talk.session_id, "text": "too late", "form_token": await form_token(clients[0], ada)}
    await log_out(clients[0], ada)
    for http in clients:
        assert not await opens(http, ada)
        assert await opens(http, again)
        assert await opens(http, eve)
        await act(http, "send", ada, form)
    assert (await talk.snapshot())["messages"] == []
    for served in pair:
        served.stop()
        served.start()
    for http in clients:
        assert not await opens(http, ada)
        assert await opens(http, again)


async def test_what_the_database_keeps_of_a_login_is_no_cookie(
    clients: tuple[aiohttp.ClientSession, aiohttp.ClientSession], tmp_path: Path
) -> None:
    cookie = await log_in(clients[0])
    assert cookie is not None
    await log_out(clients[0], cookie)
    value = cookie.partition("=")[2]
    assert all(value.encode() not in content for content in kept(tmp_path))


def kept(folder: Path) -> list[bytes]:
    return [file.read_bytes() for file in folder.glob("sessions.db*")]


@pytest.mark.slow
async def test_an_open_page_of_an_ended_login_gets_nothing_new_after_15_seconds(
    clients: tuple[aiohttp.ClientSession, aiohttp.ClientSession],
) -> None:
    cookie = await log_in(clients[0])
    assert cookie is not None
    began = time.monotonic()
    endless = aiohttp.ClientTimeout(total=60)
    async with clients[1].get("/live", headers={"Cookie": cookie}, timeout=endless) as live:
        await log_out(clients[0], cookie)
        async for _ in live.content:
            pass
    assert time.monotonic() - began < 25


async def test_where_a_database_keeps_no_marks_a_login_is_good_in_its_own_process_only() -> None:
    here, elsewhere = Access(OPERATOR_KEY, None), Access(OPERATOR_KEY, None)
    response = Response()
    assert await here.log_in(request(""), response, OPERATOR_KEY, "Ada")
    cookie = response.headers["set-cookie"].partition(";")[0]
    ada = await here.operator(request(cookie))
    assert ada is not None
    assert await elsewhere.operator(request(cookie)) is None
    await here.log_out(request(cookie), Response(), ada)
    assert await here.operator(request(cookie)) is None


def request(cookie: str) -> Request:
    headers = [(b"host", b"127.0.0.1"), (b"cookie", cookie.encode())]
    return Request(
        {
            "type": "http",
            "method": "GET",
            "scheme": "http",
            "path": "/",
            "query_string": b"",
            "headers": headers,
            "server": ("127.0.0.1", 80),
        }
    )
