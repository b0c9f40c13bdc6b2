"""The table that ``make bench`` prints."""

from __future__ import annotations

from collections.abc import Sequence

from bench.rounds import Line, Row

HEAD = ("what", "ours", "against", "ratio", "goal", "")


def render(lines: Sequence[Line], names: dict[str, str]) -> str:
    """Lines as a table of text; ``names`` gives the words for each case."""
    rows = [HEAD, *(cells(line, names) for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    out = []
    for number, row in enumerate(rows):
        fields = [
            cell.ljust(width) if column in {0, 2, 5} else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        out.append("  ".join(fields).rstrip())
        if number == 0:
            out.append("  ".join("-" * width for width in widths))
    return "\n".join(out)


def cells(line: Line, names: dict[str, str]) -> tuple[str, ...]:
    """One line as six texts."""
    row = line.row
    ours = "-" if line.ours is None else f"{number(line.ours)} {row.unit} ±{line.spread:.0%}"
    against = ""
    if row.against is not None:
        name = names.get(row.against.case, row.against.case)
        against = f"{name}: -" if line.other is None else f"{name}: {number(line.other)} {row.unit}"
    ratio = "" if line.ratio is None else f"{line.ratio:.2f}x" if line.ratio < 10 else f"{line.ratio:.0f}x"
    return row.title, ours, against, ratio, goal(row), verdict(line)


def goal(row: Row) -> str:
    """The goal in words."""
    match row.kind:
        case "most":
            return f"<= {number(row.goal)} {row.unit}"
        case "times":
            return f"<= {row.goal:g} times it"
        case "faster":
            return f">= {row.goal:g} times faster"
        case _:
            return ""


def verdict(line: Line) -> str:
    """``reached``, ``not reached``, or why nothing can be said."""
    if line.missing:
        return f"not measured: {line.missing}"
    if line.met is None:
        return ""
    return "reached" if line.met else "NOT reached"


def number(value: float) -> str:
    """Three figures that can be read."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) < 10 else f"{value:.1f}"
