"""Runs that cannot be replayed as cases: each with its fingerprint, and the number of similar ones."""

from __future__ import annotations

from collections.abc import Iterable

from reenact.abc.store import Store
from reenact.facts.features import Case, case_of, fingerprint
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.run import Run, Status
from reenact.triage.cold_reasons import Reason, reasons
from reenact.triage.featured_runs import features_in
from reenact.triage.kit_of_run import kit_of


@dataclass(frozen=True, slots=True)
class ColdCase:
    """A run that cannot be replayed.

    Attributes:
        run: The run.
        why: The reasons why it cannot be replayed.
        fingerprint: The fingerprint of its group in a triage.
    """

    run: Run
    why: tuple[Reason, ...]
    fingerprint: str


def cold_case(store: Store, run: Run) -> ColdCase | None:
    """A run as a cold case; None where it can be replayed, or is still being recorded and may yet get the missing
    items.

    Args:
        store: The store of the run. Costs as much as its kit.
        run: The run.

    Raises:
        StoreError: A part of it is damaged.
    """
    why = () if run.status is Status.RECORDING else reasons(kit_of(store, run))
    if not why:
        return None
    features = replace(features_in(store, run), cold=tuple(each.item for each in why), suspicions=())
    case = case_of(run.status, run.flagged, features) or Case.COLD
    name = fingerprint(case, features, run.flag or "")
    return ColdCase(run, why, name)


@dataclass(frozen=True, slots=True)
class Alike:
    """Cold cases with one fingerprint.

    Attributes:
        fingerprint: The fingerprint.
        lacks: The missing items of the newest case.
        moments: When the run of each case began, newest first, in microseconds since the epoch.
    """

    fingerprint: str
    lacks: tuple[str, ...]
    moments: tuple[int, ...]


def alike(cases: Iterable[ColdCase]) -> tuple[Alike, ...]:
    """Cold cases by fingerprint, the most frequent first. Pure.

    Args:
        cases: The cases, newest first.
    """
    groups: dict[str, list[ColdCase]] = {}
    for each in cases:
        groups.setdefault(each.fingerprint, []).append(each)
    found = [
        Alike(name, tuple(each.item for each in of[0].why), tuple(each.run.started_us for each in of))
        for name, of in groups.items()
    ]
    return tuple(sorted(found, key=lambda each: -len(each.moments)))
