"""Seeds: whether what today's code does on a golden depends on the interpreter's hash seed."""

from __future__ import annotations

from contextlib import ExitStack

from reenact.testing.goldens.court import GoldenCourt
from reenact.testing.goldens.opened import OpenGolden
from reenact.testing.goldens.outcome import Outcome
from reenact.testing.goldens.running import QUIET, Manner, served
from reenact.testing.goldens.shelf import Shelf

OTHER_SEEDS = ("1", "2")
"""Hash seeds under which a golden is tried besides its own."""


def any_seed(shelf: Shelf, opened: OpenGolden, now: Outcome, court: GoldenCourt | None = None) -> bool:
    """Whether it comes to the same under other hash seeds; an answer that nobody has judged is another one. Two
    processes.

    Args:
        shelf: Where it lies.
        opened: It.
        now: What it came to under its own.
        court: Who gives the opinions of models; by default those that it keeps are all there are.

    Raises:
        ReplayError: It cannot be started here, or has ended without a report.
    """
    with ExitStack() as stack:
        others = (served(stack, shelf, opened, Manner(QUIET, hash_seed=seed), court) for seed in OTHER_SEEDS)
        return all(_alike(now, other.outcome) for other in others)


def _alike(left: Outcome, right: Outcome) -> bool:
    def told(outcome: Outcome) -> tuple[object, ...]:
        answers = [(each.get("name"), each.get("how"), each.get("why")) for each in outcome.answers]
        return outcome.status, outcome.judged, outcome.boundaries, answers

    return told(left) == told(right)
