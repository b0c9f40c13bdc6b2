"""The slow path of writing a value: parts that are no plain JSON data become tagged data.

Standard types become tagged scalars, records (dataclasses, pydantic models, attrs classes, named tuples, enums) become
plain data with the name of their class, and a value that cannot be stored becomes ``{"~opaque": "module.Type"}``. No
code of the value's class runs.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from reenact.facts import exceptions
from reenact.facts.call import Json
from reenact.facts.copies import RECORD, SCALAR, TUPLE, forget, shape_with
from reenact.facts.interruptions import let_through
from reenact.facts.jsontext import writer
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.scalars import WRITE, write_float, write_integer, write_text
from reenact.facts.shapes import (
    Shape,
    dictionary_of,
    has_plain_metaclass,
    mro_of,
    namespace_of,
    shape_of,
    slots_of,
    type_name,
)

DEPTH_LIMIT = 100
"""Parts nested more deeply are opaque, because readers must not need a deep stack."""

NODE_LIMIT = 100_000
"""If a value has more parts, the further ones are opaque, because a value that shares its parts can unfold without
bound."""

TEXT_LIMIT = 2_000
"""The number of parts in an exception's arguments up to which its own text is used, and the number of characters of a
replacement text."""

_FACTORIES: dict[Any, str] = {
    None: "None",
    **{kind: kind.__name__ for kind in (list, dict, set, int, float, str, tuple, bool)},
}

_ATOMS: dict[type, Callable[[Any], Json]] = {
    type(None): lambda value: value,
    bool: lambda value: value,
    str: write_text,
    int: write_integer,
    float: write_float,
}

_fast = writer(ascii_only=False, nan=False)


@dataclass(frozen=True, slots=True)
class Codec:
    """The two functions by which a library's class is stored, for types that are not records.

    Attributes:
        write: Gives encodable data for an instance. If it raises, the instance is opaque.
        read: Makes an instance from that data and the class that the program has loaded under this name.
    """

    write: Callable[[Any], Any]
    read: Callable[[type[Any], Any], Any]


codecs: dict[str, Codec] = {}
"""Codecs by ``module.QualName``, registered by the seams that know the library. A subclass uses the codec of its
base."""


def register_codec(name: str, codec: Codec) -> None:
    """Register the codec of a class (``httpx.Response``). The last registration for a name counts."""
    codecs[name] = codec
    forget()


def codec_of(cls: type) -> tuple[str, Codec] | None:
    """The codec of a class or of its nearest base."""
    if codecs:
        for base in mro_of(cls)[:-1]:
            codec = codecs.get(type_name(base))
            if codec is not None:
                return type_name(cls), codec
    return None


class ValueWriter:
    """Writes one value, part by part."""

    __slots__ = ("nodes", "opaque", "open", "shapes", "sort_sets", "surrounded")

    containers: ClassVar[Mapping[type, Callable[[Any, Any, int], Json]]] = {}

    def __init__(self, sort_sets: bool) -> None:
        self.sort_sets = sort_sets
        self.nodes = 0
        self.open: set[int] = set()
        self.opaque: dict[str, None] = {}
        self.shapes: dict[str, None] = {}
        self.surrounded = False
        """Whether the written text also depends on the value's surroundings."""

    def refuse(self, value: object, why: str = "") -> Json:
        """Note a part that cannot be stored."""
        name = type_name(type(value)) + (f" ({why})" if why else "")
        self.opaque[name] = None
        return {"~opaque": name}

    def part(self, value: object, depth: int) -> Json:
        """One part of the value as JSON-able data."""
        kind = type(value)
        exact = has_plain_metaclass(kind)
        atom = _ATOMS.get(kind) if exact else None
        if atom is not None:
            return atom(value)
        self.nodes += 1
        if depth > DEPTH_LIMIT or self.nodes > NODE_LIMIT or id(value) in self.open:
            self.surrounded = True
            return self.refuse(value, "contains itself, or is too large")
        self.open.add(id(value))
        try:
            return self._compound(value, kind, depth + 1, exact)
        except Exception as error:
            let_through(error)
            return self.refuse(value)
        finally:
            self.open.discard(id(value))

    def _compound(self, value: Any, kind: type, depth: int, exact: bool) -> Json:
        if exact:
            container = self.containers.get(kind)
            if container is not None:
                return container(self, value, depth)
            scalar = WRITE.get(kind)
            if scalar is not None:
                return {scalar[0]: scalar[1](value)}
        known = codec_of(kind)
        if known is not None:
            name, codec = known
            return {"~codec": [name, self.part(codec.write(value), depth)]}
        if issubclass(kind, BaseException):
            return {"~error": self._error(value, depth, 0)}
        return self.refuse(value) if issubclass(kind, type) else self._shaped(value, shape_of(kind), depth)

    def dictionary(self, value: dict[Any, Any], depth: int) -> Json:
        """A dictionary as JSON-able data: an object where its keys allow that."""
        items = list(dict.items(value))
        if all(type(key) is str and write_text(key) is key for key, _ in items) and not (
            len(items) == 1 and items[0][0].startswith("~")
        ):
            return {key: self.part(item, depth) for key, item in items}
        return {"~dict": self.pairs(items, depth)}

    def pairs(self, items: list[tuple[Any, Any]], depth: int) -> Json:
        """Keys of any type with their values, as JSON-able data."""
        return [[self.part(key, depth), self.part(item, depth)] for key, item in items]

    def members(self, value: Any, depth: int) -> Json:
        """The members of a set, as JSON-able data."""
        parts = [self.part(item, depth) for item in list(value)]
        return sorted(parts, key=_fast) if self.sort_sets else parts

    def _shaped(self, value: Any, shape: Shape, depth: int) -> Json:
        if shape.kind == "enum":
            slot = dictionary_of(value, shape)
            return self.member(shape, slot.get("_name_"), slot.get("_value_"), depth)
        if shape.kind == "namedtuple":
            order = mro_of(type(value))
            names = next(own["_fields"] for own in map(namespace_of, order) if "_fields" in own)
            fields = {
                str(name): self.part(item, depth) for name, item in zip(names, tuple.__iter__(value), strict=True)
            }
            self.shapes[shape.name] = None
            return {"~data": ["namedtuple", shape.name, fields]}
        if shape.kind and shape.settled:
            return self.record(shape, dictionary_of(value, shape), slots_of(value, shape), depth)
        plain = next((read for base, read in _PLAIN_PART if issubclass(type(value), base)), None)
        if plain is None or shape.slots or (shape.dictionary is not None and dictionary_of(value, shape)):
            return self.refuse(value)
        self.shapes[shape.name] = None
        return {"~data": ["subclass", shape.name, self.part(plain(value), depth)]}

    def member(self, shape: Shape, name: object, value: object, depth: int) -> Json:
        """A member of an enumeration, as JSON-able data."""
        self.shapes[shape.name] = None
        return {"~enum": [shape.name, name if type(name) is str else None, self.part(value, depth)]}

    def record(self, shape: Shape, dictionary: dict[Any, Any], slots: Mapping[str, Any], depth: int) -> Json:
        """A record as JSON-able data, by its fields."""
        fields = self.dictionary(dictionary, depth)
        held = {name: self.part(item, depth) for name, item in slots.items()}
        self.shapes[shape.name] = None
        return {"~data": [shape.kind, shape.name, fields, *([held] if held else [])]}

    def _error(self, error: BaseException, depth: int, chain: int) -> Json:
        cls = type(error)
        before = self.nodes, len(self.opaque), len(self.shapes)
        args = self.part(exceptions.args_of(error), depth) if not exceptions.is_group(error) else None
        # Most exceptions show their arguments. The text is made from the encoded arguments if there are very many, or
        # if some are objects of the agent, whose repr would run.
        large = self.nodes - before[0] > TEXT_LIMIT
        foreign = before[1:] != (len(self.opaque), len(self.shapes)) and exceptions.shows_arguments(cls)
        self.surrounded |= foreign
        text = _fast(args)[:TEXT_LIMIT] if large or foreign else exceptions.text_of(error)
        data: dict[str, Json] = {"type": type_name(cls), "text": write_text(text), "args": args}
        state = exceptions.state_of(error)
        if state:
            data["state"] = self.part(state, depth)
        if chain < exceptions.CHAIN_LIMIT:
            if error.__cause__ is not None:
                data["cause"] = self._error(error.__cause__, depth, chain + 1)
            elif error.__context__ is not None:
                data["context"] = self._error(error.__context__, depth, chain + 1)
        if error.__suppress_context__:
            data["suppress"] = True
        notes = exceptions.notes_of(error)
        if notes:
            data["notes"] = [write_text(str(note)) for note in notes]
        if exceptions.is_group(error):
            message, members = exceptions.args_of(error)
            data["args"] = self.part(str.__str__(message), depth)
            data["members"] = [self._error(member, depth + 1, chain + 1) for member in members]
        return data


