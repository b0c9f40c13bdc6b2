"""``reenact diff``: shows where two runs first differ, and how; more than two runs are shown as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby

import click

from reenact.abc.store import Recording, Store
from reenact.errors import UsageError
from reenact.facts.call import Json, Kind
from reenact.facts.difference import Difference, differences, patch, render, words
from reenact.facts.event import Event
from reenact.facts.phrases import counted
from reenact.interfaces.cli.arguments import whole_run
from reenact.interfaces.cli.progress import WorkProgress
from reenact.interfaces.cli.run_opening import bundle_of, opened
from reenact.interfaces.cli.shell import Command, Shell, current, paint
from reenact.timetravel import preview
from reenact.timetravel.alignment import PairSort
from reenact.timetravel.model_readings import is_model, model_name
from reenact.timetravel.run_comparison import Comparison, Pair, compare_all
from reenact.timetravel.step_view import event_state
from reenact.timetravel.story import nodes_of

_WIDTH = 160
_DETAILS = 3
_MARKS: Mapping[PairSort, str] = {PairSort.ADDED: "+", PairSort.REMOVED: "-", PairSort.REORDERED: "↕"}
_COLOURS = {"+": "green", "-": "red"}
_ROWS = ("status", "error", "answer", "events", "models", "tools", "tokens", "cost", "duration")
_FEWEST = 2
_ROW = 8
_TOLD = 4


@click.command(
    cls=Command,
    name="diff",
    short_help="where two runs part, and how they differ",
    example="""
    reenact diff @~1 @
    reenact diff 7f3c e91a --text
    reenact diff 7f3c e91a b20e
    """,
)
@click.argument("refs", metavar="A B [C]...", nargs=-1, required=True)
@click.option("--stat", is_flag=True, help="Only the figures: answer, events, tools, tokens, cost, time.")
@click.option("--state", is_flag=True, help="Only how the states differ, step by step.")
@click.option("--text", is_flag=True, help="Texts in full, word by word.")
@click.pass_context
def command(ctx: click.Context, refs: tuple[str, ...], stat: bool, state: bool, text: bool) -> None:
    """Compare runs A and B: the first difference, then all of them, then how the runs ended.

    Calls are paired by name and request, not by position: an inserted call shifts nothing. A call was added (+),
    removed (-) or reordered (↕), or its arguments or answer changed (~). Long series of added or removed calls are
    folded. With --json each one is a line with an RFC 6902 patch from left to right. More than two runs are a table,
    each compared with the first.

    Exit code 0: the runs are the same. 1: they differ.
    """
    shell = current(ctx)
    if len(refs) < _FEWEST:
        raise UsageError("diff takes two runs or more", cause="one was named", next_command="reenact diff @~1 @")
    with ExitStack() as opening:
        stores = {bundle_of(ref): opening.enter_context(opened(shell, ref)) for ref in refs}
        recordings = [_recording(stores[bundle_of(ref)], ref) for ref in refs]
        events = sum(each.run.totals.events for each in recordings)
        with WorkProgress(f"comparing {counted(events, 'event')}"):
            found = compare_all(recordings)
        if len(found) > 1:
            _table(shell, found)
        elif state:
            _states(shell, found[0])
        else:
            _two(shell, found[0], stat=stat, text=text)
        same = all(each.same for each in found)
    ctx.exit(0 if same else 1)


def _recording(store: Store, ref: str) -> Recording:
    return store.open(store.run(whole_run(ref)))


def _two(shell: Shell, comparison: Comparison, *, stat: bool, text: bool) -> None:
    if shell.json:
        if not stat:
            for pair in comparison.differences:
                shell.line(_pair_data(pair))
        shell.line({"type": "summary"} | dict(comparison.summary))
        return
    if not stat:
        nodes = _nodes(comparison)
        shell.data(_headline(comparison, nodes))
        shell.lines(_difference_lines(comparison.differences, nodes, text=text))
    shell.lines(_figures(comparison.summary, everything=stat))
    _next(shell, comparison)


def _next(shell: Shell, comparison: Comparison) -> None:
    first = comparison.first_difference
    left, right = (str(comparison.summary[side]["tail"]) for side in ("left", "right"))
    if first is None:
        shell.next(f"reenact show {right}")
    elif first.numbers[1] is not None:
        shell.next(f"reenact show {right}:{first.numbers[1]}")
    else:
        shell.next(f"reenact show {left}:{first.numbers[0]}")


def _headline(comparison: Comparison, nodes: tuple[Mapping[int, str], Mapping[int, str]]) -> str:
    first = comparison.first_difference
    if first is None:
        said = "the same" if comparison.same else "the events are the same, the ends are not"
        return paint(f"{said}: {counted(len(comparison.pairs), 'event')}", bold=True)
    at = first.numbers[0] if first.numbers[0] is not None else first.numbers[1]
    side = "" if first.numbers[0] is not None else " of the right run"
    how = " and ".join(first.changes)
    return paint(f"first difference at #{at}{side}: {how}  {_call(first.event)}{_node(first, nodes)}", bold=True)


def _call(event: Event) -> str:
    kind = "model" if is_model(event) else event.kind
    return f"{kind} {preview.safe(model_name(event) if is_model(event) else event.name)}"


def _pair_data(pair: Pair) -> dict[str, Json]:
    left, right = pair.numbers
    event = pair.event
    return {
        "type": "difference",
        "left": left,
        "right": right,
        "kind": event.kind,
        "name": event.name,
        "changes": [change.value for change in pair.changes],
        "patch": pair.patch(),
    }


def _nodes(comparison: Comparison) -> tuple[Mapping[int, str], Mapping[int, str]]:
    """For each of both runs: the node of a graph (LangGraph) that made a call, by the number of the call's event."""
    left, right = (nodes_of(each.events()) for each in comparison.recordings)
    return left, right


