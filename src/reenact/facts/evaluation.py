"""Evaluating a checked expression: the amount of work that it may do, and the result of each operator on unsuitable
data.

No data raises an error here: missing data is unknown (None), and unknown spreads as in Kleene's logic. Only
``facts.expressions`` makes the trees that are evaluated here.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.value_assertions import ASSERTIONS, assertion

MAX_WORK = 1_000_000
"""Most units of work of one evaluation: one for each node visited and for each sixteen characters or members read."""

MAX_BITS = 4_096
"""Longest integer a calculation may reach; a longer one is unknown."""

MAX_SIZE = 1_000_000
"""Longest string or list a calculation may build; a longer one is unknown."""


class Scope(Protocol):
    """The scope in which an expression is evaluated."""

    def value(self, name: str) -> Json:
        """The value of a word without brackets; None when unknown."""
        ...

    def call(self, name: str, argument: str, /, *more: Json) -> Json:
        """The value of a word with brackets, which contain one name, several names, or texts and numbers; None when
        unknown."""
        ...


FUNCTIONS = ("all", "any", "len", "max", "min", "sum")
"""Functions of the grammar itself, for every vocabulary."""

Number = int | float
ARITHMETIC: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_ORDER: Mapping[type[ast.cmpop], Callable[[Json, Json], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def fault(text: str, at: int, what: str, cause: str = "") -> UsageError:
    """The error for one position, with the text and a caret below it."""
    flat = text.replace("\n", " ")
    return UsageError(
        f"{what}, at position {at + 1}\n  {flat}\n  {' ' * at}^",
        cause=cause or "expressions are comparison, and or not in, arithmetic, indexing, and the names of the table",
        next_command="reenact ls --help",
        position=at + 1,
    )


def argument(node: ast.expr) -> Json:
    """The argument of a word: a name, bare or quoted, or a number."""
    name = bare(node)
    return name if name is not None else getattr(node, "value", None)


def bare(node: ast.expr) -> str | None:
    """The name in the brackets of ``calls(search_docs)`` or ``calls("search-docs")``; None for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=str() as name):
            return name
    return None


