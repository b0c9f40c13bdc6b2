"""A trial: whether a candidate makes a group of failures collapse, and which healthy runs it breaks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from reenact.facts.call import Json
from reenact.facts.features import Case, Features
from reenact.facts.lazy_dataclass import dataclass
from reenact.testing.experiments.cell import CellResult
from reenact.testing.experiments.dataset import Row
from reenact.testing.experiments.statistics import TrialShare
from reenact.testing.goldens.golden_execution import UNTESTED
from reenact.triage.featured_runs import EndedRun
from reenact.triage.groups import RunGroup

REPRESENTATIVES: Final = 5
"""The most members of a group that are tried, unless all are asked for."""
HEALTHY: Final = 20
"""The number of healthy runs that are tried beside the members, unless another number is asked for."""

_NOT_RUN: Final = ("stale", "refused", "broken")


class Fate(StrEnum):
    """The fate of one run on a candidate."""

    FIXED = "fixed"
    ALIKE = "fails alike"
    OTHERWISE = "fails differently"
    UNBROKEN = "unbroken"
    BROKEN = "broken"
    UNTRIED = "not tried"


_WORST: Final = (Fate.ALIKE, Fate.OTHERWISE, Fate.BROKEN, Fate.UNTRIED, Fate.FIXED, Fate.UNBROKEN)


class FixVerdict(StrEnum):
    """The fate of a group."""

    COLLAPSES = "collapses"
    IN_PART = "collapses in part"
    NOT_AT_ALL = "does not collapse"
    UNTRIED = "was not tried"


@dataclass(frozen=True, slots=True)
class TriedRun:
    """One run on a candidate.

    Attributes:
        run: Id of the recorded run.
        fate: Its fate: the worst of its repeats.
        why: The first line of the error, or of the reason why it was not tried; empty where all went well.
        otherwise: Whether the agent's answer differs from the recorded one.
        output: The agent's answer.
    """

    run: str
    fate: Fate
    why: str = ""
    otherwise: bool = False
    output: Json = None

    def to_json(self) -> dict[str, Json]:
        """The tried run as JSON-able data."""
        return {
            "run": self.run, "fate": self.fate.value, "why": self.why, "otherwise": self.otherwise,
            "output": self.output,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class FixTrial:
    """The result of a candidate.

    Attributes:
        candidate: The name of the candidate.
        members: The members of the group that were chosen.
        healthy: The healthy runs that were chosen.
    """

    candidate: str
    members: tuple[TriedRun, ...]
    healthy: tuple[TriedRun, ...]

    def count(self, *fates: Fate) -> int:
        """The number of runs that had one of the given fates."""
        return sum(each.fate in fates for each in (*self.members, *self.healthy))

    @property
    def verdict(self) -> FixVerdict:
        """The fate of the group. It does not collapse as a whole if the candidate could not be tried on a member."""
        fixed, untried = self.count(Fate.FIXED), sum(each.fate is Fate.UNTRIED for each in self.members)
        if untried == len(self.members):
            return FixVerdict.UNTRIED
        if not fixed:
            return FixVerdict.NOT_AT_ALL
        return FixVerdict.COLLAPSES if fixed == len(self.members) else FixVerdict.IN_PART

    @property
    def broken(self) -> TrialShare:
        """The share of healthy runs that the candidate breaks, of those that could be run on it."""
        return TrialShare(self.count(Fate.BROKEN), self.count(Fate.BROKEN, Fate.UNBROKEN))

    @property
    def exit_code(self) -> int:
        """0 where the group collapses and no tried healthy run breaks; 3 where no member could be tried; else 1."""
        if self.verdict is FixVerdict.UNTRIED:
            return 3
        known = not self.healthy or self.broken.of > 0
        return 0 if self.verdict is FixVerdict.COLLAPSES and known and not self.broken.hits else 1

    def to_json(self) -> dict[str, Json]:
        """The trial as JSON-able data, without its runs."""
        return {
            "candidate": self.candidate, "verdict": self.verdict.value, "exit_code": self.exit_code,
            "members": len(self.members), "healthy": len(self.healthy),
            **{fate.name.lower(): self.count(fate) for fate in Fate if fate is not Fate.UNTRIED},
            "untried": sum(each.fate is Fate.UNTRIED for each in self.members),
            "healthy_untried": sum(each.fate is Fate.UNTRIED for each in self.healthy),
            "otherwise": sum(each.otherwise for each in self.healthy),
            "broken_interval": list(self.broken.interval) if self.broken.of else None,
        }  # fmt: skip


def trial(
    candidate: str, group: RunGroup, members: Sequence[Row], healthy: Sequence[Row], cells: Iterable[CellResult]
) -> FixTrial:
    """The result of a candidate.

    Args:
        candidate: The name of the candidate.
        group: The group.
        members, healthy: The rows that were run.
        cells: All cells of the experiment.
    """
    found: dict[str, list[CellResult]] = {}
    for cell in cells:
        if cell.candidate == candidate:
            found.setdefault(cell.row, []).append(cell)
    like = group.members[0].features
    return FixTrial(
        candidate,
        tuple(_worst(row, [_of_member(row, cell, group.case, like) for cell in found[row.name]]) for row in members),
        tuple(_worst(row, [_of_healthy(row, cell) for cell in found[row.name]]) for row in healthy),
    )


def _worst(row: Row, tried: Sequence[TriedRun]) -> TriedRun:
    return min(tried, key=lambda each: _WORST.index(each.fate), default=TriedRun(row.run, Fate.UNTRIED))


def _of_member(row: Row, cell: CellResult, case: Case, like: Features) -> TriedRun:
    """The fate of a member. It is fixed if it ends without an error and without its group's features."""
    ended, why = _ended(cell)
    if ended is None:
        return _tried(row, cell, Fate.UNTRIED, why)
    if ended.error:
        same = (ended.error, ended.template, ended.tool) == (like.error, like.template, like.tool)
        return _tried(row, cell, Fate.ALIKE if same else Fate.OTHERWISE, why)
    if why:
        return _tried(row, cell, Fate.OTHERWISE, why)
    again = sorted(set(ended.suspicions or ()) & set(like.suspicions or ())) if case is Case.FLAGGED else []
    if again:
        return _tried(row, cell, Fate.ALIKE, f"suspicious again: {', '.join(again)}")
    return _tried(row, cell, Fate.FIXED)


