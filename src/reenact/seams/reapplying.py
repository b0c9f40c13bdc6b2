"""Makes a recorded change again: the values after the call go into the objects that exist now, in place.

The form is that of ``seams.mutation``. Objects that existed before keep their identity, so that everything else that
holds them sees the change too; new objects are made from data; records are made through the types that the agent's code
declares.
"""

from __future__ import annotations

import collections
import json
from collections.abc import Callable, Mapping
from typing import Any

from reenact.errors import Divergence, UnreplayableRun
from reenact.facts import type_hints
from reenact.facts.call import Json
from reenact.facts.decoding import restore
from reenact.facts.shapes import dictionary_of, make_record, shape_of
from reenact.facts.type_hints import NOTHING, Candidates
from reenact.seams.mutation import SEQUENCES, Content, Part, Sight, digest, order_of


def reapply(body: bytes, look: Sight, hints: Mapping[str, Any], assign: Callable[[str, Any], None], name: str) -> None:
    """Make the changes of a recorded call.

    Args:
        body: The change.
        look: The contents of the roots when the call was issued now.
        hints: Declared types of the roots.
        assign: Binds a root variable again.
        name: Name of the call, for messages.

    Raises:
        Divergence: The values that the call would have changed differ from the recorded ones.
        UnreplayableRun: A new value cannot be made from data.
    """
    data = json.loads(body)
    roots = list(data["roots"])
    missing = [root for root in roots if root not in look.roots]
    found = None if missing else digest(look, roots)
    if found != data["before"]:
        raise Divergence(
            f"{name} changed {', '.join(roots)} when it was recorded, and that is not the same now",
            recorded=data["before"],
            now=found,
            path=roots[0],
            reason="changed",
            cause="the agent's own state was different before this call",
            next_command=f"reenact replay @ --through {name}",
        )
    order = order_of(look, roots)
    places = {number: place for place, number in enumerate(order)}
    outlines = {places[number]: _outline(look.contents[number], places) for number in order}
    patch = _Patch(data, [look.objects[number] for number in order], outlines)
    for root in roots:
        patch.expect(data["roots"][root], type_hints.candidates(hints.get(root)))
    patch.fill()
    for root in roots:
        if not root.startswith("args."):
            assign(root, patch.part(data["roots"][root], type_hints.candidates(hints.get(root))))


def _outline(content: Content | None, places: Mapping[int, int]) -> Json:
    """The content of an unchanged object, in the recorded form, as far as it leads to other objects."""

    def part(part: Part) -> Json:
        return ["r", places[part[1]]] if part[0] == "r" else ["v", None]

    if content is None or content[0] not in (*SEQUENCES, "dict", "object"):
        return ["value", ""]
    kind, name, *groups = content
    listed = [[part(item) for item in group] for group in groups[:1]] if kind in SEQUENCES else []
    pairs = groups[len(listed) :]
    return [kind, name, *listed, *([[key, part(item)] for key, item in group] for group in pairs)]