def _node(pair: Pair, nodes: tuple[Mapping[int, str], Mapping[int, str]]) -> str:
    """The node of a graph that made the calls of a pair, for the end of its line."""
    numbered = zip(nodes, pair.numbers, strict=True)
    made = [side[number] for side, number in numbered if number is not None and number in side]
    return f"  node {preview.safe(' -> '.join(dict.fromkeys(made)))}" if made else ""


def _difference_lines(
    found: Sequence[Pair], nodes: tuple[Mapping[int, str], Mapping[int, str]], *, text: bool
) -> Iterator[str]:
    """The lines of each difference. Of many added or removed calls in a row, only the first calls are shown, and the
    number of the others."""
    for changes, group in groupby(found, key=lambda pair: pair.changes):
        pairs = list(group)
        folded = len(pairs) > _ROW and changes in ((PairSort.ADDED,), (PairSort.REMOVED,))
        for pair in pairs[:_TOLD] if folded else pairs:
            yield from _pair_lines(pair, _node(pair, nodes), text=text)
        if folded:
            side = 1 if changes == (PairSort.ADDED,) else 0
            yield f"  {len(pairs) - _TOLD} more {changes[0]}, up to #{pairs[-1].numbers[side]}"


def _pair_lines(pair: Pair, node: str, *, text: bool) -> Iterator[str]:
    """The lines of one difference: a line for the pair, then the differences inside the pair."""
    mark = next((_MARKS[change] for change in pair.changes if change in _MARKS), "~")
    left, right = pair.numbers
    numbers = f"{'' if left is None else left:>6} {'' if right is None else right:>6}"
    line = preview.clip(f"{mark} {numbers}  {', '.join(pair.changes):<17}  {_call(pair.event)}{node}", _WIDTH)
    yield paint(line, fg=_COLOURS.get(mark, "yellow"))
    found = pair.differences()
    if left is None or right is None:
        return
    if text:
        yield from _texts(found)
    else:
        yield from (f"      {preview.safe(line)}" for line in render(found, most=_DETAILS).splitlines())


def _texts(found: Sequence[Difference]) -> Iterator[str]:
    """The lines of differences of texts in full, word by word: [-removed-] and {+added+}."""
    for each in found:
        if not (isinstance(each.left, str) and isinstance(each.right, str)):
            yield from (f"      {preview.safe(line)}" for line in render([each], width=10 * _WIDTH).splitlines())
            continue
        yield f"      ~ {preview.safe(each.path)}:"
        found_words = words(each.left, each.right)
        between = "" if any(verb == "=" for verb, _ in found_words) else "\n"
        whole = between.join(_word(verb, part) for verb, part in found_words)
        yield from (f"        {line}" for line in whole.split("\n"))


