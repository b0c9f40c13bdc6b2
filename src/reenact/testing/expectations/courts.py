"""Courts: the question to a judging model, its reply, and the source of its opinions.

An expectation with ``judge(…)`` asks a court. The court in ``kept_opinions`` records opinions and replays them; an
opinion without a recording is *stale*.
"""

from __future__ import annotations

import hashlib
import json
from typing import Final, Protocol

from reenact.errors import ReenactError, UnreplayableRun
from reenact.facts.lazy_dataclass import dataclass

__all__ = ["FORM", "MISSING", "Court", "Opinion", "Question", "is_stale", "stale"]

FORM: Final = "judge/1"
"""The version of the text that a model gets (see ``judge_calls``). A text of another version is another question."""

MISSING: Final = ("judge",)
"""The name that an error gives to an opinion as a missing part."""

_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a judge.

    Attributes:
        claim: The claim on the answer.
        answer: The answer of the run.
        asked: The question to the run; empty where it is not known.
        model: The model that judges.
    """

    claim: str
    answer: str
    asked: str
    model: str

    @property
    def parts(self) -> tuple[str, str, str, str]:
        """Claim, answer, the run's question, and model: the first arguments of ``ask``."""
        return self.claim, self.answer, self.asked, self.model

    @property
    def digest(self) -> str:
        """Identity of the question: the same question has the same opinion."""
        parts = json.dumps([FORM, *self.parts])
        return "q" + hashlib.blake2b(parts.encode(), digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True)
class Opinion:
    """The reply of a judge.

    Attributes:
        score: From 0 (the claim is false) to 1; None where the reply held no score.
        reason: The judge's reason; the whole reply where it could not be parsed.
        run: Id of the run that holds the exchange; empty where it was not kept.
    """

    score: float | None
    reason: str
    run: str = ""


class Court(Protocol):
    """The source of opinions. Programs that run golden traces may implement this protocol."""

    def opinion(self, question: Question) -> Opinion:
        """The opinion on a question.

        Raises:
            UnreplayableRun: The opinion is not recorded, and the model may not be asked.
        """
        ...


def stale(question: Question, why: str, next_command: str = "") -> UnreplayableRun:
    """The error for a missing opinion.

    Args:
        question: The question without an opinion.
        why: The likely cause.
        next_command: The command that helps.
    """
    return UnreplayableRun(
        f"the judge {question.model} has given no opinion on {question.claim!r}: answer: {_short(question.answer)}",
        cause=why,
        next_command=next_command or "python -m pydoc reenact.testing.expectations.kept_opinions",
        missing=MISSING,
    )


def is_stale(error: ReenactError) -> bool:
    """Whether an error says that an opinion is not there."""
    return isinstance(error, UnreplayableRun) and error.missing == MISSING


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
