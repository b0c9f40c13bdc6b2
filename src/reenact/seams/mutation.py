"""Changes that a call made to its inputs: two looks at the reachable data, and the difference as data.

A *look* walks exact built-in containers, records and the agent's own objects from named roots (``args.state``,
``cell.count``, ``global.CACHE``) and writes down the content of each object, in order of first sight: scalars as they
are, other objects by their number. Two looks number the same object alike, so aliases and cycles need no care and the
difference is exact. No code of the agent is called; after 500 parts a root is given up and named *unchecked*.

Form of a recorded change (JSON): ``before`` is a digest of the old content of the changed roots; ``count`` the number
of objects there; ``roots`` maps each changed root to its part after; ``objects`` maps numbers to contents after, for
changed objects and, from ``count`` on, for new ones. A part is ``["r", number]`` or ``["v", encoded value]``;
``seams.reapplying`` makes the change again.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from types import SimpleNamespace
from typing import Any

from reenact.facts.encoding import encode
from reenact.facts.interruptions import let_through
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.scalars import INTEGER_LIMIT, WRITE
from reenact.facts.shapes import (
    dictionary_of,
    has_plain_metaclass,
    is_one_of,
    module_name,
    shape_of,
    slots_of,
    type_name,
)
from reenact.facts.value_writer import codec_of
from reenact.seams.source import is_agents

NODE_LIMIT = 500
"""The most parts in one look; a root that reaches more is not checked."""

Part = tuple[str, Any]
Content = tuple[Any, ...]

_ATOMS = frozenset((str, int, float, bool, bytes, type(None)))
SEQUENCES = ("list", "tuple", "deque")
_MAPPINGS = frozenset((dict, OrderedDict, defaultdict, Counter))


class _TooLarge(Exception):
    """A root reaches more than is looked at."""


class Sight:
    """One look at the data behind some roots.

    Attributes:
        roots: The contents of each root, as a part.
        objects: The objects seen, by number; keeping them keeps their identity.
        contents: The contents of each object.
        unchecked: Roots that reach too much.
    """

    __slots__ = ("_left", "_numbers", "contents", "objects", "roots", "unchecked")

    def __init__(self, before: Sight | None = None) -> None:
        self.roots: dict[str, Part] = {}
        self.objects: list[Any] = list(before.objects) if before is not None else []
        self.contents: list[Content | None] = [None] * len(self.objects)
        self._numbers = {id(item): number for number, item in enumerate(self.objects)}
        self.unchecked: list[str] = []
        self._left = NODE_LIMIT

    def take(self, roots: Iterable[tuple[str, Any]]) -> Sight:
        """Look at each root; of a root that reaches too much only the name is kept."""
        for root, value in roots:
            known = len(self.objects)
            filled = [number for number, content in enumerate(self.contents) if content is not None]
            try:
                part = self._part(value)
                self._fill(known, part)
                self.roots[root] = part
            except Exception as error:
                let_through(error)
                self.unchecked.append(root)
                for item in self.objects[known:]:
                    del self._numbers[id(item)]
                del self.objects[known:]
                del self.contents[known:]
                for number in set(range(known)).difference(filled):
                    self.contents[number] = None
                self._left = NODE_LIMIT - sum(1 for content in self.contents if content is not None)
        return self

    def _fill(self, known: int, part: Part) -> None:
        """Write down what every object reachable from ``part`` holds, breadth first."""
        todo = [part[1]] if part[0] == "r" else []
        while todo:
            number = todo.pop(0)
            if self.contents[number] is not None:
                continue
            content = self.contents[number] = self._content(self.objects[number])
            todo.extend(child for kind, child in parts_of(content) if kind == "r")

    def _part(self, value: Any) -> Part:
        self._left -= 1
        if self._left < 0:
            raise _TooLarge
        kind = type(value)
        exact = has_plain_metaclass(kind)
        if exact and kind in _ATOMS:
            return ("v", _exact(value))
        if exact and kind in WRITE and kind is not bytearray:
            return ("x", encode(value).body)
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.objects)
            self.objects.append(value)
            self.contents.append(None)
        return ("r", number)

    def _content(self, item: Any) -> Content:  # noqa: PLR0911 - one line a sort of object
        kind = type(item)
        if kind is list or kind is tuple or kind is deque:
            if len(item) > self._left:
                raise _TooLarge
            return (kind.__name__, "", tuple(self._part(part) for part in list(item)))
        if is_one_of(kind, _MAPPINGS):
            return ("dict", kind.__name__, self._pairs(item))
        if kind is set or kind is frozenset:
            return (kind.__name__, "", tuple(sorted(encode(part).body for part in list(item))))
        if kind is bytearray:
            return ("bytearray", "", bytes(item))
        shape = shape_of(kind)
        if shape.kind == "enum" or issubclass(kind, (type, BaseException)):
            return ("leaf", shape.name, encode(item).body)
        if not shape.kind and (codec_of(kind) is not None or not _of_the_agent(kind)):
            return ("opaque", type_name(kind))
        attributes = self._pairs(dictionary_of(item, shape)) if shape.dictionary is not None else ()
        if shape.settled:
            slots = tuple((name, self._part(value)) for name, value in slots_of(item, shape).items())
            return ("object", shape.name, attributes, slots)
        for base, read in _BASES:
            if issubclass(kind, base):
                parts = self._pairs(item) if base is dict else tuple(self._part(part) for part in read(item))
                return (base.__name__, shape.name, parts, attributes)
        return ("opaque", shape.name)

    def _pairs(self, held: dict[Any, Any]) -> tuple[tuple[Any, Part], ...]:
        read: Any = OrderedDict.items if issubclass(type(held), OrderedDict) else dict.items
        if dict.__len__(held) > self._left:  # checked first: listing the contents would cost more than this look
            raise _TooLarge
        return tuple((_key(key), self._part(value)) for key, value in list(read(held)))


_BASES: tuple[tuple[type, Any], ...] = (
    (dict, dict.items),
    (list, lambda item: list(list.__iter__(item))),
    (tuple, lambda item: list(tuple.__iter__(item))),
)


def _exact(value: Any) -> Any:
    """A scalar in a form whose equality respects the type, and whose ``repr`` no limit forbids."""
    kind = type(value)
    if kind is bool or kind is float:
        return (kind.__name__, repr(value))
    return ("int", hex(value)) if kind is int and not -INTEGER_LIMIT < value < INTEGER_LIMIT else value


def _key(key: Any) -> Any:
    return key if type(key) is str else ("key", encode(key).body)


def _of_the_agent(kind: type) -> bool:
    """Whether a class was written by the agent's author: objects of libraries are not looked into."""
    if kind is SimpleNamespace:
        return True
    module = sys.modules.get(module_name(kind))
    file = getattr(module, "__file__", None)
    return is_agents(file) if isinstance(file, str) else module_name(kind) == "__main__"


