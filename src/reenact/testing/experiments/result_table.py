"""The table of an experiment as lines: the result of each candidate row by row, and in all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from reenact.facts.call import Json
from reenact.testing.experiments.cell import CellResult
from reenact.testing.experiments.cell_tally import CellTally, tallies
from reenact.testing.experiments.dataset import Row
from reenact.testing.experiments.statistics import TrialShare
from reenact.timetravel.preview import amount, brief, clip, duration, safe

_WIDTH: Final = 150
_FEW: Final = 3


def rows_of(
    cells: Sequence[CellResult], rows: Sequence[Row], candidates: Sequence[str]
) -> Iterator[tuple[Row, list[CellTally]]]:
    """Each row with a tally for each candidate."""
    for row in rows:
        yield row, tallies([cell for cell in cells if cell.row == row.name], candidates)


def row_lines(row: Row, every: Sequence[CellTally]) -> Iterator[str]:
    """One row: the recorded run, then each candidate with its differences."""
    then = row.recorded
    yield safe(row.name) + f"  recorded: {_figures(then.get('tokens'), then.get('cost'), _micros(then))}"
    yield clip(f"    said {brief(then.get('answer'), _WIDTH)}", _WIDTH)
    for tally in every:
        yield f"  {safe(tally.candidate)}  {_outcome(tally)}  {_of(tally)}"
        for how, texts in (
            ("said", tally.outputs),
            ("first difference", tally.common("first")),
            ("tool", tally.changed),
            ("why", tally.common("message")),
            ("note", tally.common("note")),
        ):
            yield from _counted(how, texts, len(tally.cells))


def _outcome(tally: CellTally) -> str:
    """The ends of the cells of one row."""
    told = f"passed {tally.passed}" if tally.judged else f"ran {len(tally.cells) - tally.stale.hits}"
    if tally.stale.hits:
        told += "  " + ", ".join(
            f"{count} {status}" for status, count in tally.common("status") if status in ("stale", "refused", "broken")
        )
    return told + ("  flaky" if tally.flaky.hits else "")


def _of(tally: CellTally) -> str:
    count = max(len(tally.cells), 1)
    tokens = None if tally.tokens is None else round(tally.tokens / count)
    return _figures(tokens, None if tally.cost is None else tally.cost / count, tally.duration_us)


def _figures(tokens: Json, cost: Json, micros: int | None) -> str:
    spent = "-" if cost is None else "$" + _money(cost)
    return f"{'-' if tokens is None else tokens} tokens  {spent}  {duration(micros)}"


def _money(cost: Any) -> str:
    return amount(Decimal(f"{float(cost):.6g}"))


def _micros(then: Mapping[str, Json]) -> int | None:
    found = then.get("duration")
    return round(found * 1_000_000) if isinstance(found, (int, float)) else None


def _counted(how: str, texts: Sequence[tuple[str, int]], of: int) -> Iterator[str]:
    """The first few texts, each with the number of cells that have it."""
    for text, count in texts[:_FEW]:
        times = f"{count} x " if of > 1 else ""
        first, *rest = text.splitlines() or [""]
        yield clip(f"    {how} {times}{safe(first)}" + (" …" if rest else ""), _WIDTH)
    if len(texts) > _FEW:
        yield f"    {how} … and {len(texts) - _FEW} others"


def total_lines(every: Sequence[CellTally]) -> Iterator[str]:
    """The totals of each candidate."""
    head = ("CANDIDATE", "CELLS", "PASSED", "NOT RUN", "FLAKY ROWS", "TOKENS", "COST", "TIME")
    table = [head, *(_total(tally) for tally in every)]
    widths = [max(len(line[at]) for line in table) for at in range(len(head))]
    for line in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    counts: Counter[str] = Counter()
    for tally in every:
        counts.update(tally.opinions)
    if counts["judged"]:
        judged, asked, kept = (counts[how] for how in ("judged", "asked", "kept"))
        yield f"judged by {judged} opinions of models: {asked} asked for, {kept} kept before"


def _total(tally: CellTally) -> tuple[str, ...]:
    def percent(share: TrialShare) -> str:
        if not share.of:
            return "-"
        low, high = share.interval
        return f"{100 * share.hits / share.of:.1f} % ({100 * low:.1f}-{100 * high:.1f})"

    return (
        safe(tally.candidate),
        str(len(tally.cells)),
        percent(tally.passed) if tally.judged or tally.passed.of else "-",
        str(tally.stale.hits),
        percent(tally.flaky),
        "-" if tally.tokens is None else str(tally.tokens),
        "-" if tally.cost is None else "$" + _money(tally.cost),
        duration(tally.duration_us),
    )
