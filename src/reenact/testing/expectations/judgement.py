"""Evaluates one checked expression over one recorded run, and finds the facts and the first event to blame."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

from reenact.abc.store import Recording
from reenact.facts.call import Kind
from reenact.facts.evaluation import MAX_WORK
from reenact.facts.explaining import explain
from reenact.facts.expressions import Expression
from reenact.facts.lazy_dataclass import replace
from reenact.facts.model_names import events_called, shown_name
from reenact.facts.plumbing import is_plumbing
from reenact.facts.quiet_events import group_of
from reenact.testing.expectations.expectation_verdict import Verdict
from reenact.testing.expectations.expression_text import quoted
from reenact.testing.expectations.prefixes import Prefixes, WatchedView
from reenact.testing.expectations.printed_text import printed
from reenact.testing.expectations.scope import ExpectationScope
from reenact.timetravel.event_contents import error_of
from reenact.timetravel.model_readings import decision_of

Scopes = Callable[[Recording], ExpectationScope]
"""A function that makes the scope in which an expression is evaluated over a recording."""

TOTALS = frozenset(("cost", "events", "models", "tokens", "tokens_in", "tokens_out", "tools"))
"""The words whose values add up over a run."""

ASKED = frozenset(("grade", "judge"))
"""The words whose value a model or grader gives, which is not asked again to find an event."""

_UNKNOWABLE = frozenset(("cost", "duration", "tokens", "tokens_in", "tokens_out"))
_ENDS = frozenset(("error", "exit_status", "failed", "status"))
_NAMED = frozenset(("args", "before", "calls", "order", "repeats", "result", "state"))
_LISTED = frozenset(("args", "result"))
_LINEAR = 200
_BYTES_A_UNIT = 16
_SHOWN = 8
"""The most names that are listed where a name is unknown."""


def judged(expression: Expression, recording: Recording, scopes: Scopes) -> Verdict:
    """Judge an expression over a run.

    Args:
        expression: The checked expression.
        recording: The run.
        scopes: Makes the scope of a recording.

    Returns:
        The verdict. If it does not hold, the first bad event is found by evaluating prefixes of the run: up to 200 of
        them, about ten if each takes much work, none if even one takes too much.

    Raises:
        UsageError: The expression needs more work than is allowed.
    """
    watched = WatchedView(recording)
    scope = scopes(watched.view)
    holds = expression.holds(scope)
    text, run = expression.text, recording.run.id
    if holds:
        return Verdict(True, text, run=run)
    parts = _blamed(expression, scope)
    unknown = dict.fromkeys(words for part in parts for words in (*misspelt(part, recording), *printed(part, scope)))
    seen = "; ".join((explain(expression, scope, scope.remark), *unknown))
    if holds is None and _is_unknowable(expression, scope):
        return Verdict(None, text, seen, run=run)
    events = [found for part in parts if (found := _first_bad(part, recording, scopes, scope)) is not None]
    return Verdict(False, text, seen, min(events, default=None), run)


def words_of(expression: Expression) -> frozenset[str]:
    """Every name that an expression uses."""
    return frozenset(node.id for node in ast.walk(expression.root) if isinstance(node, ast.Name))


def asks_a_judge(expression: Expression) -> bool:
    """Whether an expression may need the opinion of a model."""
    return "judge" in words_of(expression)


def misspelt(expression: Expression, recording: Recording) -> Iterator[str]:
    """The names in an expression that no event has, with words for each: a similar name of an event, else all names."""
    unknown = {
        name: word for word, name in _named_by(expression) if next(events_called(recording.events, name), None) is None
    }
    if not unknown:
        return
    steps, calls, asked_for = _borne(recording)
    near = dict(alike(unknown, {*steps, *calls}))
    for name, word in unknown.items():
        names = steps if word == "state" else calls
        if name in near:
            yield f"nothing is called {name} there, did you mean {near[name]}?"
        elif names:
            listed = ", ".join(map(quoted, names[:_SHOWN]))
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            unmarked = f"; a model asks for {name}, which no @reenact.tool marks in the code" * (name in asked_for)
            yield f"nothing is called {name} there; the names are {listed}{more}{unmarked}"


def _borne(recording: Recording) -> tuple[list[str], list[str], set[str]]:
    """The names of a run's steps, of its calls (a model call is named by its model; database statements come last), and
    of the tools that models have asked for."""
    steps: dict[str, None] = {}
    calls: dict[str, None] = {}
    quiet: dict[str, None] = {}
    asked_for: set[str] = set()
    for event in recording.events():
        if not is_plumbing(event.call) and event.call.kind not in (Kind.INPUT, Kind.OUTPUT):
            named = steps if event.call.kind is Kind.STEP else quiet if group_of(event) else calls
            named[shown_name(event)] = None
        decision = decision_of(event)
        asked_for.update(name for name, _ in decision.tools) if decision is not None else None
    return list(steps), [*calls, *quiet], asked_for


def alike(names: Iterable[str], known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Each unknown name that is similar to a known one, with the known name: most likely it was misspelled."""
    for name in dict.fromkeys(names):
        near = difflib.get_close_matches(name, known, 1, 0.75) if name not in known else []
        if near:
            yield name, near[0]


