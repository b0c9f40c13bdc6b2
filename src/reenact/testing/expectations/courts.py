"""Courts: what a model that judges is asked, what it replies, and who gives its opinions.

An expectation with ``judge(…)`` in it asks a court. ``opinions`` has the one that records and replays; without a
recording an opinion is *stale*.
"""

from __future__ import annotations

import hashlib
import json
from typing import Final, Protocol

from reenact.errors import ReenactError, UnreplayableRun
from reenact.facts.lazy_dataclass import dataclass

__all__ = ["FORM", "MISSING", "Court", "Opinion", "Question", "is_stale", "stale"]

FORM: Final = "judge/1"
"""Version of what is said to a model (``asking``): another form is another question."""

MISSING: Final = ("judge",)
"""What an error that says so lacks."""

_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Question:
    """What a judge is asked.

    Attributes:
        claim: What should be true of the answer.
        answer: What the run said.
        asked: What the run was asked; empty where that is not known.
        model: Who is asked.
    """

    claim: str
    answer: str
    asked: str
    model: str

    @property
    def parts(self) -> tuple[str, str, str, str]:
        """Claim, answer, what was asked, model: what ``ask`` takes first."""
        return self.claim, self.answer, self.asked, self.model

    @property
    def digest(self) -> str:
        """Identity of the question: the same question has the same opinion."""
        parts = json.dumps([FORM, *self.parts])
        return "q" + hashlib.blake2b(parts.encode(), digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a judge replied.

    Attributes:
        score: From 0 (the claim is false) to 1; None where the reply held no score.
        reason: Why, in the judge's words; the whole reply where it could not be read.
        run: Id of the run that holds the exchange; empty where it was not kept.
    """

    score: float | None
    reason: str
    run: str = ""


class Court(Protocol):
    """Gives opinions. Programs that run golden traces may implement it."""

    def opinion(self, question: Question) -> Opinion:
        """The opinion on a question.

        Raises:
            UnreplayableRun: It is not recorded, and nobody may be asked.
        """
        ...


def stale(question: Question, why: str, next_command: str = "") -> UnreplayableRun:
    """The error for an opinion that is not there.

    Args:
        question: What nobody has judged.
        why: The likely cause.
        next_command: What mends it.
    """
    return UnreplayableRun(
        f"the judge {question.model} has given no opinion on {question.claim!r}: answer: {_short(question.answer)}",
        cause=why,
        next_command=next_command or "python -m pydoc reenact.testing.expectations.opinions",
        missing=MISSING,
    )


def is_stale(error: ReenactError) -> bool:
    """Whether an error says that an opinion is not there."""
    return isinstance(error, UnreplayableRun) and error.facts.get("missing") == MISSING


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
