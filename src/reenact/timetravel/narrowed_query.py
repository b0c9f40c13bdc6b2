"""Finds the parts of an expression over runs that the store's indices decide, and the data that each other part reads.

An expression is split at its top-level ``and``. A part about a label or a name of a run becomes a filter of the store;
a part about other fields of the run's row is evaluated before parts that read events. Filters only leave out runs for
which the whole cannot be true: it is evaluated for all others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from reenact.facts.evaluation import FUNCTIONS, Scope, bare, truth_of
from reenact.facts.expressions import Expression
from reenact.facts.value_assertions import ASSERTIONS

OF_ROW: Final = frozenset(
    {
        "agent", "duration", "error", "events", "exit_status", "failed", "flag", "flagged", "id", "models", "session",
        "status", "tag", "tags", "tenant", "tokens", "tokens_in", "tokens_out", "tools", "user", "version",
    }
)  # fmt: skip
"""Names that are answered by a run's row alone; all others read its events."""

_FILTERS = ("agent", "user", "tenant", "session", "status")

Reads = Literal["index", "row", "events"]


class ExpressionPart(NamedTuple):
    """One part of an expression.

    Attributes:
        text: The text as it was written.
        node: Its tree.
        reads: The data that decides it: an index, the row of a run, or its events.
    """

    text: str
    node: ast.expr
    reads: Reads


class NarrowedQuery:
    """An expression over runs, with the filters that indices can apply.

    Args:
        expression: The expression.
    """

    def __init__(self, expression: Expression) -> None:
        self._expression = expression
        self.filters: dict[str, Any] = {}
        self.parts: list[ExpressionPart] = []
        for node in _parts(expression.root):
            text = ast.get_source_segment(expression.text, node) or ast.unparse(node)
            self.parts.append(ExpressionPart(" ".join(text.split()), node, self._take(node)))
        self._first = [part.node for part in self.parts if part.reads != "events"]

    def _take(self, node: ast.expr) -> Reads:
        """Keep a part as a filter, if it can be one. Returns the data that decides it."""
        for name, value in _said(node):
            if name == "tag":
                self.filters["tag"] = {**value, **self.filters.get("tag", {})}
            else:
                self.filters.setdefault(name, value)
            return "index"
        return "row" if _names(node) <= OF_ROW else "events"

    def among(self, filters: Mapping[str, Any]) -> dict[str, Any]:
        """The given filters together with those of the expression; the given ones win."""
        found = {**self.filters, **filters}
        tags = {**self.filters.get("tag", {}), **(filters.get("tag") or {})}
        return {**found, "tag": tags} if tags else found

    def holds(self, scope: Scope) -> bool:
        """Whether the expression is true: parts that need no events are evaluated first."""
        evaluation = self._expression.evaluation(scope)
        if len(self._first) < len(self.parts) and not all(truth_of(evaluation.run(node)) for node in self._first):
            return False
        return bool(self._expression.holds(scope))


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """The parts that must all be true."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for each in node.values:
            yield from _parts(each)
    else:
        yield node


def _said(node: ast.expr) -> Iterator[tuple[str, Any]]:
    """The filter that a part is equal to, with its value; None for a part that is no filter."""
    match node:
        case ast.Name(id="failed"):
            yield "failed", True
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id="failed")):
            yield "failed", False
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            for one, other in ((left, right), (right, left)):
                match one, other:
                    case ast.Name(id=name), ast.Constant(value=str() as value) if name in _FILTERS:
                        yield name, value
                    case ast.Name(id="failed"), ast.Constant(value=bool() as truth):
                        yield "failed", truth
                    case ast.Call(func=ast.Name(id="tag"), args=[label]), ast.Constant(value=str() as value):
                        yield "tag", {bare(label): value}


def _names(node: ast.AST) -> set[str]:
    """The words of the vocabulary in a part. An argument in brackets counts as a name, too."""
    match node:
        case ast.Name(id=name):
            return {name}
        case ast.Call(func=ast.Name(id=name)) if name not in FUNCTIONS and name not in ASSERTIONS:
            return {name}
        case ast.Call(args=args):
            return set().union(*map(_names, args))
        case ast.GeneratorExp(generators=[ast.comprehension(target=ast.Name(id=name))]):
            return set().union(*map(_names, ast.iter_child_nodes(node))) - {name}
    return set().union(*map(_names, ast.iter_child_nodes(node)))
