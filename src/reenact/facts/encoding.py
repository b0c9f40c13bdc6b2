"""A Python value becomes JSON bytes that describe it exactly, without calling the value's own code.

Plain JSON data (the usual case) is recognised by one walk over exact types and handed to the C encoder. Everything else
takes the slow path: standard types become tagged scalars, records (dataclasses, pydantic models, attrs classes, named
tuples, enums) become plain data with the name of their class, and other values become ``{"~opaque": "module.Type"}``.
An object with exactly one key that begins with ``~`` is a tag; a dictionary of the agent that looks like one, or whose
keys are not all text, is written as ``{"~dict": [[key, value], …]}``.

Nothing here raises, for any value of the agent: a part that fails becomes opaque.
"""

from __future__ import annotations

import json.encoder as _json
import marshal
from collections.abc import Iterable, Mapping
from itertools import chain, islice
from typing import Any, Literal, NamedTuple

from reenact.facts.call import Json
from reenact.facts.interruptions import let_through
from reenact.facts.jsontext import writer
from reenact.facts.large_values import LARGE
from reenact.facts.scalars import INTEGER_LIMIT
from reenact.facts.shapes import (
    Shape,
    type_name,
)
from reenact.facts.value_writer import DEPTH_LIMIT, NODE_LIMIT, CopyWriter, ValueWriter, codec_of
from reenact.facts.weaving import is_long, join, note_length, weave
from reenact.facts.woven_text import Traits

_PLAIN_NODE_LIMIT = 250_000
_PLAIN_DEPTH_LIMIT = 300
_ENTRIES = 200
"""Entries of a long list or dictionary that are written together."""
_MOST_BYTES = 4 << 30
"""A value of more bytes is taken for one that shares its parts, and would unfold without bound."""
_MARGIN = 10
"""A margin in levels, because depth may be counted differently: a value that is nearly too deep is encoded without
weaving."""
_SEVERAL = 4000
_SOME = 500
"""The number of parts from which a repeated value is woven."""


_fast = writer(ascii_only=False, nan=False)
_quoted = _json.encode_basestring
_digits = int.__repr__
_WORDS = {None: "null", True: "true", False: "false"}
_make_tuple = tuple.__new__
"""Makes a named tuple in C. The speed matters, because every call of a tool is encoded."""


_WITHOUT_REFERENCES = 2
_LIST_HEAD = len(marshal.dumps([], _WITHOUT_REFERENCES))


class EncodedValue(NamedTuple):
    """A value as data.

    Attributes:
        body: JSON, UTF-8.
        opaque: Names of the types that could not be stored, each once, in order of appearance.
        shapes: Names of the record types that only a declared type can restore, likewise.
    """

    body: bytes
    opaque: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()


class ValuePart(NamedTuple):
    """A value inside another value, as data.

    Attributes:
        encoded: Its own encoding.
        nodes, depth: The number of its parts, and their greatest depth, if it is plain; other values have limits of
            their own.
        plain: Whether it is plain JSON data.
        alike: Whether it is written in the same way inside another value, apart from the limits of the whole.
    """

    encoded: EncodedValue
    nodes: int
    depth: int
    plain: bool
    alike: bool = True


def encode(value: object, *, sort_sets: bool = False) -> EncodedValue:
    """Write any value as data: a few microseconds for small plain data, otherwise about one per part.

    Never raises, except for errors of a signal handler of the program.

    Args:
        value: Anything.
        sort_sets: Order the members of sets by value instead of by memory: for requests, which are compared. Values
            that are given back keep the order in which the agent iterated.
    """
    try:
        plain = _is_plain(value, _SEVERAL)
        if plain is None:
            woven = weave(value, _is_within_limits)
            if woven is not None:
                return _make_tuple(EncodedValue, (woven, (), ()))
            plain = _is_plain(value, _PLAIN_NODE_LIMIT)
        if plain:
            return _make_tuple(EncodedValue, (_fast(value).encode(), (), ()))
    except Exception as error:  # NaN, a lone surrogate, or another thread changed it: the slow path helps
        let_through(error)
    writer = ValueWriter(sort_sets)
    try:
        return EncodedValue(_fast(writer.part(value, 0)).encode(), tuple(writer.opaque), tuple(writer.shapes))
    except Exception as error:
        let_through(error)
        name = type_name(type(value))
        return EncodedValue(_fast({"~opaque": name}).encode(), (name,))


