"""Why an expression does not hold, in the author's own words, each with the value that was seen.

``calls(search_docs) <= 3`` becomes ``calls(search_docs) = 20, expected <= 3``. Of a conjunction only the parts that do
not hold are shown; of a loop, the first member that decides.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from reenact.facts.call import Json
from reenact.facts.evaluation import FUNCTIONS, Evaluation, Scope, argument, truth_of
from reenact.facts.expressions import Expression
from reenact.facts.value_assertions import ASSERTIONS, shortcoming

__all__ = ["brief", "explain", "values"]

Remark = Callable[..., str]
"""A scope's remark on the value of a word with an argument; empty without one."""

_SIGNS: Final[Mapping[type[ast.cmpop], str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
_WIDTH = 160


def explain(expression: Expression, scope: Scope, remark: Remark = lambda *_: "") -> str:
    """The values that were seen and expected, for an expression that does not hold over ``scope``.

    Args:
        expression: The expression.
        scope: The scope.
        remark: Adds to a word's value: ``remark(name, *arguments)``.

    Raises:
        UsageError: The explanation needs more work than one evaluation may.
    """
    return _Explanation(expression, scope, remark).why(expression.root, True)


def values(expression: Expression, scope: Scope) -> str:
    """The values that decided an expression: those of its words, except for words in the condition of a loop."""
    explanation = _Explanation(expression, scope, lambda *_: "")
    return ", ".join(dict.fromkeys(map(explanation.valued, _words(expression.root))))


def _words(node: ast.AST) -> Iterator[ast.expr]:
    """The words of the vocabulary in a tree; for a loop, only the words in the sequence over which it runs."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=args):
            if name in ASSERTIONS or name in FUNCTIONS:
                for part in args:
                    yield from _words(part)
            else:
                yield node
        case ast.GeneratorExp(generators=[loop, *_]):
            yield from _words(loop.iter)
        case ast.Name():
            yield node
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _words(child)


def brief(value: Json) -> str:
    """A value as an expression has it. The middle of a long value is left out, and None is written as unknown."""
    if value is None:
        return "unknown"
    text = repr(value)
    if len(text) <= _WIDTH:
        return text
    return f"{text[: _WIDTH * 2 // 3]}…{text[-_WIDTH // 4 :]}"


class _Explanation:
    def __init__(self, expression: Expression, scope: Scope, remark: Remark) -> None:
        self._text = expression.text
        self._files = expression.files
        self._seen: Evaluation = expression.evaluation(scope)
        self._remark = remark

    def why(self, node: ast.expr, wanted: bool) -> str:  # noqa: PLR0911  (one case a node)
        """The reason why ``node`` does not have the truth value ``wanted``."""
        match node:
            case ast.BoolOp(op=op, values=parts):
                # If `a and b` should hold (or `a or b` should not), any part may be to blame. In the other cases all
                # parts are.
                apart = isinstance(op, ast.And) is wanted
                blamed = [part for part in parts if truth_of(self._seen.run(part)) is not wanted]
                return ("; " if apart else " and ").join(self.why(part, wanted) for part in blamed)
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return self.why(part, not wanted)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compared(left, op, right, wanted)
            case ast.Call(func=ast.Name(id="all" | "any" as name), args=[ast.GeneratorExp() as loop]):
                return self._looped(name, loop, wanted)
            case ast.Call(func=ast.Name(id="matches"), args=[value, pattern]):
                return f"{self.valued(value)}, expected {_not(wanted)}to match {self._source(pattern)}"
            case ast.Call(func=ast.Name(id="conforms"), args=[value, schema]):
                found = self._seen.run(value)
                if found is None:
                    return f"{self.valued(value)}, expected {_not(wanted)}to conform to {self._source(schema)}"
                wrong = shortcoming(found, schema, self._files, self._seen.spend)
                hint = "" if not isinstance(found, str) else " (a text of JSON is read with json(…))"
                what = f": {wrong}{hint}" if wrong else f" = {brief(found)}"
                return f"{self._source(value)}{what}, expected {_not(wanted)}to conform to {self._source(schema)}"
        return self._plain(node, wanted)

    def _compared(self, left: ast.expr, op: ast.cmpop, right: ast.expr, wanted: bool) -> str:
        if isinstance(op, (ast.In, ast.NotIn)) and _written_out(left) and not _written_out(right):
            inside = isinstance(op, ast.In) is wanted
            return f"{self.valued(right)}, expected {_not(inside)}to contain {self._source(left)}"
        if _written_out(left) and not _written_out(right):
            return f"{self.valued(right)}, expected {_not(wanted)}{self._source(left)} {_SIGNS[type(op)]} it"
        bound = self._source(right) if _written_out(right) else self.valued(right)
        return f"{self.valued(left)}, expected {_not(wanted)}{_SIGNS[type(op)]} {bound}"

    def _looped(self, name: str, loop: ast.GeneratorExp, wanted: bool) -> str:
        (part,) = loop.generators
        assert isinstance(part.target, ast.Name)
        members = self._seen.run(part.iter)
        listed = list(members) if isinstance(members, (list, dict)) else []
        of = self._source(part.iter)
        for number, member in enumerate(listed):
            self._seen.bind(part.target.id, member)
            if all(truth_of(self._seen.run(each)) for each in part.ifs):
                truth = truth_of(self._seen.run(loop.elt))
                if truth is not wanted and (name == "all") is wanted:
                    self._seen.bind(part.target.id, member)  # an inner loop may have used the name
                    return f"{of}[{number}]: {self.why(loop.elt, wanted)}"
                if truth is not wanted and (name == "any") is not wanted:
                    return f"{of}[{number}]: {self.why(loop.elt, wanted)}"
        if members is None:
            return f"{of} is unknown"
        return f"{len(listed)} in {of}, expected {'one' if wanted else 'not all'} with {self._source(loop.elt)}"

    def _plain(self, node: ast.expr, wanted: bool) -> str:
        said = self._said(node)
        if said and isinstance(node, ast.Call):
            return f"{self._source(node)}: {said}"
        return self.valued(node) + ("" if isinstance(self._seen.run(node), bool) or wanted else ", expected not")

    def valued(self, node: ast.expr) -> str:
        """The text of an expression with its value."""
        value, said = self._seen.run(node), self._said(node)
        told = f"{self._source(node)} is unknown" if value is None else f"{self._source(node)} = {brief(value)}"
        return f"{told} ({said})" if said else told

    def _said(self, node: ast.expr) -> str:
        match node:
            case ast.Name(id=name):
                return self._remark(name)
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._remark(name, *map(argument, args))
        return ""

    def _source(self, node: ast.expr) -> str:
        text = ast.get_source_segment(self._text, node) or ast.unparse(node)
        return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _not(wanted: bool) -> str:
    return "" if wanted else "not "


def _written_out(node: ast.expr) -> bool:
    """Whether the text of an expression contains its value in full, so that the value need not be shown again."""
    return not any(isinstance(each, (ast.Name, ast.Call)) for each in ast.walk(node))
