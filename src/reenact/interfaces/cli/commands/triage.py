"""``reenact triage``: failed, flagged and cold runs by what they share, a representative of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import click

from reenact.abc.store import Store
from reenact.errors import ReenactError, UsageError
from reenact.facts.ids import tail
from reenact.interfaces.cli.choosing import choosing, chosen, filters_of
from reenact.interfaces.cli.opening import opened
from reenact.interfaces.cli.progress import Reading
from reenact.interfaces.cli.shell import Command, Shell, current
from reenact.interfaces.cli.triaging import Told, markdown, tell_groups, tell_json
from reenact.triage.cold import Reason, reasons
from reenact.triage.groups import Group, group_called, grouped, short_names
from reenact.triage.kit import kit_of
from reenact.triage.seen import Seen, representative, restricted, seen
from reenact.triage.sharing import shared

_BY_TIME = frozenset(("since_us", "before_us"))


@click.command(
    cls=Command,
    name="triage",
    short_help="failures and cold cases by what they share",
    example="""
    reenact triage
    reenact triage --since 7d --agent refunds
    reenact triage --where "tenant == 'acme'" --markdown
    reenact triage --group 3f9a
    """,
)
@click.option("--group", "group", metavar="G", help="Only this group: the beginning of its fingerprint.")
@click.option("-n", "most", type=click.IntRange(min=1), default=10, metavar="N", help="Show at most N groups (10).")
@click.option("--zone", default="UTC", metavar="ZONE", help="Time zone of hours and weekdays: Europe/Berlin (UTC).")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown, for a ticket.")
@choosing
@click.pass_context
def command(
    ctx: click.Context, /, group: str | None, most: int, zone: str, as_markdown: bool, where: str | None, **wanted: Any
) -> None:
    """Group the runs that failed, were flagged or cannot be replayed, and say what each group has in common.

    Runs are one group when they ended with the same error (type, and message without its values), in the same tool,
    after the same last steps. A group is named by its fingerprint, which is the same in every call. Of groups of five
    runs and more it is said what they share more often than healthy runs of the same agent: model, hour, weekday,
    tenant, user, tool, form of a tool's answer, prompt version, commit, missing field. Lift is how many times more
    often, with its 95 % interval; only what a corrected p-value (Benjamini-Hochberg) below 5 % supports is shown.

    The first time, the runs of an older store are read through once; what is found is kept in the store. With --json
    every group is a line. The names in --where are those of reenact ls.
    """
    shell = current(ctx)
    hours = _zone(zone)
    with opened(shell) as store:
        told = _triage(shell, store, (group, where, wanted), hours, None if shell.json else most)
    if not told.groups:
        shell.talk("no matching runs failed, were flagged or cannot be replayed")
        shell.next("reenact ls")
    elif shell.json:
        tell_json(shell, told, None)
    elif as_markdown:
        shell.lines(markdown(told, most))
    else:
        tell_groups(shell, told, most)
        shell.next(_next_command(told, alone=group is not None))


def _triage(
    shell: Shell, store: Store, asked: tuple[str | None, str | None, Mapping[str, Any]], zone: tzinfo, most: int | None
) -> Told:
    name, where, wanted = asked
    filters = filters_of(wanted, store)
    every = all_seen(store)
    runs = _chosen(shell, store, every, where, filters)
    marks = store.marks()
    mark = marks[-1] if marks else None
    groups: Sequence[Group] = grouped(every, runs, mark.at_us if mark else None)
    names = short_names(run.fingerprint for run in every if run.case is not None)
    healthy = [run for run in runs if run.case is None]
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
    return Told(groups, names, shares, len(healthy), stand, why, mark, zone)


def all_seen(store: Store) -> list[Seen]:
    """All runs of a store; says how far it is, where that takes a while."""
    progress = Reading()
    try:
        return seen(store, progress.at)
    finally:
        progress.end()


def _chosen(shell: Shell, store: Store, every: list[Seen], where: str | None, filters: Mapping[str, Any]) -> list[Seen]:
    """Those that are meant. Only where more than their time matters, the runs themselves are read."""
    ids = None
    if where is not None or set(filters) - _BY_TIME:
        ids = frozenset(run.id for run in chosen(store, where, None, filters, shell.talk))
    before = filters.get("before_us")
    runs = restricted(every, filters.get("since_us"), ids)
    return runs if before is None else [run for run in runs if run.started_us < before]


def _reasons(store: Store, run_id: str) -> tuple[Reason, ...]:
    try:
        return reasons(kit_of(store, store.run(run_id)))
    except ReenactError:  # it has just gone, or is damaged: the group says what it lacks
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


def _next_command(told: Told, *, alone: bool) -> str:
    first = told.groups[0]
    run = told.representatives.get(first.fingerprint, "")
    if not alone and len(told.groups) > 1:
        return f"reenact triage --group {told.names[first.fingerprint]}"
    if not run:
        return "reenact ls --failed"
    return f"reenact kit {tail(run)}" if first.cold == len(first.members) else f"reenact show {tail(run)}"