def parts_of(content: Content) -> Iterator[Part]:
    """The parts that an object's content names."""
    kind = content[0]
    if kind in SEQUENCES:
        yield from content[2]
        pairs = content[3:]
    else:
        pairs = content[2:] if kind in ("dict", "object") else ()
    for group in pairs:
        for _, part in group:
            yield part


@dataclass(frozen=True, slots=True)
class Mutation:
    """The changes that a call made.

    Attributes:
        body: The change as JSON; empty when nothing changed.
        opaque: Types of new things that could not be stored: the call cannot be replayed frozen.
        roots: Roots whose data changed.
        unchecked: Roots that reach too much to be checked.
    """

    body: bytes = b""
    opaque: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()


def compare(before: Sight, after: Sight) -> Mutation:
    """The difference between two looks; the second look knows the first."""
    unchecked = tuple(dict.fromkeys((*before.unchecked, *after.unchecked)))
    changed = {
        number
        for number, content in enumerate(before.contents)
        if content is not None and after.contents[number] not in (None, content)
    }
    roots = []
    for root, part in before.roots.items():
        now = after.roots.get(root)
        if now is None:
            continue
        if now != part or changed.intersection(_reach(before, part)):
            roots.append(root)
    if not roots:
        return Mutation(unchecked=unchecked)
    return _written(before, after, roots, changed, unchecked)


