"""The usual expectations without the quoting: ``expecting.call("search_docs", at_most=3)``.

Each function returns what ``expect`` makes of the same text, so ``--expect`` can express all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.expressions import MAX_TEXT
from reenact.testing.expectations.expectation import Expectation
from reenact.testing.expectations.expression_text import called, spelled

__all__ = [
    "all_answered",
    "answer",
    "call",
    "each_call",
    "graded",
    "in_order",
    "judged",
    "limits",
    "never_before",
    "no_loop",
    "state",
]


def call(
    name: str, *, times: int | None = None, at_least: int | None = None, at_most: int | None = None
) -> Expectation:
    """How often a tool (or a step, or anything with a name) is called; at least once by default.

    Args:
        name: Its name.
        times: The exact number of calls; 0: never.
        at_least, at_most: Bounds.
    """
    word = called("calls", name)
    if times is not None:
        return Expectation(f"{word} == {times}")
    bounds = [f"{word} >= {at_least}"] if at_least is not None else []
    bounds += [f"{word} <= {at_most}"] if at_most is not None else []
    return Expectation(" and ".join(bounds) or f"{word} >= 1")


def each_call(name: str, **arguments: Json) -> Expectation:
    """There is at least one call of a tool, and each has these arguments.

    Args:
        name: Its name.
        **arguments: The arguments of each call, JSON-able data.
    """
    parts = [f"a[{key!r}] == {spelled(value)}" for key, value in arguments.items()]
    if not parts:
        return call(name)
    return Expectation(f"{called('calls', name)} >= 1 and all({' and '.join(parts)} for a in {called('args', name)})")


def in_order(*names: str) -> Expectation:
    """These names are called in this order; other calls may lie between."""
    return Expectation(called("order", *names))


def never_before(name: str, first: str) -> Expectation:
    """``name`` is never called without a call of ``first`` before it."""
    return Expectation(called("before", first, name))


def no_loop(name: str | None = None, *, at_most: int = 3) -> Expectation:
    """No identical call is made more than ``at_most`` times; with a name, only calls of that tool count."""
    return Expectation(f"{'repeats' if name is None else called('repeats', name)} <= {at_most}")


def all_answered() -> Expectation:
    """Every tool call that a model asks for is made, and comes back."""
    return Expectation("unanswered == 0")


def answer(
    *,
    contains: str | None = None,
    matches: str | None = None,
    equals: Json = None,
    conforms: Json = None,
    lacks: str | None = None,
) -> Expectation:
    """The run's final answer. Several conditions must all hold.

    Args:
        contains, lacks: A text that must be in it, or must not.
        matches: A regular expression that is found in it (``(?i)`` in front of it: in any case).
        equals: The whole answer.
        conforms: A JSON schema; an answer of text is read as JSON.
    """
    parts, files = [], {}
    if contains is not None:
        parts.append(f"{contains!r} in answer")
    if lacks is not None:
        parts.append(f"{lacks!r} not in answer")
    if matches is not None:
        parts.append(f"matches(answer, {matches!r})")
    if equals is not None:
        parts.append(f"answer == {spelled(equals)}")
    if conforms is not None:
        written = spelled(conforms)
        if len(written) > MAX_TEXT // 2:
            files, written = {"@schema": conforms}, "'@schema'"
        parts.append(f"conforms(json(answer), {written})")
    return Expectation(" and ".join(parts) or "answer != None", files)


def state(step: str, **values: Json) -> Expectation:
    """The values that a step leaves when it runs for the last time; without values: the step leaves any state at
    all."""
    word = called("state", step)
    return Expectation(
        " and ".join(f"{word}[{key!r}] == {spelled(value)}" for key, value in values.items()) or f"{word} != None"
    )


def limits(*, tokens: int | None = None, cost: float | None = None, seconds: float | None = None) -> Expectation:
    """The most that the run may use: tokens in and out, US dollars, seconds from start to end.

    Raises:
        UsageError: No limit is given.
    """
    parts = [
        f"{word} <= {spelled(bound)}"
        for word, bound in (("tokens", tokens), ("cost", cost), ("duration", seconds))
        if bound is not None
    ]
    if not parts:
        raise _impossible("no limit is given", "tokens, cost or seconds")
    return Expectation(" and ".join(parts))


def graded(grader: Callable[..., object] | str, at_least: float | None = None) -> Expectation:
    """The verdict of a function of this project on the run (see ``reenact.testing.RunView``).

    Args:
        grader: A function of a module, or ``module:function``. It returns True or False, a complaint (empty for a good
            run), or a score; or it asserts.
        at_least: The lowest good score.

    Raises:
        UsageError: The grader is no function that can be found by its name.
    """
    if not isinstance(grader, str):
        grader = _name_of(grader)
    return Expectation(f"grade({grader!r}{_enough(at_least)})")


def judged(claim: str, *, model: str, at_least: float | None = None) -> Expectation:
    """A model finds a claim true of the answer. It is asked once, and its exchange is recorded and replayed.

    Args:
        claim: ``it says that there are no documents``.
        model: ``openai/NAME``, ``anthropic/NAME``, or ``NAME`` for OpenAI's protocol.
        at_least: The least score that is good, from 0 to 1; 0.5 where not given.
    """
    return Expectation(f"judge({claim!r}, {model!r}{_enough(at_least)})")


def _enough(at_least: float | None) -> str:
    return "" if at_least is None else f", {spelled(at_least)}"


def _name_of(grader: Callable[..., object]) -> str:
    module, name = getattr(grader, "__module__", None), getattr(grader, "__qualname__", "")
    if not inspect.isfunction(grader) or not module or module == "__main__" or not name.isidentifier():
        raise _impossible(
            f"{name or grader!r} cannot be found again by a name",
            "a grader is a function at the top of a module, since an expectation is kept as text",
        )
    return f"{module}:{name}"


def _impossible(what: str, cause: str) -> UsageError:
    return UsageError(what, cause=cause, next_command="python -m pydoc reenact.testing.expecting")
