"""What sees the records of a run that the gate has let through, while it is recorded: what makes its spans.

It lies above this floor, so it is bound late; nothing is loaded where no spans are asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

from reenact.facts import late_binding
from reenact.facts.interruptions import let_through
from reenact.facts.policy import Policy
from reenact.facts.record import Record
from reenact.facts.run import Run
from reenact.facts.tracecontext import Propagation

DOOR = "spans"


class Tap(Protocol):
    """Sees records, in the writer's thread."""

    @property
    def propagation(self) -> Propagation | None:
        """Which requests of the run carry its trace on; None: none does."""

    def __call__(self, records: Sequence[Record]) -> None:
        """Records that the gate has let through, in the order in which they are written."""

    def leave(self, timeout_s: float) -> None:
        """The program ends: wait for so long at most, and say what was lost."""


def tap_for(run: Run, policy: Policy) -> Tap | None:
    """What makes the spans of a run that begins; None where none are asked for. A fault costs the spans alone.

    Args:
        run: The run, cleaned by the gate.
        policy: Where spans go, and what they say.
    """
    if not (policy.otel_endpoint or policy.otel_provider):
        return None
    try:
        import_module("reenact").bind_late()
        tap: Tap | None = late_binding.behind(DOOR)(run, policy)
        return tap
    except Exception as error:
        let_through(error)
        print(f"reenact: no spans are made: {str(error) or type(error).__name__}", file=sys.stderr)
        return None
