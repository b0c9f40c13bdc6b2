"""``reenact triage``: groups failed, flagged and cold runs by what they share, with a representative of each group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Any, TypeVar
from zoneinfo import ZoneInfo

import click

from reenact.abc.store import Store
from reenact.errors import ReenactError, UsageError
from reenact.facts.ids import tail
from reenact.facts.late import late
from reenact.interfaces.cli.progress import ReadingProgress
from reenact.interfaces.cli.run_filters import choosing, chosen, filters_of
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.interfaces.cli.triage_text import TriageReport, halves_of, markdown, tell_groups, tell_json
from reenact.triage.featured_runs import EndedRun, representative, restricted, seen
from reenact.triage.groups import RunGroup, group_called, grouped, short_names
from reenact.triage.shared_traits import shared

if TYPE_CHECKING:
    from reenact.interfaces.cli.candidate_trial import try_group
    from reenact.triage.cold_reasons import Reason, reasons
    from reenact.triage.kit_of_run import kit_of
else:
    reasons = late("reenact.triage.cold_reasons", "reasons")
    kit_of = late("reenact.triage.kit_of_run", "kit_of")
    try_group = late("reenact.interfaces.cli.candidate_trial", "try_group")

F = TypeVar("F", bound=Callable[..., Any])

_BY_TIME = frozenset(("since_us", "before_us"))
_TRYING = (
    click.option("--candidate", "candidates", metavar="NAME:K=V,…", multiple=True, help="Try this on the group."),
    click.option("--all", "every", is_flag=True, help="Try it on all members, not on 5 representatives."),
    click.option(
        "--healthy",
        type=click.IntRange(0, 100_000),
        default=20,
        metavar="N",
        help="Also try it on N healthy runs (20).",
    ),
    click.option("--expect", "expect_", metavar="EXPR", multiple=True, help="Also require this of each run."),
    click.option("--repeat", type=click.IntRange(1, 1_000), default=1, metavar="N", help="Run each N times."),
    click.option("-j", "--workers", type=click.IntRange(1, 256), metavar="N", help="Run N in parallel."),
    click.option("--cmd", metavar="CMD", help="Of imported runs: the command line of the agent that they answer."),
    click.option("--entry", metavar="MODULE:FUNCTION", default="", help="Of imported runs: the function to call."),
    click.option("--fresh", is_flag=True, help="Ignore cached results and run everything again."),
    click.option("--dry-run", is_flag=True, help="Print what is tried and may cost, and run nothing."),
)
_HOW = ("candidates", "every", "healthy", "expect_", "repeat", "workers", "cmd", "entry", "fresh", "dry_run")
_ALONE = ("every", "expect_", "cmd", "entry", "fresh", "dry_run")
"""Options that need a candidate."""


def _trying(function: F) -> F:
    """Give a command the options for a candidate."""
    for option in reversed(_TRYING):
        function = option(function)
    return function


@click.command(
    cls=Command,
    name="triage",
    short_help="failures and cold cases by what they share",
    example="""
    reenact triage
    reenact triage --since 7d --agent refunds
    reenact triage --where "tenant == 'acme'" --markdown
    reenact triage --group 3f9a
    reenact triage --group 3f9a --candidate fix:rev=mended --all
    reenact triage --group 3f9a --candidate short:prompt=@short.txt --dry-run
    """,
)
@click.option("--group", "group", metavar="G", help="Only this group: the beginning of its fingerprint.")
@click.option("-n", "most", type=click.IntRange(min=1), default=10, metavar="N", help="Show at most N groups (10).")
@click.option("--zone", default="UTC", metavar="ZONE", help="Time zone of hours and weekdays: Europe/Berlin (UTC).")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown, for a ticket.")
@_trying
@choosing
@click.pass_context
def command(
    ctx: click.Context, /, group: str | None, most: int, zone: str, as_markdown: bool, where: str | None, **wanted: Any
) -> None:
    """Group the runs that failed, were flagged or cannot be replayed, and say what each group has in common.

    Runs are one group when they ended with the same error (type, and message without its values), in the same tool,
    after the same last steps. A group is named by its fingerprint, which never changes. For a group of five runs or
    more, triage lists what its runs share more often than healthy runs of the same agent: model, hour, weekday, tenant,
    user, tool, form of a tool's answer, prompt version, commit, missing field. Lift is how many times more often they
    have it, with its 95 % interval; only traits with a corrected p-value (Benjamini-Hochberg) below 5 % are shown.

    The first call on an older store reads all its runs once and stores the result. With --json every group is a line.
    The names in --where are those of reenact ls.

    --group G --candidate NAME:… tries a fix: up to 5 members of the group that differ (--all: all of them) run again on
    the candidate, with tools answered from the recording. Healthy runs of the same agent are tried in the same way. A
    candidate is written as for reenact experiment. The result says whether the group collapses wholly, in part or not
    at all, and which healthy runs break. Members that cannot be replayed are not tried, and never count as fixed. The
    price of live calls is printed first. Exit codes: 0 the group collapses and nothing breaks, 1 otherwise, 3 no member
    could be tried; of several candidates the highest.
    """
    shell = current(ctx)
    hours = _zone(zone)
    how = {option: wanted.pop(option) for option in _HOW} | {"markdown": as_markdown}
    if _asks_to_try(group, how):
        with opened(shell) as store:
            run = _try(shell, store, group or "", (where, wanted), how)
        ctx.exit(run())
    with opened(shell) as store:
        told = _triage(shell, store, (group, where, wanted), hours, None if shell.json else most)
    if shell.json:
        tell_json(shell, told, None)
    elif not told.groups:
        shell.talk("no matching runs failed, were flagged or cannot be replayed")
        shell.next("reenact ls")
    elif as_markdown:
        shell.lines(markdown(told, most))
    else:
        tell_groups(shell, told, most)
        shell.next(_next_command(told, alone=group is not None))


def _asks_to_try(group: str | None, how: Mapping[str, Any]) -> bool:
    """Whether a candidate should be tried.

    Raises:
        UsageError: The group or the candidate is missing.
    """
    if how["candidates"] and not group:
        raise UsageError(
            "a candidate is tried on one group, and no group is named",
            cause="--group G takes the beginning of its fingerprint",
            next_command="reenact triage",
        )
    if not how["candidates"] and any(how[option] for option in _ALONE):
        raise UsageError(
            "no candidate is named",
            cause="--candidate NAME:K=V,… names the change to try; NAME: alone is today's code",
            next_command="reenact triage --help",
        )
    return bool(how["candidates"])


def _try(
    shell: Shell, store: Store, name: str, asked: tuple[str | None, Mapping[str, Any]], how: Mapping[str, Any]
) -> Callable[[], int]:
    """Choose the runs for a trial; returns a function that runs it when the store is closed again, and gives the exit
    status."""
    where, wanted = asked
    every = all_seen(store)
    runs = _chosen(shell, store, every, where, filters_of(wanted, store))
    group = group_called(grouped(every, runs), name)
    names = short_names(run.fingerprint for run in every if run.case is not None)
    healthy = [run for run in runs if run.case is None]
    return try_group(shell, store, group, names[group.fingerprint], healthy, how)


def _triage(
    shell: Shell, store: Store, asked: tuple[str | None, str | None, Mapping[str, Any]], zone: tzinfo, most: int | None
) -> TriageReport:
    name, where, wanted = asked
    filters = filters_of(wanted, store)
    every = all_seen(store)
    runs = _chosen(shell, store, every, where, filters)
    marks = store.marks()
    mark = marks[-1] if marks else None
    groups: Sequence[RunGroup] = grouped(every, runs, mark.at_us if mark else None)
    names = short_names(run.fingerprint for run in every if run.case is not None)
    healthy = [run for run in runs if run.healthy]
    shares = shared(groups, healthy, zone)
    if name is not None:
        groups = [group_called(groups, name)]
    stand: dict[str, str] = {}
    why: dict[str, tuple[Reason, ...]] = {}
    for group in groups[:most]:
        run = representative(store, group.members)
        if run is not None:
            stand[group.fingerprint] = run.id
            if all(member.cold for member in group.members):
                why[group.fingerprint] = _reasons(store, run.id)
    cold = sum(run.cold for run in healthy)
    return TriageReport(groups, names, shares, len(healthy), cold, stand, why, mark, zone, halves_of(runs, mark))


def all_seen(store: Store) -> list[EndedRun]:
    """All runs of a store, with a progress line if reading takes a while."""
    progress = ReadingProgress()
    try:
        return seen(store, progress.at)
    finally:
        progress.end()


def _chosen(
    shell: Shell, store: Store, every: list[EndedRun], where: str | None, filters: Mapping[str, Any]
) -> list[EndedRun]:
    """The runs that the options choose. The runs themselves are read only if an option needs more than their times."""
    ids = None
    if where is not None or set(filters) - _BY_TIME:
        ids = frozenset(run.id for run in chosen(store, where, None, filters, shell.talk))
    before = filters.get("before_us")
    runs = restricted(every, filters.get("since_us"), ids)
    return runs if before is None else [run for run in runs if run.started_us < before]


def _reasons(store: Store, run_id: str) -> tuple[Reason, ...]:
    try:
        return reasons(kit_of(store, store.run(run_id)))
    except ReenactError:  # the run was just removed, or is damaged
        return ()


def _zone(name: str) -> tzinfo:
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        raise UsageError(
            f"{name!r} is no time zone",
            cause="zones are named as Europe/Berlin",
            next_command="reenact triage --zone UTC",
        ) from None


def _next_command(told: TriageReport, *, alone: bool) -> str:
    first = told.groups[0]
    run = told.representatives.get(first.fingerprint, "")
    if not alone and len(told.groups) > 1:
        return f"reenact triage --group {told.names[first.fingerprint]}"
    if not run:
        return "reenact ls --failed"
    return f"reenact kit {tail(run)}" if first.cold == len(first.members) else f"reenact show {tail(run)}"
