"""Whether today's run of the recorded code equals the recorded run, from its first call to its end.

A failing expectation proves little by itself: it also fails if the code was stopped, or went another way, long before
the mistake.
"""

from __future__ import annotations

import os

from reenact.abc.store import Recording
from reenact.facts.run import Run
from reenact.replaying.replay_opening import known_values
from reenact.store.bundles import PackedRun
from reenact.testing.goldens.golden_differences import GoldenDifference, differing
from reenact.testing.goldens.golden_execution import GoldenRun
from reenact.testing.goldens.golden_outcome import Outcome
from reenact.testing.goldens.golden_writer import cleaned_today
from reenact.testing.goldens.opened_golden import OpenGolden
from reenact.testing.goldens.todays_run import comparable
from reenact.timetravel.preview import brief, safe

_WIDTH = 60


def parting(opened: OpenGolden, ran: GoldenRun, project: str) -> str:
    """The first difference between a run of the recorded code and the recorded run.

    Args:
        opened: The golden.
        ran: The run of the recorded code, whose files must still be there.
        project: Root of the project.

    Returns:
        In words; empty where both made exactly the same calls and ended alike. For a golden without expectations, its
        outcome. If the run's process was killed, only the calls are compared: it has no recorded end.

    Cost: that of ``reenact diff`` over both.
    """
    stopped = ran.report is not None and ran.report.divergence is not None
    if stopped or ran.today is None or not opened.golden.judged:
        return first_line(ran.outcome)
    recorded = opened.store.open(opened.recorded)
    found = differing(
        recorded, _as_kept(ran.today, recorded.run, project), known=known_values(recorded.run, os.environ)
    )
    if recorded.run.interrupted_at is not None:
        found = [each for each in found if not _is_end(each)]
    return _told(found[0]) if found else ""


def first_line(outcome: Outcome) -> str:
    """The first line of a golden that did not pass: the first difference, if it had to be the same."""
    return (outcome.differences[0] if outcome.differences else outcome.message or outcome.status).splitlines()[0]


def _as_kept(today: Recording, recorded: Run, project: str) -> Recording:
    """Today's run without credentials, with the recorded paths of the project in place of today's."""
    packed = PackedRun("fixed", today.run, cleaned_today(today.run.home, today.run).records)
    return comparable(packed, recorded, project)


def _is_end(each: GoldenDifference) -> bool:
    return each.event is None and each.today is None


def _told(each: GoldenDifference) -> str:
    """One difference, in a line."""
    if not _is_end(each):
        where = f"event {each.event}" if each.event is not None else f"+{each.today}"
        return f"{safe(each.call)} ({where}): {each.how}"
    was, now = (side if isinstance(side, dict) else {} for side in (each.was, each.now))
    name = next((name for name in {**was, **now} if was.get(name) != now.get(name)), "status")
    then, today = (brief(side.get(name), _WIDTH) for side in (was, now))
    return f"its end differs: {name} {then} when it was recorded, {today} now"
