"""``reenact kit``: shows what a replay of a run needs (present or missing), and the budget of chance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from reenact.errors import UsageError
from reenact.facts.ids import tail
from reenact.facts.kit import (
    Allowance,
    Bucket,
    Hold,
    Item,
    ItemState,
    Kit,
    ReplayUse,
    allowance_data,
    item_data,
    kit_data,
)
from reenact.facts.run import Run
from reenact.interfaces.cli.arguments import whole_run
from reenact.interfaces.cli.audit_text import tell_audit
from reenact.interfaces.cli.commands.show import headline
from reenact.interfaces.cli.progress import WorkProgress
from reenact.interfaces.cli.run_filters import choosing, chosen, filters_of
from reenact.interfaces.cli.run_opening import opened
from reenact.interfaces.cli.shell import Command, Shell, current, paint, shortened
from reenact.timetravel.preview import safe
from reenact.triage.budget import allow
from reenact.triage.kit_of_run import judge
from reenact.triage.scene import scene_of

_WORDS = {
    ItemState.CAPTURED: "captured",
    ItemState.PINNED: "pinned",
    ItemState.PARTIAL: "PARTIAL",
    ItemState.MISSING: "MISSING",
}


@click.command(
    cls=Command,
    name="kit",
    short_help="what a replay needs, present and missing",
    example="""
    reenact kit @
    reenact kit @failed --budget
    reenact --json kit 7f3c
    reenact kit --agent refunds --since 7d
    """,
)
@click.argument("ref", required=False)
@click.option("--budget", is_flag=True, help="The non-determinism budget: what holds each source of chance.")
@choosing
@click.pass_context
def command(ctx: click.Context, /, ref: str | None, budget: bool, where: str | None, **wanted: Any) -> None:
    """Show the replay kit of REF (default: @, the last run) in three buckets: input, environment, side effects.

    Each item is captured, pinned (fixed by a name or value that is in the recording), partial or missing, with the
    evidence and how to capture it, cheapest first; of an imported trace it is exact, semantic or absent. The verdict is
    one of: replays as code, replays as events, cold case. With --json the first line is the kit; a line for each item
    follows, then a line for each source of the budget.

    With options that choose runs (--agent, --since, --where …) it is an audit of those runs: how many can be replayed,
    which item would make most of the others replayable, and how that share moved with the last change of the code.
    """
    shell = current(ctx)
    if where is not None or any(wanted.values()):
        if ref is not None or budget:
            raise UsageError(
                "one run has a kit, and many have an audit",
                cause=f"{ref or '--budget'} means one run, and the other options choose many",
                next_command="reenact kit --help",
            )
        with opened(shell) as store:
            tell_audit(shell, store, chosen(store, where, None, filters_of(wanted, store), shell.talk))
        return
    ref = ref or "@"
    with opened(shell, ref) as store:
        run = store.run(whole_run(ref))
        with WorkProgress(f"looking through {run.totals.events} events"):
            scene = scene_of(store, run)
            kit, lines = judge(scene), allow(scene)
    if shell.json:
        _json(shell, None if budget else kit, lines, run.id)
    elif budget:
        shell.lines(_budget(run, lines))
        shell.next(f"reenact kit {tail(run.id)}")
    else:
        shell.lines(_text(run, kit))
        shell.next(_next_command(kit))


def _json(shell: Shell, kit: Kit | None, lines: tuple[Allowance, ...], run: str) -> None:
    if kit is not None:
        shell.line({"type": "kit"} | kit_data(kit))
        for item in kit.items:
            shell.line({"type": "item"} | item_data(item, run))
    for line in lines:
        shell.line({"type": "budget"} | allowance_data(line, run))


def _text(run: Run, kit: Kit) -> Iterator[str]:
    there, counted = kit.score
    yield paint(headline(run), bold=True)
    yield f"verdict: {kit.verdict.value}   kit {there}/{counted}"
    width = max((len(safe(item.name)) for item in kit.counted if len(item.name) <= 20), default=0)
    for bucket in Bucket:
        yield paint(bucket.value, bold=True)
        for item in kit.counted:
            if item.bucket is bucket:
                yield from _item(item, width)
    quiet = [item for item in kit.items if not item.expected]
    if quiet:
        yield paint("not offered, or not asked for", bold=True)
        for item in quiet:
            yield shortened(f"  {safe(item.name):<{width + 10}}  {safe(item.about)}")


def _word(item: Item) -> str:
    """The word for the state of an item; for a trace, one of exact, semantic and absent."""
    if not item.fidelity or item.standing is ItemState.PARTIAL:
        return _WORDS[item.standing]
    return item.fidelity if item.there else item.fidelity.upper()


def _item(item: Item, width: int) -> Iterator[str]:
    text = shortened(f"  {_word(item):<8}  {safe(item.name):<{width}}  {safe(item.about)}")
    if item.there:
        yield text
        return
    yield paint(text, fg="red" if item.standing is ItemState.MISSING else "yellow")
    for number, way in enumerate(item.capture):
        yield f"  {'':8}  {'capture it:' if number == 0 else 'or:':>{max(width, 11)}}  {safe(way)}"


def _next_command(kit: Kit) -> str:
    """The most useful next command: one that looks at a missing item, or a replay."""
    name = tail(kit.run)
    seen = next((item.events[0] for item in kit.lacking if item.events), None)
    if seen is not None:
        return f"reenact show {name}:{seen}"
    if kit.verdict is ReplayUse.CODE:
        return f"reenact replay {name}"
    return f"reenact replay {name} --events" if kit.verdict is ReplayUse.EVENTS else f"reenact show {name}"


def _budget(run: Run, lines: tuple[Allowance, ...]) -> Iterator[str]:
    yield paint(headline(run), bold=True)
    width = max(len(line.name) for line in lines)
    yield paint(f"  {'source of chance':<{width}}  {'replay':<8}  {'live':<8}  evidence", bold=True)
    for line in lines:
        live = "-" if line.live is None else line.live.value
        text = shortened(f"  {line.name:<{width}}  {line.replay.value:<8}  {live:<8}  {safe(line.about)}")
        yield paint(text, fg="yellow") if line.replay is Hold.ACCEPTED else text
