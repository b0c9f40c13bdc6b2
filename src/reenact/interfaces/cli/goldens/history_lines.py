"""The history of a golden as lines: each addition, recording and acceptance, with its time and reason."""

from __future__ import annotations

from collections.abc import Iterator

from reenact.testing.goldens.golden_history import HistoryEntry
from reenact.testing.goldens.golden_trace import Golden
from reenact.timetravel.preview import brief, safe

_SHORT = 12
_WIDTH = 100


def history_lines(golden: Golden) -> Iterator[str]:
    """A line for each entry of the history, oldest first. Lines follow for the differences that are accepted while
    others are open, and for the answers that a person wrote."""
    for change in golden.history:
        yield _line(change, change.what)
    for change in golden.pending:
        yield _line(change, f"{change.what}, the review goes on")
    for each in golden.answers:
        yield f"scripted  {safe(each.call)} = {brief(each.value, _WIDTH)}"


def _line(change: HistoryEntry, what: str) -> str:
    parts = [change.at, what]
    if change.what == "accepted":
        places = [str(change.event)] if change.event is not None else []
        places += [f"+{change.today}"] if change.today is not None else []
        parts.append(f"{change.category} {' '.join(places) or 'end'}  {change.call}")
    if change.what == "reviewed":
        parts.append(f"answers from run {change.new[-_SHORT:]}")
    if change.reason:
        parts.append(change.reason)
    if change.revision:
        commit, plus, changes = change.revision.partition("+")
        parts.append(f"({commit[:_SHORT]}{plus}{changes})")
    return safe("  ".join(parts))
