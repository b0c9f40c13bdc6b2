"""Verdict: the result of an expectation on one run."""

from __future__ import annotations

from reenact.facts.call import Json
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of an expectation.

    Attributes:
        holds: Whether it holds. None where it is unknown: the cost of a model without a price, a judge that gave no
            score. A condition on something that the run does not have (no answer, no such state) does not hold. So ``if
            not verdict.holds`` is right for a run that should be fine, and ``holds is False`` for one that must fail.
        text: The expectation.
        seen: The value that was seen, and the expected one: ``calls(search_docs) = 20, expected <= 3``.
        event: The number of the event from which on the expectation did not hold, else of the event that shows the
            failure best; None where no event shows it (because a call was never made, for example).
        run: Id of the run.
    """

    holds: bool | None
    text: str
    seen: str = ""
    event: int | None = None
    run: str = ""

    @property
    def reference(self) -> str | None:
        """Reference of the first bad event (``7f3c0a12:7``), for ``reenact show``; None without such an event."""
        return None if self.event is None else f"{tail(self.run)}:{self.event}"

    def __str__(self) -> str:
        if self.holds:
            return f"holds: {self.text}"
        first = "" if self.event is None else f"; first bad event #{self.event}"
        return f"{'cannot be judged: ' if self.holds is None else ''}{self.seen or self.text}{first}"

    def to_json(self) -> dict[str, Json]:
        """The verdict as JSON-able data."""
        return {
            "holds": self.holds,
            "text": self.text,
            "seen": self.seen,
            "event": self.event,
            "reference": self.reference,
        }
