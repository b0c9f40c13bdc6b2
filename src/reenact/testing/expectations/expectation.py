"""Expectation: one thing a run must fulfil, as a value that can be kept, judged and carried in a golden trace."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from reenact.abc.store import Recording
from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.expressions import Expression, compile_expression
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.testing.expectations.courts import Court
from reenact.testing.expectations.expectation_verdict import Verdict
from reenact.testing.expectations.judgement import judged
from reenact.testing.expectations.scope import EXPECTATION_WORDS, ExpectationScope, misused

__all__ = ["VERSION", "Expectation", "expect"]

VERSION: Final = 1
"""Version of the form in which expectations are kept."""

_KIND = "expression"
_LARGEST = 256 << 10


def _compiled(text: str, files: Mapping[str, Json]) -> Expression:
    compiled = compile_expression(text, EXPECTATION_WORDS, files)
    wrong = misused(compiled)
    if wrong is not None:
        raise wrong
    return compiled


@lru_cache(maxsize=512)
def _remembered(text: str) -> Expression:
    """The expression of an expectation without files, cached: many goldens of a project have the same expectation."""
    return _compiled(text, {})


@dataclass(frozen=True, slots=True)
class Expectation:
    """One condition that a run must meet. Made by ``expect`` or a builder; equal if the text is equal.

    Attributes:
        text: The expression, in the grammar and the names of ``--expect``.
        files: The JSON schemas that the text names (``@order.json``), by name: the expectation can be judged anywhere.
    """

    text: str
    files: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.compiled()

    def __str__(self) -> str:
        return self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def compiled(self) -> Expression:
        """The checked expression.

        Raises:
            UsageError: The text is no expression; the message names the place.
        """
        return _compiled(self.text, self.files) if self.files else _remembered(self.text)

    def judge(self, recording: Recording, *, court: Court | None = None, project: Path | None = None) -> Verdict:
        """Judge a run: whether it meets the condition, the facts that were seen, and the first event to blame.

        Args:
            recording: The run: an incident, a fork, a replay that was kept.
            court: Gives the opinions of models (``judge(…)``); with None, each opinion is stale.
            project: Root of the project that defines graders (``grade(…)``); None for the one around the working
                directory.

        Raises:
            UsageError: The expression needs more work than is allowed, or a grader is not in the project.
            UnreplayableRun: A model's opinion is not recorded (exit status 3: stale).
        """
        return judged(self.compiled(), recording, lambda each: self.scope(each, court, project))

    def scope(self, recording: Recording, court: Court | None = None, project: Path | None = None) -> ExpectationScope:
        """A run as this expectation sees it."""
        return ExpectationScope(recording.run, lambda: recording, court, project)

    def to_json(self) -> dict[str, Json]:
        """The expectation as JSON-able data, with the version of this form."""
        data: dict[str, Json] = {"version": VERSION, "kind": _KIND, "text": self.text}
        return data | {"files": dict(self.files)} if self.files else data

    @classmethod
    def from_json(cls, data: Json) -> Expectation:
        """The inverse of ``to_json``: everything is checked, because the data may come from anywhere.

        Raises:
            UsageError: The data has a later version, an unknown kind, or is no expectation; the message says which.
        """
        if not isinstance(data, Mapping):
            raise _unreadable("it is no object")
        version, kind, text, files = (data.get(name) for name in ("version", "kind", "text", "files"))
        if not isinstance(version, int) or version > VERSION:
            raise _unreadable(f"its version is {version!r}, this program reads up to {VERSION}")
        if kind != _KIND:
            raise _unreadable(f"its kind is {kind!r}, known is {_KIND!r}")
        unknown = sorted(set(data) - {"version", "kind", "text", "files"})
        if unknown:
            raise _unreadable(f"it has unknown members: {', '.join(map(str, unknown))}")
        if not isinstance(text, str) or not isinstance(files or {}, Mapping):
            raise _unreadable("its text is no text, or its files are no object")
        return cls(text, dict(files or {}))


def expect(text: str, *, folder: str | Path = ".") -> Expectation:
    """An expectation from its expression.

    Args:
        text: The expression, as after ``--expect``.
        folder: The folder of the schemas that it names (``conforms(answer, '@order.json')``). They are read now, and
            become part of the expectation.

    Raises:
        UsageError: The text is no expression, or a schema cannot be read.
    """
    return Expectation(text, {name: _schema_file(Path(folder), name) for name in _named_schemas(text)})


def _named_schemas(text: str) -> list[str]:
    """The files that an expression names; none where it cannot be parsed, which a later check reports."""
    try:
        root = ast.parse(text.strip(), "<expression>", "eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = []
    for node in ast.walk(root):
        match node:
            case ast.Call(func=ast.Name(id="conforms"), args=[_, ast.Constant(value=str() as name)]):
                found += [name] if name.startswith("@") else []
    return found


def _schema_file(folder: Path, name: str) -> Json:
    path = folder / name.removeprefix("@")
    try:
        if path.stat().st_size > _LARGEST:
            raise ValueError(f"it is larger than {_LARGEST >> 10} KiB")
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(
            f"the schema {name} cannot be read: {error}",
            cause=f"it is looked for as {path}, a file of JSON",
            next_command="reenact ls --help",
        ) from None


def _unreadable(why: str) -> UsageError:
    return UsageError(
        f"this is no expectation that can be read: {why}",
        cause="it was kept by a later version, or by hand",
        next_command="reenact doctor",
    )
