"""How a run ended, for a line of text."""

from __future__ import annotations

from reenact.facts.run import Run


def outcome(run: Run) -> str:
    """How a run ended, in a few words."""
    words = run.status.value
    if run.interrupted_at is not None:
        words += f" at {run.interrupted_at}"
    elif run.error:
        words += f": {run.error}"
    if run.flagged:
        words = f"flagged, {words}"
    return f"{words} (degraded)" if run.degraded else words
