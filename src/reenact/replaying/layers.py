"""Layers: where each path of a program lies once some of them have been changed without the disk being changed.

A path has no entry, and then lies below the place of its folder; or it has a place of its own, on the disk or in
scratch; or it is marked as removed. So the renaming of a folder is one entry, however much the folder holds, and no
file is copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from reenact.facts.lazy_dataclass import dataclass, field

Parts = Sequence[str]
"""The parts of a path without links, from the root of the file system."""


@dataclass(frozen=True, slots=True)
class LayerPlace:
    """A place on the disk or in scratch.

    Attributes:
        path: The path of the place.
        own: Whether the place is in scratch, where it may be changed.
    """

    path: str
    own: bool


ROOT: Final = LayerPlace("/", False)


@dataclass(slots=True)
class _Node:
    """The changes of one path (``""``: none; None: it is deleted), and of the paths below it."""

    at: LayerPlace | Literal[""] | None = ""
    below: dict[str, _Node] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PathLayer:
    """The result for a path.

    Attributes:
        place: Its place, existing or not, before further changes; None where it is deleted.
        said: Whether the path, or a folder above it, was changed.
        exact: Whether the path itself was changed.
    """

    place: LayerPlace | None
    said: bool
    exact: bool


class Layers:
    """All changes so far."""

    def __init__(self) -> None:
        self._root = _Node()

    def __bool__(self) -> bool:
        return bool(self._root.below)

    def find(self, parts: Parts) -> PathLayer:
        """Where a path lies."""
        node: _Node | None = self._root
        place: LayerPlace | None = ROOT
        said = exact = False
        for name in parts:
            node = node and node.below.get(name)
            exact = node is not None and node.at != ""
            if node is not None and node.at != "":
                place, said = node.at, True
            elif place is not None:
                place = LayerPlace(f"{place.path.rstrip('/')}/{name}", place.own)
        return PathLayer(place, said, exact)

    def names(self, parts: Parts) -> dict[str, bool]:
        """The names in a folder that have an entry, each with whether it exists."""
        node: _Node | None = self._root
        for name in parts:
            node = node and node.below.get(name)
        return {} if node is None else {name: each.at is not None for name, each in node.below.items() if each.at != ""}

    def put(self, parts: Parts, place: LayerPlace) -> None:
        """Give a path another place; the entries below it go with it."""
        self._node(parts).at = place

    def let_go(self, parts: Parts) -> None:
        """Remove a path, and all paths below it."""
        node = self._node(parts)
        node.at = None
        node.below.clear()

    def move(self, source: Parts, target: Parts) -> None:
        """Move a path, with all paths below it, to the place of another path, and remove its old name."""
        place = self.find(source).place
        assert place is not None
        node = self._node(source)
        moved = _Node(place, node.below)
        node.below = {}
        node.at = None
        above = self._node(target[:-1])
        above.below[target[-1]] = moved

    def called(self, path: str) -> str:
        """The program's name for a place: the system gives only the place of a descriptor."""
        found, below = "", ""
        for name, place in self._places(self._root, ""):
            if len(place.path) > len(below) and (path == place.path or path.startswith(f"{place.path}/")):
                found, below = name, place.path
        return found + path[len(below) :]

    def _places(self, node: _Node, name: str) -> Iterator[tuple[str, LayerPlace]]:
        for key, each in node.below.items():
            yield from self._places(each, f"{name}/{key}")
        if isinstance(node.at, LayerPlace):
            yield name, node.at

    def _node(self, parts: Parts) -> _Node:
        node = self._root
        for name in parts:
            node = node.below.setdefault(name, _Node())
        return node
