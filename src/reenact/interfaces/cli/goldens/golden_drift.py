"""``reenact golden drift``: lists the goldens that no longer agree with today's code, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import click

from reenact.interfaces.cli.progress import Progress
from reenact.interfaces.cli.shell import Command, current, paint
from reenact.testing.goldens.drift import WORST_FIRST, Drift, Standing, drifts
from reenact.testing.goldens.golden_dir import open_golden_dir
from reenact.timetravel.preview import clip, safe

_WIDTH = 160
_COLOURS: Mapping[Standing, str] = {"fresh": "green", "unfixed": "yellow", "drifted": "yellow"}


@click.command(
    cls=Command,
    name="drift",
    short_help="which of them today's code has left behind, and why",
    example="""
    reenact golden drift
    reenact golden drift 'checkout/*' --json
    """,
)
@click.argument("names", metavar="[PATTERN]...", nargs=-1)
@click.option("-j", "--workers", type=click.IntRange(1, 256), metavar="N", help="Run N in parallel.")
@click.pass_context
def command(ctx: click.Context, names: tuple[str, ...], workers: int | None) -> None:
    """Run today's code on the goldens that PATTERN means (default: all) and say which have drifted, worst first.

    fresh: it passes, and its requests are those that were recorded. unfixed: its requests are the same, and it fails as
    it did when it was added: the code is not fixed yet. drifted: its requests or its results are different. failed: an
    expectation does not hold. stale: a call has no recorded answer. The reasons have categories: prompt, messages, tool
    schema, model, parameters, calls; and changes since the recording: code, packages, python.

    Exit codes: 0 none has drifted, 1 one has, or fails, 3 one is stale, 4 one cannot be read, 5 one touched the world;
    the highest counts. Nothing is recorded, and nothing is written.
    """
    shell = current(ctx)
    golden_dir = open_golden_dir()
    every = golden_dir.matching(names)
    progress = Progress(len(every), "not fresh")
    found = drifts(golden_dir, every, workers or 0, done=lambda each: progress.one(bad=each.exit_code != 0))
    progress.end()
    for each in found:
        if shell.json:
            shell.line(each.to_json())
        else:
            shell.lines(_lines(each))
    if not shell.json:
        counts = {standing: sum(each.standing == standing for each in found) for standing in WORST_FIRST}
        shell.talk("reenact: " + (", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"))
    shell.next(next((each.next_command for each in found if each.exit_code), "reenact golden ls"))
    ctx.exit(max((each.exit_code for each in found), default=0))


def _lines(each: Drift) -> Iterator[str]:
    categories = list(dict.fromkeys(cause.category for cause in each.why))
    told = f"{each.standing:<8} {safe(each.name)}"
    told += f"  {safe(each.call)}" if each.call else ""
    yield paint(told + (f"  {', '.join(categories)}" if categories else ""), fg=_COLOURS.get(each.standing, "red"))
    if each.standing != "drifted" and not each.call:
        yield from (clip(f"    {safe(line)}", _WIDTH) for line in each.message.splitlines())
    for cause in each.why:
        at = "" if cause.event is None else f"  (event {cause.event})"
        yield clip(f"    {cause.category:<12} {safe(cause.text)}{at}", _WIDTH)
    if each.standing == "drifted" and not each.why:
        yield from (clip(f"    {safe(line)}", _WIDTH) for line in each.message.splitlines()[:3])
    if each.exit_code and not each.why and each.compared:
        yield clip(f"    compared: {safe(each.compared)}", _WIDTH)
    for cause in each.since:
        yield clip(f"    since: {cause.category:<9}{safe(cause.text)}", _WIDTH)
    if each.fork:
        yield f"    all answers at once: {safe(each.fork)}"
    if each.next_command:
        yield f"    next: {each.next_command}"
