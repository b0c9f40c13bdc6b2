"""Cold cases on the command line: the reasons of each case, and how often similar cases came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC
from typing import Final

from reenact.facts.phrases import counted
from reenact.interfaces.cli.charts import curve, stretch
from reenact.interfaces.cli.reasons import with_fixes
from reenact.interfaces.cli.shell import columns, paint
from reenact.timetravel.preview import clip, safe
from reenact.triage.cold_cases import ColdCase, alike
from reenact.triage.groups import short_names

_MOST: Final = 10


def tell_reasons(case: ColdCase) -> Iterator[str]:
    """A line for each reason. The cheapest fix is printed once, below all reasons that it removes. It is never cut, so
    that it can be copied."""
    width = columns()
    for each, fix in with_fixes(case.why):
        yield clip(f"          {safe(each.item)}: {safe(each.about)}", width)
        if fix:
            yield f"          next time: {safe(fix)}"


def tell_alike(cases: Sequence[ColdCase]) -> Iterator[str]:
    """A line for each fingerprint: the number of runs, the days, and the number on each day.

    Args:
        cases: The cold cases, at least one.
    """
    groups = alike(cases)
    names = short_names(each.fingerprint for each in groups)
    width = columns()
    yield ""
    yield paint(f"{counted(len(cases), 'cold case')}, alike in {counted(len(groups), 'group')}", bold=True)
    for each in groups[:_MOST]:
        when = stretch(min(each.moments), max(each.moments), UTC)
        told = [f"{names[each.fingerprint]}  {counted(len(each.moments), 'run')}", ", ".join(each.lacks), when]
        yield clip("  ".join(filter(None, (*map(safe, told), curve(each.moments, UTC)))), width).rstrip()
    if len(groups) > _MOST:
        yield f"and {counted(len(groups) - _MOST, 'more group')}: reenact triage"
