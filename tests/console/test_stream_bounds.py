"""How many event streams there may be: nobody's take the others' away."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack

import aiohttp
import pytest
import pytest_asyncio

from tests.console.conftest import ROUTES, TOKEN, Server, Talk, scripted_server, start
from tests.console.test_page_access import log_in


@pytest.fixture
def alone(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """A server whose streams are all of one test."""
    served = scripted_server(tmp_path_factory.mktemp("streams"))
    served.start()
    yield served
    assert served.stop() == 0


@pytest_asyncio.fixture
async def client(alone: Server) -> AsyncGenerator[aiohttp.ClientSession]:
    limits, endless = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=None)
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(alone.url, connector=limits, timeout=endless, cookie_jar=jar) as session:
        yield session


class Streams:
    """Streams that are kept open until the end of a test."""

    def __init__(self, http: aiohttp.ClientSession) -> None:
        self._http = http
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Streams:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self._open.aclose()

    async def of_session(self, talk: Talk) -> aiohttp.ClientResponse:
        asked = {"session_id": talk.session_id}
        return await self._opened(f"{ROUTES}/events", asked, {TOKEN: talk.token})

    async def of_login(self, cookie: str, talk: Talk | None = None) -> aiohttp.ClientResponse:
        return await self._opened("/live", {} if talk is None else {"session_id": talk.session_id}, {"Cookie": cookie})

    async def _opened(self, path: str, asked: dict[str, str], headers: dict[str, str]) -> aiohttp.ClientResponse:
        return await self._open.enter_async_context(self._http.get(path, params=asked, headers=headers))


async def test_a_session_has_ten_streams_and_the_others_are_not_touched(client: aiohttp.ClientSession) -> None:
    cookie = await log_in(client)
    assert cookie is not None
    one, other = await start(client), await start(client)
    async with Streams(client) as streams:
        answers = await asyncio.gather(*(streams.of_session(one) for _ in range(200)))
        assert Counter(answer.status for answer in answers) == {200: 10, 429: 190}
        (refused,) = [answer for answer in answers if answer.status == 429][:1]
        assert refused.headers["Retry-After"] == "5"
        said = "This session has 10 event streams open, the most it may have: close one."
        assert (await refused.json())["faults"] == [{"at": "stream", "message": said}]
        # The operators may look at that very session.
        for talk in (None, one, other):
            assert (await streams.of_login(cookie, talk)).status == 200
        assert (await streams.of_session(other)).status == 200


async def test_a_stream_that_is_closed_makes_room(client: aiohttp.ClientSession) -> None:
    talk = await start(client)
    for _ in range(3):
        async with Streams(client) as streams:
            for _ in range(10):
                assert (await streams.of_session(talk)).status == 200
        async with asyncio.timeout(5):
            while True:
                async with Streams(client) as streams:
                    if (await streams.of_session(talk)).status == 200:
                        break


async def test_a_quarter_of_all_streams_is_kept_for_operators(client: aiohttp.ClientSession) -> None:
    talks = [await start(client) for _ in range(16)]
    cookies = [await log_in(client, name) for name in ("Ada", "Eve", "Bob", "Kim", "Lea", "Max")]
    async with Streams(client) as streams:
        answers = await asyncio.gather(*(streams.of_session(talk) for talk in talks for _ in range(10)))
        assert Counter(answer.status for answer in answers) == {200: 150, 503: 10}
        for cookie in cookies[:5]:
            assert cookie is not None
            live = await asyncio.gather(*(streams.of_login(cookie) for _ in range(11)))
            assert Counter(answer.status for answer in live) == {200: 10, 429: 1}
        assert cookies[5] is not None
        assert (await streams.of_login(cookies[5])).status == 503
