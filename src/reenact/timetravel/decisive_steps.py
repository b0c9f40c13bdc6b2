"""The steps of a failed run that most likely decided it, compared with healthy runs of the same agent in the store."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from reenact.abc.store import Store
from reenact.facts.run import Run, Status, run_failed
from reenact.facts.suspicions.healthy_runs import Profile, profile
from reenact.facts.suspicions.ranking import Suspect, ranked, steps_of
from reenact.facts.thinned_runs import why_thinned
from reenact.store.courses import LONGEST, course_of
from reenact.timetravel.suspicion_marks import SuspicionLook

MOST: Final = 3
"""The number of steps that are shown. The measured rate at which the decisive step is among them holds for this
number."""
_COMPARED: Final = 8
_LOOKED_AT: Final = 1_000
"""The most runs among which healthy ones for the comparison are looked for: most of them are thinned if only a small
sample keeps its bodies."""
_LONG: Final = 2_000


def is_asked_for(run: Run) -> bool:
    """Whether it makes sense to ask where a run went wrong: it failed, or a person has flagged it."""
    return (run_failed(run) or run.flagged) and run.totals.events <= LONGEST


def decisive_steps(store: Store, run: Run, seen: SuspicionLook) -> list[Suspect]:
    """The likeliest steps of a failed run, at most three, the likeliest first.

    Args:
        store: The store with healthy runs of the same agent: the newest eight, of up to 2,000 events.
        run: The run.
        seen: The course of the run, with the marks of the rules.

    Returns:
        The steps; a hint, no proof. Empty if only their positions suggest them, or if the run has so few steps that all
        would be named. Costs one pass over each run of the comparison.
    """
    if len(steps_of(seen.course)) <= MOST:
        return []
    steps = ranked(seen.course, seen.found, list(_healthy(store, run)))[:MOST]
    return steps if any(step.evident for step in steps) else []


def _healthy(store: Store, run: Run) -> Iterator[Profile]:
    """Profiles of the newest healthy runs of a run's agent. A thinned run does not show what it did."""
    if not run.agent:
        return
    newest = store.runs(agent=run.agent, status=Status.OK.value, limit=_LOOKED_AT)
    whole = (each for each in newest if each.id != run.id and not (each.flagged or why_thinned(each)))
    for each in islice(whole, _COMPARED):
        if each.totals.events <= _LONG:
            yield profile(course_of(store.open(each)))
