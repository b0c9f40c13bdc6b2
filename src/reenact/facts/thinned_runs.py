"""Thinned runs: their bodies are removed, and only sizes and digests are left. They can be read and counted, but not
replayed."""

from __future__ import annotations

from reenact.errors import UnreplayableRun
from reenact.facts.ids import tail
from reenact.facts.run import Run

PAYLOADS = "payloads"
"""The item of the kit that a run without its bodies lacks."""

NOTE = "thinned"
"""The key, in a run's facts about its recording, for the rule that removed its bodies."""


def why_thinned(run: Run) -> str:
    """The rule that removed the bodies of a run; empty where the run has its bodies."""
    return str(run.capture.get(NOTE) or "")


def require_bodies(run: Run) -> None:
    """Refuse a use that needs the answers of a run.

    Raises:
        UnreplayableRun: The run was thinned.
    """
    why = why_thinned(run)
    if why:
        raise UnreplayableRun(
            f"run {tail(run.id)} was thinned: its events are kept, and of each body only size and digest",
            cause=f"{why}; a run that failed, is flagged or labelled, or has a fork or a golden is never thinned",
            next_command=f"reenact show {tail(run.id)}",
            missing=("the bodies of its calls",),
        )
