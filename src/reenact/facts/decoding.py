"""Encoded data becomes the original value again, through the types that the caller's code declares.

Standard types need no declaration. Records, enums and subclasses of built-in types come back only when the declared
type reaches them; a name in the data never picks a class by itself (exceptions are found among the classes that are
already loaded, see ``facts.exceptions``). An opaque value, or a value without a declared type, cannot be replayed, and
the error says so.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from reenact.errors import UnreplayableRun
from reenact.facts import type_hints as hints
from reenact.facts.call import Json
from reenact.facts.exceptions import find_class, loaded_class, make_error
from reenact.facts.jsontext import parsed
from reenact.facts.large_values import is_large
from reenact.facts.scalars import READ
from reenact.facts.shapes import make_record, mro_of, type_name
from reenact.facts.type_hints import NOTHING, Candidates
from reenact.facts.value_writer import codecs

_FACTORIES: dict[str, Any] = {
    "None": None,
    **{kind.__name__: kind for kind in (list, dict, set, int, float, str, tuple, bool)},
}


def decode(body: bytes, declared: object = None) -> Any:
    """The value that ``facts.encoding.encode`` wrote.

    Args:
        body: Encoded value.
        declared: Type hint of the caller's code for it; None when nothing is declared.

    Raises:
        UnreplayableRun: The value needs a live object, or a type that is not declared or not loaded (``missing``).
    """
    if is_large(body):
        if not isinstance(body.value, tuple):
            return body.value
        body = body.whole()
    try:
        node = parsed(body.decode())
    except (ValueError, RecursionError) as error:
        raise UnreplayableRun(
            f"a stored value cannot be read: {error}",
            cause="it was written by another version, or is damaged",
            next_command="reenact replay @ --events",
            missing=("value",),
        ) from error
    if b'"~' not in body:
        return node  # plain JSON data holds no tag
    return restore(node, hints.candidates(declared))


def restore(node: Json, of: Candidates = NOTHING) -> Any:
    """One part of an encoded value; ``of`` are its possible types."""
    kind = type(node)
    if kind is list:
        return [restore(item, hints.items(of, index)) for index, item in enumerate(node)]
    if kind is not dict:
        return node
    if len(node) == 1:
        (tag,) = node
        if tag.startswith("~"):
            return _tagged(tag, node[tag], of)
    return {key: restore(item, hints.entry(of, key)) for key, item in node.items()}


def _tagged(tag: str, data: Json, of: Candidates) -> Any:
    scalar = READ.get(tag)
    try:
        if scalar is not None:
            return scalar(data)
        reader = _READERS.get(tag)
        if reader is not None:
            return reader(data, of)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        if _is_redacted(data):
            raise UnreplayableRun(
                f"a recorded {tag[1:]} was redacted: some of it was removed, and the rest is no {tag[1:]}",
                cause="it held a credential when it was recorded",
                next_command="reenact replay @ --events",
                missing=(tag,),
            ) from error
        raise UnreplayableRun(
            f"a stored {tag[1:]} cannot be made again here: {error!r}",
            cause="it was written by another version, or needs a library or time zone that is not loaded here",
            next_command="reenact replay @ --events",
            missing=(tag,),
        ) from error
    raise UnreplayableRun(
        f"a stored value is of an unknown sort: {tag}",
        cause="it was written by a newer version",
        next_command="pip install --upgrade reenact",
        missing=(tag,),
    )


def _is_redacted(data: Json) -> bool:
    """Whether a part of a value was removed."""
    if isinstance(data, str):
        return "~rx" in data or (data != "" and not data.strip("~"))
    return isinstance(data, list) and any(map(_is_redacted, data))


def _members(data: Json, of: Candidates) -> list[Any]:
    return [restore(item, hints.items(of, index)) for index, item in enumerate(data)]


def _pairs(data: Json, of: Candidates) -> list[tuple[Any, Any]]:
    made = []
    for key, item in data:
        name = restore(key, hints.keys(of))
        made.append((name, restore(item, hints.entry(of, name if type(name) is str else None))))
    return made


def _opaque(data: Json, of: Candidates) -> Any:
    raise UnreplayableRun(
        f"a recorded value was {data}, which cannot be stored: a live value is needed there",
        cause="only data can be kept: standard types, dataclasses, pydantic models, exceptions",
        next_command="reenact replay @ --through TOOL",
        missing=(data,),
    )


def _declared_class(name: str, of: Candidates) -> tuple[type, dict[Any, Any]]:
    chosen = hints.choose(of, name)
    if chosen is None:
        raise UnreplayableRun(
            f"a recorded value was a {name}, and the code does not declare that type there",
            cause=f"records come back only through declared types: annotate it (-> {name.rsplit('.', 1)[-1]})",
            next_command="reenact replay @",
            missing=(name,),
        )
    return chosen


def _enum(data: Json, of: Candidates) -> Any:
    name, member, value = data
    cls, _ = _declared_class(name, of)
    if member is not None:
        known = getattr(cls, "__members__", {}).get(member)
        if known is not None:
            return known
    return cls(restore(value))  # a combination of flags


def _data(data: Json, of: Candidates) -> Any:
    kind, name, content = data[:3]
    cls, variables = _declared_class(name, of)
    if kind == "subclass":
        return _subclass(cls, restore(content, of))
    if kind == "namedtuple":
        parts = [restore(item, hints.fields(cls, variables, field)) for field, item in content.items()]
        return tuple.__new__(cls, parts)
    if len(content) == 1 and "~dict" in content:
        held = dict(_pairs(content["~dict"], NOTHING))
    else:
        held = {field: restore(item, hints.fields(cls, variables, field)) for field, item in content.items()}
    slots = data[3] if len(data) > 3 else {}
    return make_record(
        cls, held, {field: restore(item, hints.fields(cls, variables, field)) for field, item in slots.items()}
    )


def _subclass(cls: type, plain: Any) -> Any:
    kind = type(plain)
    if not issubclass(cls, kind):
        raise TypeError(f"{type_name(cls)} is no {kind.__name__} any more")
    if kind in (dict, list, set):
        made: Any = kind.__new__(cls)
        fill = {dict: dict.update, list: list.extend, set: set.update}[kind]
        fill(made, plain)
        return made
    return kind.__new__(cls, plain)


def _codec(data: Json, of: Candidates) -> Any:
    name, content = data
    cls = find_class(name)
    if cls is not None:
        for base in mro_of(cls):
            codec = codecs.get(type_name(base))
            if codec is not None:
                return codec.read(cls, restore(content))
    raise UnreplayableRun(
        f"a recorded {name} cannot be made again: this program has not loaded that class",
        cause="the module that defines it is not imported here: import it in the agent's own module",
        next_command="reenact replay @ --through TOOL",
        missing=(name,),
    )


def restore_error_data(data: Json) -> BaseException:
    """An exception from its tagged form.

    Raises:
        UnreplayableRun: Its class is not loaded, or a part of it could not be stored.
    """
    cls = loaded_class(data["type"])
    members = [restore_error_data(member) for member in data.get("members", ())]
    args = (restore(data["args"]), members) if members else restore(data["args"])
    error = make_error(cls, args, restore(data["state"]) if "state" in data else {})
    if "cause" in data:
        error.__cause__ = restore_error_data(data["cause"])
    if "context" in data:
        error.__context__ = restore_error_data(data["context"])
    error.__suppress_context__ = bool(data.get("suppress"))
    for note in data.get("notes", ()):
        error.add_note(restore(note))
    return error


_READERS: dict[str, Callable[[Json, Candidates], Any]] = {
    "~tuple": lambda data, of: tuple(_members(data, of)),
    "~set": lambda data, of: set(_members(data, of)),
    "~frozenset": lambda data, of: frozenset(_members(data, of)),
    "~deque": lambda data, of: collections.deque(_members(data[1], of), data[0]),
    "~dict": lambda data, of: dict(_pairs(data, of)),
    "~ordered": lambda data, of: collections.OrderedDict(_pairs(data, of)),
    "~counter": lambda data, of: _counter(_pairs(data, of)),
    "~defaultdict": lambda data, of: collections.defaultdict(_FACTORIES[data[0]], _pairs(data[1], of)),
    "~enum": _enum,
    "~data": _data,
    "~codec": _codec,
    "~error": lambda data, of: restore_error_data(data),
    "~opaque": _opaque,
}


def _counter(pairs: list[tuple[Any, Any]]) -> collections.Counter[Any]:
    made: collections.Counter[Any] = collections.Counter()
    dict.update(made, pairs)
    return made
