"""Notices an expression that looks for a text in the answer, while the run printed that text.

``answer`` is the run's result, or a model's last words; the program's printed text is ``stdout``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Final

from reenact.facts.expressions import Expression
from reenact.timetravel.preview import brief
from reenact.timetravel.vocabulary import RunScope

_WIDTH: Final = 60


def printed(expression: Expression, scope: RunScope) -> Iterator[str]:
    """Texts that an expression looks for in ``answer`` and that only ``stdout`` has, in words for each."""
    for text in dict.fromkeys(_looked_for(expression)):
        if _has(scope, "stdout", text) and not _has(scope, "answer", text):
            yield f"what it printed has that: {text!r} in stdout"


def beside(expressions: Iterable[Expression], scope: RunScope) -> str:
    """A remark for expressions that are only about the answer, on a run that printed another text; else empty."""
    words = {node.id for each in expressions for node in ast.walk(each.root) if isinstance(node, ast.Name)}
    if "answer" not in words or "stdout" in words:
        return ""
    answer, said = scope.value("answer"), scope.value("stdout")
    if not isinstance(answer, str) or not isinstance(said, str) or not said.strip() or _bare(answer) in _bare(said):
        return ""
    return (
        f"answer is what the run returned or a model said last, {brief(answer, _WIDTH)}; "
        f"what the run printed, {brief(said.strip(), _WIDTH)}, is stdout"
    )


def _looked_for(expression: Expression) -> Iterator[str]:
    for node in ast.walk(expression.root):
        match node:
            case ast.Compare(
                left=ast.Constant(value=str(text)), ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id="answer")]
            ):
                yield text


def _has(scope: RunScope, word: str, text: str) -> bool:
    value = scope.value(word)
    return isinstance(value, str) and text in value


def _bare(text: str) -> str:
    return " ".join(text.split())
