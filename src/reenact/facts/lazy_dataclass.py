"""Dataclasses that cost little to define: the same decorator, but its work is done only when first needed.

``dataclasses`` writes six methods for a class as text and compiles each: two thirds of a millisecond below Python 3.13,
and a process defines fifty to seventy classes before it does anything. Here only the constructor is written, when the
first instance is made; all classes share the other methods. ``dataclasses`` itself accepts these classes: it gets the
description of a class on its first look.

A type checker takes each name for the name of ``dataclasses``. The decorator has only the features that this package
uses, so each class has slots. Slots that a class declares itself are no fields and no part of its value. The
constructor of a frozen class sets its fields by the descriptors of its slots, in half the time of
``object.__setattr__``.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

__all__ = ["asdict", "complete", "dataclass", "field", "fields", "replace"]


class _Absent:
    """Marks a field without a default, or with a default that is made for each instance."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<factory>"


_ABSENT: Final[Any] = _Absent()


class _Field:
    """The declaration of one field of a class."""

    __slots__ = ("compare", "default", "default_factory", "init", "name", "repr", "type")

    def __init__(self, options: dict[str, Any]) -> None:
        self.name = ""
        self.type = ""
        self.default = options.get("default", _ABSENT)
        self.default_factory = options.get("default_factory", _ABSENT)
        self.init = options.get("init", True)
        self.repr = options.get("repr", True)
        self.compare = options.get("compare", True)


_unwritten: list[_Constructor] = []


def complete() -> None:
    """Compile every constructor that is not compiled yet. A process calls this before it runs a user's program:
    compiling a constructor is an event for the program's audit hooks, and needs stack that the program may have used
    up.
    """
    while _unwritten:
        each = _unwritten.pop()
        if vars(each.of)["__init__"] is each:
            each.put()


def _field(**options: Any) -> Any:
    return _Field(options)


def _fields(of: Any) -> tuple[_Field, ...]:
    return tuple(of.__lazy_fields__.values())


def _replace(of: Any, /, **changes: Any) -> Any:
    kept = {name: getattr(of, name) for name in of.__match_args__}
    return of.__class__(**(kept | changes))


def _asdict(of: Any) -> dict[str, Any]:
    return {name: _plain(getattr(of, name)) for name in of.__lazy_fields__}


def _plain(value: Any) -> Any:
    if hasattr(type(value), "__lazy_fields__"):
        return _asdict(value)
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value))
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _dataclass(*, slots: Literal[True], frozen: bool = False) -> Callable[[type], type]:
    def decorate(declared: type) -> type:
        known: dict[str, _Field] = dict(getattr(declared, "__lazy_fields__", {}))
        body = dict(vars(declared))
        own = []
        for name, annotation in declared.__annotations__.items():
            default = body.pop(name, _ABSENT)
            one = default if isinstance(default, _Field) else _Field({"default": default})
            if one.default.__class__.__hash__ is None:
                raise ValueError(f"all instances of {declared.__name__} would share one {name}: use default_factory")
            one.name, one.type = name, annotation
            if name not in known:
                own.append(name)
            known[name] = one
        body.pop("__dict__", None)
        body.pop("__weakref__", None)
        beside = body.pop("__slots__", ())
        for name in beside:
            del body[name]
        body.update(
            __qualname__=declared.__qualname__,
            __slots__=(*own, *beside),
            __lazy_fields__=known,
            __lazy_values__=_getter([each.name for each in known.values() if each.compare]),
            __match_args__=tuple(each.name for each in known.values() if each.init),
            __dataclass_fields__=_Standard(),
            __dataclass_params__=_Standard(),
            __init__=_Constructor(),
            __replace__=_replace,
        )
        body.setdefault("__eq__", _equal)
        body.setdefault("__repr__", _repr)
        if frozen:
            body.update(__setattr__=_refuse_to_set, __delattr__=_refuse_to_delete)
            body.update(__getstate__=_state, __setstate__=_take_state)
        if body.get("__hash__") is None:
            body["__hash__"] = _hash if frozen else None
        return type(declared)(declared.__name__, declared.__bases__, body)

    return decorate


