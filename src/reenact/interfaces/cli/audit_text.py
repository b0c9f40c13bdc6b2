"""The audit of many runs on the command line: as lines for a person, and as JSON Lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from reenact.abc.store import Store
from reenact.facts.ids import tail
from reenact.facts.phrases import counted
from reenact.facts.run import RESEND, Run, Status
from reenact.interfaces.cli.progress import ReadingProgress
from reenact.interfaces.cli.shell import Shell, columns, paint
from reenact.timetravel.preview import clip, safe
from reenact.triage.audit import Audit, Lack, audit, audited
from reenact.triage.kit_of_run import kit_of

_OTHERS = 8
"""The most other lacking items that are listed."""


def tell_audit(shell: Shell, store: Store, runs: Iterable[Run]) -> None:
    """Audit some runs, and print the result.

    Args:
        shell: The shell of the running command.
        store: The store that holds them.
        runs: The runs, newest first. Those that are still being recorded are left out.
    """
    every = [run for run in runs if run.status is not Status.RECORDING and run.relation != RESEND]
    if not every:
        shell.talk("no matching runs")
        shell.next("reenact ls")
        return
    progress = ReadingProgress()
    kits = []
    try:
        for number, run in enumerate(every):
            progress.at("kits", number, len(every))
            kits.append(audited(run, kit_of(store, run)))
    finally:
        progress.end()
    found = audit(kits)
    if shell.json:
        shell.line({"type": "audit", "runs": found.runs, "replays": found.replays})
        for each in found.helps:
            shell.line({"type": "help"} | each.to_json())
        for each in found.others:
            shell.line({"type": "lack"} | each.to_json())
        for moved in found.moved:
            shell.line({"type": "moved"} | moved.to_json())
        return
    shell.lines(_text(found))
    shell.next(f"reenact kit {tail(found.helps[0].runs[0])}" if found.helps else f"reenact kit {tail(every[0].id)}")


def _text(found: Audit) -> Iterator[str]:
    yield paint(f"{counted(found.runs, 'run')}: {_of(found.replays, found.runs)} can be replayed", bold=True)
    if found.helps:
        yield paint("what would make most of the others replayable, one after the other", bold=True)
        for some in _together(found.helps):
            yield from _lack(some[-1], f"+{some[-1].gains}", some)
    if found.others:
        yield paint("what else is lacking", bold=True)
        for each in found.others[:_OTHERS]:
            yield from _lack(each, "")
        more = len(found.others) - _OTHERS
        if more > 0:
            yield f"  and {counted(more, 'further item')}: --json lists them all"
    for moved in found.moved:
        whose = f"{safe(moved.agent)} at " if moved.agent else ""
        before, since = (_of(*each) for each in (moved.before, moved.since))
        yield f"since {whose}{safe(moved.code)}: {since} can be replayed; before: {before}"


def _together(helps: Iterable[Lack]) -> Iterator[list[Lack]]:
    """The missing items in groups. Each group makes runs replayable: an item that cannot do this alone is grouped with
    the next ones."""
    some: list[Lack] = []
    for each in helps:
        some.append(each)
        if each.gains:
            yield some
            some = []


def _lack(each: Lack, gain: str, some: Sequence[Lack] = ()) -> Iterator[str]:
    """The lines on a lacking item: how many runs lack it, and how to capture it. ``some`` is its group, in which it is
    the last item."""
    names = " and ".join(safe(one.name) for one in some or (each,))
    text = f"  {gain:<5} {names}: lacking in {counted(len(each.runs), 'run')}, the newest {tail(each.runs[0])}"
    yield clip(f"{text}: {safe(each.about)}", columns())
    ways = list(dict.fromkeys(one.capture[0] for one in some if one.capture)) if len(some) > 1 else each.capture[:2]
    for number, way in enumerate(ways):
        yield f"        {'capture it:' if number == 0 else 'and:' if len(some) > 1 else 'or:':>11}  {safe(way)}"


def _of(some: int, of: int) -> str:
    return f"{some} of {of} ({100 * some // of} %)" if of else "none"
