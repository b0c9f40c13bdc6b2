"""Seeds: whether what today's code does on a golden depends on the interpreter's hash seed."""

from __future__ import annotations

from typing import Final

from reenact.facts.run import Run
from reenact.testing.goldens.golden_dir import GoldenDir
from reenact.testing.goldens.judges import GoldenCourt
from reenact.testing.goldens.opened import OpenGolden
from reenact.testing.goldens.outcome import Outcome
from reenact.testing.goldens.running import WARM_SEED, on_run

_OTHER: Final = "2"


def any_seed(
    golden_dir: GoldenDir, opened: OpenGolden, run: Run, now: Outcome, court: GoldenCourt | None = None
) -> bool:
    """Whether it comes to the same under another hash seed; an answer that was not judged is another one.

    Args:
        golden_dir: Where it lies.
        opened: It.
        run: The run in it that today's code was answered from.
        now: What it came to under its own.
        court: Who gives the opinions of models; by default those that it keeps are all there are.

    Raises:
        ReplayError: It cannot be started here, or has ended without a report.
    """
    return alike(now, under_another(golden_dir, opened, run, court))


def under_another(golden_dir: GoldenDir, opened: OpenGolden, run: Run, court: GoldenCourt | None = None) -> Outcome:
    """What it comes to in a process with another hash seed: that of warm interpreters, unless the run had that one.
    Arguments and errors are those of ``any_seed``."""
    seed = WARM_SEED if opened.recorded.entry.hash_seed != WARM_SEED else _OTHER
    return on_run(golden_dir, opened, run, hash_seed=seed, court=court)


def alike(left: Outcome, right: Outcome) -> bool:
    """Whether two processes came to the same."""

    def told(outcome: Outcome) -> tuple[object, ...]:
        answers = [(each.get("name"), each.get("how"), each.get("why")) for each in outcome.answers]
        return outcome.status, outcome.judged, outcome.boundaries, answers

    return told(left) == told(right)