def _is_frozen(of: Any) -> bool:
    return bool(of.__setattr__ is _refuse_to_set)


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda of: tuple(getattr(of, name) for name in names)


def _equal(self: Any, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    # After this check, a type checker takes the class for `object`.
    values: Any = self.__class__.__lazy_values__  # type: ignore[attr-defined]
    return values(self) == values(other)


def _hash(self: Any) -> int:
    return hash(self.__class__.__lazy_values__(self))


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name, each in self.__lazy_fields__.items() if each.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _refuse_to_set(self: Any, name: str, value: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__lazy_fields__]


def _take_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__lazy_fields__, state, strict=True):
        object.__setattr__(self, name, value)


class _Late:
    """Stands in a class for an attribute that is made at its first read."""

    __slots__ = ("_name", "of")

    def __set_name__(self, of: type, name: str) -> None:
        self.of = of
        self._name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        made = self.put()
        return made.__get__(instance, owner) if hasattr(made, "__get__") else made

    def put(self) -> Any:
        """Make the attribute, and put it in the place of this object."""
        made = self.make()
        setattr(self.of, self._name, made)
        return made

    def make(self) -> Any:
        """The attribute. Both subclasses implement this. The class is not abstract by ABCMeta, which would slow each
        start."""
        raise NotImplementedError


class _Standard(_Late):
    """The facts that ``dataclasses`` keeps on each class that it makes."""

    __slots__ = ()

    def make(self) -> Any:
        """The facts that ``dataclasses`` gives to a class with the same fields as ``of``."""
        import dataclasses

        declared: list[Any] = []
        for each in _fields(self.of):
            options = {"init": each.init, "repr": each.repr, "compare": each.compare}
            for kind in ("default", "default_factory"):
                if getattr(each, kind) is not _ABSENT:
                    options[kind] = getattr(each, kind)
            declared.append((each.name, each.type, dataclasses.field(**options)))
        return getattr(dataclasses.make_dataclass("_", declared, frozen=_is_frozen(self.of)), self._name)


class _Constructor(_Late):
    """``__init__``, with a parameter for each field."""

    __slots__ = ()

    def __set_name__(self, of: type, name: str) -> None:
        super().__set_name__(of, name)
        _unwritten.append(self)

    def make(self) -> Any:
        """The function that takes the instance and its fields."""
        made = _constructor(self.of)
        made.__module__, made.__qualname__ = self.of.__module__, f"{self.of.__qualname__}.__init__"
        made.__annotations__ = {each.name: each.type for each in _fields(self.of) if each.init} | {"return": None}
        return made


def _constructor(of: Any) -> Any:
    """A function that sets the fields of an instance one by one. A loop over the fields would double the time."""
    frozen = _is_frozen(of)
    names: dict[str, Any] = {"_absent": _ABSENT}
    parameters, lines = ["self"], []
    for each in _fields(of):
        name = value = each.name
        if each.default_factory is not _ABSENT:
            names[f"_new_{name}"] = each.default_factory
            parameters.append(f"{name}=_absent")
            value = f"_new_{name}() if {name} is _absent else {name}"
        elif each.default is not _ABSENT:
            names[f"_default_{name}"] = each.default
            parameters.append(f"{name}=_default_{name}")
        elif each.init:
            parameters.append(name)
        else:
            continue  # __post_init__ sets it
        if frozen:
            names[f"_set_{name}"] = getattr(of, name).__set__
            lines.append(f"_set_{name}(self, {value})")
        else:
            lines.append(f"self.{name} = {value}")
    if hasattr(of, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n ".join(lines or ["pass"])
    exec(f"def __init__({', '.join(parameters)}):\n {body}", names)
    return names["__init__"]


if TYPE_CHECKING:
    from dataclasses import asdict, dataclass, field, fields, replace
else:
    asdict, dataclass, field, fields, replace = _asdict, _dataclass, _field, _fields, _replace
