"""What the canary concludes: pure, from what was installed, called and captured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

FINE, OURS, OUTAGE = 0, 1, 3
"""Exit statuses: all captured; a failure of ours; the package source (and nothing of ours) failed."""


class Finding(StrEnum):
    """What became of one entry point."""

    CAPTURED = "captured"
    NOTHING_CAPTURED = "0 exchanges captured"
    SOME_MISSED = "exchanges missed"
    DISTURBED = "fails when recorded"
    STALE = "smoke call is out of date"
    OUTAGE = "not installed"


OF_OURS = frozenset((Finding.NOTHING_CAPTURED, Finding.SOME_MISSED, Finding.DISTURBED, Finding.STALE))
"""Findings that are failures of ours."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What was seen of one entry point.

    Attributes:
        name: The entry point.
        installed: Whether its packages could be installed.
        status: Exit status of the smoke call under ``reenact record``.
        bare: Exit status of the same call without us; only asked for where the first is not 0, else None.
        asked: Requests that reached the scripted world meanwhile.
        captured: Exchanges in the recording.
        models: How many of them were recognised as model calls.
        versions: What was installed, for the report.
        words: What the call said when it failed.
    """

    name: str
    installed: bool = True
    status: int = 0
    bare: int | None = None
    asked: int = 0
    captured: int = 0
    models: int = 0
    versions: str = ""
    words: str = ""


def found(seen: Observed) -> Finding:
    """What became of one entry point. A call that made no request at all says nothing, and is out of date."""
    if not seen.installed:
        return Finding.OUTAGE
    if seen.status:
        return Finding.STALE if seen.bare else Finding.DISTURBED
    if not seen.asked:
        return Finding.STALE
    if not seen.captured:
        return Finding.NOTHING_CAPTURED
    return Finding.SOME_MISSED if seen.captured < seen.asked else Finding.CAPTURED


def exit_status(every: Sequence[Observed]) -> int:
    """The canary's exit status: a failure of ours outranks an outage; nothing observed at all is one of ours."""
    findings = {found(seen) for seen in every}
    if not findings or findings & OF_OURS:
        return OURS
    return OUTAGE if Finding.OUTAGE in findings else FINE


def table(every: Sequence[Observed]) -> list[str]:
    """The report, a line each."""
    rows = [("ENTRY POINT", "FINDING", "ASKED", "CAPTURED", "MODEL CALLS", "VERSIONS")]
    rows += [
        (seen.name, found(seen).value, str(seen.asked), str(seen.captured), str(seen.models), seen.versions)
        for seen in every
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += [f"{seen.name}: {seen.words}" for seen in every if seen.words]
    counted = [found(seen) for seen in every]
    named = ", ".join(f"{counted.count(one)} {one.value}" for one in Finding if one in counted)
    verdicts = {FINE: "fine", OURS: "a failure of ours", OUTAGE: "an outage of the package source"}
    return [*lines, f"{verdicts[exit_status(every)]}: {named or 'nothing was called'}"]
