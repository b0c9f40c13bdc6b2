"""``triage --candidate``: prints the plan and its price, then the result of a candidate on a group of failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from reenact.abc.sources import CLOCK
from reenact.abc.store import Store
from reenact.errors import ReenactError, UsageError
from reenact.facts.call import Json
from reenact.facts.ids import tail
from reenact.facts.imported_runs import is_imported
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.phrases import counted
from reenact.facts.shell_text import typed
from reenact.interfaces.cli.cells import candidates_of, cells_folder, run_cells
from reenact.interfaces.cli.goldens.golden_add import program_of
from reenact.interfaces.cli.shell import Shell, columns, paint, wrapped
from reenact.replaying.options import Options
from reenact.replaying.program_start import start_of
from reenact.replaying.replay_launch import project_of
from reenact.testing.expectations.expectation import Expectation, expect
from reenact.testing.experiments.candidates import Candidate
from reenact.testing.experiments.cell import UNANSWERED_MODEL
from reenact.testing.experiments.cell_run import CellPlace
from reenact.testing.experiments.code_digest import project_digest
from reenact.testing.experiments.dataset import NO_PROGRAM, Row, stored_rows
from reenact.testing.experiments.experiment_batch import Experiment, here
from reenact.testing.experiments.fix_trial import (
    REPRESENTATIVES,
    Fate,
    FixTrial,
    FixVerdict,
    TriedRun,
    judged_by_person,
    trial,
    varied,
)
from reenact.testing.experiments.live_price import Estimate, estimate
from reenact.timetravel.cost import prices
from reenact.timetravel.markup import cell, code
from reenact.timetravel.preview import amount, brief, safe
from reenact.triage.featured_runs import EndedRun
from reenact.triage.groups import RunGroup

_SHOWN = 20
"""The most runs with the same result that are listed."""
_LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class TrialChoice:
    """The runs that a candidate is tried on.

    Attributes:
        group, name: The group, and its name.
        members, healthy: The rows that are tried: members of the group, and healthy runs beside them.
        left_out: Members and healthy runs that cannot be run again, each with the reason. Cold members are not
            included.
        compared: The number of healthy runs of the same agents.
    """

    group: RunGroup
    name: str
    members: Sequence[Row]
    healthy: Sequence[Row]
    left_out: Sequence[tuple[EndedRun, str]]
    compared: int

    @property
    def passed(self) -> list[tuple[EndedRun, str]]:
        """The members of the group among ``left_out``."""
        ours = {member.id for member in self.group.members}
        return [(run, why) for run, why in self.left_out if run.id in ours]

    def left_out_data(self) -> list[Json]:
        """The runs in ``left_out``, with the reasons, as JSON data."""
        return [{"run": run.id, "why": why} for run, why in self.left_out]


def try_group(
    shell: Shell, store: Store, group: RunGroup, name: str, healthy: Sequence[EndedRun], how: Mapping[str, Any]
) -> Callable[[], int]:
    """Choose the runs of a group to try a candidate on, and print the price.

    Args:
        shell: The shell of the running command.
        store: The store of the runs.
        group: The group.
        name: The name of the group.
        healthy: Healthy runs, of any agent, newest first.
        how: The options of the command, by name.

    Returns:
        A function that runs the trial, prints the result and returns the exit status; the store may be closed by then.

    Raises:
        UsageError: An option is wrong, or only a person can judge whether a member is fixed.
    """
    expectations = [expect(text) for text in how["expect_"]]
    if judged_by_person(group, expectations):
        raise UsageError(
            f"group {name} was flagged by a person, and nothing in its runs shows what is wrong",
            cause="--expect EXPR says what must hold once the run is fixed",
            next_command=f"reenact triage --group {name} --help",
        )
    project = project_of()
    tried = candidates_of(how["candidates"], Path(project))
    chosen = _chosen(store, group, name, healthy, how, expectations)
    if not chosen.members:
        return partial(_none, shell, chosen, how)
    place = CellPlace(project, str(cells_folder(shell, project)), project_digest(Path(project)))
    rows = [*chosen.members, *chosen.healthy]
    experiment = Experiment(place, rows, tried, how["repeat"], how["workers"] or 0, how["fresh"])
    _tell_plan(shell, chosen, _estimates(store, experiment), tried)
    return (lambda: 0) if how["dry_run"] else partial(_run, shell, experiment, chosen, how)


def _chosen(
    store: Store,
    group: RunGroup,
    name: str,
    healthy: Sequence[EndedRun],
    how: Mapping[str, Any],
    expectations: Sequence[Expectation],
) -> TrialChoice:
    """Choose the rows: members that can be replayed, and healthy runs of the same agents."""
    agents = {member.agent for member in group.members}
    beside = [run for run in healthy if run.agent in agents]
    warm = varied(run for run in group.members if not run.cold)
    make = partial(_rows, store, expectations, program_of(how))
    members, left_out = make(warm, len(warm) if how["every"] else REPRESENTATIVES)
    found, more = make(varied(beside), how["healthy"]) if members else ([], [])
    return TrialChoice(group, name, members, found, [*left_out, *more], len(beside))


def _rows(
    store: Store, expectations: Sequence[Expectation], program: Mapping[str, Any], runs: Sequence[EndedRun], most: int
) -> tuple[list[Row], list[tuple[EndedRun, str]]]:
    """Rows for up to ``most`` runs that can be run again; and the runs that were left out, each with the reason."""
    rows: list[Row] = []
    left_out: list[tuple[EndedRun, str]] = []
    for run in runs:
        if len(rows) >= most:
            break
        try:
            found = store.run(run.id)
            if not is_imported(found):
                start_of(found, Options(), project_of())
            rows += stored_rows(store, [found], expectations, **program)
        except ReenactError as error:  # the run was deleted, is damaged or imported, or is a block
            left_out.append((run, error.message))
    return rows, left_out


def _estimates(store: Store, experiment: Experiment) -> list[tuple[int, Estimate]]:
    """For each candidate, the number of cells to run, and what they may cost."""
    to_do: dict[str, list[str]] = {candidate.name: [] for candidate in experiment.candidates}
    for asked, kept in zip(experiment.asked(), experiment.kept(), strict=True):
        if kept is None:
            to_do[asked.candidate.name].append(asked.row.run)
    live = any(candidate.live != "none" for candidate in experiment.candidates)
    priced, now = prices() if live else None, CLOCK.wall_us()
    return [
        (len(to_do[candidate.name]), estimate(store, to_do[candidate.name], candidate, priced, now))
        for candidate in experiment.candidates
    ]


def _run(shell: Shell, experiment: Experiment, chosen: TrialChoice, how: Mapping[str, Any]) -> int:
    cells = run_cells(shell, experiment, partial(here, waits=lambda: None))
    trials = [
        trial(candidate.name, chosen.group, chosen.members, chosen.healthy, cells)
        for candidate in experiment.candidates
    ]
    if shell.json:
        for each in trials:
            _tell_json(shell, chosen, each)
    elif how["markdown"]:
        shell.lines(line for each in trials for line in _paper(each, chosen))
    else:
        shell.lines(line for each in trials for line in _lines(each, chosen))
        shell.next(_next_command(trials[0], chosen, experiment.candidates[0], how))
    return max(each.exit_code for each in trials)


# --- the plan --------------------------------------------------------------------------------------------------------


def _tell_plan(
    shell: Shell, chosen: TrialChoice, estimates: Sequence[tuple[int, Estimate]], tried: Sequence[Candidate]
) -> None:
    """Print the plan and its price, before anything runs."""
    if shell.json:
        shell.line({
            "type": "plan", "group": chosen.name, "fingerprint": chosen.group.fingerprint,
            "runs": len(chosen.group.members), "cold": chosen.group.cold,
            "members": [row.run for row in chosen.members], "healthy": [row.run for row in chosen.healthy],
            "healthy_of": chosen.compared, "left_out": chosen.left_out_data(),
            "candidates": [
                {"candidate": each.name, "about": each.about, "to_do": to_do, "live": cost.to_json()}
                for each, (to_do, cost) in zip(tried, estimates, strict=True)
            ],
        })  # fmt: skip
        return
    shell.talk(f"reenact: group {chosen.name}: {_members(chosen)}")
    shell.talk(f"reenact: beside them: {_beside(chosen)}")
    for each, (to_do, cost) in zip(tried, estimates, strict=True):
        shell.talk(f"reenact: candidate {safe(each.name)} ({safe(each.about)}): {to_do} to run; {_live(cost, to_do)}")


def _members(chosen: TrialChoice) -> str:
    group = chosen.group
    every, cold = len(group.members), group.cold
    told = (
        f"{len(chosen.members)} of {counted(every, 'member')} {'is' if len(chosen.members) == 1 else 'are'} run again"
    )
    told += f"; {cold} cannot be replayed: not tried" if cold else ""
    passed = chosen.passed
    told += f"; {len(passed)} left out, the first: {safe(passed[0][1])}" if passed else ""
    return told + ("" if len(chosen.members) + cold + len(passed) >= every else " (--all: all of them)")


def _beside(chosen: TrialChoice) -> str:
    agents = ", ".join(safe(agent) for agent in sorted({member.agent for member in chosen.group.members}) if agent)
    of = f"healthy {'run' if chosen.compared == 1 else 'runs'}{f' of {agents}' if agents else ''}"
    if not chosen.compared:
        return f"no {of}: what the candidate breaks will not be known"
    return f"{len(chosen.healthy)} of {chosen.compared} {of} (--healthy N)"


def _live(cost: Estimate, to_do: int) -> str:
    if not to_do:
        return "nothing to ask"
    if not cost.calls:
        return "models are asked where no answer is recorded" if cost.open else "no model is asked"
    about = f"about {counted(cost.calls, 'model call')} live"
    if cost.only_missing:
        about = f"models are asked only where no answer is recorded; if that is every call, {about}"
    if cost.cost is not None:
        return f"{about}, about ${amount(cost.cost)}"
    why = 'no price list is installed (pip install "reenact[cost]")' if prices() is None else "no price, or no tokens"
    return f"{about}, cost unknown: {why}"


def _none(shell: Shell, chosen: TrialChoice, how: Mapping[str, Any]) -> int:
    """Print that no member can be replayed; returns the exit code."""
    group = chosen.group
    if shell.json:
        _tell_plan(shell, chosen, (), ())
        untried = {"verdict": FixVerdict.UNTRIED.value, "exit_code": 3, "left_out": chosen.left_out_data()}
        shell.line({"type": "trial", "group": chosen.name} | untried)
        return 3
    why = [f"{group.cold} of {counted(len(group.members), 'run')} cannot be replayed"] if group.cold else []
    why += [f"{len(chosen.passed)} left out"] if chosen.passed else []
    told = f"group {chosen.name} {FixVerdict.UNTRIED.value}: {', '.join(why)}"
    if how["markdown"]:
        shell.lines((f"# {told}", "", *_passed_points(chosen)))
    else:
        shell.lines((paint(told, bold=True), *_passed_lines(chosen)))
    shell.next(_next(chosen, how))
    return 3


def _next(chosen: TrialChoice, how: Mapping[str, Any]) -> str:
    """The next command where no member could be tried. If only the program is missing, it is the same command with a
    program."""
    if chosen.passed and all(why.endswith(NO_PROGRAM) for _, why in chosen.passed):
        expected = [word for text in how["expect_"] for word in ("--expect", text)]
        tried = how["candidates"][0]
        return typed([
            "reenact", "triage", "--group", chosen.name, "--candidate", tried, "--cmd", "python agent.py", *expected
        ])  # fmt: skip
    return f"reenact kit {tail(chosen.group.members[0].id)}"


# --- the result ------------------------------------------------------------------------------------------------------


def _tell_json(shell: Shell, chosen: TrialChoice, found: FixTrial) -> None:
    for what, runs in (("member", found.members), ("healthy", found.healthy)):
        for each in runs:
            shell.line({"type": what, "candidate": found.candidate} | each.to_json())
    shell.line({
        "type": "trial", "group": chosen.name, "fingerprint": chosen.group.fingerprint,
        "runs": len(chosen.group.members), "cold": chosen.group.cold, "left_out": chosen.left_out_data(),
    } | found.to_json())  # fmt: skip


def _lines(found: FixTrial, chosen: TrialChoice) -> Iterator[str]:
    yield paint(
        f"{safe(found.candidate)}: {_verdict(found, chosen)}", bold=True, fg=None if found.exit_code else "green"
    )
    yield f"  members: {_summed(found.members)}"
    yield from _named(found.members, (Fate.ALIKE, Fate.OTHERWISE, Fate.UNTRIED, Fate.FIXED))
    yield from _passed_lines(chosen)
    if found.healthy:
        yield f"  healthy: {_summed(found.healthy)}{_share_broken(found)}"
        yield from _named(found.healthy, (Fate.BROKEN, Fate.UNTRIED))
        said = [each for each in found.healthy if each.otherwise and each.fate is Fate.UNBROKEN]
        if said:
            yield f"    {counted(len(said), 'other answer')} than recorded, as in {tail(said[0].run)}"


def _passed_lines(chosen: TrialChoice) -> Iterator[str]:
    """The members that cannot be run again, each with the reason."""
    for run, why in chosen.passed[:_SHOWN]:
        yield from wrapped(f"    {_LEFT_OUT:<{len(Fate.OTHERWISE.value)}}  {tail(run.id)}  ", safe(why), columns())
    if len(chosen.passed) > _SHOWN:
        yield f"    {_LEFT_OUT:<{len(Fate.OTHERWISE.value)}}  … and {len(chosen.passed) - _SHOWN} others"


def _passed_points(chosen: TrialChoice) -> Iterator[str]:
    """The members that cannot be run again, each with the reason, as Markdown."""
    for run, why in chosen.passed[:_SHOWN]:
        yield f"- {_LEFT_OUT}: `{tail(run.id)}` {code(why)}"


def _paper(found: FixTrial, chosen: TrialChoice) -> Iterator[str]:
    """A trial as Markdown. Recorded text is quoted as code."""
    yield f"# {code(found.candidate)}: {_verdict(found, chosen)}"
    yield ""
    yield f"- members: {_summed(found.members)}"
    if found.healthy:
        yield f"- healthy: {_summed(found.healthy)}{_share_broken(found)}"
    yield from _passed_points(chosen)
    some = [each for each in (*found.members, *found.healthy) if each.fate is not Fate.UNBROKEN]
    yield ""
    yield "| run | result | why |"
    yield "|---|---|---|"
    for each in some[:_SHOWN]:
        yield f"| `{tail(each.run)}` | {each.fate.value} | {cell(each.why)} |"
    if len(some) > _SHOWN:
        yield ""
        yield f"and {counted(len(some) - _SHOWN, 'other')}."


def _share_broken(found: FixTrial) -> str:
    """The share of healthy runs that break, as text; empty if no healthy run could be run again."""
    low, high = (round(100 * end) for end in found.broken.interval)
    return f"; broken {found.broken.hits} of {found.broken.of} (95 % {low} to {high} %)" if found.broken.of else ""


def _verdict(found: FixTrial, chosen: TrialChoice) -> str:
    cold, passed = chosen.group.cold, len(chosen.passed)
    untried = [f"{cold} of {counted(len(chosen.group.members), 'run')} cannot be replayed"] if cold else []
    untried += [f"{passed} left out"] if passed else []
    told = f"group {chosen.name} {found.verdict.value}"
    told += f" ({', '.join(untried)}: not tried)" if untried else ""
    if found.verdict is FixVerdict.UNTRIED:
        return told
    if not found.broken.of:
        return f"{told}; what breaks is not known: no healthy run {'could be' if found.healthy else 'was'} tried"
    broken = counted(found.broken.hits, "healthy run")
    return f"{told}; {f'breaks {broken} of {found.broken.of}' if found.broken.hits else 'breaks none that was healthy'}"


def _summed(runs: Sequence[TriedRun]) -> str:
    counts = [(sum(each.fate is fate for each in runs), fate) for fate in Fate]
    return f"{len(runs)} chosen: " + ", ".join(f"{count} {fate.value}" for count, fate in counts if count)


def _named(runs: Sequence[TriedRun], fates: Sequence[Fate]) -> Iterator[str]:
    width = max(len(fate.value) for fate in fates)
    for fate in fates:
        some = [each for each in runs if each.fate is fate]
        for each in some[:_SHOWN]:
            head = f"    {fate.value:<{width}}  {tail(each.run)}  "
            said = "" if each.output is None else f"said {brief(each.output, columns() - len(head) - 5)}"
            yield from (line.rstrip() for line in wrapped(head, safe(each.why) or said, columns()))
        if len(some) > _SHOWN:
            yield f"    {fate.value:<{width}}  … and {len(some) - _SHOWN} others"


def _next_command(found: FixTrial, chosen: TrialChoice, candidate: Candidate, how: Mapping[str, Any]) -> str:
    """The most useful next command: one that keeps the fix, asks models where no answer is recorded, or looks at a run
    that is not fixed or breaks."""
    first = chosen.members[0].run
    if found.exit_code == 0:
        return f"reenact golden add {tail(first)} --as run-{tail(first)} --expect \"status == 'ok'\""
    stale = any(
        each.fate is Fate.UNTRIED and each.why.startswith(f"stale: {UNANSWERED_MODEL}") for each in found.members
    )
    if stale and candidate.live == "none":
        text = str(how["candidates"][0])
        asking = f"{text}{'' if text.endswith(':') else ',' if ':' in text else ':'}live=missing"
        return typed(["reenact", "triage", "--group", chosen.name, "--candidate", asking, "--dry-run"])
    bad = (Fate.BROKEN, Fate.ALIKE, Fate.OTHERWISE, Fate.UNTRIED)
    runs = (each for fate in bad for each in (*found.members, *found.healthy) if each.fate is fate)
    return f"reenact show {tail(next((each.run for each in runs), first))}"