def _defaultdict(writer: ValueWriter, value: Any, depth: int) -> Json:
    factory = value.default_factory
    if factory is not None and (type(factory) is not type or factory not in _FACTORIES):
        return writer.refuse(value)
    return {"~defaultdict": [_FACTORIES[factory], writer.pairs(list(dict.items(value)), depth)]}


_CONTAINERS: dict[type, Callable[[ValueWriter, Any, int], Json]] = {
    dict: ValueWriter.dictionary,
    list: lambda writer, value, depth: [writer.part(item, depth) for item in list(value)],
    tuple: lambda writer, value, depth: {"~tuple": [writer.part(item, depth) for item in value]},
    set: lambda writer, value, depth: {"~set": writer.members(value, depth)},
    frozenset: lambda writer, value, depth: {"~frozenset": writer.members(value, depth)},
    collections.deque: lambda writer, value, depth: {
        "~deque": [value.maxlen, [writer.part(item, depth) for item in list(value)]]
    },
    collections.OrderedDict: lambda writer, value, depth: {"~ordered": writer.pairs(list(value.items()), depth)},
    collections.Counter: lambda writer, value, depth: {"~counter": writer.pairs(list(dict.items(value)), depth)},
    collections.defaultdict: _defaultdict,
}

ValueWriter.containers = _CONTAINERS


class CopyWriter(ValueWriter):
    """Writes one deep copy (``facts.copies``), part by part."""

    __slots__ = ()

    def copied(self, value: tuple[Any, ...], depth: int) -> Json:
        """A tuple in a copy, as JSON-able data."""
        what, *held = value
        if what == TUPLE:
            return {"~tuple": [self.part(item, depth) for item in held[0]]}
        if what == SCALAR:
            return {held[0]: held[1]}
        shape = shape_with(held[0])
        if what == RECORD:
            return self.record(shape, held[1], held[2], depth)
        return self.member(shape, held[1], held[2], depth)

    containers: ClassVar[Mapping[type, Callable[[Any, Any, int], Json]]] = {**_CONTAINERS, tuple: copied}


_PLAIN_PART: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (bytes, lambda value: bytes(memoryview(value))),
    (dict, lambda value: dict(dict.items(value))),
    (list, lambda value: list(list.__iter__(value))),
    (tuple, lambda value: tuple(tuple.__iter__(value))),
    (set, lambda value: set(set.__iter__(value))),
    (frozenset, lambda value: frozenset(frozenset.__iter__(value))),
)