def names_in(expression: Expression) -> Iterator[str]:
    """The names of calls that an expression is about."""
    yield from (name for _, name in _named_by(expression))


def _named_by(expression: Expression) -> Iterator[tuple[str, str]]:
    """Each word of an expression that names calls or steps, with a name in its brackets."""
    for node in ast.walk(expression.root):
        match node:
            case ast.Call(func=ast.Name(id=word), args=args) if word in _NAMED:
                for part in args:
                    match part:
                        case ast.Name(id=name) | ast.Constant(value=str() as name):
                            yield word, name


def _is_unknowable(expression: Expression, scope: ExpectationScope) -> bool:
    """Whether an expression has no value because a fact is unknown, and not because the run lacks something."""
    used = words_of(expression)
    return scope.undecided or any(scope.value(word) is None for word in used & _UNKNOWABLE)


def _blamed(expression: Expression, scope: ExpectationScope) -> list[Expression]:
    """The parts of a conjunction that do not hold; else the expression itself."""
    parts = [expression.root]
    while any(isinstance(part, ast.BoolOp) and isinstance(part.op, ast.And) for part in parts):
        parts = [
            inner
            for part in parts
            for inner in (part.values if isinstance(part, ast.BoolOp) and isinstance(part.op, ast.And) else [part])
        ]
    each = [replace(expression, root=part) for part in parts]
    return [part for part in each if part.holds(scope) is not True]


def _first_bad(expression: Expression, recording: Recording, scopes: Scopes, seen: ExpectationScope) -> int | None:
    """The event from which on an expression no longer held; else the event that shows best that it does not hold."""
    used = words_of(expression)
    if used & ASKED:
        return next(iter(seen.shown_by()), None)
    watched = WatchedView(recording)
    scope = scopes(watched.view)
    evaluation = expression.evaluation(scope)
    evaluation.run(expression.root)
    cost = evaluation.spent + watched.weight // _BYTES_A_UNIT
    if used & TOTALS:
        watched.handed.update(event.number for event in recording.events())
    if "state" in used:
        watched.handed.update(event.number for event in recording.events(kinds=[Kind.STEP]))
    prefixes = Prefixes(recording, totals=bool(used & TOTALS))
    holds = partial(_holds_upto, expression, prefixes, scopes)
    lost = None if cost > MAX_WORK else _lost_with(sorted(watched.handed), holds, MAX_WORK // max(cost, 1))
    if lost is not None:
        return lost
    shown = scope.shown_by()
    if shown:
        return shown[0]
    if used & _ENDS:
        return next((event.number for event in recording.events(backwards=True) if error_of(event)), None)
    return max(watched.named, default=None) if used & _LISTED else None


def _holds_upto(expression: Expression, prefixes: Prefixes, scopes: Scopes, last: int) -> bool:
    return expression.holds(scopes(prefixes.upto(last))) is True


def _lost_with(numbers: list[int], holds: Callable[[int], bool], most: int = _LINEAR) -> int | None:
    """The event before which a condition held, and from which on it does not hold any more.

    Args:
        numbers: The events that may matter, in order; after the last, the condition does not hold.
        holds: Whether the condition holds in the prefix that ends with an event; -1 for the beginning.
        most: The most evaluations; if there are more events, the search is a binary one.
    """
    if len(numbers) <= min(most, _LINEAR):
        ends = [-1, *numbers][:-1]
        return next((number for number, before in zip(numbers[::-1], ends[::-1], strict=True) if holds(before)), None)
    if not holds(-1):
        return None
    held, lost = -1, len(numbers) - 1
    while lost - held > 1:
        middle = (held + lost) // 2
        held, lost = (middle, lost) if holds(numbers[middle]) else (held, middle)
    return numbers[lost]
