"""The threshold of an experiment: one condition on the results of candidates, in the grammar of expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.expressions import Expression, Word, WordForm, compile_expression
from reenact.testing.experiments.cell_tally import CellTally

THRESHOLD_WORDS: Final = (
    Word("cost", WordForm.CALL, "cost(NAME): US dollars of all its cells; unknown where one is"),
    Word("duration", WordForm.CALL, "duration(NAME): seconds that the agent took, on average"),
    Word("flaky", WordForm.CALL, "flaky(NAME): share of rows whose repeats do not all have the same result"),
    Word("passed", WordForm.CALL, "passed(NAME): share of its cells that passed, from 0 to 1"),
    Word("stale", WordForm.CALL, "stale(NAME): share of its cells that could not be run"),
    Word("surely", WordForm.CALL, "surely(NAME): lower end of the 95 % interval of passed(NAME)"),
    Word("tokens", WordForm.CALL, "tokens(NAME): tokens of all its cells; unknown where they were not counted"),
)
"""Names in a threshold; each takes the name of a candidate."""

_MEANT: Mapping[str, Callable[[CellTally], Json]] = {
    "cost": lambda tally: tally.cost,
    "duration": lambda tally: tally.duration_us / 1e6,
    "flaky": lambda tally: tally.flaky.value,
    "passed": lambda tally: tally.passed.value,
    "stale": lambda tally: tally.stale.value,
    "surely": lambda tally: tally.passed.interval[0] if tally.passed.of else None,
    "tokens": lambda tally: tally.tokens,
}


class ThresholdScope:
    """The scope in which a threshold is evaluated.

    Args:
        tallies: One for each candidate.
    """

    def __init__(self, tallies: Sequence[CellTally]) -> None:
        self._tallies = {tally.candidate: tally for tally in tallies}

    def value(self, name: str) -> Json:
        """None: a threshold has no names without brackets."""
        return None

    def call(self, name: str, argument: str, /, *more: Json) -> Json:
        """The result of a candidate."""
        return _MEANT[name](self._tallies[argument])


def threshold(text: str, candidates: Sequence[str]) -> Expression:
    """A checked threshold.

    Args:
        text: The threshold: ``passed(short) >= 0.9 and cost(short) <= cost(base)``.
        candidates: Names of the candidates.

    Raises:
        UsageError: The text is no expression, or names an unknown candidate.
    """
    found = compile_expression(text, THRESHOLD_WORDS)
    for node in ast.walk(found.root):
        match node:
            case ast.Call(func=ast.Name(id=word), args=[ast.Name(id=name) | ast.Constant(value=str() as name)]):
                if word in _MEANT and name not in candidates:
                    raise UsageError(
                        f"the threshold names a candidate {name}, and there is none",
                        cause=f"there are {', '.join(candidates)}",
                        next_command="reenact experiment --help",
                    )
    return found


def explained(expression: Expression, tallies: Sequence[CellTally]) -> str:
    """The values of the words of a threshold, for a person: ``passed(short) = 0.85``."""
    scope, seen = ThresholdScope(tallies), {}
    for node in ast.walk(expression.root):
        match node:
            case ast.Call(func=ast.Name(id=word), args=[ast.Name(id=name) | ast.Constant(value=str() as name)]):
                if word in _MEANT:
                    value = scope.call(word, name)
                    seen[f"{word}({name})"] = f"{value:g}" if isinstance(value, (int, float)) else "unknown"
    return ", ".join(f"{words} = {value}" for words, value in seen.items())
