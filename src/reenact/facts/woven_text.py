"""Woven text: an encoding that knows its pieces, and the memory of pieces."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple, Protocol

from reenact.facts.shapes import Shape

REMEMBERED = 24 << 20
"""The size of each of the two generations of pieces, with texts, fingerprints and the objects around them, in bytes."""

BESIDE = 1 << 10
"""The bytes that a piece takes in addition to its text, with its facts: many small pieces add up."""

_numbers = itertools.count()


class Traits(NamedTuple):
    """The facts on entries that are not plain, as for a value (``facts.encoding.EncodedValue``).

    Attributes:
        opaque, shapes: Names of types.
    """

    opaque: tuple[str, ...]
    shapes: tuple[str, ...]


class Hand(Protocol):
    """Writes values that are not plain. Each entry is written separately, so that the limits apply to each."""

    def unlike(self, kind: type) -> bool:
        """Whether instances of a class are written in another way than by their fields."""

    def entry(self, value: object, depth: int) -> tuple[Any, Traits]:
        """An entry as JSON-able data.

        Raises:
            ValueError: The encoding depends on the values around it.
        """

    def record(
        self, shape: Shape, dictionary: dict[Any, Any], slots: Mapping[str, Any], depth: int
    ) -> tuple[Any, Traits]:
        """A record as JSON-able data, by its fields."""

    def copied(self, copy: object, depth: int) -> tuple[Any, Traits]:
        """A deep copy as JSON-able data."""


class Piece:
    """The text of a run of entries, without the brackets around them.

    Attributes:
        text: JSON, UTF-8.
        nodes, containers, depth: The numbers of its parts and of containers among them, and the greatest depth.
        blob: The fingerprint that it was made of.
        traits: The facts on entries that are not plain; None if all are plain.
        known: The facts found about the text, by the name of the search.
        number: Its number, which no other piece ever has.
    """

    __slots__ = ("blob", "containers", "depth", "known", "nodes", "number", "text", "traits")

    def __init__(
        self, text: bytes, nodes: int, containers: int, depth: int, blob: bytes, traits: Traits | None = None
    ) -> None:
        self.text = text
        self.blob = blob
        self.nodes = nodes
        self.containers = containers
        self.depth = depth
        self.traits = traits
        self.known: dict[str, Any] = {}
        self.number = next(_numbers)


class Node:
    """A container that was cut: its pieces, and by name the containers inside it that were cut too.

    Attributes:
        mapping: Whether it is a dictionary.
        depth: The number of containers around it.
        parts: Its pieces and inner nodes, in order.
        past: Digests of the pieces that it had the last time, in order, where that is known.
        hand: Writes entries that are not plain; if it is None, all must be plain.
        place: The number of pieces made for it now.
    """

    __slots__ = ("depth", "hand", "mapping", "parts", "past", "place")

    def __init__(self, mapping: bool, depth: int, past: list[bytes] | None = None, hand: Hand | None = None) -> None:
        self.mapping = mapping
        self.depth = depth
        self.hand = hand
        self.parts: list[Piece | tuple[str, Node]] = []
        self.past: list[bytes] = [] if past is None else past
        self.place = 0

    def weight(self, most: int) -> tuple[int, int, int]:
        """The number of parts in all, the number of containers among them, and the greatest depth.

        Raises:
            NotWoven: More containers than ``most`` were cut: one may hold another many times.
        """
        nodes, containers, depth = 1, 1, 1
        cut = 0
        todo: list[tuple[Node, int]] = [(self, 1)]
        while todo:
            node, level = todo.pop()
            cut += 1
            if cut > most:
                raise NotWoven
            for part in node.parts:
                if isinstance(part, Piece):
                    nodes += part.nodes
                    containers += part.containers
                    depth = max(depth, level + part.depth)
                else:
                    nodes += 1
                    containers += 1
                    todo.append((part[1], level + 1))
        return nodes, containers, depth


class Woven(bytes):
    """The encoding of a value, which knows its pieces. To all other code it is bytes like any other.

    Attributes:
        root: The value that it was made of.
        places: Each piece in order, with the place of its first byte.
        parts: The pieces in order, with the text between them.
    """

    @property
    def traits(self) -> Traits | None:
        """The facts on entries that are not plain in it; None if all are plain."""
        found = [piece.traits for _, piece in self.places if piece.traits is not None]
        if not found:
            return None
        return Traits(
            *[tuple(dict.fromkeys(itertools.chain.from_iterable(names))) for names in zip(*found, strict=True)]
        )

    root: Node
    places: list[tuple[int, Piece]]
    parts: list[Piece | bytes]

    def behind(self, lead: bytes) -> Woven:
        """The same encoding with other bytes before it."""
        woven = Woven(lead + self)
        woven.root = self.root
        woven.places = [(at + len(lead), piece) for at, piece in self.places]
        woven.parts = [lead, *self.parts]
        return woven


class NotWoven(Exception):
    """The value is not plain, or weaving it would save nothing."""


class PieceMemory:
    """Pieces by the digest of their fingerprint, and facts on containers by their ``id``, which is only a hint.

    There are two generations of pieces: a piece that is not used while one generation fills is forgotten."""

    def __init__(self) -> None:
        self.young: dict[bytes, Piece] = {}
        self.old: dict[bytes, Piece] = {}
        self.size = 0
        self.past: dict[int, list[bytes]] = {}
        """Digests of the pieces of containers, in order."""
        self.long: dict[str, None] = {}
        """The names of values that were long."""
        self.joined: dict[Hashable, Woven] = {}
        """The last encodings, by the value's name; the latest comes last."""
        self.runs: dict[int, int] = {}
        """For containers to be cut, how many entries make a run."""
        self.parents: dict[int, None] = {}
        """Large containers that are known to hold containers which must be cut. They are noted because a search would
        take long."""
        self.unfit: dict[int, int] = {}
        """Containers that were not plain or not worth weaving, each with the number of further looks for which that is
        assumed. The number is limited, because another container may get the address of a removed one."""

    def holds_unfit(self, address: int) -> bool:
        """Whether the container at an address was unfit, and is still to be skipped."""
        left = self.unfit.get(address, 0)
        if left:
            self.unfit[address] = left - 1
        return left > 0

    def find(self, digest: bytes) -> Piece | None:
        """The piece whose fingerprint has this digest."""
        piece = self.young.get(digest)
        if piece is None:
            piece = self.old.get(digest)
            if piece is not None:
                self.keep(digest, piece)
        return piece

    def keep(self, digest: bytes, piece: Piece) -> None:
        """Remember a piece."""
        self.size += len(piece.text) + len(piece.blob) + BESIDE
        self.young[digest] = piece
        if self.size > REMEMBERED:
            self.old, self.young, self.size = self.young, {}, 0
