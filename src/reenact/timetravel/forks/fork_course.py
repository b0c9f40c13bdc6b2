"""The course of a fork: how each call after its cut was answered, and what that adds up to."""

from __future__ import annotations

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field

ASKED = "asked"
"""What a fork keeps in its surroundings: which of its exchanges and model functions went live, by number."""

MADE = "it was made as"
"""How the reason begins for a write that the lineage has made already."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How one call of the fork was answered after the cut: ``frozen`` or ``live``, and why."""

    event: int
    name: str
    how: str
    why: str

    def to_json(self) -> dict[str, Json]:
        """As JSON-able data."""
        return {"event": self.event, "name": self.name, "how": self.how, "why": self.why}


@dataclass(slots=True)
class Course:
    """What a fork has come to so far."""

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
