"""Expressions over a run or an event: one closed grammar, checked whole before anything is evaluated.

The text is parsed by Python's own parser, and only the nodes listed here are accepted: literals, names and functions
of a vocabulary, comparison, ``and or not in``, arithmetic, indexing and one loop inside ``any all len max min sum``.
There are no attributes, no methods, no calls but those of the table, and nothing is ever given to ``eval``; so data
and expressions alike stay data.

Grammar and names are judged when an expression is compiled; a mistake is a ``UsageError`` with its position. What
depends on the data never raises: a missing key, a comparison of a word with a number, a division by zero are
*unknown* (None), and unknown spreads as in Kleene's logic (``None and False`` is False, ``not None`` is None). Work is
counted, and an expression that needs too much of it is a ``UsageError`` too.

Why not a library: ``simpleeval`` 1.0.8 (the one in wide use) evaluates Python's object model and keeps a list of what
is forbidden in it; a grammar without attributes needs no such list.
"""

from __future__ import annotations

import ast
import difflib
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from reenact.errors import UsageError
from reenact.facts.call import Json

MAX_TEXT = 2_000
"""Longest expression, in characters."""

MAX_NODES = 300
"""Most nodes of one expression."""

MAX_WORK = 1_000_000
"""Most units of work of one evaluation: one for each node visited and for each sixteen characters or members read."""

MAX_BITS = 4_096
"""Longest integer a calculation may reach; a longer one is unknown."""

MAX_SIZE = 1_000_000
"""Longest string or list a calculation may build; a longer one is unknown."""


class Form(Enum):
    """How a word of the vocabulary is used."""

    VALUE = "value"
    """A bare name: ``status``."""

    CALL = "call"
    """With one name in brackets, bare or quoted: ``calls(search_docs)``."""

    EITHER = "either"
    """Both: ``args`` and ``args(search_docs)``."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a vocabulary: its name, how it is used, and what it means."""

    name: str
    form: Form
    about: str


