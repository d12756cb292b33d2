"""A whole turn with one Slack call that needs no approval, beside the same turn on the bare SDK with the tool inline.

Run alone with `python -m benchmarks.whole_turn`.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.claude_stage import POST, SLACK_ARGUMENTS, bare_turn, calls_once, open_ours, open_stage
from benchmarks.report import Comparison, Goal, compare, main
from dexbridge.connectors.testing.slack_faults import AnswerLate

__all__ = ["measure"]

_ROUNDS = 12


async def measure(rounds: int = _ROUNDS) -> Sequence[Comparison]:
    """Measures with a Slack that answers at once, and with one that takes 300 ms."""
    measured: list[Comparison] = []
    async with open_stage(calls_once(POST, SLACK_ARGUMENTS)) as stage:
        inline = stage.inline_slack()
        async with open_ours(stage, tool_sources=[stage.slack_source(asks=False)]) as ours:
            for name, delay, goal in (("Slack at once", 0.0, Goal(1.3)), ("Slack in 300 ms", 0.3, Goal(1.15))):
                bare: list[float] = []
                durable: list[float] = []
                for number in range(rounds + 1):
                    if delay:
                        stage.slack.fail_next("chat.postMessage", AnswerLate(delay), AnswerLate(delay))
                    undurable, recorded = await bare_turn(stage, inline), await ours.turn()
                    if number:
                        bare.append(undurable)
                        durable.append(recorded)
                measured.append(
                    compare(f"a turn with one Slack call, {name}", durable, "the same on the bare SDK", bare, goal)
                )
    return measured


if __name__ == "__main__":
    main(measure)
