"""Seeds: whether what today's code does on a golden depends on the interpreter's hash seed."""

from __future__ import annotations

from collections.abc import Sequence

from reenact.facts.run import Run
from reenact.testing.goldens.batch import several
from reenact.testing.goldens.court import GoldenCourt
from reenact.testing.goldens.opened import OpenGolden
from reenact.testing.goldens.outcome import Outcome
from reenact.testing.goldens.running import on_run
from reenact.testing.goldens.shelf import Shelf

OTHER_SEEDS = ("1", "2")
"""Hash seeds under which a golden is tried besides its own."""


def any_seed(
    shelf: Shelf,
    opened: OpenGolden,
    run: Run,
    now: Outcome,
    court: GoldenCourt | None = None,
    seeds: Sequence[str] = OTHER_SEEDS,
) -> bool:
    """Whether it comes to the same under other hash seeds; an answer that nobody has judged is another one. A process
    for each, two at a time.

    Args:
        shelf: Where it lies.
        opened: It.
        run: The run in it that today's code was answered from.
        now: What it came to under its own.
        seeds: Which.
        court: Who gives the opinions of models; by default those that it keeps are all there are.

    Raises:
        ReplayError: It cannot be started here, or has ended without a report.
    """
    others = several(seeds, lambda seed, _: on_run(shelf, opened, run, hash_seed=seed, court=court), 2)
    return all(_alike(now, other) for other in others)


def _alike(left: Outcome, right: Outcome) -> bool:
    def told(outcome: Outcome) -> tuple[object, ...]:
        answers = [(each.get("name"), each.get("how"), each.get("why")) for each in outcome.answers]
        return outcome.status, outcome.judged, outcome.boundaries, answers

    return told(left) == told(right)
