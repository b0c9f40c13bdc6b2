"""Weaving: the encoding of a large plain value, joined from pieces, of which the unchanged ones are reused.

A value of megabytes that is passed from call to call hardly changes. So it is cut into runs of entries (some tens of
kilobytes each), and a *fingerprint* is made of each run by ``marshal``, which is written in C. A known fingerprint
leads to its piece: the text, and the facts that were found about it. A fingerprint is first compared with the last one
at the same place, and looked up by a digest only if it differs. Fingerprints live only in this process and are not
stored. A piece is made from the copy that its fingerprint holds. So the encoded bytes are those that were compared,
even if another thread changes the value at the same time.

Equal fingerprints mean equal values. Only plain JSON data (text, numbers, booleans, None, lists, dictionaries with
names) and records of such data (``facts.copies``) have fingerprints, and each type has a form of its own in them. Equal
values may have unequal fingerprints (two references to one text, or two texts), which only costs time. A caller may say
how other entries are written. Such an entry is then written again at each look; the rest is not.
"""

from __future__ import annotations

import itertools
import marshal
import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from reenact.facts.copies import are_plain, copy_of, is_sound, record_of
from reenact.facts.interruptions import let_through
from reenact.facts.jsontext import writer
from reenact.facts.scalars import INTEGER_LIMIT
from reenact.facts.woven_text import Hand, Node, NotWoven, Piece, PieceMemory, Traits, Woven

RUN = 32
"""The number of entries of a container from which the size of its entries is estimated."""

USUAL = 16 << 10
MOST = 512
"""The average bytes of the fingerprint of a run, and the most entries for which a run is planned."""

LONGEST = 64 << 10
"""The bytes of a fingerprint above which a run is cut further."""


LONG = 16 << 10
"""The bytes of an encoding from which on weaving saves time, if the encoding is made again and again."""

JOINED = 16 << 20
"""The total size of the last encodings, in bytes, which are reused for unchanged values."""

OUTER = 2
"""The number of containers around an entry of a part of a state: the part, and the state. The limits count both."""

_FEW = 64
_DEEPEST = 16
_FORM = 4
_MOST_IDS = 4096
_BELIEVED = 16
_MOST_CUT = 4096
_MOST_NODES = 500_000
_MOST_LEVELS = 500

_fast = writer(ascii_only=False, nan=False)


Fits = Callable[[int, int, int], bool]
"""Decides whether to weave a value, by the numbers of its parts and containers, and its depth."""


def weave(value: object, fits: Fits, hand: Hand | None = None) -> Woven | None:
    """The encoding of a dictionary or list. None where ``fits`` refuses it, or where it has entries that are not plain
    and no ``hand`` writes them.

    It takes about 3 ms per megabyte of known parts, and the time of the encoding for the rest. Raises only the
    exceptions of the program's signal handlers.
    """
    if type(value) is not dict and type(value) is not list:
        return None
    try:
        root = _node(value, 0, hand)
        weight = root.weight(_MOST_CUT)
    except (
        NotWoven,
        ValueError,
        TypeError,
        RuntimeError,
    ) as error:  # marshal does not take the value, or it has NaN or lone surrogates
        let_through(error)
        return None
    return _joined(root, id(value)) if fits(*weight) else None


def is_long(name: str) -> bool:
    """Whether the value of a name was long the last time."""
    return name in _memory.long


def note_length(name: str, text: bytes) -> None:
    """Note the length of the encoding of a name's value. Pass an empty text if the value cannot be woven."""
    long = _memory.long
    if len(text) < LONG:
        long.pop(name, None)
        return
    if len(long) >= _MOST_IDS:
        long.clear()
    long[name] = None


