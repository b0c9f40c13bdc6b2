"""Groups: runs that fail alike are one case, with the times of these runs and whether the case is new since a mark.
Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from reenact.errors import UsageError
from reenact.facts.features import Case, names_suspicions
from reenact.facts.lazy_dataclass import dataclass
from reenact.triage.featured_runs import EndedRun

SHORT: Final = 8
"""The least number of digits of a fingerprint that people are shown."""

_NAMED: Final = 5


class Novelty(StrEnum):
    """The relation of a group to the last mark: all of its runs began after it, or all before."""

    NEW = "new"
    GONE = "gone"
    NEITHER = ""


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Runs with one fingerprint.

    Attributes:
        fingerprint: Its 32 digits.
        case: The reason why its runs are looked into.
        members: The runs, newest first.
        novelty: The relation of the group to the last mark.
    """

    fingerprint: str
    case: Case
    members: tuple[EndedRun, ...]
    novelty: Novelty = Novelty.NEITHER

    @property
    def first_us(self) -> int:
        """When the first run of the group began, in microseconds since the epoch."""
        return min(each.started_us for each in self.members)

    @property
    def last_us(self) -> int:
        """When the last run of the group began."""
        return max(each.started_us for each in self.members)

    @property
    def cold(self) -> int:
        """The number of members that cannot be replayed."""
        return sum(each.cold for each in self.members)

    @property
    def about(self) -> str:
        """The failure, in a line: recorded text, not yet safe for a terminal."""
        one = self.members[0]
        if self.case is Case.COLD:
            return f"cannot be replayed: {', '.join(one.features.cold or ())} missing"
        found = one.features
        said = ": ".join(filter(None, (found.error, found.template)))
        if self.case is Case.FLAGGED:
            said = f"flagged: {one.flag}" if one.flag else "flagged"
        said = said or "failed without an error"
        return f"{said} (in {found.tool})" if found.tool else said

    @property
    def course(self) -> str:
        """The last steps and suspicious events that the runs of the group have in common, as recorded text; empty if
        none is known."""
        one = self.members[0].features
        if self.case is Case.COLD:
            return ""
        kinds = one.suspicions if names_suspicions(self.case, one) else ()
        parts = (("last steps", one.steps), ("suspicious", kinds or ()))
        return "; ".join(f"{name}: {', '.join(each)}" for name, each in parts if each)


def grouped(
    runs: Iterable[EndedRun], chosen: Iterable[EndedRun] | None = None, mark_us: int | None = None
) -> tuple[RunGroup, ...]:
    """The groups of some runs: those that failed or were flagged, then those that are merely cold; the largest first,
    and of equally large ones the latest.

    Args:
        runs: All runs of the store, newest first: they say whether a group is new.
        chosen: The chosen runs; None for all.
        mark_us: The time of the last mark; None without a mark.
    """
    every = list(runs)
    ends: dict[str, tuple[int, int]] = {}
    for run in every:
        if run.case is not None:
            first, last = ends.get(run.fingerprint, (run.started_us, run.started_us))
            ends[run.fingerprint] = (min(first, run.started_us), max(last, run.started_us))
    members: dict[str, list[EndedRun]] = {}
    for run in every if chosen is None else chosen:
        if run.case is not None:
            members.setdefault(run.fingerprint, []).append(run)
    reached = mark_us is not None and any(run.started_us >= mark_us for run in every)
    found = [
        RunGroup(name, of[0].case or Case.FAILED, tuple(of), _novelty(*ends[name], mark_us if reached else None))
        for name, of in members.items()
    ]
    return tuple(sorted(found, key=_rank))


def _rank(group: RunGroup) -> tuple[bool, int, int, str]:
    return group.case is Case.COLD, -len(group.members), -group.last_us, group.fingerprint


def _novelty(first_us: int, last_us: int, mark_us: int | None) -> Novelty:
    if mark_us is None:
        return Novelty.NEITHER
    if first_us >= mark_us:
        return Novelty.NEW
    return Novelty.GONE if last_us < mark_us else Novelty.NEITHER


def short_names(fingerprints: Iterable[str]) -> dict[str, str]:
    """The name of each group: the beginning of its fingerprint, long enough to be unique."""
    every = sorted(set(fingerprints))
    names = {}
    for at, name in enumerate(every):
        near = [every[n] for n in (at - 1, at + 1) if 0 <= n < len(every)]
        shared = max((_shared(name, each) for each in near), default=0)
        names[name] = name[: max(SHORT, shared + 1)]
    return names


def group_called(groups: Sequence[RunGroup], name: str) -> RunGroup:
    """The group that a prefix of its fingerprint names.

    Raises:
        UsageError: No fingerprint begins with ``name``, or several do.
    """
    found = [group for group in groups if name and group.fingerprint.startswith(name.lower())]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(
            f"no group matches {name!r}",
            cause="no run that was chosen has such a fingerprint",
            next_command="reenact triage",
        )
    raise UsageError(
        f"{len(found)} groups match {name!r}",
        cause=", ".join(group.fingerprint[: len(name) + SHORT] for group in found[:_NAMED]),
        next_command="reenact triage",
    )


def _shared(left: str, right: str) -> int:
    return next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
