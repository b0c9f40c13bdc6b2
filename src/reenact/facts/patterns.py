"""Patterns: regular expressions with a search in linear time, for every pattern and text.

An expectation is shared as a file, and its pattern is applied to texts that a model wrote. The interpreter's own engine
backtracks, and may take too long. Here a pattern becomes a machine of states that reads each character once. Syntax and
the meaning of every single character are those of ``re``: its parser reads the pattern, its matcher decides about
classes and case. Features that a machine of states does not have (back-references, looking around, possessive groups)
are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

__all__ = ["MAX_PATTERN", "MAX_STATES", "Pattern", "PatternError", "compile_pattern"]

MAX_PATTERN: Final = 1_000
"""Longest pattern, in characters."""

MAX_STATES: Final = 2_000
"""Most states of a machine: counted repeats are written out, so ``(ab){1000}`` needs two thousand."""

_MAX_PARTS: Final = 20_000
_MAX_STEPS: Final = 5_000
_MAX_HELD: Final = 200_000
_UNBOUNDED: Final = 1 << 31
_CATEGORIES: Final = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
_SPOKEN: Final = {
    "ASSERT": "looking ahead or behind",
    "ASSERT_NOT": "looking ahead or behind",
    "FAILURE": "looking ahead or behind",
    "GROUPREF": "a back-reference",
    "GROUPREF_EXISTS": "a condition on a group",
    "ATOMIC_GROUP": "an atomic group",
    "POSSESSIVE_REPEAT": "a possessive repeat",
}
_EMPTY_HAS_NO_BOUNDARY: Final = re.search(r"\B", "") is not None  # not before Python 3.14

# What is next to a place in the text: nothing, or a character of one of four sorts.
_NOTHING, _NEWLINE, _ASCII_WORD, _OTHER_WORD, _OTHER = range(5)


class PatternError(ValueError):
    """A pattern that cannot be searched for, with the reason in words."""


class Pattern:
    """A compiled pattern. Made by ``compile_pattern``; may be used by several threads at a time.

    Args:
        text: The pattern.
        nodes: The states of the machine, each as ``(kind, argument, next states)``. A state is a character to read, a
            condition on the place, a choice, or the end.
        start: The state it starts in.
    """

    __slots__ = ("_held", "_nodes", "_sets", "_start", "_steps", "text")

    def __init__(self, text: str, nodes: list[tuple[str, Any, tuple[int, ...]]], start: int) -> None:
        self.text = text
        self._nodes = nodes
        self._start = start
        self._steps: dict[tuple[frozenset[int], int, str, bool], tuple[frozenset[int], int] | None] = {}
        self._sets: dict[frozenset[int], frozenset[int]] = {}
        self._held = 0

    def found_in(self, text: str, spend: Callable[[int], None] = lambda _: None) -> bool:
        """Whether the pattern matches anywhere in ``text``, as with ``re.search``.

        Args:
            text: The text.
            spend: Called with the work: one unit a visited state, one for each sixteen characters. May raise.
        """
        spend(len(text) // 16)
        states: frozenset[int] = frozenset()
        before, steps, last = _NOTHING, self._steps, len(text) - 1
        for place, char in enumerate(text):
            key = (states, before, char, place == last)
            try:
                step = steps[key]
            except KeyError:
                step = self._step(key, spend)
            if step is None:
                return True
            states, before = step
        return self._closed(states, before, _NOTHING, True, spend) is None

    def _step(
        self, key: tuple[frozenset[int], int, str, bool], spend: Callable[[int], None]
    ) -> tuple[frozenset[int], int] | None:
        """The states to which reading one character leads; None where the pattern has matched before that character."""
        states, before, char, last = key
        after = _sort(char)
        closed = self._closed(states, before, after, last and after == _NEWLINE, spend)
        step = None
        if closed is not None:
            reached = frozenset(self._nodes[n][2][0] for n in closed if self._nodes[n][1].fullmatch(char) is not None)
            if reached not in self._sets:
                self._held += len(reached)
            step = (self._sets.setdefault(reached, reached), after)
        if len(self._steps) >= _MAX_STEPS or self._held > _MAX_HELD:  # this limits the memory to some ten megabytes
            self._steps.clear()
            self._sets.clear()
            self._held = 0
        self._steps[key] = step
        return step

    def _closed(
        self, states: frozenset[int], before: int, after: int, ends: bool, spend: Callable[[int], None]
    ) -> list[int] | None:
        """The states that read a character next, at a place of the text; None if the end can be reached there.

        Args:
            states: The present states; the pattern may also start again here.
            before, after: The characters beside the place.
            ends: Whether nothing follows, or nothing but the last newline.
            spend: Called for each visited state.
        """
        waiting, seen, reading = [*states, self._start], set(states) | {self._start}, []
        while waiting:
            number = waiting.pop()
            kind, what, targets = self._nodes[number]
            if kind == "end":
                return None
            if kind == "read":
                reading.append(number)
                continue
            if kind == "at" and not what(before, after, ends):
                continue
            for target in targets:
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        spend(len(seen))
        return reading


@lru_cache(maxsize=256)
def compile_pattern(text: str) -> Pattern:
    """Read a pattern in the syntax of ``re``.

    Raises:
        PatternError: The text is no pattern, is too large, or needs more than linear time.
    """
    if len(text) > MAX_PATTERN:
        raise PatternError(f"the pattern has {len(text)} characters, {MAX_PATTERN} are allowed")
    try:
        tree = import_module("re._parser").parse(text)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise PatternError(f"it is no pattern: {str(error) or type(error).__name__}") from None
    builder = _Builder()
    try:
        start = builder.sequence(tree, tree.state.flags, builder.add("end", None, ()))
    except RecursionError:
        raise PatternError("the pattern is nested too deeply") from None
    return Pattern(text, builder.nodes, start)


class _Builder:
    """Makes the machine from its end to its beginning, so that each part knows the state that follows it."""

    def __init__(self) -> None:
        self.nodes: list[tuple[str, Any, tuple[int, ...]]] = []
        self._parts = 0

    def add(self, kind: str, what: Any, targets: tuple[int, ...]) -> int:
        """Add a state, and return its number."""
        if len(self.nodes) >= MAX_STATES:
            raise PatternError(f"the pattern needs more than {MAX_STATES} states: its counted repeats are too long")
        self.nodes.append((kind, what, targets))
        return len(self.nodes) - 1

    def sequence(self, parts: Iterable[Any], flags: int, then: int) -> int:
        """The first state of a sequence of parts."""
        for operation, argument in reversed(list(parts)):
            self._parts += 1
            if self._parts > _MAX_PARTS:
                raise PatternError("the pattern is too large: its counted repeats are too long")
            then = self._part(str(operation), argument, flags, then)
        return then

    def _part(self, operation: str, argument: Any, flags: int, then: int) -> int:
        match operation:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                return self.add("read", _one(_written(operation, argument), flags), (then,))
            case "BRANCH":
                return self.add("or", None, tuple(self.sequence(each, flags, then) for each in argument[1]))
            case "SUBPATTERN":
                return self.sequence(argument[3], (flags | argument[1]) & ~argument[2], then)
            case "MAX_REPEAT" | "MIN_REPEAT":
                least, most, part = argument
                return self._repeat(least, most, part, flags, then)
            case "AT":
                return self.add("at", _place(str(argument), flags), (then,))
        raise PatternError(f"{_SPOKEN.get(operation, operation.lower())} cannot be matched in linear time")

    def _repeat(self, least: int, most: Any, part: Any, flags: int, then: int) -> int:
        if int(most) >= _UNBOUNDED or str(most) == "MAXREPEAT":
            loop = self.add("or", None, ())
            self.nodes[loop] = ("or", None, (self.sequence(part, flags, loop), then))
            then = loop
        else:
            out = then
            for _ in range(int(most) - least):
                self._parts += 1
                then = self.add("or", None, (self.sequence(part, flags, then), out))
        for _ in range(least):
            self._parts += 1
            if self._parts > _MAX_PARTS:
                raise PatternError("the pattern is too large: its counted repeats are too long")
            then = self.sequence(part, flags, then)
        return then


def _written(operation: str, argument: Any) -> str:
    """The pattern text of one element of the parsed pattern."""
    if operation == "ANY":
        return "."
    if operation == "LITERAL":
        return _code(argument)
    if operation == "NOT_LITERAL":
        return f"[^{_code(argument)}]"
    parts = ["["]
    for sort, value in argument:
        match str(sort):
            case "NEGATE":
                parts.append("^")
            case "LITERAL":
                parts.append(_code(value))
            case "RANGE":
                parts.append(f"{_code(value[0])}-{_code(value[1])}")
            case _:
                parts.append(_CATEGORIES[str(value)])
    return "".join(parts) + "]"


def _code(number: int) -> str:
    return f"\\U{number:08x}"


@lru_cache(maxsize=1024)
def _one(text: str, flags: int) -> re.Pattern[str]:
    """The matcher for one character."""
    return re.compile(text, flags & (re.IGNORECASE | re.DOTALL | re.ASCII))


def _sort(char: str) -> int:
    if char == "\n":
        return _NEWLINE
    if char.isalnum() or char == "_":
        return _ASCII_WORD if char.isascii() else _OTHER_WORD
    return _OTHER


def _place(name: str, flags: int) -> Callable[[int, int, bool], bool]:
    """A condition on the characters before and after a place, and on whether the text ends there (except one
    newline)."""
    words = {_ASCII_WORD} if flags & re.ASCII else {_ASCII_WORD, _OTHER_WORD}
    lines = bool(flags & re.MULTILINE)
    match name:
        case "AT_BEGINNING":
            return lambda before, after, ends: before == _NOTHING or (lines and before == _NEWLINE)
        case "AT_BEGINNING_STRING":
            return lambda before, after, ends: before == _NOTHING
        case "AT_END":
            return lambda before, after, ends: ends or (lines and after == _NEWLINE)
        case "AT_END_STRING":
            return lambda before, after, ends: after == _NOTHING
        case "AT_BOUNDARY":
            return lambda before, after, ends: (before in words) != (after in words)
        case "AT_NON_BOUNDARY":
            return lambda before, after, ends: (
                (before in words) == (after in words) and (_EMPTY_HAS_NO_BOUNDARY or before + after != 2 * _NOTHING)
            )
    raise PatternError(f"{name.lower()} is not known")