class _Patch:
    """One recorded change, while it is made again."""

    def __init__(self, data: Json, existing: list[Any], outlines: Mapping[int, Json]) -> None:
        self._outlines = outlines
        self._contents: dict[int, Json] = {int(number): content for number, content in data["objects"].items()}
        self._made: dict[int, Any] = dict(enumerate(existing))
        self._old = len(existing)
        self._hints: dict[int, Candidates] = {}

    def expect(self, part: Json, of: Candidates) -> None:
        """Note the declared types of the object of a part, and of all that it holds."""
        todo = [(part, of)]
        while todo:
            (kind, number), hints = todo.pop()
            if kind != "r" or number in self._hints:
                continue
            self._hints[number] = hints
            content = self._contents.get(number) or self._outlines[number]
            todo.extend(self._inner(number, content, hints))

    def _inner(self, number: int, content: Json, hints: Candidates) -> list[tuple[Json, Candidates]]:
        """The parts of one object with the declared type of each."""
        kind, name, *groups = content
        if kind in SEQUENCES:
            return [(part, type_hints.items(hints, place)) for place, part in enumerate(groups[0])]
        if kind == "dict":
            return [(part, type_hints.entry(hints, key if isinstance(key, str) else None)) for key, part in groups[0]]
        if kind == "object":
            cls, variables = self._class(number, name, hints)
            return [(part, type_hints.fields(cls, variables, key)) for group in groups for key, part in group]
        return []

    def _class(self, number: int, name: str, hints: Candidates) -> tuple[type, dict[Any, Any]]:
        chosen = type_hints.choose(hints, name)
        if chosen is not None:
            return chosen
        if number < self._old:
            return type(self._made[number]), {}
        raise UnreplayableRun(
            f"a recorded call made a new {name}, and the code does not declare that type where it put it",
            cause=f"records come back only through declared types: annotate the field with {name.rsplit('.', 1)[-1]}",
            next_command="reenact replay @",
            missing=(name,),
        )

    def fill(self) -> None:
        """Give every changed and every new object its later contents."""
        for number in self._contents:
            self._resolve(number)
        for number, content in self._contents.items():
            if content[0] not in ("tuple", "value"):
                self._put(self._made[number], content, self._hints.get(number, NOTHING), number)

    def part(self, part: Json, of: Candidates) -> Any:
        """The value of a part."""
        kind, value = part
        return self._resolve(value) if kind == "r" else restore(value, of)

    def _resolve(self, number: int) -> Any:
        made = self._made.get(number, self)
        if made is self:
            made = self._made[number] = self._shell(number)
        return made

    def _shell(self, number: int) -> Any:
        """A new object, still empty where it can be filled later."""
        kind, name, *groups = self._contents[number]
        hints = self._hints.get(number, NOTHING)
        if kind == "value":
            return restore(groups[0], hints)
        if kind == "tuple":
            parts = [self.part(part, type_hints.items(hints, place)) for place, part in enumerate(groups[0])]
            return tuple(parts) if not name else tuple.__new__(self._class(number, name, hints)[0], parts)
        if kind == "object":
            return make_record(self._class(number, name, hints)[0], {}, {})
        if name in ("", *_PLAIN):
            return _PLAIN[name or kind]()
        cls = self._class(number, name, hints)[0]
        return (dict if kind == "dict" else list).__new__(cls)

    def _put(self, item: Any, content: Json, hints: Candidates, number: int) -> None:
        kind, _, *groups = content
        if kind == "object":
            self._put_object(item, groups, number, content[1], hints)
        elif kind == "dict":
            pairs = [
                (key if isinstance(key, str) else restore(key), self.part(part, type_hints.entry(hints, _text(key))))
                for key, part in groups[0]
            ]
            clear, add = _ORDERED if isinstance(item, collections.OrderedDict) else _DICT
            clear(item)
            for key, value in pairs:
                add(item, key, value)
        elif kind == "list":
            list.__setitem__(item, slice(None), self._listed(groups[0], hints))
        elif kind == "deque":
            item.clear()
            item.extend(self._listed(groups[0], hints))
        elif kind == "set":
            members = [restore(part, type_hints.items(hints, 0)) for part in groups[0]]
            set.clear(item)
            set.update(item, members)
        elif kind == "bytearray":
            item[:] = restore(groups[0])
        if kind in ("dict", "list") and len(groups) > 1 and groups[1]:
            self._put_attributes(item, groups[1])

    def _listed(self, parts: Json, hints: Candidates) -> list[Any]:
        return [self.part(part, type_hints.items(hints, place)) for place, part in enumerate(parts)]

    def _put_attributes(self, item: Any, pairs: Json) -> None:
        held = dictionary_of(item, shape_of(type(item)))
        fresh = {key if isinstance(key, str) else restore(key): self.part(part, NOTHING) for key, part in pairs}
        held.clear()
        held.update(fresh)

    def _put_object(self, item: Any, groups: Json, number: int, name: str, hints: Candidates) -> None:
        cls, variables = self._class(number, name, hints)
        shape = shape_of(type(item))
        if shape.dictionary is not None:
            held = dictionary_of(item, shape)
            fresh = {
                key if isinstance(key, str) else restore(key): self.part(
                    part, type_hints.fields(cls, variables, _text(key) or "")
                )
                for key, part in groups[0]
            }
            held.clear()
            held.update(fresh)
        slots = {key: self.part(part, type_hints.fields(cls, variables, key)) for key, part in groups[1]}
        for key, descriptor in shape.slots:
            if key in slots:
                descriptor.__set__(item, slots[key])
            elif not key.startswith("__"):
                _unset(descriptor, item)


_PLAIN: dict[str, Callable[[], Any]] = {
    "list": list,
    "deque": collections.deque,
    "set": set,
    "bytearray": bytearray,
    "dict": dict,
    "OrderedDict": collections.OrderedDict,
    "Counter": collections.Counter,
}
_DICT: tuple[Callable[..., None], Callable[..., None]] = (dict.clear, dict.__setitem__)
_ORDERED: tuple[Callable[..., None], Callable[..., None]] = (
    collections.OrderedDict.clear,
    collections.OrderedDict.__setitem__,
)


def _text(key: Json) -> str | None:
    return key if isinstance(key, str) else None


def _unset(descriptor: Any, item: Any) -> None:
    try:
        descriptor.__delete__(item)
    except AttributeError:  # the slot was not set
        pass
