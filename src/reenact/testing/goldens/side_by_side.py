"""The differences of a golden as text, old and new side by side; recorded text in them is safe to show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, zip_longest
from typing import Final

from reenact.facts.call import Json
from reenact.facts.difference import Difference, differences
from reenact.testing.goldens.golden_differences import Category, GoldenDifference
from reenact.timetravel.preview import brief, clip, safe

_COLUMN: Final = 56
_ROWS: Final = 8
_LINES: Final = 4
_BEFORE: Final = 24
_WIDTH: Final = 2 * _COLUMN + 5
_ROW: Final = 8
_TOLD: Final = 4
_SELDOM: Final = ("kind", "name")


def side_by_side(each: GoldenDifference) -> list[str]:
    """One difference: a line that names it, and a row for each part that differs."""
    head = f"{each.category.value:<6}  {_numbers(each):<12}  {safe(each.call)}  {each.how}"
    lines = [clip(head, _WIDTH), "    " + f"{'golden':<{_COLUMN}} | today"]
    rows = list(_rows(each))
    for row in rows[:_ROWS]:
        lines += row
    if len(rows) > _ROWS:
        lines.append(f"    … and {len(rows) - _ROWS} more")
    return lines


def drawn(found: Iterable[GoldenDifference]) -> Iterator[tuple[GoldenDifference, list[str]]]:
    """Several differences, each with its lines. If many in a row create (or trim) a call, only the first ones have all
    their lines; each other one has one line."""
    for category, group in groupby(found, key=lambda each: each.category):
        several = list(group)
        folded = len(several) > _ROW and category in (Category.CREATE, Category.TRIM)
        for number, each in enumerate(several):
            lines = side_by_side(each)
            yield each, lines[:1] if folded and number >= _TOLD else lines


def all_side_by_side(found: Iterable[GoldenDifference]) -> Iterator[str]:
    """The lines of several differences, one below the other; see ``drawn``."""
    for _, lines in drawn(found):
        yield from lines


def _numbers(each: GoldenDifference) -> str:
    if each.event is not None and each.today is not None:
        return f"{each.place} (+{each.today})"
    return each.place


def _rows(each: GoldenDifference) -> Iterator[list[str]]:
    if each.was is None or each.now is None:
        there = each.now if each.was is None else each.was
        for name, part in there.items():
            if name not in _SELDOM:
                cells = ("-", brief(part, _WIDTH)) if each.was is None else (brief(part, _WIDTH), "-")
                yield _row(name, *cells)
        return
    for one in differences(each.was, each.now, 200):
        yield _row(one.path, *_cells(one))


def _cells(one: Difference) -> tuple[str, str]:
    """Both sides of one part; long texts are cut to the part around the first difference."""
    if one.kind == "added":
        return "-", brief(one.right, _WIDTH)
    if one.kind == "removed":
        return brief(one.left, _WIDTH), "-"
    left, right = one.left, one.right
    if isinstance(left, str) and isinstance(right, str) and max(len(left), len(right)) > _COLUMN:
        at = next((n for n, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
        start = max(0, at - _BEFORE)
        return _from(left, start), _from(right, start)
    return _value(left), _value(right)


def _from(text: str, start: int) -> str:
    return ("…" if start else "") + safe(text[start : start + _LINES * _COLUMN])


def _value(value: Json) -> str:
    return brief(value, _LINES * _COLUMN)


def _row(name: str, left: str, right: str) -> list[str]:
    """A part by its name, and both sides in columns."""
    cells = zip_longest(_wrapped(left), _wrapped(right), fillvalue="")
    return [f"    {clip(safe(name), _WIDTH)}:", *(f"    {one:<{_COLUMN}} | {other}".rstrip() for one, other in cells)]


def _wrapped(text: str) -> list[str]:
    pieces = [text[at : at + _COLUMN] for at in range(0, len(text), _COLUMN)] or [""]
    return pieces if len(pieces) <= _LINES else [*pieces[: _LINES - 1], clip("".join(pieces[_LINES - 1 :]), _COLUMN)]
