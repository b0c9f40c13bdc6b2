"""Copies: records as plain containers that ``marshal`` takes, so that many of them are compared at C speed.

A record (dataclass, pydantic model, attrs class) is the content of its instance dictionary and its slots, under the
number of its class. Both are read through the interpreter's own descriptors; no code of the class runs. ``marshal``
accepts more than a copy may contain: it writes every buffer as bytes, for example. So a copy counts only after it was
read back and checked (``is_sound``).

A record with values that ``marshal`` refuses (another record, a date, a member of an enumeration) is copied part by
part: there each tuple begins with one of the words below.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from reenact.facts.scalars import WRITE, NotStorable
from reenact.facts.shapes import Shape, dictionary_of, is_left_out, is_one_of, shape_of, slots_of

TUPLE, SCALAR, RECORD, ENUM = "tuple", "scalar", "record", "enum"
"""The form of a tuple in a deep copy: ``(TUPLE, [part, …])``, ``(SCALAR, tag, data)``, ``(RECORD, number, dictionary,
slots)``, ``(ENUM, number, name, value)``."""

_RECORDS = frozenset(("dataclass", "pydantic", "attrs"))
_PLAIN = frozenset(map(id, (dict, list, str, int, float, bool, type(None))))
_ATOMS = (str, int, float, bool, type(None))
_HOLDERS = (list, tuple, set, frozenset)
_MOST_CLASSES = 4096
_MOST_NODES = 500_000
_MOST_LEVELS = 100
_DEEPEST = 40

Unlike = Callable[[type], bool]
"""Whether instances of a class are written in another form than by their fields."""


class Class(NamedTuple):
    """A class.

    Attributes:
        itself: The class. The reference keeps its address from being reused.
        shape: The form in which its instances keep their state.
        number: Its number in fingerprints, never used twice; 0 if its instances are no records.
        readers: The readers of the dictionary, if there is one, and of each slot.
    """

    itself: type
    shape: Shape
    number: int
    readers: tuple[Callable[[Any, type], Any], ...]


_classes: dict[int, Class] = {}
"""The known classes by their addresses."""
_deep: set[int] = set()
"""The numbers of classes whose records hold values that must be copied part by part."""
_numbered: dict[int, Class] = {}
_numbers = itertools.count(1)


def are_plain(values: Iterable[Any]) -> bool:
    """Whether each value is of a type that plain JSON data has."""
    return _PLAIN.issuperset(map(id, map(type, values)))


def copy_of(values: Iterable[Any], unlike: Unlike, *, deep: bool = False) -> tuple[tuple[int | None, ...], list[Any]]:
    """Values, each record as a tuple of its content, and for each value a number. It is the number of the record's
    class, negative where slots are named because one was never set. It is 0 for a value that is no record, and None for
    a value that is copied part by part.

    Args:
        values: The content of a container.
        unlike: Called once for each class.
        deep: Copy all values part by part, and from now on all records of their classes.

    Raises:
        ValueError: A value is neither plain nor a record.
    """
    numbers: list[int | None] = []
    copies: list[Any] = []
    for value in values:
        kind = type(value)
        if id(kind) in _PLAIN and not deep:
            numbers.append(0)
            copies.append(value)
            continue
        known = None if id(kind) in _PLAIN else _classes.get(id(kind)) or _learnt(kind, unlike)
        if known is None or deep or known.number in _deep:
            numbers.append(None)
            copies.append(_part(value, unlike, 0))
            if known is not None:
                _deep.add(known.number)
            continue
        if known.shape.kind not in _RECORDS or not known.number:
            raise ValueError("no record")
        try:
            copies.append(tuple([read(value, kind) for read in known.readers]))
            numbers.append(known.number)
        except AttributeError:
            dictionary = () if known.shape.dictionary is None else (known.readers[0](value, kind),)
            copies.append((*dictionary, slots_of(value, known.shape)))
            numbers.append(-known.number)
    return tuple(numbers), copies


def _part(value: Any, unlike: Unlike, depth: int) -> Any:
    """A part of a deep copy.

    Raises:
        ValueError: The part cannot be copied, or is nested too deeply: it may contain itself.
    """
    kind = type(value)
    if depth > _DEEPEST:
        raise ValueError("too deep")
    if kind is dict:
        return {key: _part(held, unlike, depth + 1) for key, held in list(value.items())}
    if kind is list or kind is tuple:
        parts = [_part(held, unlike, depth + 1) for held in list(value)]
        return parts if kind is list else (TUPLE, parts)
    if id(kind) in _PLAIN or ((kind is set or kind is frozenset) and all(type(held) in _ATOMS for held in value)):
        return value
    return _tagged(value, kind, unlike, depth)


def _tagged(value: object, kind: type, unlike: Unlike, depth: int) -> tuple[Any, ...]:
    if is_one_of(kind, WRITE):
        tag, write = WRITE[kind]
        try:
            return SCALAR, tag, write(value)
        except NotStorable as error:
            raise ValueError("not storable") from error
    known = _classes.get(id(kind)) or _learnt(kind, unlike)
    if not known.number:
        raise ValueError("no record")
    held = dictionary_of(value, known.shape)
    if known.shape.kind == ENUM:
        return ENUM, known.number, held.get("_name_"), _part(held.get("_value_"), unlike, depth + 1)
    dictionary = {key: _part(each, unlike, depth + 1) for key, each in list(held.items())}
    slots = {name: _part(each, unlike, depth + 1) for name, each in slots_of(value, known.shape).items()}
    return RECORD, known.number, dictionary, slots


def forget() -> None:
    """Forget the facts on classes, because the form in which some are written has changed."""
    _classes.clear()
    _numbered.clear()
    _deep.clear()


def is_sound(copies: Collection[Any]) -> bool:
    """Whether decoded copies are unambiguous: each can only have been made from a value that looks like it."""
    level: list[Any] = [copies]
    count = 0
    for _ in range(_MOST_LEVELS):
        deeper: list[Any] = []
        for held in level:
            if type(held) is dict and not all(type(key) in _ATOMS for key in held):
                return False
            count += len(held)
            for part in held.values() if type(held) is dict else held:
                kind = type(part)
                if kind in _ATOMS:
                    continue
                if kind is not dict and kind not in _HOLDERS:
                    return False
                deeper.append(part)
        if not deeper:
            return True
        if count > _MOST_NODES:  # a container may hold itself
            return False
        level = deeper
    return False


def record_of(number: int, copy: tuple[Any, ...]) -> tuple[Shape, dict[Any, Any], Mapping[str, Any]]:
    """The shape of the class with a number, and the dictionary and the slots of the record that a copy was made of."""
    shape = _numbered[abs(number)].shape
    dictionary, slots = ({}, copy) if shape.dictionary is None else (copy[0], copy[1:])
    if number < 0:
        return shape, dictionary, slots[0]
    named = zip(shape.slots, slots, strict=True)
    return shape, dictionary, {name: value for (name, _), value in named if not is_left_out(name, value)}


def shape_with(number: int) -> Shape:
    """The shape of the class with a number."""
    return _numbered[number].shape


def _learnt(kind: type, unlike: Unlike) -> Class:
    if len(_classes) >= _MOST_CLASSES:
        forget()
    shape = shape_of(kind)
    fits = (shape.kind == ENUM or (shape.kind in _RECORDS and shape.settled)) and not unlike(kind)
    descriptors = [] if shape.dictionary is None else [shape.dictionary]
    readers = tuple([each.__get__ for each in (*descriptors, *[slot for _, slot in shape.slots])])
    known = Class(kind, shape, next(_numbers) if fits else 0, readers)
    _classes[id(kind)] = known
    if fits:
        _numbered[known.number] = known
    return known