def _of_healthy(row: Row, cell: CellResult) -> TriedRun:
    """The fate of a healthy run: broken if it ends with an error, or fails an expectation."""
    ended, why = _ended(cell)
    if ended is None:
        return _tried(row, cell, Fate.UNTRIED, why)
    return _tried(row, cell, Fate.BROKEN if why else Fate.UNBROKEN, why)


def _ended(cell: CellResult) -> tuple[Features | None, str]:
    """The end of a cell's run, and the fault in it; None, with the reason, if it says nothing about the candidate."""
    ended = Features.from_json(cell.ended)
    if cell.status in _NOT_RUN or not cell.ended:
        return None, f"{cell.status}: {_line(cell.message)}"
    if ended.error:
        return ended, ": ".join(filter(None, (ended.error, ended.template)))
    if cell.status != "failed":
        return ended, ""
    unmet = any(not each.holds for each in cell.judged)  # else the code made no call, or a change found no place
    return (ended, _line(cell.message)) if unmet else (None, _line(cell.message.removeprefix(f"{UNTESTED}\n")))


def _tried(row: Row, cell: CellResult, fate: Fate, why: str = "") -> TriedRun:
    otherwise = fate is not Fate.UNTRIED and cell.output != row.recorded.get("answer")
    return TriedRun(row.run, fate, why, otherwise, cell.output)


def _line(text: str) -> str:
    return next(iter(text.splitlines()), "")


def varied(runs: Iterable[EndedRun]) -> list[EndedRun]:
    """Some runs in the order in which they are tried: the first one, then the first of each other kind (model, form of
    answers, prompt, last steps, version), the most common kinds first, then the second of each, and so on.

    Args:
        runs: The runs, newest first. Costs a sort.
    """
    every = list(runs)
    kinds: dict[tuple[object, ...], int] = {}
    ranks: list[tuple[tuple[object, ...], int]] = []
    for run in every:
        kind = _kind(run)
        kinds[kind] = kinds.get(kind, 0) + 1
        ranks.append((kind, kinds[kind]))
    order = sorted(range(len(every)), key=lambda at: (at > 0, ranks[at][1], -kinds[ranks[at][0]], at))
    return [every[at] for at in order]


def _kind(run: EndedRun) -> tuple[object, ...]:
    found = run.features
    return run.agent, found.asked, found.answered, found.shapes, found.prompts, found.steps, found.version


def judged_by_person(group: RunGroup, expectations: Sequence[object]) -> bool:
    """Whether only a person can say that a member is mended: it was flagged, and nothing in it shows why."""
    like = group.members[0].features
    return group.case is Case.FLAGGED and not (expectations or like.suspicions)
