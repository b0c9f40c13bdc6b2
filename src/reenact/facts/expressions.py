"""Expressions over a run or an event: one closed grammar, checked whole before anything is evaluated.

The text is parsed by Python's own parser, and only the nodes listed here are accepted: literals, names and functions of
a vocabulary, comparison, ``and or not in``, arithmetic, indexing, one loop inside ``any all len max min sum``, and the
functions on values (``json matches conforms``, see ``facts.value_assertions``). There are no attributes, no methods,
and no calls except those of the table. Nothing is ever given to ``eval``, so neither data nor expressions run as code.

Grammar and names are judged when an expression is compiled; a mistake is a ``UsageError`` with its position. Evaluation
never raises for the data: a missing key, a comparison of a word with a number, a division by zero are *unknown* (None),
and unknown spreads as in Kleene's logic (``None and False`` is False, ``not None`` is None). Work is counted, and an
expression that needs too much of it is a ``UsageError`` too.

Why not a library: ``simpleeval`` 1.0.8 (the one in wide use) evaluates Python's object model and keeps a list of what
is forbidden in it; a grammar without attributes needs no such list.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Mapping
from enum import Enum
from itertools import pairwise

from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.evaluation import ARITHMETIC, FUNCTIONS, Evaluation, Scope, bare, fault, truth_of
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.value_assertions import ASSERTIONS, objection

MAX_TEXT = 2_000
"""Longest expression, in characters."""

MAX_NODES = 300
"""Most nodes of one expression."""


class WordForm(Enum):
    """How a word of the vocabulary is used."""

    VALUE = "value"
    """A bare name: ``status``."""

    CALL = "call"
    """A word with one name in brackets, bare or quoted: ``calls(search_docs)``."""

    EITHER = "either"
    """A word that is used in both ways: ``args`` and ``args(search_docs)``."""

    NAMES = "names"
    """A word with two names or more: ``before(check, refund)``."""

    TEXTS = "texts"
    """A word with a text in quotes, then texts and numbers: ``grade("graders:polite", 0.7)``."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a vocabulary: its name, its use, its meaning, and the type of its value; the type is empty for a word
    with values of several types."""

    name: str
    form: WordForm
    about: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that has passed the check.

    Attributes:
        text: The text that a person wrote.
        root: Its tree.
        files: Schemas that it names (``@order.json``), by that name.
    """

    text: str
    root: ast.expr
    files: Mapping[str, Json] = field(default_factory=dict)

    def evaluate(self, scope: Scope) -> Json:
        """The value of the expression over ``scope``.

        Returns:
            JSON-able data; None where the data do not say.

        Raises:
            UsageError: it needs more than ``MAX_WORK``.
        """
        return self.evaluation(scope).run(self.root)

    def evaluation(self, scope: Scope) -> Evaluation:
        """A new evaluation of the expression, or of its parts."""
        return Evaluation(self.text, scope, self.files)

    def holds(self, scope: Scope) -> bool | None:
        """Whether the expression is true over ``scope``; None where the data do not say."""
        return truth_of(self.evaluate(scope))


def compile_expression(text: str, words: Iterable[Word], files: Mapping[str, Json] | None = None) -> Expression:
    """Check an expression against the grammar and a vocabulary.

    Args:
        text: The text that a person wrote.
        words: The words that the expression may use.
        files: Schemas that the expression may name (``@order.json``), by that name.

    Raises:
        UsageError: The text is not in the grammar; the message names the position and, for a name, the nearest ones.
    """
    known = {word.name: word for word in words}
    if len(text) > MAX_TEXT:
        raise UsageError(
            f"the expression has {len(text)} characters, {MAX_TEXT} are allowed",
            cause="an expression is one condition; longer ones belong in a test",
            next_command="reenact ls --help",
        )
    source = text.strip()
    try:
        root = ast.parse(source, "<expression>", "eval").body
    except SyntaxError as error:
        raise fault(source, max((error.offset or 1) - 1, 0), f"not an expression ({error.msg})") from None
    except (ValueError, RecursionError, MemoryError):
        raise fault(source, 0, "not an expression (nested too deeply, or not text)") from None
    _Check(source, known, files or {}).run(root)
    return Expression(source, root, files or {})


_EXPLAINED = "docs/reference/expressions.md says what each is"
_MAX_DEPTH = 60
_CALLED_WITH_ONE = 1
_PLAIN = (str, int, float)
_TYPES: Mapping[type, str] = {str: "text", int: "number", float: "number"}
"""The name of the type of a literal in an expression."""
_IN_BRACKETS = (WordForm.CALL, WordForm.NAMES, WordForm.TEXTS)