def _word(verb: str, part: str) -> str:
    shown = "\n".join(preview.safe(line) for line in part.split("\n"))
    if verb == "=":
        return shown
    return paint(f"[-{shown}-]", fg="red") if verb == "-" else paint(f"{{+{shown}+}}", fg="green")


def _figures(summary: Mapping[str, Json], *, everything: bool) -> Iterator[str]:
    """The figures of both runs; only figures that differ, unless ``everything`` is set."""
    left, right = summary["left"], summary["right"]
    if everything:
        yield paint(f"{'':10} {left['tail']:<24} {right['tail']}", bold=True)
    for name in _ROWS:
        one, other = _shown(name, left[name]), _shown(name, right[name])
        if everything:
            yield f"{name:<10} {preview.clip(one, 24):<24} {preview.clip(other, 100)}"
        elif one != other and name != "duration":
            yield f"  {name:<8} {preview.clip(one, 70)} -> {preview.clip(other, 70)}"
    for name in {**left["calls"], **right["calls"]}:
        one, other = left["calls"].get(name, 0), right["calls"].get(name, 0)
        if everything or one != other:
            yield f"  {preview.safe(name):<20} {one} -> {other} calls"


def _shown(name: str, value: Json) -> str:
    if value is None:
        return "-"
    if name == "cost":
        return f"${value:g}"
    if name == "duration":
        return preview.duration(round(value * 1_000_000))
    return preview.brief(value, _WIDTH) if name == "answer" else preview.safe(str(value))


def _states(shell: Shell, comparison: Comparison) -> None:
    """Print how the states differ, for each step that both runs have."""
    met = False
    for pair in comparison.pairs:
        left, right = pair.left, pair.right
        if left is None or right is None or left.kind != Kind.STEP:
            continue
        found = {phase: _state_differences(comparison, left, right, phase) for phase in ("in", "out")}
        if not any(found.values()):
            continue
        met = True
        if shell.json:
            patches = {phase: patch(each) for phase, each in found.items()}
            shell.line({"type": "state", "left": left.number, "right": right.number, "name": left.name} | patches)
            continue
        shell.data(paint(f"#{left.number} #{right.number}  step {preview.safe(left.name)}", bold=True))
        for phase, each in found.items():
            for line in render(each, most=20).splitlines():
                shell.data(f"  {phase:<3} {preview.safe(line)}")
    if shell.json:
        return
    if not met:
        shell.talk("the states are the same at every step that both runs have")
    _next(shell, comparison)


def _state_differences(comparison: Comparison, left: Event, right: Event, phase: str) -> list[Difference]:
    one, other = comparison.recordings
    return differences(event_state(one, left.number, phase), event_state(other, right.number, phase))


def _table(shell: Shell, found: Sequence[Comparison]) -> None:
    """Print a table with a row for each run, compared with the first run."""
    rows = [found[0].summary["left"], *(each.summary["right"] for each in found)]
    firsts = [None, *(each.first_difference for each in found)]
    if shell.json:
        for row, each in zip(rows, [None, *found], strict=True):
            first = None if each is None else each.first_difference
            more = {} if each is None else {"same": each.same, "changes": each.summary["changes"]}
            shell.line({"type": "run"} | row | more | {"first": None if first is None else list(first.numbers)})
        return
    shell.lines(_table_lines(rows, firsts))
    shell.next(f"reenact diff {rows[0]['tail']} {rows[1]['tail']}")


def _table_lines(rows: Sequence[Mapping[str, Json]], firsts: Sequence[Pair | None]) -> Iterator[str]:
    names = ("status", "events", "models", "tools", "tokens", "cost", "duration")
    yield paint(_cells("RUN", *(name.upper() for name in names), "PARTS AT", "ANSWER"), bold=True)
    for row, first in zip(rows, firsts, strict=True):
        at = "" if row is rows[0] else "-" if first is None else _place(first)
        cells = [_shown(name, row[name]) for name in names]
        yield preview.clip(_cells(str(row["tail"]), *cells, at, _shown("answer", row["answer"])), _WIDTH)


def _place(pair: Pair) -> str:
    left, right = pair.numbers
    return f"#{left}" if left is not None else f"+#{right}"


def _cells(*cells: str) -> str:
    widths = (8, 11, 6, 6, 5, 7, 8, 9, 8)
    fixed = [preview.clip(cell, width).ljust(width) for cell, width in zip(cells, widths, strict=False)]
    return "  ".join([*fixed, cells[-1]])
