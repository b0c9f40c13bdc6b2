"""One expression over the events of a run. Each event is read once, and only the parts that the expression
needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from reenact.abc.store import Recording
from reenact.facts.call import Kind
from reenact.facts.event import Event
from reenact.facts.expressions import Expression, compile_expression
from reenact.timetravel.vocabulary import EVENT_WORDS, EventScope

_MODELS = (Kind.HTTP.value, Kind.MODEL.value)


def watch(
    recording: Recording,
    expression: str,
    *,
    after: int = -1,
    before: int | None = None,
    backwards: bool = False,
) -> Iterator[Event]:
    """The events for which an expression is true, as they are found.

    Args:
        recording: The run.
        expression: An expression with the grammar and names of ``reenact ls --where``, over one event.
        after, before: Only events between these numbers; both exclude themselves.
        backwards: Newest first.

    Raises:
        UsageError: ``expression`` is no expression; raised here, not at the first event.
    """
    checked = compile_expression(expression, EVENT_WORDS)
    return _hits(recording, checked, after, before, backwards)


def _hits(
    recording: Recording, expression: Expression, after: int, before: int | None, backwards: bool
) -> Iterator[Event]:
    kinds, name = wanted(expression.root)
    for event in recording.events(kinds=kinds, name=name, after=after, before=before, backwards=backwards):
        if expression.holds(EventScope(recording, event)):
            yield event


def wanted(root: ast.expr) -> tuple[tuple[str, ...], str | None]:
    """The bounds of a search in a store: the kinds (empty for all) and the name (None for any) outside of which an
    expression cannot be true. They are read from single parts, or parts joined by ``and``."""
    kinds: tuple[str, ...] = ()
    name: str | None = None
    for part in root.values if isinstance(root, ast.BoolOp) and isinstance(root.op, ast.And) else [root]:
        if _needs_state(part):
            kinds = (Kind.STEP.value,)
            continue
        match part:
            case ast.Compare(left=ast.Name(id=word), ops=[ast.Eq()], comparators=[ast.Constant(value=str() as text)]):
                pass
            case ast.Compare(left=ast.Constant(value=str() as text), ops=[ast.Eq()], comparators=[ast.Name(id=word)]):
                pass
            case _:
                continue
        if word == "name":
            name = text
        elif word == "kind":
            # A recognised exchange is a model call to people, and is kept as the exchange it was.
            kinds = _MODELS if text == Kind.MODEL else (text,)
    return kinds, name


def _needs_state(part: ast.expr) -> bool:
    """Whether a condition can only be true at an event with a state, which only steps have. An unknown value has no
    order, holds nothing, and equals no number and no text."""
    match part:
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], comparators=[right]):
            return _from_state(left) or _from_state(right)
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=value)]):
            return value is not None and _from_state(left)
        case ast.Compare(ops=[ast.In()], comparators=[right]):
            return _from_state(right)
    return _from_state(part)


def _from_state(value: ast.expr) -> bool:
    """Whether a value is unknown if the state is unknown."""
    match value:
        case ast.Name(id="state"):
            return True
        case ast.Subscript(value=inner) | ast.Call(func=ast.Name(id="len"), args=[inner]):
            return _from_state(inner)
    return False