class Evaluation:
    """One evaluation: the scope, the present loop variables, and the units of work that are left.

    Args:
        text: The expression, for messages.
        scope: The scope of the evaluation.
        files: Schemas that the expression names (``@order.json``), by that name.
    """

    def __init__(self, text: str, scope: Scope, files: Mapping[str, Json]) -> None:
        self._text = text
        self._scope = scope
        self._files = files
        self._loops: dict[str, Json] = {}
        self._left = MAX_WORK

    def run(self, node: ast.expr) -> Json:  # noqa: PLR0911, PLR0912  (one case a node)
        """The value of a checked tree; None where the data do not say. ``UsageError`` beyond ``MAX_WORK``."""
        self._left -= 1
        if self._left < 0:
            self.spend(0)
        # Nearly all nodes are of three types. These skip the patterns below, because a watch comes here very often.
        kind = type(node)
        if kind is ast.Constant:
            return node.value  # type: ignore[attr-defined]
        if kind is ast.Name:
            name = node.id  # type: ignore[attr-defined]
            return self._loops[name] if name in self._loops else self._scope.value(name)
        if kind is ast.Compare:
            return self._compare(node)  # type: ignore[arg-type]
        match node:
            case ast.BoolOp(op=op, values=parts):
                return self._logic(isinstance(op, ast.And), parts)
            case ast.UnaryOp(op=ast.Not(), operand=part):
                truth = truth_of(self.run(part))
                return None if truth is None else not truth
            case ast.UnaryOp(op=op, operand=part):
                return _sign(isinstance(op, ast.USub), self.run(part))
            case ast.BinOp(left=left, op=op, right=right):
                return self._arithmetic(type(op), self.run(left), self.run(right))
            case ast.Subscript(value=value, slice=index):
                return _item(self.run(value), self.run(index))
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return [self.run(part) for part in parts]
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                return {key.value: self.run(value) for key, value in pairs if isinstance(key, ast.Constant)}
            case ast.Call(func=ast.Name(id=name), args=args):
                if name in FUNCTIONS:
                    return self._function(name, args)
                if name in ASSERTIONS:
                    return assertion(name, self.run(args[0]), args[1:], self._files, self.spend)
                return self._scope.call(name, *map(argument, args)) if args else self._scope.value(name)
        raise AssertionError(f"unchecked node {type(node).__name__}")

    @property
    def spent(self) -> int:
        """Units of work that the evaluation has needed so far."""
        return MAX_WORK - self._left

    def bind(self, name: str, value: Json) -> None:
        """Give the name of a loop a value: the explanation of a loop evaluates its condition for one member."""
        self._loops[name] = value

    def spend(self, units: int) -> None:
        """Count work.

        Raises:
            UsageError: The work exceeds ``MAX_WORK``.
        """
        self._left -= units
        if self._left < 0:
            raise fault(self._text, 0, f"the expression needs more than {MAX_WORK} units of work", "too much data")

    def _logic(self, conjunction: bool, parts: Iterable[ast.expr]) -> bool | None:
        """Kleene's ``and`` and ``or``: the deciding value wins, else unknown wins."""
        unknown = False
        for part in parts:
            truth = truth_of(self.run(part))
            if truth is None:
                unknown = True
            elif truth is not conjunction:
                return truth
        return None if unknown else conjunction

    def _compare(self, node: ast.Compare) -> bool | None:
        left = self.run(node.left)
        unknown = False
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self.run(part)
            self.spend((_size(left) + _size(right)) // 16)
            truth = _relation(op, left, right)
            if truth is False:
                return False
            unknown = unknown or truth is None
            left = right
        return None if unknown else True

    def _arithmetic(self, op: type[ast.operator], left: Json, right: Json) -> Json:
        if _is_number(left) and _is_number(right):
            return _calculated(op, left, right)
        joinable = (isinstance(left, str) and isinstance(right, str)) or (
            isinstance(left, list) and isinstance(right, list)
        )
        if op is ast.Add and joinable and _size(left) + _size(right) <= MAX_SIZE:
            self.spend((_size(left) + _size(right)) // 16)
            return left + right
        return None

    def _function(self, name: str, args: list[ast.expr]) -> Json:
        (first, *more) = args
        if more:
            members: Json = [self.run(part) for part in args]
        elif isinstance(first, ast.GeneratorExp):
            members = self._looped(first)
        else:
            members = self.run(first)
        if name == "len":
            return len(members) if isinstance(members, (str, list, dict)) else None
        if isinstance(members, dict):
            members = list(members.values() if name == "sum" else members)
        if not isinstance(members, list):
            return None
        self.spend(len(members) // 16)
        return _REDUCTIONS[name](members)

    def _looped(self, node: ast.GeneratorExp) -> list[Json] | None:
        (loop,) = node.generators
        assert isinstance(loop.target, ast.Name)
        name = loop.target.id
        members = self.run(loop.iter)
        if not isinstance(members, (list, dict)):
            return None
        out = []
        for member in members:
            self._loops[name] = member
            if all(truth_of(self.run(part)) for part in loop.ifs):
                out.append(self.run(node.elt))
        self._loops.pop(name, None)
        return out


def truth_of(value: Json) -> bool | None:
    """Whether a value counts as true; None for unknown."""
    return None if value is None else bool(value)


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float))


def _size(value: Json) -> int:
    return len(value) if isinstance(value, (str, list, dict)) else 1


def _sign(negative: bool, value: Json) -> Json:
    if not _is_number(value):
        return None
    return -value if negative else +value


def _calculated(op: type[ast.operator], left: Number, right: Number) -> Number | None:
    try:
        result = ARITHMETIC[op](left, right)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return None if isinstance(result, int) and result.bit_length() > MAX_BITS else result


def _relation(op: ast.cmpop, left: Json, right: Json) -> bool | None:
    """One comparison. ``== None`` asks whether a value is unknown; every other comparison with an unknown value is
    unknown."""
    try:
        match op:
            case ast.Eq():
                return bool(left == right)
            case ast.NotEq():
                return bool(left != right)
            case ast.In() | ast.NotIn():
                found = _contains(right, left)
                return found if found is None or isinstance(op, ast.In) else not found
        comparable = (_is_number(left) and _is_number(right)) or (isinstance(left, str) and isinstance(right, str))
        return _ORDER[type(op)](left, right) if comparable else None
    except RecursionError:
        return None


def _contains(container: Json, member: Json) -> bool | None:
    if isinstance(container, str):
        return member in container if isinstance(member, str) else None
    if isinstance(container, list):
        return member in container
    if isinstance(container, dict):
        return member in container if isinstance(member, str) else None
    return None


def _item(container: Json, index: Json) -> Json:
    """The item at an index; None without one."""
    if isinstance(container, dict):
        return container.get(index) if isinstance(index, str) else None
    if isinstance(container, (list, str)) and isinstance(index, int) and not isinstance(index, bool):
        return container[index] if -len(container) <= index < len(container) else None
    return None


def _any(members: list[Json]) -> bool | None:
    truths = [truth_of(member) for member in members]
    return True if True in truths else None if None in truths else False


def _all(members: list[Json]) -> bool | None:
    truths = [truth_of(member) for member in members]
    return False if False in truths else None if None in truths else True


def _sum(members: list[Json]) -> Number | None:
    total: Number | None = 0
    for member in members:
        if total is None or not _is_number(member):
            return None
        total = _calculated(ast.Add, total, member)
    return total


def _extreme(pick: Callable[[list[Json]], Json]) -> Callable[[list[Json]], Json]:
    def reduce(members: list[Json]) -> Json:
        numbers = all(_is_number(member) for member in members)
        if not members or not (numbers or all(isinstance(member, str) for member in members)):
            return None
        return pick(members)

    return reduce


_REDUCTIONS: Mapping[str, Callable[[list[Json]], Json]] = {
    "all": _all,
    "any": _any,
    "max": _extreme(max),
    "min": _extreme(min),
    "sum": _sum,
}