class _Check:
    """Reads a parsed expression once, and accepts it or names the part that is not in the grammar."""

    def __init__(self, text: str, known: Mapping[str, Word], files: Mapping[str, Json]) -> None:
        self._text = text
        self._known = known
        self._files = files
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
                self._name(node, name, WordForm.VALUE)
            case ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
                self._all(parts, depth)
            case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.UAdd(), operand=part):
                self.run(part, depth + 1)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC:
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
        sides = (node.left, *node.comparators)
        self._all(sides, depth)
        for op, pair in zip(node.ops, pairwise(sides), strict=True):
            for one, other in (pair, pair[::-1]):
                word = self._known.get(_named(one))
                found = _TYPES.get(type(other.value), "") if isinstance(other, ast.Constant) else ""
                never = word is not None and word.type and found and word.type != found
                if word is not None and never and not isinstance(op, (ast.In, ast.NotIn)):
                    raise self._refuse(other, f"{word.name} is a {word.type}, and this is a {found}", word.about)

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
        if name in ASSERTIONS:
            self._all(node.args, depth)
            wrong = objection(name, node.args, self._files)
            if wrong:
                raise self._refuse(node, wrong, ASSERTIONS[name])
            return
        self._name(node.func, name, WordForm.CALL)
        self._brackets(node, self._known[name])

    def _brackets(self, node: ast.Call, word: Word) -> None:
        """Check the contents of a word's brackets."""
        name, args, bares = word.name, node.args, [bare(part) for part in node.args]
        match word.form:
            case WordForm.NAMES:
                if len(args) <= _CALLED_WITH_ONE or None in bares:
                    raise self._refuse(node, f"{name}(…) takes two names or more", f"write {name}(check, refund)")
            case WordForm.TEXTS:
                constants = all(isinstance(part, ast.Constant) and type(part.value) in _PLAIN for part in args)
                if not constants or not bares or bares[0] is None:
                    raise self._refuse(node, f"{name}(…) takes a text in quotes, then texts and numbers", word.about)
            case _:
                if word.form is WordForm.EITHER and not args:
                    return
                if len(args) != _CALLED_WITH_ONE or None in bares:
                    given = ast.get_source_segment(self._text, args[0]) if len(args) == _CALLED_WITH_ONE else None
                    hint = f'write {name}("{given or "search-docs"}"); a plain name goes without quotes'
                    raise self._refuse(node, f"{name}(…) takes one name", hint)

    def _loop(self, node: ast.GeneratorExp, depth: int) -> None:
        (first, *more) = node.generators
        if more or first.is_async or not isinstance(first.target, ast.Name):
            raise self._refuse(node, "one loop over one name is allowed")
        name = first.target.id
        if (
            name in self._known
            or name in FUNCTIONS
            or name in ASSERTIONS
            or name in self._loops
            or name.startswith("_")
        ):
            raise self._refuse(first.target, f"{name} cannot be the name of a loop", "choose a short name of its own")
        self.run(first.iter, depth + 1)
        self._loops.append(name)
        self._all((*first.ifs, node.elt), depth + 1)
        self._loops.pop()

    def _name(self, node: ast.expr, name: str, used: WordForm) -> None:
        if name in self._loops and used is WordForm.VALUE:
            return
        word = self._known.get(name)
        if word is None:
            names = sorted({*self._known, *FUNCTIONS, *ASSERTIONS})
            near = difflib.get_close_matches(name, [*names, "True", "False", "None"], 1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise self._refuse(node, f"unknown name {name}", f"{hint}The names are: {', '.join(names)}; {_EXPLAINED}")
        if word.form is not WordForm.EITHER and (word.form in _IN_BRACKETS) is not (used is WordForm.CALL):
            right = (
                f"{name}(search_docs)"
                if word.form is WordForm.CALL
                else f"{name}(…)"
                if used is WordForm.VALUE
                else name
            )
            raise self._refuse(node, f"{name} is not used like this", f"write {right}: {word.about}")

    def _refuse(self, node: ast.expr, what: str, cause: str = "") -> UsageError:
        line = self._text.splitlines()[: node.lineno] if self._text else []
        before = sum(len(part) + 1 for part in line[:-1])
        column = len(line[-1].encode()[: node.col_offset].decode(errors="replace")) if line else 0
        return fault(self._text, before + column, what, cause)


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


def _named(node: ast.expr) -> str:
    """The name of the word in a part of an expression, bare or with brackets; empty where the part is no word."""
    inner = node.func if isinstance(node, ast.Call) else node
    return inner.id if isinstance(inner, ast.Name) else ""


def _advice(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f'write an index: ["{node.attr}"] instead of .{node.attr}'
    return ""


__all__ = [
    "ASSERTIONS",
    "FUNCTIONS",
    "MAX_NODES",
    "MAX_TEXT",
    "Expression",
    "Scope",
    "Word",
    "WordForm",
    "compile_expression",
]