def _reach(look: Sight, part: Part) -> list[int]:
    """Numbers of the objects behind a part, in order of first sight."""
    seen: dict[int, None] = {}
    todo = [part]
    while todo:
        kind, number = todo.pop(0)
        if kind == "r" and number not in seen:
            seen[number] = None
            content = look.contents[number]
            todo.extend(parts_of(content) if content is not None else ())
    return list(seen)


def order_of(look: Sight, roots: Iterable[str]) -> list[int]:
    """Numbers of the objects behind some roots, in the order that a replay numbers them in."""
    seen: dict[int, None] = {}
    for root in roots:
        for number in _reach(look, look.roots[root]):
            seen.setdefault(number)
    return list(seen)


def digest(look: Sight, roots: Iterable[str]) -> str:
    """A digest of the data under some roots; equal data has the same digest in every process."""
    names = list(roots)
    numbers = {number: place for place, number in enumerate(order_of(look, names))}

    def settle(value: Any) -> Any:
        if type(value) is tuple:
            if len(value) == 2 and value[0] == "r" and type(value[1]) is int:
                return ("r", numbers[value[1]])
            return tuple(settle(part) for part in value)
        return value

    held = [(name, settle(look.roots[name])) for name in names]
    contents = [settle(look.contents[number]) for number in numbers]
    return blake2b(repr((held, contents)).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _written(before: Sight, after: Sight, roots: list[str], changed: set[int], unchecked: tuple[str, ...]) -> Mutation:
    old = order_of(before, roots)
    places = {number: place for place, number in enumerate(old)}
    fresh = [number for number in order_of(after, roots) if number not in places]
    places.update((number, len(old) + place) for place, number in enumerate(fresh))
    writer = _Writer(places, after)
    objects = {
        str(places[number]): writer.content(number, new=number not in old)
        for number in [*(number for number in old if number in changed), *fresh]
    }
    data = {
        "before": digest(before, roots),
        "count": len(old),
        "roots": {root: writer.part(after.roots[root]) for root in roots},
        "objects": objects,
    }
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return Mutation(body, tuple(writer.opaque), tuple(roots), unchecked)


class _Writer:
    """Turns contents into JSON."""

    __slots__ = ("_after", "_places", "opaque")

    def __init__(self, places: dict[int, int], after: Sight) -> None:
        self._places = places
        self._after = after
        self.opaque: dict[str, None] = {}

    def part(self, part: Part) -> Any:
        """One part."""
        kind, value = part
        if kind == "r":
            return ["r", self._places[value]]
        if kind == "x":
            return ["v", json.loads(value)]
        return ["v", json.loads(encode(_atom(value)).body)]

    def content(self, number: int, *, new: bool) -> Any:
        """The content of one object."""
        content = self._after.contents[number]
        assert content is not None
        kind, name = content[:2]
        if kind in ("opaque", "leaf", "frozenset") or (kind == "object" and new and not self._is_record(number)):
            return self._whole(number)
        if kind == "dict" and new and name not in ("dict", "OrderedDict", "Counter"):
            return self._whole(number)
        if kind == "bytearray":
            return ["bytearray", "", json.loads(encode(content[2]).body)]
        if kind == "set":
            # In the order of the container, not in the sorted order that looks compare: the agent may iterate.
            return ["set", "", [json.loads(encode(part).body) for part in list(self._after.objects[number])]]
        groups = content[2:]
        if kind in SEQUENCES:
            return [kind, name, [self.part(part) for part in groups[0]], *map(self._pairs, groups[1:])]
        return [kind, name, *map(self._pairs, groups)]

    def _pairs(self, pairs: Iterable[tuple[Any, Part]]) -> list[Any]:
        return [[key if type(key) is str else json.loads(key[1]), self.part(part)] for key, part in pairs]

    def _is_record(self, number: int) -> bool:
        return bool(shape_of(type(self._after.objects[number])).kind)

    def _whole(self, number: int) -> Any:
        """A new object whose inside is not looked at: its value, if it can be stored at all."""
        encoded = encode(self._after.objects[number])
        self.opaque.update(dict.fromkeys(encoded.opaque))
        return ["value", "", json.loads(encoded.body)]


def _atom(value: Any) -> Any:
    """The scalar behind the type-aware form that looks compare."""
    if type(value) is not tuple:
        return value
    name, text = value
    if name == "int":
        return int(text, 16)
    return text == "True" if name == "bool" else float(text)
