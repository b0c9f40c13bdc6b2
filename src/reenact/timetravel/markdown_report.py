"""A run, or two beside each other, as a report in Markdown: for an issue, a review or an incident's page.

Texts of a run are foreign, so they are always quoted as code (``timetravel.markup``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeVar

from reenact.abc.store import Recording
from reenact.facts.call import Json
from reenact.facts.difference import render
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.facts.late import late
from reenact.facts.phrases import counted
from reenact.facts.run import Run
from reenact.timetravel import preview
from reenact.timetravel.gist import answer_of, command_of, error_of_run, question_of
from reenact.timetravel.markup import LINE, block, cell, code
from reenact.timetravel.model_readings import decides, decision_of, model_name
from reenact.timetravel.run_comparison import Comparison, Pair
from reenact.timetravel.story import StoryLine, tell

if TYPE_CHECKING:
    from reenact.facts.suspicions import Rule
else:
    Rule = late("reenact.facts.suspicions", "Rule")

MOST: Final = 40
"""The most answers, or differences, that are listed: of more than these, the first and the last, half of the number
each."""
_FIGURES: Final = ("status", "error", "answer", "events", "models", "tools", "tokens", "cost", "duration")
_T = TypeVar("_T")


def run_report(recording: Recording, cost: Decimal | None = None, rules: Sequence[Rule] | None = None) -> str:
    """One run as a report.

    Args:
        recording: The run.
        cost: The cost in dollars; None where it is not known.
        rules: The rules of suspicion in force; None for all of this package.

    Returns:
        Markdown. Costs one pass over the events, and the preview of a payload for each line.
    """
    run = recording.run
    parts = [
        f"# Run {tail(run.id)}",
        _table(("", ""), ((name, cell(value)) for name, value in _facts(run, cost))),
        *_section("Question", question_of(recording)),
        "## What happened",
        _story(list(tell(recording, width=LINE, rules=rules))),
        *_answers([event for event in recording.events() if decides(event)]),
        *_ended(recording),
        *_gaps(recording),
        f"`reenact show {tail(run.id)}` shows the run, `reenact replay {tail(run.id)}` runs it again.",
    ]
    return "\n\n".join(parts) + "\n"


def comparison_report(comparison: Comparison) -> str:
    """Two runs beside each other as a report: the result of each, and each difference.

    Args:
        comparison: The comparison of the two runs.

    Returns:
        Markdown.
    """
    left, right = (comparison.summary[side] for side in ("left", "right"))
    rows = ((name, cell(_figure(name, left[name])), cell(_figure(name, right[name]))) for name in _FIGURES)
    names = [str(each["tail"]) for each in (left, right)]
    found = comparison.differences
    parts = [
        f"# Run {names[0]} beside {names[1]}",
        _table(("", *names), (row for row in rows if row[1] or row[2])),
        "## Differences",
        *([_block_of_pair(pair) for pair in _ends(found)] or ["None: all events are the same."]),
        *_left_out(len(found), "difference", f"reenact diff {names[0]} {names[1]}"),
        f"`reenact diff {names[0]} {names[1]} --text` shows texts word by word.",
    ]
    return "\n\n".join(parts) + "\n"


def _facts(run: Run, cost: Decimal | None) -> Iterator[tuple[str, str]]:
    yield "agent", run.agent + (f"@{run.version}" if run.agent and run.version else "")
    yield "status", str(run.status)
    yield "command", command_of(run)
    yield "took", "" if run.lasted_us is None else preview.duration(run.lasted_us)
    yield "events", str(run.totals.events)
    if run.totals.models:
        yield "model calls", f"{run.totals.models}, {run.totals.tokens_in} tokens in, {run.totals.tokens_out} out"
    yield "cost", "" if cost is None else f"${preview.amount(cost)}"
    yield "parent", tail(run.parent) if run.parent else ""
    yield "tags", " ".join(f"{key}={value}" for key, value in run.tags.items())
    yield "flag", run.flag or ""
    for reason in run.degraded:
        yield "degraded", reason


def _story(lines: Sequence[StoryLine]) -> str:
    strands = any(line.strand for line in lines)
    heads = ("#", *(("lane",) if strands else ()), "kind", "call", "took", "look at")
    return _table(heads, (_row(line, strands) for line in lines)) if lines else "Nothing was recorded."


def _row(line: StoryLine, strands: bool) -> tuple[str, ...]:
    numbers = str(line.first) if line.first == line.last else f"{line.first}..{line.last}"
    gap = "" if not line.name or line.text.startswith("(") else " "
    took = "" if line.elapsed_us is None else preview.duration(line.elapsed_us)
    call = cell(f"{line.name}{gap}{line.text}")
    kind = "" if line.kind == "…" else line.kind
    return (numbers, *((cell(line.strand),) if strands else ()), kind, call, took, cell(line.mark))


def _answers(calls: Sequence[Event]) -> Iterator[str]:
    """The models' answers and decisions, in full as far as a report has room."""
    if calls:
        yield "## Answers of models"
    for event in _ends(calls):
        decision = decision_of(event)
        yield f"### {event.number}: {code(model_name(event))}"
        if decision is None:
            yield "No answer was read."
            continue
        if decision.text:
            yield block(decision.text)
        for name, arguments in decision.tools:
            yield f"asks for {code(name)}"
            yield block(json.dumps(arguments, ensure_ascii=False, indent=1, default=str))
        if decision.finish:
            yield f"finish: {code(decision.finish)}"
    yield from _left_out(len(calls), "answer", "reenact show --all")


def _ended(recording: Recording) -> Iterator[str]:
    run = recording.run
    if run.interrupted_at is not None:
        yield f"## End\n\nThe run was interrupted at event {run.interrupted_at}."
    elif error := error_of_run(run):
        yield from _section("Error", error)
    else:
        yield from _section("Answer", answer_of(recording))


def _gaps(recording: Recording) -> Iterator[str]:
    rows = [f"- {code(what)} at {code(place)}, {counted(count, 'time')}" for what, place, count in recording.gaps()]
    if rows:
        yield "## Not recorded"
        yield "\n".join(rows)


def _block_of_pair(pair: Pair) -> str:
    left, right = pair.numbers
    at = " and ".join(str(number) for number in (left, right) if number is not None)
    name = model_name(pair.event) if decides(pair.event) else pair.event.name
    title = f"### {at}: {', '.join(pair.changes)}, {code(name)}"
    found = render(pair.differences()) if left is not None and right is not None else ""
    return f"{title}\n\n{block(found)}" if found else title


def _figure(name: str, value: Json) -> str:
    if value is None:
        return ""
    if name == "duration" and isinstance(value, (int, float)):
        return preview.duration(round(value * 1_000_000))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _ends(found: Sequence[_T]) -> list[_T]:
    """All items of a short list; of a long list the first and the last."""
    return list(found) if len(found) <= MOST else [*found[: MOST // 2], *found[-MOST // 2 :]]


def _left_out(count: int, what: str, command: str) -> Iterator[str]:
    if count > MOST:
        yield f"{counted(count - MOST, what)} between the first and the last are left out: `{command}` has them."


def _section(title: str, text: str) -> Iterator[str]:
    if text:
        yield f"## {title}"
        yield block(text)


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a row of two cells is left out if the second one is empty."""
    heads = tuple(heads)
    lines = [_joined(heads), _joined(["---"] * len(heads))]
    return "\n".join([*lines, *(_joined(row) for row in rows if len(row) != len(("", "")) or row[1])])


def _joined(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
