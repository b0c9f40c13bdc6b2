"""The course of a fork: how each call after the cut was answered, and the sums."""

from __future__ import annotations

from reenact.facts.call import Call, Json
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import dataclass, field

ASKED = "asked"
"""The key in the run's surroundings for the numbers of exchanges and model functions that went live."""

MADE = "it was made as"
"""The beginning of the reason for a write that the lineage has already made."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How one call of the fork was answered after the cut: ``frozen`` or ``live``, and why."""

    event: int
    name: str
    how: str
    why: str

    def to_json(self) -> dict[str, Json]:
        """The answer as JSON-able data."""
        return {"event": self.event, "name": self.name, "how": self.how, "why": self.why}


@dataclass(slots=True)
class ForkCourse:
    """The course of a fork so far."""

    top: int = -1
    """The highest number of an event so far."""
    branching: int = -1
    """The fork's number of the branching event; below 0 until that call was made."""
    stands_at: dict[int, int] = field(default_factory=dict)
    """The parent's event that the agent's own code has reached, by the number of the fork's event."""
    frozen: int = 0
    live: int = 0
    reached: bool = False
    wrote: bool = False
    given: set[str] = field(default_factory=set)
    answers: list[Answer] = field(default_factory=list)
    asked: set[int] = field(default_factory=set)
    """Exchanges and model functions that went live, by number."""
    refused: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def say(self, event: int, call: Call, how: str, why: str) -> None:
        """Keep for the report how a call was answered."""
        self.answers.append(Answer(event, call.name, how, why))

    def number(self, event: Event | None = None, *, cut: bool = True) -> int:
        """The number of a call in the fork: up to the branching event the parent's number, after it the next free one.
        ``event`` is the call's counterpart in the parent, if any; ``cut`` says whether the call lies after the cut."""
        kept = event is not None and (not cut or event.number == self.branching > self.top)
        number = event.number if event is not None and kept else self.top + 1
        self.top = max(self.top, number)
        return number
