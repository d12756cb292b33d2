"""When a request may still be stopped, and what is known when it got no answer."""

from __future__ import annotations

import socket
import threading
from datetime import timedelta

import pytest

from dexbridge.connectors import DispatchTooLate, NoAnswer
from dexbridge.connectors.http.pool import HttpPool, Leave
from dexbridge.connectors.testing.local_slack import LocalSlack
from dexbridge.connectors.testing.slack_faults import DropAfterPost, redirect


class ListeningThread:
    """A server of its own thread that counts connections and bytes, and never answers."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.accepted = threading.Event()
        self.closed = threading.Event()
        self.received = bytearray()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        peer, _ = self._listening.accept()
        self.accepted.set()
        with peer:
            while chunk := peer.recv(65_536):
                self.received += chunk
        self.closed.set()

    def stop(self) -> None:
        self._thread.join()
        self._listening.close()


async def test_leave_is_asked_for_after_the_connection_is_up_and_stops_the_request() -> None:
    listening = ListeningThread()
    accepted_at_leave: list[bool] = []

    def refuse() -> None:
        accepted_at_leave.append(listening.accepted.wait(5))
        raise DispatchTooLate("too late, not sent")

    pool = HttpPool()
    with pytest.raises(DispatchTooLate, match="not sent"):
        await pool.request(
            "POST",
            f"http://127.0.0.1:{listening.port}/",
            json={"text": "x"},
            leave=Leave(take=refuse, check=lambda: None),
        )
    await pool.close()
    listening.stop()
    assert accepted_at_leave == [True]
    assert bytes(listening.received) == b""


async def test_a_process_frozen_between_leave_and_sending_sends_no_byte() -> None:
    listening = ListeningThread()

    def refuse() -> None:
        raise DispatchTooLate("frozen meanwhile")

    pool = HttpPool()
    with pytest.raises(NoAnswer):
        await pool.request(
            "POST",
            f"http://127.0.0.1:{listening.port}/",
            json={"text": "x"},
            leave=Leave(take=lambda: None, check=refuse),
        )
    await pool.close()
    listening.stop()
    assert bytes(listening.received) == b""


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_a_request_is_never_sent_again(server: LocalSlack, verb: str) -> None:
    pool = HttpPool(timedelta(seconds=5))
    leave = Leave(take=lambda: None, check=lambda: None)
    await pool.request(verb, f"{server.endpoint}/auth.test", leave=leave)
    server.fail_next("auth.test", DropAfterPost(), DropAfterPost())
    with pytest.raises(NoAnswer, match="no answer"):
        await pool.request(verb, f"{server.endpoint}/auth.test", leave=leave)
    assert len(server.requests) == 2
    await pool.close()


async def test_a_redirect_is_an_answer(server: LocalSlack) -> None:
    pool = HttpPool()
    server.fail_next("auth.test", redirect(f"{server.endpoint}/chat.postMessage"))
    leave = Leave(take=lambda: None, check=lambda: None)
    answer = await pool.request("POST", f"{server.endpoint}/auth.test", leave=leave, json={})
    await pool.close()
    assert (answer.status, answer.headers["location"]) == (307, f"{server.endpoint}/chat.postMessage")
    assert [request.method for request in server.requests] == ["auth.test"]
