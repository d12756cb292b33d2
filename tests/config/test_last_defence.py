"""The last line of defence: a secret that a message holds by mistake is hidden all the same."""

from __future__ import annotations

from dexbridge.config import Code
from dexbridge.config.reading.json_syntax import parse_json
from dexbridge.config.reading.syntax import decode
from dexbridge.config.telling.finding import Finding
from dexbridge.config.telling.locating import diagnose
from dexbridge.config.telling.places import json_spots
from tests.fakes.connection_files import BOT_TOKEN


def test_a_long_secret_is_hidden_though_nobody_said_that_it_is_foreign() -> None:
    data = b"{}"
    careless = Finding(Code.BAD_VALUE, (), f"The value {BOT_TOKEN} is wrong.", f"Replace {BOT_TOKEN}.")
    (found,) = diagnose(
        "connections.json",
        data,
        decode(data, parse_json),
        [careless],
        json_spots,
        words=frozenset(),
        secrets=lambda _path: frozenset({BOT_TOKEN}),
    )
    assert (found.message, found.mend) == ("The value (not shown) is wrong.", "Replace (not shown).")