class Scope(Protocol):
    """What an expression is evaluated over."""

    def value(self, name: str) -> Json:
        """The value of a word used bare; None when unknown."""
        ...

    def call(self, name: str, argument: str) -> Json:
        """The value of a word used with a name in brackets; None when unknown."""
        ...


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that has passed the check."""

    text: str
    root: ast.expr

    def evaluate(self, scope: Scope) -> Json:
        """Its value over ``scope``.

        Returns:
            JSON-able data; None where the data do not say.

        Raises:
            UsageError: it needs more than ``MAX_WORK``.
        """
        return _Evaluation(self.text, scope).run(self.root)

    def holds(self, scope: Scope) -> bool | None:
        """Whether it is true over ``scope``; None where the data do not say."""
        return _truth(self.evaluate(scope))


def compile_expression(text: str, words: Iterable[Word]) -> Expression:
    """Check an expression against the grammar and a vocabulary.

    Args:
        text: What a person wrote.
        words: The names it may use.

    Raises:
        UsageError: It is not in the grammar; the message names the position and, for a name, the nearest ones.
    """
    known = {word.name: word for word in words}
    if len(text) > MAX_TEXT:
        raise UsageError(
            f"the expression has {len(text)} characters, {MAX_TEXT} are allowed",
            cause="an expression is one condition; longer ones belong into a test",
            next_command="reenact ls --help",
        )
    source = text.strip()
    try:
        # A generator as the whole text would be read as a call's argument; nothing else changes in brackets.
        root = ast.parse(source, "<expression>", "eval").body
    except SyntaxError as error:
        raise _fault(source, max((error.offset or 1) - 1, 0), f"not an expression ({error.msg})") from None
    except (ValueError, RecursionError, MemoryError):
        raise _fault(source, 0, "not an expression (nested too deeply, or not text)") from None
    _Check(source, known).run(root)
    return Expression(source, root)


FUNCTIONS = ("all", "any", "len", "max", "min", "sum")
"""Functions of the grammar itself, whatever the vocabulary."""

Number = int | float
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
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
_MAX_DEPTH = 60
_CALLED_WITH_ONE = 1


def _fault(text: str, at: int, what: str, cause: str = "") -> UsageError:
    """The error for one position, with the text and a caret below it."""
    flat = text.replace("\n", " ")
    return UsageError(
        f"{what}, at position {at + 1}\n  {flat}\n  {' ' * at}^",
        cause=cause or "expressions are comparison, and or not in, arithmetic, indexing, and the names of the table",
        next_command="reenact ls --help",
        position=at + 1,
    )


class _Check:
    """Walks a parsed expression once and accepts or names what is not in the grammar."""

    def __init__(self, text: str, known: Mapping[str, Word]) -> None:
        self._text = text
        self._known = known
        self._nodes = 0
        self._loops: list[str] = []

    def run(self, node: ast.expr, depth: int = 0) -> None:  # noqa: PLR0912  (one case a node of the grammar)
        self._nodes += 1
        if self._nodes > MAX_NODES or depth > _MAX_DEPTH:
            raise self._refuse(node, "the expression is too large here")
        match node:
            case ast.Constant(value=value):
                if not (value is None or isinstance(value, (bool, int, float, str))):
                    raise self._refuse(node, "only numbers, strings, True, False and None are values")
            case ast.Name(id=name):
                self._name(node, name, Form.VALUE)
            case ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
                self._all(parts, depth)
            case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.UAdd(), operand=part):
                self.run(part, depth + 1)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                self._all((left, right), depth)
            case ast.Compare():
                self._compare(node, depth)
            case ast.Subscript(value=value, slice=index):
                if isinstance(index, (ast.Slice, ast.Tuple)):
                    raise self._refuse(node, "one index is allowed, a slice is not")
                self._all((value, index), depth)
            case ast.Dict(keys=keys, values=values):
                if not all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in keys):
                    raise self._refuse(node, "the keys of an object are strings")
                self._all(values, depth)
            case ast.Call():
                self._call(node, depth)
            case _:
                raise self._refuse(node, f"{_SPOKEN.get(type(node), 'this')} is not in the grammar", _advice(node))

    def _all(self, parts: Iterable[ast.expr], depth: int) -> None:
        for part in parts:
            self.run(part, depth + 1)

    def _compare(self, node: ast.Compare, depth: int) -> None:
        if any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            raise self._refuse(node, "`is` is not in the grammar", "write `== None` or `!= None`")
        self._all((node.left, *node.comparators), depth)

    def _call(self, node: ast.Call, depth: int) -> None:
        if not isinstance(node.func, ast.Name):
            raise self._refuse(node, "only the functions of the table can be called", _advice(node.func))
        name = node.func.id
        if node.keywords or any(isinstance(part, ast.Starred) for part in node.args):
            raise self._refuse(node, f"{name}(…) takes plain arguments only")
        if name in FUNCTIONS:
            if len(node.args) != _CALLED_WITH_ONE and not (name in ("min", "max") and node.args):
                raise self._refuse(node, f"{name}(…) takes one list")
            for part in node.args:
                if isinstance(part, ast.GeneratorExp):
                    self._loop(part, depth + 1)
                else:
                    self.run(part, depth + 1)
            return
        self._name(node.func, name, Form.CALL)
        if len(node.args) != _CALLED_WITH_ONE or _bare(node.args[0]) is None:
            raise self._refuse(node, f"{name}(…) takes one name", f'write {name}(search_docs) or {name}("search-docs")')

    def _loop(self, node: ast.GeneratorExp, depth: int) -> None:
        (first, *more) = node.generators
        if more or first.is_async or not isinstance(first.target, ast.Name):
            raise self._refuse(node, "one loop over one name is allowed")
        name = first.target.id
        if name in self._known or name in FUNCTIONS or name in self._loops or name.startswith("_"):
            raise self._refuse(first.target, f"{name} cannot be the name of a loop", "choose a short name of its own")
        self.run(first.iter, depth + 1)
        self._loops.append(name)
        self._all((*first.ifs, node.elt), depth + 1)
        self._loops.pop()

    def _name(self, node: ast.expr, name: str, used: Form) -> None:
        if name in self._loops and used is Form.VALUE:
            return
        word = self._known.get(name)
        if word is None:
            names = sorted({*self._known, *FUNCTIONS})
            near = difflib.get_close_matches(name, [*names, "True", "False", "None"], 1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise self._refuse(node, f"unknown name {name}", f"{hint}The names are: {', '.join(names)}")
        if word.form is not used and word.form is not Form.EITHER:
            right = f"{name}(search_docs)" if word.form is Form.CALL else name
            raise self._refuse(node, f"{name} is used otherwise", f"write {right}: {word.about}")

    def _refuse(self, node: ast.expr, what: str, cause: str = "") -> UsageError:
        line = self._text.splitlines()[: node.lineno] if self._text else []
        before = sum(len(part) + 1 for part in line[:-1])
        column = len(line[-1].encode()[: node.col_offset].decode(errors="replace")) if line else 0
        return _fault(self._text, before + column, what, cause)


_SPOKEN: Mapping[type[ast.expr], str] = {
    ast.Attribute: "a dot",
    ast.Lambda: "lambda",
    ast.IfExp: "if … else",
    ast.JoinedStr: "an f-string",
    ast.ListComp: "a list made by a loop",
    ast.GeneratorExp: "a loop outside any(…), all(…), len(…), max(…), min(…), sum(…)",
    ast.NamedExpr: "an assignment",
    ast.BinOp: "this operator",
    ast.UnaryOp: "this operator",
    ast.Set: "a set",
}


def _advice(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f'write an index: ["{node.attr}"] instead of .{node.attr}'
    return ""


def _bare(node: ast.expr) -> str | None:
    """The name in the brackets of ``calls(search_docs)`` or ``calls("search-docs")``; None for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=str() as name):
            return name
    return None


