"""The limit of a day: which runs that ended well are thinned when the runs of a day take more space than allowed."""

from __future__ import annotations

from collections.abc import Iterable

from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.run import Run, Status
from reenact.facts.thinned_runs import why_thinned

_DAY_US = 86_400_000_000


@dataclass(frozen=True, slots=True)
class RunSize:
    """A run and its size.

    Attributes:
        run: The run.
        size: Bytes of its log, about.
    """

    run: Run
    size: int


def over_limit(kept: Iterable[RunSize], limit: int) -> list[RunSize]:
    """The runs to thin, oldest first, so that the rest of each day is within a limit. A run that did not end well, or
    was thinned before, is counted, but not among the runs to thin.

    Args:
        kept: Runs with a log of their own.
        limit: Bytes of a day (UTC).
    """
    days: dict[int, list[RunSize]] = {}
    for each in kept:
        days.setdefault(each.run.started_us // _DAY_US, []).append(each)
    found = []
    for _, day in sorted(days.items()):
        left = sum(each.size for each in day)
        for each in sorted(day, key=lambda one: (one.run.started_us, one.run.id)):
            if left <= limit:
                break
            if each.run.status is Status.OK and not why_thinned(each.run):
                found.append(each)
                left -= each.size
    return found
