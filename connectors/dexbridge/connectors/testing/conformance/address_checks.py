"""What an argument puts into a URL stays inside its place."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import parse_qsl, unquote

from dexbridge.connectors.contract.errors import InvalidInput
from dexbridge.connectors.testing.conformance.stage import Scenes, Server, Stage, require

_PLAIN: Final = "dexbridge"
_HOSTILE: Final = ("../x", "a/b", "..", "x?y=", "x#y", "%2e%2e", "a%2fb")


@dataclass(frozen=True)
class Address:
    """Where a request went, as it was sent."""

    verb: str
    target: str

    @property
    def segments(self) -> list[str]:
        """The path's parts, not decoded."""
        return self.target.partition("?")[0].split("/")

    @property
    def form(self) -> tuple[str, int, list[str]]:
        """What an argument must not change: verb, depth, and the query's names."""
        query = parse_qsl(self.target.partition("?")[2], keep_blank_values=True)
        return self.verb, len(self.segments), [name for name, _ in query]

    def is_left_by(self, other: Address, value: str) -> bool:
        """Whether `other`, the same request with this value in it, goes to another kind of place."""
        if other.form != self.form:
            return True
        changed = [unquote(new) for old, new in zip(self.segments, other.segments, strict=True) if old != new]
        if any(part in {".", ".."} for part in changed):
            return True
        # A value without a slash has to arrive whole; an identifier may be made of several parts.
        return "/" not in value and any(value.casefold() not in part.casefold() for part in changed)


class AddressChecks(Scenes[Server]):
    """Each text argument, given values that lead elsewhere."""

    def test_no_argument_leads_to_another_place(self, operation_id: str) -> None:
        async def scene(stage: Stage[Server]) -> None:
            schema = stage.bound[operation_id].input_schema()
            for name, about in cast(dict[str, dict[str, Any]], schema["properties"]).items():
                if '"string"' not in json.dumps(about):
                    continue
                right = await self._address(stage, operation_id, {name: _PLAIN})
                if right is None and name in self.example(operation_id).arguments:
                    right = await self._address(stage, operation_id, {})
                if right is None:
                    continue
                for value in _HOSTILE:
                    went = await self._address(stage, operation_id, {name: value})
                    require(
                        went is None or not right.is_left_by(went, value),
                        f"{name}={value!r} makes {operation_id} ask for {went and went.target!r} instead of a place "
                        f"like {right.target!r}: what goes into a URL needs a pattern without /, .., ?, # and %.",
                    )

        self.play(scene)

    async def _address(self, stage: Stage[Server], operation_id: str, changes: dict[str, Any]) -> Address | None:
        """Where the example's request goes with these changes; None when it is refused or not made."""
        arguments = {**self.example(operation_id).arguments, **changes}
        try:
            stage.bound[operation_id].validate(arguments)
        except InvalidInput:
            return None
        count = len(stage.server.requests)
        await stage.dispatch(operation_id, arguments, flow=f"address-{count}")
        made = stage.server.requests[count:]
        return Address(made[0].verb, made[0].target) if made else None
