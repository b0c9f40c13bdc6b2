"""Seeds: whether the outcome of today's code on a golden depends on the interpreter's hash seed."""

from __future__ import annotations

from typing import Final

from reenact.facts.run import Run
from reenact.testing.goldens.golden_dir import GoldenDir
from reenact.testing.goldens.golden_execution import WARM_SEED, on_run
from reenact.testing.goldens.golden_outcome import Outcome
from reenact.testing.goldens.judges import GoldenCourt
from reenact.testing.goldens.opened_golden import OpenGolden

_OTHER: Final = "2"


def any_seed(
    golden_dir: GoldenDir, opened: OpenGolden, run: Run, now: Outcome, court: GoldenCourt | None = None
) -> bool:
    """Whether the outcome is the same under another hash seed; if an answer is not judged, it counts as different.

    Args:
        golden_dir: The folder of the goldens.
        opened: The golden.
        run: The run in it that answered today's code.
        now: The outcome under its own seed.
        court: Gives the opinions of models; by default only those that the golden keeps.

    Raises:
        ReplayError: The golden cannot be started here, or has ended without a report.
    """
    return alike(now, under_another(golden_dir, opened, run, court))


def under_another(golden_dir: GoldenDir, opened: OpenGolden, run: Run, court: GoldenCourt | None = None) -> Outcome:
    """The outcome in a process with another hash seed: the fork server's, unless the run itself had that seed.
    Arguments and errors are those of ``any_seed``."""
    seed = WARM_SEED if opened.recorded.entry.hash_seed != WARM_SEED else _OTHER
    return on_run(golden_dir, opened, run, hash_seed=seed, court=court)


def alike(left: Outcome, right: Outcome) -> bool:
    """Whether two processes had the same outcome."""

    def told(outcome: Outcome) -> tuple[object, ...]:
        answers = [(each.get("name"), each.get("how"), each.get("why")) for each in outcome.answers]
        return outcome.status, outcome.judged, outcome.boundaries, answers

    return told(left) == told(right)