def encode_in_pieces(value: object) -> tuple[bytes, ...] | None:
    """The encoding of a long list or dictionary of plain data, of any size, some entries at a time, so that it is never
    in memory twice. None for other values, and short ones. Like ``encode``, it raises only errors of a signal handler
    of the program.
    """
    kind = type(value)
    if (kind is not list and kind is not dict) or len(value) < _ENTRIES:  # type: ignore[arg-type]
        return None
    held: Any = value
    entries = iter(held) if kind is list else iter(dict.items(held))
    opening, closing = (b"[", b"]") if kind is list else (b"{", b"}")
    found: list[bytes] = []
    size = 0
    try:
        while some := list(islice(entries, _ENTRIES)):
            part: Any = some if kind is list else dict(some)
            if not _is_plain(part, _PLAIN_NODE_LIMIT):
                return None
            piece = (b"," if found else opening) + _fast(part)[1:-1].encode()
            size += len(piece)
            if size > _MOST_BYTES or (not found and len(piece) * (len(held) // _ENTRIES) < LARGE):
                return None
            found.append(piece)
    except Exception as error:  # as in ``encode``
        let_through(error)
        return None
    return (*found, closing)


def fingerprint_of(entries: list[object]) -> bytes:
    """The ``marshal`` bytes of entries, without references: equal only for equal plain data. The bytes for several
    entries are those of each entry in turn.

    Raises:
        ValueError: An entry cannot be marshalled.
    """
    return marshal.dumps(entries, _WITHOUT_REFERENCES)[_LIST_HEAD:]


def encode_plain(value: object) -> tuple[bytes, bytes] | None:
    """The fingerprint of a value and its encoding by ``encode``, both from one copy; None where it is not plain."""
    try:
        blob = marshal.dumps([value], _WITHOUT_REFERENCES)
        copy = marshal.loads(blob)
        if not _is_plain(copy, _PLAIN_NODE_LIMIT):
            return None
        return blob[_LIST_HEAD:], _fast(copy[0]).encode()
    except Exception as error:  # no plain data, NaN, or a lone surrogate
        let_through(error)
        return None


def encode_part(value: object, name: str) -> ValuePart:
    """The encoding of a value, members of sets in order, with the facts that are needed to put it into the encoding of
    a dictionary. Never raises, except for errors of a signal handler of the program.

    Args:
        value: Anything.
        name: The name under which the value comes again and again, mostly unchanged if it is long.
    """
    try:
        plain = None if is_long(name) else _is_plain(value, _SOME)
        if plain is None:
            part = _woven_part(value)
            note_length(name, b"" if part is None else part.encoded.body)
            if part is not None:
                return part
            plain = _is_plain(value, _PLAIN_NODE_LIMIT)
        if plain:
            body = _fast(value).encode()
            note_length(name, body)
            return ValuePart(EncodedValue(body), *plain, plain=True)
    except Exception as error:
        let_through(error)
    writer = ValueWriter(sort_sets=True)
    try:
        body = _fast(writer.part(value, 1)).encode()
        if not writer.surrounded:
            note_length(name, body)
            encoded = EncodedValue(body, tuple(writer.opaque), tuple(writer.shapes))
            return ValuePart(encoded, 0, 0, plain=False)
        part = _woven_part(value)  # a woven part applies the limits to each entry
        if part is not None:
            return part
    except Exception as error:
        let_through(error)
    return ValuePart(encode(value, sort_sets=True), 0, 0, plain=False, alike=False)


def _woven_part(value: object) -> ValuePart | None:
    woven = weave(value, _is_within_limits, _HAND)
    if woven is None:
        return None
    nodes, _, depth = woven.root.weight(NODE_LIMIT)
    traits = woven.traits
    if traits is None:
        return ValuePart(EncodedValue(woven), nodes, depth, plain=True)
    if depth + _MARGIN > DEPTH_LIMIT:
        return None
    return ValuePart(EncodedValue(woven, *traits), 0, depth, plain=False)


def join_parts(parts: Mapping[str, ValuePart]) -> EncodedValue | None:
    """The encoding of a dictionary of these parts by their names; None where the joined text may not equal the
    encoding."""
    if len(parts) == 1 and next(iter(parts)).startswith("~"):
        return None
    held = parts.values()
    count = sum([part.nodes for part in held]) + len(parts)
    depth = max([part.depth for part in held], default=0) + _MARGIN
    if all(part.plain for part in held):
        if count > _PLAIN_NODE_LIMIT or depth > _PLAIN_DEPTH_LIMIT:
            return None
    elif depth > DEPTH_LIMIT or not all(part.alike for part in held):
        return None
    try:
        body = join({name: part.encoded.body for name, part in parts.items()})
    except UnicodeEncodeError:  # a name with a lone surrogate
        return None
    opaque = chain.from_iterable([part.encoded.opaque for part in held])
    shapes = chain.from_iterable([part.encoded.shapes for part in held])
    return EncodedValue(body, tuple(dict.fromkeys(opaque)), tuple(dict.fromkeys(shapes)))


def leads_of(names: Iterable[str]) -> tuple[str, ...]:
    """The text before each value of an object with these names of parameters, for ``encode_flat``."""
    return tuple(f"{',' if place else '{'}{_fast(name)}:" for place, name in enumerate(names))


def encode_flat(leads: tuple[str, ...], values: Iterable[Any]) -> bytes | None:
    """The encoding of an object whose values are all text, integers or booleans: it takes a quarter of the time of
    ``encode``, because no value is checked twice. None for other values.

    Args:
        leads: The result of ``leads_of`` for at least one name.
        values: The values, one for each lead, in the same order.
    """
    text = ""
    for lead, value in zip(leads, values):  # noqa: B905 - a keyword would cost a fifth of it
        kind = type(value)
        if kind is str:
            text += lead + _quoted(value)
        elif kind is int and -INTEGER_LIMIT < value < INTEGER_LIMIT:
            text += lead + _digits(value)
        elif value is None or kind is bool:
            text += lead + _WORDS[value]
        else:
            return None
    try:
        return (text + "}").encode()
    except UnicodeEncodeError:  # a lone surrogate
        return None


def _is_within_limits(nodes: int, containers: int, depth: int) -> bool:
    """Whether a value is within the limits, so that its woven text equals its encoding by the C encoder or part by
    part."""
    depth += _MARGIN
    if nodes <= _PLAIN_NODE_LIMIT and depth <= _PLAIN_DEPTH_LIMIT:
        return True
    return containers < NODE_LIMIT and depth <= DEPTH_LIMIT


def _is_plain(value: Any, most: int) -> tuple[int, int] | Literal[False] | None:
    """The number and depth of a value's parts, if the C encoder writes exactly this value (apart from NaN and lone
    surrogates). False if it does not, or if the parts exceed the limits of plain data. None if there are more than
    ``most`` parts."""
    level = [value]
    count = 0
    for depth in range(_PLAIN_DEPTH_LIMIT):
        deeper: list[Any] = []
        for held in level:
            kind = type(held)
            if kind is dict:
                if not _plain_keys(held):
                    return False
                parts = held.values()
            else:
                parts = held if kind is list else (held,)
            count += len(parts)
            if count > most < _PLAIN_NODE_LIMIT:
                return None
            for part in parts:  # scalars are checked here, because most parts hold no others
                kind = type(part)
                if kind is str or kind is float or kind is bool or part is None:
                    continue
                if kind is int and -INTEGER_LIMIT < part < INTEGER_LIMIT:
                    continue
                if kind is not dict and kind is not list:
                    return False
                deeper.append(part)
        if not deeper:
            return count, depth
        if count > _PLAIN_NODE_LIMIT:
            return False
        level = deeper
    return False


def _plain_keys(value: dict[Any, Any]) -> bool:
    key: Any = ""
    for key in value:
        if type(key) is not str:
            return False
    return len(value) != 1 or not key.startswith("~")


class _Entries:
    """Writes entries of woven values (``facts.weaving.Hand``)."""

    def unlike(self, kind: type) -> bool:
        return codec_of(kind) is not None

    def entry(self, value: object, depth: int) -> tuple[Json, Traits]:
        writer = ValueWriter(sort_sets=True)
        return self._written(writer, writer.part(value, depth))

    def record(
        self, shape: Shape, dictionary: dict[Any, Any], slots: Mapping[str, Any], depth: int
    ) -> tuple[Json, Traits]:
        writer = ValueWriter(sort_sets=True)
        return self._written(writer, writer.record(shape, dictionary, slots, depth + 1))

    def copied(self, copy: object, depth: int) -> tuple[Json, Traits]:
        writer = CopyWriter(sort_sets=True)
        return self._written(writer, writer.part(copy, depth))

    @staticmethod
    def _written(writer: ValueWriter, data: Json) -> tuple[Json, Traits]:
        if writer.surrounded:
            raise ValueError("it depends on what stands around it")
        return data, Traits(tuple(writer.opaque), tuple(writer.shapes))


_HAND = _Entries()
