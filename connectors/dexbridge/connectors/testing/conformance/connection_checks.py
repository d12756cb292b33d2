"""The connection as a whole: its end, and the live check."""

from __future__ import annotations

import gc
import warnings

import pytest

from dexbridge.connectors.contract.definition import LiveCheck
from dexbridge.connectors.testing.conformance.secret_search import shown_in
from dexbridge.connectors.testing.conformance.stage import Scenes, Server, Stage, complain, require
from dexbridge.connectors.testing.faults import Answer, DropAfterPost, Fault, TruncatedAnswer, html, redirect

UNWELL: tuple[Fault, ...] = (
    Answer(500, "{}"),
    Answer(200, ""),
    Answer(200, "[" * 30_000),
    Answer(403, '{"error":"no","message":"no"}'),
    html(),
    redirect("/elsewhere"),
    DropAfterPost(),
    TruncatedAnswer(),
)


class ConnectionChecks(Scenes[Server]):
    """What is left when a connection is closed, and what `config check --live` gets to see."""

    def test_closing_the_connection_closes_everything(self) -> None:
        async def scene(stage: Stage[Server]) -> None:
            for operation_id in stage.bound:
                await stage.dispatch(operation_id, self.example(operation_id).arguments)

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.play(scene)
            gc.collect()
        left = [str(one.message) for one in caught if issubclass(one.category, ResourceWarning)]
        require(not left, f"Closing the connection left something open ({left}): connection.on_close(pool.close).")

    def test_the_live_check_accepts_what_is_well(self) -> None:
        async def scene(stage: Stage[Server]) -> LiveCheck:
            check = await self._check_live(stage)
            require(self.count_written(stage.server) == 0, "check_live must not write anything.")
            return check

        check = self.play(scene)
        require(check.ok, f"check_live refuses a connection that is well: {check.message}")
        require(check.message.strip(), "check_live says in a line that all is well.")

    def test_the_live_check_refuses_wrong_credentials(self) -> None:
        async def scene(stage: Stage[Server]) -> tuple[dict[str, str], LiveCheck]:
            wrong: dict[str, str] = {}
            for name, token in stage.server.tokens.items():
                wrong[name] = f"{token}9"
                stage.held.set_credential(name, wrong[name])
            return wrong, await self._check_live(stage)

        wrong, check = self.play(scene)
        if wrong:
            require(not check.ok, "check_live accepts a wrong credential; make a call that needs it.")
            require(shown_in(repr(check), wrong) is None, "check_live shows a credential.")

    @pytest.mark.parametrize("fault", UNWELL, ids=lambda fault: type(fault).__name__)
    def test_the_live_check_says_when_it_cannot_tell(self, fault: Fault) -> None:
        async def scene(stage: Stage[Server]) -> LiveCheck:
            stage.server.fail_always(fault)
            return await self._check_live(stage)

        check = self.play(scene)
        require(not check.ok and check.message.strip(), f"check_live must refuse and say why after {fault}.")

    def test_the_live_check_never_raises(self) -> None:
        async def scene(stage: Stage[Server]) -> None:
            held = stage.held
            held.unavailable = "Authorise the connection again."
            require(not (await self._check_live(stage)).ok, "check_live accepts unavailable credentials.")
            held.unavailable = None
            await stage.server.stop()
            require(not (await self._check_live(stage)).ok, "check_live accepts a provider that is away.")

        self.play(scene)

    async def _check_live(self, stage: Stage[Server]) -> LiveCheck:
        try:
            return await self.definition.check_live(stage.held)
        except Exception as error:  # noqa: BLE001  (an author's code may raise anything)
            complaint = (
                f"check_live raised {type(error).__name__}. It never raises: catch ConnectorError and ValueError, and "
                "return LiveCheck(ok=False, message=...) that says what is wrong."
            )
        return complain(complaint)
