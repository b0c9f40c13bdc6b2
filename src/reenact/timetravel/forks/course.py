"""The course of a fork: how each call after its cut was answered, and what that adds up to."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Answer:
    """How one call of the fork was answered after the cut: ``frozen`` or ``live``, and why."""

    event: int
    name: str
    how: str
    why: str


@dataclass(slots=True)
class Course:
    """What a fork has come to so far."""

    frozen: int = 0
    live: int = 0
    reached: bool = False
    wrote: bool = False
    given: set[str] = field(default_factory=set)
    answers: list[Answer] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