def join(texts: Mapping[str, bytes]) -> bytes:
    """The encoding of a dictionary, from the encodings of its values by name. It is woven if one of them is woven."""
    leads = {name: _fast(name).encode() + b":" for name in texts}
    if not any(type(text) is Woven for text in texts.values()):
        return b"{%b}" % b",".join([leads[name] + text for name, text in texts.items()])
    root = Node(True, 0)
    loose: list[bytes] = []
    for name, text in texts.items():
        if not isinstance(text, Woven):
            loose.append(leads[name] + text)
            continue
        if loose:
            root.parts.append(_written(b",".join(loose), len(loose)))
            loose = []
        root.parts.append((name, text.root))
    if loose:
        root.parts.append(_written(b",".join(loose), len(loose)))
    return _joined(root, tuple(texts))


def _written(text: bytes, weight: int, traits: Traits | None = None) -> Piece:
    """The piece of entries that are already encoded."""
    digest = blake2b(text, digest_size=16, person=b"text" if traits is None else b"traits").digest()
    piece = _memory.find(digest)
    if piece is None or piece.traits != traits:
        piece = Piece(text, weight, 0, 0, b"", traits)
        _memory.keep(digest, piece)
    return piece


_memory = PieceMemory()


def forget() -> None:
    """Forget every piece, because no session listens any more."""
    global _memory
    _memory = PieceMemory()


def _hint(hints: dict[int, Any], value: Any, what: Any) -> None:
    if len(hints) >= _MOST_IDS:
        hints.clear()
    hints[id(value)] = what


def _node(value: Any, depth: int, hand: Hand | None) -> Node:
    """A container, cut into pieces."""
    memory = _memory
    if depth > _DEEPEST or memory.holds_unfit(id(value)):
        raise NotWoven
    try:
        return _cut(value, depth, hand)
    except (NotWoven, ValueError):
        if depth:  # the outermost is often made for one call, and another gets its address at the next
            _hint(memory.unfit, value, _BELIEVED)
        raise


def _cut(value: Any, depth: int, hand: Hand | None) -> Node:
    memory = _memory
    mapping = type(value) is dict
    past = memory.past.get(id(value))
    if past is None:
        _hint(memory.past, value, past := [])
    node = Node(mapping, depth, past, hand)
    value_then = value.copy()  # in one step, because another thread may replace the entries in between
    keys: list[str] = list(value_then) if mapping else []
    held = list(value_then.values()) if mapping else value_then
    if mapping:
        _require_names(keys, held)
    elif id(str) in set(map(id, map(type, held))):  # not cut: a list's name may make its texts credentials
        node.parts.append(_alone(node, held))
        return node
    length = memory.runs.get(id(value)) or _length(held, hand)
    _hint(memory.runs, value, length)
    start = 0
    for at in _cut_out(value, held, singly=depth == 0 and len(held) <= _FEW):
        _runs(node, value, keys[start:at], held[start:at], length)
        _child(node, keys[at] if mapping else "", held[at], depth)
        start = at + 1
    _runs(node, value, keys[start:], held[start:], length)
    return node


