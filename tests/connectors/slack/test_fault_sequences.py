"""A short run of the benchmark: no duplicate post, no wrong outcome."""

from __future__ import annotations

from benchmarks.slack_faults import run


async def test_random_faults_never_cause_a_duplicate_or_a_wrong_outcome() -> None:
    tally = await run(sequences=40, seed=7)
    assert tally.wrong == []
    assert str(tally) == "sequences 40, duplicate posts 0, wrong outcomes 0"
    assert set(tally.outcomes) == {"sent", "not sent", "failed", "unknown"}
    assert {"hidden metadata", "rewritten text", "lost thread", "others' messages"} <= set(tally.troubles)
    assert {"look-up after 1 faults", "look-up that is refused"} <= set(tally.troubles)
