"""The state of an object, read and put back without calling any code of its class.

Dataclasses, pydantic models and attrs classes are *records*: their state is their instance dictionary and their
slots. Both are read through the interpreter's own descriptors, never through ``getattr``, so that no property, no
``__getattr__`` and no ``__init__`` of the agent runs while it is being recorded.
"""

from __future__ import annotations

import enum
import types
import weakref
from abc import ABCMeta
from collections.abc import Container, Mapping
from typing import Any, Final

from reenact.facts.interruptions import let_through
from reenact.facts.lazy_dataclass import dataclass

_MODULE = type.__dict__["__module__"]
_QUALNAME = type.__dict__["__qualname__"]
_MRO = type.__dict__["__mro__"]
_OWN = type.__dict__["__dict__"]
_BUILTIN_STATE = (dict, list, tuple, set, frozenset, str, bytes, bytearray, int, float, complex, BaseException, type)
_RECORD_MARKS = (
    ("dataclass", "__dataclass_fields__"),
    ("pydantic", "__pydantic_validator__"),
    ("attrs", "__attrs_attrs__"),
)
_ABSENT_IS_NONE = ("__pydantic_extra__", "__pydantic_private__")


def mro_of(cls: type) -> tuple[type, ...]:
    """The method resolution order of a class, even if its metaclass pretends otherwise."""
    order: tuple[type, ...] = _MRO.__get__(cls)
    return order


def namespace_of(cls: type) -> Mapping[str, Any]:
    """The attributes that a class itself defines, even if its metaclass pretends otherwise."""
    own: Mapping[str, object] = _OWN.__get__(cls)
    return own


def has_plain_metaclass(cls: type) -> bool:
    """Whether a class has the usual hash and equality of classes, so that comparing it runs no metaclass of the
    agent."""
    return type(cls) is type or type(cls) is ABCMeta


def is_one_of(cls: type, table: Container[object]) -> bool:
    """Whether a set or mapping of exact built-in types contains this class. Calls no metaclass for hash or equality."""
    return has_plain_metaclass(cls) and cls in table


SCRIPT: Final = "__reenact_main__"
"""Name of a script's module in a replay that calls a function of it: its ``__main__`` is the replay's own."""


def module_name(cls: type) -> str:
    """The name of the module that a class names as its own; ``?`` where that is no text. Never raises.

    For a class of a script it is ``__main__`` in a replay, too.
    """
    try:
        module = _MODULE.__get__(cls)
    except Exception as error:
        let_through(error)
        module = "?"
    if type(module) is not str:
        return "?"
    return "__main__" if module == SCRIPT else module


def type_name(cls: type) -> str:
    """``module.QualName`` of a class. Never raises."""
    return f"{module_name(cls)}.{_QUALNAME.__get__(cls)}"


@dataclass(frozen=True, slots=True)
class Shape:
    """How instances of one class keep their state.

    Attributes:
        kind: ``dataclass``, ``pydantic``, ``attrs``, ``enum``, ``namedtuple`` or empty (none of these).
        name: ``module.QualName`` of the class.
        slots: Its slots with their descriptors, base classes first.
        dictionary: Reads the instance dictionary; None when there is none.
        settled: False when the class keeps state that is not reachable here (it derives from a container, or
            replaced its ``__dict__``).
    """

    kind: str
    name: str
    slots: tuple[tuple[str, Any], ...]
    dictionary: Any
    settled: bool


_shapes: weakref.WeakKeyDictionary[type, Shape] = weakref.WeakKeyDictionary()


def shape_of(cls: type) -> Shape:
    """The shape of a class; kept as long as the class lives."""
    if type(cls).__hash__ is not type.__hash__ or type(cls).__eq__ is not type.__eq__:
        return _look(cls)  # the equality of the agent's metaclass must not be called
    shape = _shapes.get(cls)
    if shape is None:
        shape = _shapes[cls] = _look(cls)
    return shape


def _look(cls: type) -> Shape:
    order = mro_of(cls)
    slots: dict[str, object] = {}
    dictionary: object = None
    settled = not issubclass(cls, _BUILTIN_STATE)
    marks: set[str] = set()
    for base in reversed(order):
        own = namespace_of(base)
        marks.update(own)
        for name, entry in own.items():
            if type(entry) is types.MemberDescriptorType:
                slots[name] = entry
        entry = own.get("__dict__")
        if type(entry) is types.GetSetDescriptorType:
            dictionary = entry
        elif entry is not None:
            settled = False
    kind = next((kind for kind, mark in _RECORD_MARKS if mark in marks), "")
    if issubclass(type(cls), enum.EnumMeta):
        kind = "enum"
    elif issubclass(cls, tuple) and "_fields" in marks:
        kind = "namedtuple"
    return Shape(kind, type_name(cls), tuple(slots.items()), dictionary, settled)


def dictionary_of(item: object, shape: Shape) -> dict[str, Any]:
    """The live instance dictionary (not a copy); an empty one for instances without a dictionary."""
    if shape.dictionary is None:
        return {}
    held: dict[str, object] = shape.dictionary.__get__(item, type(item))
    return held


def slots_of(item: object, shape: Shape) -> dict[str, Any]:
    """The slots that are set, by name. Pydantic's empty bookkeeping is left out."""
    held: dict[str, object] = {}
    for name, descriptor in shape.slots:
        try:
            value = descriptor.__get__(item, type(item))
        except AttributeError:  # the slot was never set
            continue
        if not is_left_out(name, value):
            held[name] = value
    return held


def is_left_out(name: str, value: object) -> bool:
    """Whether a slot holds only pydantic's empty bookkeeping."""
    return value is None and name in _ABSENT_IS_NONE


def make_record(cls: type, fields: Mapping[str, object], slots: Mapping[str, object]) -> Any:
    """An instance with exactly this state, made without calling its class.

    Raises:
        TypeError: The class cannot be made that way.
    """
    shape = shape_of(cls)
    if not shape.settled:
        raise TypeError(f"{shape.name} keeps state that cannot be put back")
    item: object = object.__new__(cls)
    if fields:
        if shape.dictionary is None:
            raise TypeError(f"{shape.name} has no instance dictionary any more")
        shape.dictionary.__get__(item, cls).update(fields)
    for name, descriptor in shape.slots:
        if name in slots:
            descriptor.__set__(item, slots[name])
        elif name in _ABSENT_IS_NONE:
            descriptor.__set__(item, None)
    return item
