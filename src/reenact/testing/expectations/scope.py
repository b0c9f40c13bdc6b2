"""Scope: a run as expectations see it, with the words of every expression, and those of graders and judging models."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from pathlib import Path

from reenact.abc.store import Recording
from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.credentials import STANDIN, bare
from reenact.facts.evaluation import argument, fault
from reenact.facts.expressions import Expression, Word, WordForm
from reenact.facts.run import Run
from reenact.testing.expectations.courts import Court, Question, stale
from reenact.testing.expectations.graders import graded, threshold_of
from reenact.testing.expectations.runview import RunView
from reenact.timetravel.conduct import Finding
from reenact.timetravel.vocabulary import RUN_WORDS, RunScope

ASKING_WORDS: tuple[Word, ...] = (
    Word("grade", WordForm.TEXTS, "grade('module:function', ENOUGH): what a function of this project says of the run"),
    Word("judge", WordForm.TEXTS, "judge('CLAIM', 'MODEL', ENOUGH): whether a model finds that true of the answer"),
)
"""The names that only expectations have: they ask a model or a grader."""

EXPECTATION_WORDS: tuple[Word, ...] = (*RUN_WORDS, *ASKING_WORDS)
"""The names an expectation may use."""

_ENOUGH = 0.5


def misused(expression: Expression) -> UsageError | None:
    """The error in the use of a judge or grader, which the grammar does not check; None for a correct use."""
    for node in ast.walk(expression.root):
        match node:
            case ast.Call(func=ast.Name(id="judge" | "grade" as name), args=args):
                given = [argument(part) for part in args]
                texts = 2 if name == "judge" else 1
                right = all(isinstance(part, str) and part for part in given[:texts]) and len(given) >= texts
                rest = given[texts:]
                if not right or len(rest) > 1 or not all(isinstance(each, (int, float)) for each in rest):
                    about = next(word.about for word in ASKING_WORDS if word.name == name)
                    return fault(expression.text, node.col_offset, f"{name}(…) is not used like this", about)
                if name == "judge" and rest and not 0 < float(rest[0]) <= 1:
                    scale = "models give 0 to 1; 0.5 is usual"
                    return fault(expression.text, node.col_offset, "ENOUGH is outside the scale", scale)
    return None


class ExpectationScope(RunScope):
    """A run as expectations see it.

    Args:
        run: The run.
        open_recording: Opens its log.
        court: Gives the opinions of models; with None, each opinion is stale.
        project: Root of the project that defines graders; None for the one around the working directory.
    """

    def __init__(
        self,
        run: Run,
        open_recording: Callable[[], Recording],
        court: Court | None = None,
        project: Path | None = None,
    ) -> None:
        super().__init__(run, open_recording)
        self._court = court
        self._project = project
        self._asked: dict[tuple[Json, ...], Json] = {}

    @property
    def undecided(self) -> bool:
        """Whether a judge or grader had no verdict."""
        return None in self._asked.values()

    def call(self, name: str, argument: str, /, *more: Json) -> Json:
        """The value of a word with an argument in brackets; a judge or grader is asked once."""
        if name not in ("grade", "judge"):
            return super().call(name, argument, *more)
        asked_for = (name, argument, *more)
        if asked_for not in self._asked:
            self._asked[asked_for] = self.find(asked_for, self._ask(name, argument, more))
        return self._asked[asked_for]

    def _ask(self, name: str, argument: str, more: tuple[Json, ...]) -> Finding:
        if name == "grade":
            return graded(argument, threshold_of(more, None), RunView(self), self._project)
        answer = self.value("answer")
        if answer is None:
            return Finding(False, "the run gave no answer to judge")
        question = Question(argument, _text(answer), _text(self.value("args") or None), str(more[0]))
        if self._court is None:
            raise stale(question, "no recorded opinions are at hand here")
        opinion, enough = self._court.opinion(question), threshold_of(more, _ENOUGH) or _ENOUGH
        if opinion.score is None:
            return Finding(None, f"no score in the reply of {question.model}: {opinion.reason!r}")
        said = f"{question.model} gives {opinion.score:g}, {enough:g} is enough: {opinion.reason}"
        said_at = self.finding("answer")
        return Finding(opinion.score >= enough, said, None if said_at is None else said_at.event)


def _text(value: Json) -> str:
    """Data as a judge reads it. Stand-ins of credentials have digests that differ from run to run; they are made equal,
    so that the same answer gives the same question."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=repr)
    return STANDIN.sub(bare, text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