def _length(held: list[object], hand: Hand | None) -> int:
    """How many entries of a container make a run of the usual size, as a power of two. It is estimated from the first
    entries."""
    few = held[:RUN]
    try:
        size = len(_fingerprint(few, hand))
    except ValueError:
        if hand is None:
            raise
        size = USUAL  # each entry is written separately
    each = max(1, size // max(1, len(few)))
    return min(MOST, 1 << max(0, (USUAL // each).bit_length() - 1))


def _cut_out(value: object, held: list[object], *, singly: bool) -> list[int]:
    """The places of the inner containers that are cut themselves, or may have to be cut."""
    if singly:
        return [at for at, item in enumerate(held) if (type(item) is dict or type(item) is list) and item]
    if id(value) not in _memory.parents:
        return []
    known = _memory.runs
    return [at for at, item in enumerate(held) if id(item) in known and (type(item) is dict or type(item) is list)]


def _runs(node: Node, value: object, keys: list[str], held: list[object], length: int) -> None:
    """Cut entries in a row into runs. The names of a dictionary's entries decide where it is cut, so that a removed
    entry leaves the other runs unchanged."""
    if node.mapping:
        ends = [at + 1 for at, key in enumerate(keys) if hash(key) % length == 0]
    else:
        ends = list(range(length, len(held), length))
    start = 0
    for end in [*ends, len(held)]:
        while end > start:
            stop = min(end, start + 4 * length)
            _run(node, value, keys[start:stop], held[start:stop])
            start = stop


def _require_names(keys: list[Any], held: list[Any]) -> None:
    """Require that a dictionary is a JSON object: its keys are text, and it does not look like a tag."""
    for key in keys:
        if type(key) is not str:
            raise NotWoven
    if len(keys) != len(held) or (len(keys) == 1 and keys[0].startswith("~")):
        raise NotWoven


def _run(node: Node, value: Any, keys: list[str], held: list[Any]) -> None:
    """Add some entries of a container: as one piece, or each by itself where they are too large together."""
    entries: Any = dict(zip(keys, held, strict=True)) if node.mapping else held
    try:
        piece = _piece(node, entries)
    except (NotWoven, ValueError):
        if node.hand is None:
            raise
        for at, item in enumerate(held):
            node.parts.append(_alone(node, {keys[at]: item} if node.mapping else [item]))
        return
    if piece is not None:
        node.parts.append(piece)
        return
    _hint(_memory.runs, value, max(1, _memory.runs.get(id(value), RUN) // 4))
    _hint(_memory.parents, value, None)
    for at, item in enumerate(held):
        key = keys[at] if node.mapping else ""
        if type(item) is dict or type(item) is list:
            _child(node, key, item, node.depth)
        else:
            node.parts.append(_alone(node, {key: item} if node.mapping else [item]))


def _child(node: Node, key: str, item: object, depth: int) -> None:
    """Add an inner container: as one piece, or as a node of its own where it is large."""
    if id(item) not in _memory.runs:
        piece = _piece(node, {key: item} if node.mapping else [item])
        if piece is not None:
            node.parts.append(piece)
            return
    node.parts.append((key, _node(item, depth + 1, node.hand)))


def _alone(node: Node, entries: Any) -> Piece:
    """The piece of a value that cannot be cut, however large. A value without a fingerprint is written in its present
    state."""
    try:
        piece = _piece(node, entries, math.inf)
    except (NotWoven, ValueError):
        if node.hand is None:
            raise
        depth = node.depth + OUTER
        held = entries.values() if node.mapping else entries
        text, traits = _text_of(node.mapping, entries, [node.hand.entry(item, depth) for item in held])
        return _written(text, len(held), traits)
    assert piece is not None
    return piece


def _text_of(mapping: bool, entries: Any, written: list[tuple[Any, Traits]]) -> tuple[bytes, Traits]:
    data = [entry for entry, _ in written]
    text = _fast(dict(zip(entries, data, strict=True)) if mapping else data)[1:-1].encode()
    traits = zip(*[traits for _, traits in written], strict=True)
    return text, Traits(*[tuple(dict.fromkeys(itertools.chain.from_iterable(names))) for names in traits])


def _fingerprint(entries: Any, hand: Hand | None) -> bytes:
    """The ``marshal`` bytes of entries. If records are among them, the bytes are those of a tuple: the copies, the
    numbers of their classes, and the names.

    Raises:
        ValueError: An entry cannot be marshalled.
    """
    if hand is None:
        return marshal.dumps(entries, _FORM)
    keys = list(entries) if type(entries) is dict else None
    held = entries if keys is None else entries.values()
    try:
        if are_plain(held):
            return marshal.dumps(entries, _FORM)
        return marshal.dumps((*copy_of(held, hand.unlike), keys), _FORM)
    except ValueError:
        return marshal.dumps((*copy_of(held, hand.unlike, deep=True), keys), _FORM)


def _piece(node: Node, entries: object, most: float = 0) -> Piece | None:
    """The piece of some entries; None where they are too large for one."""
    blob = _fingerprint(entries, node.hand)
    memory, past, place = _memory, node.past, node.place
    if place < len(past):
        piece = memory.find(past[place])
        if piece is not None and piece.blob == blob:
            node.place = place + 1
            return piece
    digest = blake2b(blob, digest_size=16).digest()
    piece = memory.find(digest)
    if piece is None:
        if len(blob) > (most or LONGEST):
            return None
        piece = _new(blob, node)
        memory.keep(digest, piece)
    past[place : place + 1] = [digest]
    node.place = place + 1
    return piece


def _new(blob: bytes, node: Node) -> Piece:
    """A piece, made from the copy in its fingerprint, because another thread may have changed the value since."""
    entries = marshal.loads(blob)
    mapping = node.mapping
    if type(entries) is tuple:
        return _of_records(blob, node, *entries)
    nodes, containers, depth = _weighed(entries.values() if mapping else entries)
    return Piece(_fast(entries)[1:-1].encode(), nodes, containers, depth, blob)


def _of_records(
    blob: bytes, node: Node, numbers: tuple[int | None, ...], copies: list[Any], keys: list[str] | None
) -> Piece:
    """A piece of entries with records among them.

    Raises:
        NotWoven: A part may be another value than it looks like.
    """
    hand, depth = node.hand, node.depth + OUTER
    if hand is None or not is_sound(copies):
        raise NotWoven
    written = [
        hand.copied(copy, depth)
        if number is None
        else hand.record(*record_of(number, copy), depth)
        if number
        else hand.entry(copy, depth)
        for number, copy in zip(numbers, copies, strict=True)
    ]
    text, traits = _text_of(node.mapping, keys, written)
    return Piece(text, len(numbers), 0, 0, blob, traits)


def _weighed(parts: Any) -> tuple[int, int, int]:
    """The number of parts, the number of containers among them, and the greatest depth.

    Raises:
        NotWoven: A part is not plain.
    """
    nodes = containers = depth = 0
    while parts:
        depth += 1
        nodes += len(parts)
        deeper: list[Any] = []
        for part in parts:
            kind = type(part)
            if kind is str or kind is float or kind is bool or part is None:
                continue
            if kind is int and -INTEGER_LIMIT < part < INTEGER_LIMIT:
                continue
            if kind is dict:
                _require_names(list(part), list(part))
                deeper.append(part.values())
            elif kind is list:
                deeper.append(part)
            else:
                raise NotWoven
        containers += len(deeper)
        if nodes + sum(map(len, deeper)) > _MOST_NODES or depth > _MOST_LEVELS:  # a container may hold itself
            raise NotWoven
        parts = list(itertools.chain.from_iterable(deeper))
    return nodes, containers, depth


def _joined(root: Node, of: Hashable) -> Woven:
    """The text of all pieces and of the parts between them. If it equals the last text, that same object is
    returned."""
    parts = list(_flat(root))
    joined = _memory.joined
    woven = joined.pop(of, None)
    if woven is None or woven.parts != parts:
        woven = _put_together(root, parts)
    joined[of] = woven
    size = sum(map(len, list(joined.values())))
    for earliest in list(joined):  # a list, because another thread may change the dictionary
        if size <= JOINED:
            break
        size -= len(joined.pop(earliest, b""))
    return woven


def _put_together(root: Node, parts: list[Piece | bytes]) -> Woven:
    texts: list[bytes] = []
    places: list[tuple[int, Piece]] = []
    at = 0
    for part in parts:
        if isinstance(part, Piece):
            places.append((at, part))
        text = part.text if isinstance(part, Piece) else part
        texts.append(text)
        at += len(text)
    woven = Woven(b"".join(texts))
    woven.root, woven.places, woven.parts = root, places, parts
    return woven


def _flat(node: Node) -> Iterator[Piece | bytes]:
    """Pieces and the text between them, in order."""
    yield b"{" if node.mapping else b"["
    for n, part in enumerate(node.parts):
        if n:
            yield b","
        if isinstance(part, Piece):
            yield part
            continue
        key, deeper = part
        if node.mapping:
            yield _fast(key).encode() + b":"
        yield from _flat(deeper)
    yield b"}" if node.mapping else b"]"
