"""The declarations of the caller's code: type hints, resolved for the parts of a value.

A hint is held as *candidates*: the flat tuple of everything a part may be (unions, ``Annotated``, ``NewType`` and
type aliases dissolved). The name that was noted with a recorded part chooses its candidate. A name can only choose a
class that the declaration reaches: a declared class or a loaded subclass of one.
"""

from __future__ import annotations

import types
import typing
import weakref
from collections.abc import Iterator
from typing import Any

from reenact.facts.interruptions import let_through
from reenact.facts.shapes import type_name

Candidates = tuple[Any, ...]

NOTHING: Candidates = ()
"""The candidates where nothing is declared."""

_DEPTH = 20
_TRANSPARENT = (typing.ClassVar, typing.Final, typing.Required, typing.NotRequired)
_hints: weakref.WeakKeyDictionary[type, dict[str, Any]] = weakref.WeakKeyDictionary()


def candidates(hint: object) -> Candidates:
    """The candidates of one type hint."""
    if hint is None or hint is Any:
        return NOTHING
    return tuple(dict.fromkeys(_open(hint, 0))) if _hashable(hint) else tuple(_open(hint, 0))


def _origin(hint: object) -> Any:
    return typing.get_origin(hint)


def _hashable(hint: object) -> bool:
    try:
        hash(hint)
    except TypeError:
        return False
    return True


def _open(hint: Any, depth: int) -> Iterator[Any]:
    if depth > _DEPTH or hint is Any:
        return
    origin = _origin(hint)
    if origin is typing.Union or origin is types.UnionType or origin in _TRANSPARENT:
        for part in typing.get_args(hint):
            yield from _open(part, depth + 1)
    elif origin is typing.Annotated:
        yield from _open(hint.__origin__, depth + 1)
    elif isinstance(hint, typing.TypeVar):
        for part in (hint.__bound__, *hint.__constraints__):
            if part is not None:
                yield from _open(part, depth + 1)
    elif isinstance(hint, typing.NewType):
        yield from _open(hint.__supertype__, depth + 1)
    elif type(hint).__name__ == "TypeAliasType":
        yield from _open(hint.__value__, depth + 1)
    else:
        yield hint


def _join(hints: Iterator[object]) -> Candidates:
    out: list[object] = []
    for hint in hints:
        for candidate in candidates(hint):
            if not any(candidate is known for known in out):
                out.append(candidate)
    return tuple(out)


def items(of: Candidates, index: int) -> Candidates:
    """The possible types of the member at ``index`` of a list, tuple, set or deque."""
    return _join(_item_hints(of, index)) if of else NOTHING


def _item_hints(of: Candidates, index: int) -> Iterator[Any]:
    for hint in of:
        args = typing.get_args(hint)
        if _origin(hint) is tuple and args and args[-1] is not Ellipsis:
            if index < len(args):
                yield args[index]
        elif args and _origin(hint) is not typing.Literal:
            yield from (arg for arg in args if arg is not Ellipsis)


def keys(of: Candidates) -> Candidates:
    """The possible types of the keys of a mapping."""
    return _join(typing.get_args(hint)[0] for hint in of if len(typing.get_args(hint)) in (1, 2)) if of else NOTHING


def entry(of: Candidates, key: object) -> Candidates:
    """The possible types of the value under ``key`` of a mapping (a ``TypedDict`` too)."""
    return _join(_entry_hints(of, key)) if of else NOTHING


def _entry_hints(of: Candidates, key: Any) -> Iterator[Any]:
    for hint in of:
        args = typing.get_args(hint)
        origin = _origin(hint) or hint
        if typing.is_typeddict(origin):
            yield from _known(field_hints(origin).get(key))
        elif len(args) == 2 and _origin(hint) is not tuple:
            yield args[1]


def _known(hint: object) -> Iterator[Any]:
    if hint is not None:
        yield hint


def choose(of: Candidates, name: str) -> tuple[type, dict[Any, Any]] | None:
    """The declared class of this name, or a loaded subclass of a declared one, with its type arguments.

    Returns:
        The class and the values of its type variables; None when the declaration does not reach that name.
    """
    for hint in of:
        cls = _origin(hint) or hint
        if isinstance(cls, type) and type_name(cls) == name:
            variables = getattr(cls, "__parameters__", ())
            return cls, dict(zip(variables, typing.get_args(hint), strict=False))
    for hint in of:
        cls = _origin(hint) or hint
        if isinstance(cls, type) and cls is not object:
            for sub in _subclasses(cls):
                if type_name(sub) == name:
                    return sub, {}
    return None


def _subclasses(cls: type[Any]) -> Iterator[type[Any]]:
    seen = {id(cls)}
    todo = [cls]
    while todo:
        below: list[type[Any]] = type.__subclasses__(todo.pop())
        for sub in below:
            if id(sub) not in seen:
                seen.add(id(sub))
                todo.append(sub)
                yield sub


def field_hints(cls: type) -> dict[str, Any]:
    """The declared types of a class's fields; those that cannot be resolved are absent."""
    known = _hints.get(cls)
    if known is None:
        known = _hints[cls] = _resolve(cls)
    return known


def _resolve(cls: type) -> dict[str, Any]:
    hints: dict[str, object] = {}
    for name, field in getattr(cls, "__pydantic_fields__", {}).items():
        hints[name] = field.annotation  # pydantic has resolved forward references already
    if hints:
        return hints
    try:
        return typing.get_type_hints(cls)
    except Exception as error:
        let_through(error)
    try:
        return {name: hint for name, hint in cls.__annotations__.items() if not isinstance(hint, str)}
    except Exception as error:  # there are none, or computing them fails
        let_through(error)
        return {}


def fields(cls: type, variables: dict[object, object], name: str) -> Candidates:
    """The possible types of the field ``name`` of a record, with its type variables filled in."""
    hint = field_hints(cls).get(name)
    if hint is None:
        return NOTHING
    if variables and _hashable(hint):
        if hint in variables:
            return candidates(variables[hint])
        parameters = getattr(hint, "__parameters__", ())
        if parameters:
            hint = hint[tuple(variables.get(parameter, parameter) for parameter in parameters)]
    return candidates(hint)
