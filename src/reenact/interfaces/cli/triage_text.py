"""The groups of a triage: as text, as JSON Lines, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING

from reenact.abc.sources import CLOCK
from reenact.facts.call import Json
from reenact.facts.features import Case
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.marks import Mark
from reenact.facts.phrases import counted
from reenact.interfaces.cli.charts import by_day, by_hour, curve, stretch
from reenact.interfaces.cli.reasons import with_fixes
from reenact.interfaces.cli.shell import Shell, columns, paint, wrapped
from reenact.testing.experiments.statistics import TrialShare as Proportion
from reenact.testing.experiments.statistics import difference
from reenact.timetravel.markup import cell, code
from reenact.timetravel.preview import ago, clip, safe
from reenact.triage.featured_runs import EndedRun
from reenact.triage.groups import Novelty, RunGroup
from reenact.triage.shared_traits import LEAST, Share, Trait

if TYPE_CHECKING:
    from reenact.triage.cold_reasons import Reason

_SHOWN = 3
_LONGEST = 400
"""The most characters of recorded text in the Markdown."""
_HUGE = 100


@dataclass(frozen=True, slots=True)
class TriageReport:
    """The result of a triage.

    Attributes:
        groups: The groups, in order.
        names: The name of each group, by fingerprint.
        shares: The traits that the members of each group share.
        healthy: The number of healthy runs.
        healthy_cold: The number of cold runs among the healthy runs. Groups of failures are compared with these, too;
            groups of cold runs are not.
        representatives: The id of the run that stands for each group; empty if all runs of the group are gone.
        reasons: The reasons why a representative is a cold case, by fingerprint.
        mark: The last mark; None if there is none.
        zone: The time zone for hours and weekdays.
        halves: For each agent, the number of chosen runs before the mark, and the number since.
    """

    groups: Sequence[RunGroup]
    names: Mapping[str, str]
    shares: Mapping[str, tuple[Share, ...]]
    healthy: int
    healthy_cold: int
    representatives: Mapping[str, str]
    reasons: Mapping[str, tuple[Reason, ...]]
    mark: Mark | None
    zone: tzinfo
    halves: Mapping[str, tuple[int, int]]

    @property
    def runs(self) -> int:
        """The number of runs in all groups."""
        return sum(len(group.members) for group in self.groups)

    def compared(self, group: RunGroup) -> int:
        """The number of healthy runs that a group is compared with."""
        return self.healthy - (self.healthy_cold if group.case is Case.COLD else 0)


def tell_groups(shell: Shell, told: TriageReport, most: int) -> None:
    """Print the groups as text."""
    shell.data(paint(_headline(told), bold=True))
    for group in told.groups[:most]:
        shell.data("")
        shell.lines(_lines(group, told))
    rest = _rest(told, most)
    if rest:
        shell.data(f"\n{rest}")


def _rest(told: TriageReport, most: int) -> str:
    """The line about the groups that are not shown; empty if all groups are shown."""
    rest = told.groups[most:]
    runs = counted(sum(len(group.members) for group in rest), "run")
    return f"and {counted(len(rest), 'more group')} of {runs}: -n {len(told.groups)}" if rest else ""


def _headline(told: TriageReport) -> str:
    healthy = max(map(told.compared, told.groups), default=0)
    cold = f", {told.healthy_cold} of them cold" if healthy == told.healthy and told.healthy_cold else ""
    against = f"compared with {counted(healthy, 'healthy run')}{cold}" if healthy else "no healthy run to compare with"
    return f"{counted(told.runs, 'run')} in {counted(len(told.groups), 'group')}, {against}"


def _lines(group: RunGroup, told: TriageReport) -> Iterator[str]:
    width = columns()
    name = told.names[group.fingerprint]
    new = _novelty(group, told.mark)
    head = f"{name}  {counted(len(group.members), 'run')}  {safe(group.about)}"
    yield paint(clip(f"{head}{f'  ({safe(new)})' if new else ''}", width), bold=True, fg="red")
    when, drawn = f"  {_when(group, told.zone)}", curve(_moments(group), told.zone)
    if len(when) + len(drawn) + 2 > width:
        yield from (when, f"  {drawn}")
    else:
        yield f"{when}  {drawn}".rstrip()
    if group.course:
        yield clip(f"  {safe(group.course)}", width)
    sides = _sides(group, told)
    if sides is not None:
        yield from wrapped("  ", _across(sides, safe(told.mark.name) if told.mark is not None else ""), width)
    for share in told.shares.get(group.fingerprint, ()):
        yield from wrapped("  shares: ", f"{_traits(share)}: {_figures(share)}", width)
        if share.same:
            yield from wrapped("          the same runs: ", ", ".join(map(_trait, share.same[:_SHOWN])), width)
    unlike = _uncompared(group, told)
    if unlike:
        yield f"  {unlike}"
    run = told.representatives.get(group.fingerprint, "")
    cold = f"; {group.cold} cannot be replayed" if group.cold else ""
    yield f"  representative: {tail(run) if run else 'none is there any more'}{cold}"
    for reason, fix in with_fixes(told.reasons.get(group.fingerprint, ())[:_SHOWN]):
        yield clip(f"  cold: {safe(reason.item)}: {safe(reason.about)}", width)
        if fix:
            yield f"        next time: {safe(fix)}"


def _uncompared(group: RunGroup, told: TriageReport) -> str:
    """The reason why no shared trait is listed; empty if one is listed."""
    if len(group.members) < LEAST:
        return f"fewer than {LEAST} runs: what they share is not compared"
    nothing = told.compared(group) and not told.shares.get(group.fingerprint)
    return "shares: nothing that healthy runs do not have as often" if nothing else ""


def _novelty(group: RunGroup, mark: Mark | None) -> str:
    if mark is None or group.novelty is Novelty.NEITHER:
        return ""
    return f"{'new since' if group.novelty is Novelty.NEW else 'gone since'} {mark.name}"


def halves_of(runs: Iterable[EndedRun], mark: Mark | None) -> dict[str, tuple[int, int]]:
    """For each agent, the number of runs before a mark, and the number since; empty if there is no mark."""
    found: dict[str, tuple[int, int]] = {}
    for run in runs if mark is not None else ():
        before, since = found.get(run.agent, (0, 0))
        later = mark is not None and run.started_us >= mark.at_us
        found[run.agent] = (before + (not later), since + later)
    return found


def _sides(group: RunGroup, told: TriageReport) -> tuple[Proportion, Proportion] | None:
    """The share of this group in the runs of its agents, before the mark and since; None if there are no runs on one
    side of the mark."""
    mark = told.mark
    every = [told.halves.get(agent, (0, 0)) for agent in {member.agent for member in group.members}]
    before, since = (sum(each[at] for each in every) for at in (0, 1))
    if mark is None or not (before and since):
        return None
    later = sum(member.started_us >= mark.at_us for member in group.members)
    return Proportion(len(group.members) - later, before), Proportion(later, since)


def _across(sides: tuple[Proportion, Proportion], name: str) -> str:
    """The frequency of a group before a mark and since, in words."""
    low, high = difference(*sides)
    how = "more often" if low > 0 else "less often" if high < 0 else "no difference is shown"
    points = f"difference {100 * low:+.0f} to {100 * high:+.0f} points (95 %)"
    return f"since {name}: {how}, {sides[1]} of the runs after {sides[0]}; {points}"


def _sides_data(sides: tuple[Proportion, Proportion] | None) -> Json:
    if sides is None:
        return None
    before, since = ({"runs": each.hits, "of": each.of, "interval": list(each.interval)} for each in sides)
    return {"before": before, "since": since, "difference": list(difference(*sides))}


def _when(group: RunGroup, zone: tzinfo) -> str:
    told = stretch(group.first_us, group.last_us, zone)
    return f"{told} ({ago(CLOCK.wall_us() - group.last_us)})" if " to " in told else told


def _moments(group: RunGroup) -> list[int]:
    return [member.started_us for member in group.members]


def _trait(trait: Trait) -> str:
    return f"{trait[0]} {safe(trait[1])}"


def _traits(share: Share) -> str:
    return " and ".join(map(_trait, share.traits))


def _figures(share: Share) -> str:
    found = share.found
    low, high = found.interval
    return (
        f"{found.among} of {found.of}, healthy {found.healthy} of {found.healthy_of}, "
        f"lift {_figure(found.lift)} (95 % {_figure(low)} to {_figure(high)})"
    )


def _figure(value: float) -> str:
    return f"{value:.0f}" if value >= _HUGE else f"{value:.3g}"


# --- for programs ----------------------------------------------------------------------------------------------------


def tell_json(shell: Shell, told: TriageReport, most: int | None) -> None:
    """Print groups as JSON Lines: a line for the whole triage, then one for each group."""
    shell.line({
        "type": "triage", "groups": len(told.groups), "runs": told.runs, "healthy": told.healthy,
        "healthy_cold": told.healthy_cold, "mark": told.mark.to_json() if told.mark else None,
    })  # fmt: skip
    for group in told.groups[:most]:
        shell.line({"type": "group"} | group_data(group, told))


def group_data(group: RunGroup, told: TriageReport) -> dict[str, Json]:
    """A group as JSON data."""
    fingerprint = group.fingerprint
    first = group.members[0].features
    return {
        "group": told.names[fingerprint], "fingerprint": fingerprint, "case": group.case.value, "about": group.about,
        "error": first.error, "template": first.template, "tool": first.tool, "steps": list(first.steps),
        "suspicions": list(first.suspicions or ()),
        "runs": len(group.members), "cold": group.cold, "first_us": group.first_us, "last_us": group.last_us,
        "novelty": group.novelty.value, "mark": _sides_data(_sides(group, told)),
        "representative": told.representatives.get(fingerprint) or None,
        "reasons": [reason.to_json() for reason in told.reasons.get(fingerprint, ())],
        "by_day": [[day, count] for day, count in by_day(_moments(group), told.zone)],
        "by_hour": [[hour_us, count] for hour_us, count in by_hour(_moments(group))],
        "shares": [share.to_json() for share in told.shares.get(fingerprint, ())],
    }  # fmt: skip


# --- for a ticket ----------------------------------------------------------------------------------------------------


def markdown(told: TriageReport, most: int) -> Iterator[str]:
    """The groups as Markdown. Recorded text is quoted as code."""
    yield "# Triage"
    yield ""
    yield f"{_headline(told)}."
    for group in told.groups[:most]:
        yield ""
        yield f"## `{told.names[group.fingerprint]}` {code(group.about, _LONGEST)}"
        yield ""
        yield from _points(group, told)
        shares = told.shares.get(group.fingerprint, ())
        if shares:
            yield ""
            yield "| shared | members | healthy | lift | 95 % | the same runs |"
            yield "|---|---|---|---|---|---|"
        for share in shares:
            found, (low, high) = share.found, share.found.interval
            yield (
                f"| {' and '.join(map(_cell, share.traits))} | {found.among} of {found.of} | {found.healthy} of "
                f"{found.healthy_of} | {_figure(found.lift)} | {_figure(low)} to {_figure(high)} | "
                f"{', '.join(map(_cell, share.same[:_SHOWN]))} |"
            )
    rest = _rest(told, most)
    if rest:
        yield ""
        yield f"{rest}."


def _points(group: RunGroup, told: TriageReport) -> Iterator[str]:
    """The facts about a group, as a list."""
    mark = code(told.mark.name) if told.mark is not None else ""
    new = f", {group.novelty.value} since {mark}" if mark and group.novelty is not Novelty.NEITHER else ""
    yield f"- {counted(len(group.members), 'run')}, {_when(group, told.zone)}{new}"
    if group.course:
        yield f"- {code(group.course, _LONGEST)}"
    drawn = curve(_moments(group), told.zone)
    if drawn:
        by, unit, bars = drawn.split(" ", 2)
        yield f"- {by} {unit}: `{bars}`"
    run = told.representatives.get(group.fingerprint, "")
    yield f"- representative: {f'`{tail(run)}`' if run else 'none is there any more'}"
    if group.cold:
        yield f"- {group.cold} cannot be replayed"
    for reason, fix in with_fixes(told.reasons.get(group.fingerprint, ())[:_SHOWN]):
        yield f"- cold: {code(f'{reason.item}: {reason.about}', _LONGEST)}"
        if fix:
            yield f"  - next time: {code(fix, _LONGEST)}"
    sides = _sides(group, told)
    if sides is not None:
        yield f"- {_across(sides, mark)}"
    unlike = _uncompared(group, told)
    if unlike:
        yield f"- {unlike}"


def _cell(trait: Trait) -> str:
    return cell(f"{trait[0]} {trait[1]}", _LONGEST)
