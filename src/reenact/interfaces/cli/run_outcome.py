"""The end of a run in a few words, for a line of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reenact.facts.imported_runs import is_imported

if TYPE_CHECKING:
    from reenact.facts.run import Run


def outcome(run: Run, *, told: bool = False) -> str:
    """How a run ended, in a few words. With ``told``, the error is left out, because it is shown elsewhere."""
    words = run.status.value
    if words == "recording" and is_imported(run):
        words = "importing"
    if run.interrupted_at is not None:
        words += f" at {run.interrupted_at}"
    elif run.error and not told:
        words += f": {run.error}"
    if run.flagged:
        words = f"flagged, {words}"
    return f"{words} (degraded)" if run.degraded else words