class _Evaluation:
    """One evaluation: the scope, the loop variables in force, and the work left."""

    def __init__(self, text: str, scope: Scope) -> None:
        self._text = text
        self._scope = scope
        self._loops: dict[str, Json] = {}
        self._left = MAX_WORK

    def run(self, node: ast.expr) -> Json:  # noqa: PLR0911  (one case a node of the grammar)
        self._spend(1)
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._loops[name] if name in self._loops else self._scope.value(name)
            case ast.BoolOp(op=op, values=parts):
                return self._logic(isinstance(op, ast.And), parts)
            case ast.UnaryOp(op=ast.Not(), operand=part):
                truth = _truth(self.run(part))
                return None if truth is None else not truth
            case ast.UnaryOp(op=op, operand=part):
                return _sign(isinstance(op, ast.USub), self.run(part))
            case ast.BinOp(left=left, op=op, right=right):
                return self._arithmetic(type(op), self.run(left), self.run(right))
            case ast.Compare():
                return self._compare(node)
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
                return self._scope.call(name, _bare(args[0]) or "")
        raise AssertionError(f"unchecked node {type(node).__name__}")

    def _spend(self, units: int) -> None:
        self._left -= units
        if self._left < 0:
            raise _fault(self._text, 0, f"the expression needs more than {MAX_WORK} units of work", "too much data")

    def _logic(self, conjunction: bool, parts: Iterable[ast.expr]) -> bool | None:
        """Kleene's ``and`` and ``or``: the deciding value wins, else unknown wins."""
        unknown = False
        for part in parts:
            truth = _truth(self.run(part))
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
            self._spend((_size(left) + _size(right)) // 16)
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
            self._spend((_size(left) + _size(right)) // 16)
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
        self._spend(len(members) // 16)
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
            if all(_truth(self.run(part)) for part in loop.ifs):
                out.append(self.run(node.elt))
        self._loops.pop(name, None)
        return out


def _truth(value: Json) -> bool | None:
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
        result = _ARITHMETIC[op](left, right)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return None if isinstance(result, int) and result.bit_length() > MAX_BITS else result


def _relation(op: ast.cmpop, left: Json, right: Json) -> bool | None:
    """One comparison. ``== None`` asks whether something is unknown; every other one with it stays unknown."""
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
    """What stands at an index; None where nothing does."""
    if isinstance(container, dict):
        return container.get(index) if isinstance(index, str) else None
    if isinstance(container, (list, str)) and isinstance(index, int) and not isinstance(index, bool):
        return container[index] if -len(container) <= index < len(container) else None
    return None


def _any(members: list[Json]) -> bool | None:
    truths = [_truth(member) for member in members]
    return True if True in truths else None if None in truths else False


def _all(members: list[Json]) -> bool | None:
    truths = [_truth(member) for member in members]
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
