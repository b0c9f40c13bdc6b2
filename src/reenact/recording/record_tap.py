"""The tap, which sees the cleaned records of a run while it is recorded, and makes the spans.

The tap is in a higher floor, so it is bound late, and loaded only where spans are wanted.
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
        """Decides which requests of the run carry its trace; None: none does."""

    def __call__(self, records: Sequence[Record]) -> None:
        """See records that the gate has let through, in the order in which they are written."""

    def leave(self, timeout_s: float) -> None:
        """At the end of the program: wait this long at most, and report losses."""


def tap_for(run: Run, policy: Policy) -> Tap | None:
    """The tap that makes the spans of a run; None where none are wanted. A fault costs only the spans.

    Args:
        run: The run, cleaned by the gate.
        policy: The target and the content of spans.
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
