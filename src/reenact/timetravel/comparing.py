"""Compare: lay two runs beside each other, event by event, and find where they part.

Not available yet: the function below holds its place and its signature, and says so when it is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reenact.abc.store import Store
from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.event import Event
from reenact.facts.run import Run


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, aligned.

    Attributes:
        first_difference: The first pair that differs; None when all agree.
        pairs: Aligned events, left and right; None stands where the other run has no counterpart.
        summary: Answer, tools, tokens, cost and time of both, side by side, JSON-able.
    """

    first_difference: tuple[Event | None, Event | None] | None = None
    pairs: tuple[tuple[Event | None, Event | None], ...] = ()
    summary: Mapping[str, Json] = field(default_factory=dict)


def compare(left: Run | str, right: Run | str, *, store: Store | str | None = None) -> Comparison:
    """Align two runs and say where they part.

    Args:
        left: A run, or a reference to it.
        right: The run to compare it with, or a reference.
        store: Where both are kept; None takes the project's store.

    Returns:
        The aligned events, the first difference and a summary.

    Raises:
        UsageError: always, for now: comparing is not available yet.
    """
    shown = left.id if isinstance(left, Run) else left
    raise UsageError(
        "compare() is not available yet",
        cause="this version records and replays; it does not align two runs",
        next_command=f"reenact show {shown}",
    )
