"""Growing lists: parts of a state that are declared to grow only, of which only the new entries are read.

A look at such a list takes the entries after the known ones, and compares the last known one again. Its cost does not
depend on the length of the list. A **proof** shows that the old entries are unchanged: it reads all of them whenever
the list has doubled, and when its run ends. Entries recorded since the last proof are not proven until then.

A list continues if the same object comes again, or another list with the same entry at the old end (``a + b``), or a
list that is equal throughout (a copy). A list that does none of these begins again, and is looked at whole. A list that
does not only grow is found at its old end or by a proof, and is reported once. From then on, lists of that name are
recorded whole. A value that is changed and changed back between two proofs is not found.
"""

from __future__ import annotations

import _thread
import itertools
from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple, TypeGuard

from reenact.facts.encoding import encode_part, encode_plain, fingerprint_of
from reenact.facts.interruptions import let_through

LEAST = 16
"""The number of entries from which on only the new entries of a list are read. A shorter list is read whole."""

NOTE = "grown."
"""The beginning of the name of a note that says how far a list is proven. The number of the list follows."""

_MARK = "grown "
_RUN = 64
"""The number of entries that a proof reads in one go."""
_SIZE = 16
_UNKNOWN = bytes(_SIZE)
_KEPT = 8
"""The most lists of one name that are known at a time."""
_MOST_BEGUN = 64
"""The most lists of one name that are begun in a run. Further lists are recorded whole."""


class NewEntries(bytes):
    """The new entries of a list, as JSON with commas between them, in the place of the bytes of the whole list.

    Attributes:
        number: The number of the list in its run.
        look: The number of looks at the list, with this one.
        start, end: The number of entries before the new ones, and the number with the new ones.
    """

    number: int
    look: int
    start: int
    end: int

    @property
    def lead(self) -> bytes:
        """The byte before the new entries in the list: a bracket, or a comma; empty where there are no new entries."""
        if not self.start:
            return b"["
        return b"," if self else b""

    def holding(self, new: bytes) -> NewEntries:
        """The same look with other bytes for the entries."""
        found = NewEntries(new)
        found.number, found.look, found.start, found.end = self.number, self.look, self.start, self.end
        return found


def is_grown(body: object) -> TypeGuard[NewEntries]:
    """Whether the object in the place of a list's bytes has only its new entries."""
    return type(body) is NewEntries


class GrowthProof(NamedTuple):
    """The result of going through a list.

    Attributes:
        number: The number of the list.
        look: The last proven look: all entries known then are proven.
        wrong: A text that says that the list did more than grow, to be followed by the place; else empty.
        place: The place where the fault was found.
    """

    number: int
    look: int
    wrong: str = ""
    place: str = ""


class _Entry(NamedTuple):
    """An entry at the time of a look.

    Attributes:
        text: Its JSON text in the bytes of its list.
        opaque: Names of the types in it that could not be stored.
        fingerprint: The identity of plain data; empty for other values.
    """

    text: bytes
    opaque: tuple[str, ...]
    fingerprint: bytes


class _List:
    """The known facts about one list.

    Attributes:
        held, state: The last list, and the state that it is part of.
        last: Its last known entry.
        digests: The digest of each entry's encoding.
        runs: The digest of each run of entries, over the fingerprints of all of them; none for a run with an entry that
            is not plain.
        run: The hash of the last, incomplete run of entries; None where an entry in it is not plain.
        looks: The number of looks.
        proven: The number of proven looks.
        least: The number of entries at the last proof.
        counts, places: The number of entries at each look since the last proof, and the place of the look. The first
            look is the proof.
        opaque: Names of types in it that could not be stored.
    """

    __slots__ = (
        *("counts", "digests", "held", "last", "least", "looks", "number", "opaque", "places", "proven", "run", "runs"),
        "state",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.held: list[Any] = []
        self.state: Any = None
        self.last: Any = None
        self.digests = bytearray()
        self.runs = bytearray()
        self.run: Any = blake2b(digest_size=_SIZE)
        self.looks = self.proven = self.least = 0
        self.counts = array("q")
        self.places: list[str] = []
        self.opaque: dict[str, None] = {}

    @property
    def count(self) -> int:
        """How many entries are known."""
        return len(self.digests) // _SIZE

    def digest(self, at: int) -> bytes:
        """The digest of the entry at a place."""
        return bytes(self.digests[at * _SIZE : (at + 1) * _SIZE])

    def add(self, entry: _Entry) -> None:
        """Add an entry to the known ones."""
        if not entry.fingerprint:
            self.run = None
        elif self.run is not None:
            self.run.update(entry.fingerprint)
        self.digests += _digest(entry.text)
        if self.count % _RUN == 0:
            self.runs += _UNKNOWN if self.run is None else self.run.digest()
            self.run = blake2b(digest_size=_SIZE)
        self.opaque.update(dict.fromkeys(entry.opaque))

    def differs(self, held: list[object], name: str) -> int | None:
        """The first known entry that has changed; None where all are unchanged."""
        for run in range(len(self.runs) // _SIZE):
            first = run * _RUN
            known = self.runs[run * _SIZE : (run + 1) * _SIZE]
            if known == _UNKNOWN or _digest_of(held[first : first + _RUN]) != known:
                found = self._differs(held, name, first, first + _RUN)
                if found is not None:
                    return found
        return self._differs(held, name, len(self.runs) // _SIZE * _RUN, self.count)

    def _differs(self, held: list[object], name: str, first: int, end: int) -> int | None:
        for at in range(first, end):
            if at >= len(held) or _digest(_entry(held[at], name).text) != self.digest(at):
                return at
        return None

    def proved(self, place: str) -> None:
        """Note that all known entries are unchanged."""
        self.proven = self.looks
        self.least = self.count
        self.counts = array("q", [self.count])
        self.places = [place]

    def looked(self, place: str) -> None:
        """Note a look that found all known entries."""
        self.looks += 1
        self.counts.append(self.count)
        self.places.append(place)


class _Wrong(Exception):
    """A list does not only grow. The argument is the first entry that has changed."""


class Growth:
    """The growing lists of one run. Any thread may look.

    Args:
        told: Called with each proof.
        cleaned: Returns another value after a known value has become one that must not appear again. Lists then begin
            again.
    """

    def __init__(self, told: Callable[[GrowthProof], None], cleaned: Callable[[], bytes] = bytes) -> None:
        self._told = told
        self._cleaned = cleaned
        self._clean = cleaned()
        self._lock = _thread.RLock()
        self._numbers = itertools.count()
        self._lists: dict[str, list[_List]] = {}
        self._begun: dict[str, int] = {}
        self._whole: set[str] = set()
        self._stale = False

    def restart(self) -> None:
        """Start the recording of all lists again: the next look at each list covers all of its entries."""
        self._stale = True

    def held(self, number: int) -> list[Any] | None:
        """The list with a number; None if the list is not known any more."""
        with self._lock:
            every = [each for lists in self._lists.values() for each in lists]
        return next((each.held for each in every if each.number == number), None)

    def look(
        self, name: str, held: list[object], state: object, place: str
    ) -> tuple[NewEntries, tuple[str, ...]] | None:
        """A look at a list: its new entries, and the types in it that could not be stored. None if the list must be
        recorded whole.

        Args:
            name: Its name in the state.
            held: The list.
            state: The state that it is part of.
            place: Its place, in words.
        """
        with self._lock:
            clean = self._cleaned()
            if self._stale or clean != self._clean:
                self._stale, self._clean = False, clean
                for each in list(self._lists):
                    self._settle(each, place)
            if name in self._whole:
                return None
            try:
                return self._looked_at(name, held, state, place)
            except Exception as error:
                let_through(error)
                self._give_up(name, place)
                return None

    def finish(self, place: str) -> None:
        """Prove all lists at the end of the run."""
        with self._lock:
            for name in list(self._lists):
                self._settle(name, place)

    def _looked_at(
        self, name: str, held: list[object], state: object, place: str
    ) -> tuple[NewEntries, tuple[str, ...]] | None:
        held_now = held
        known = self._known(name, held, state, place)
        if known is None:
            if name in self._whole or len(held) < LEAST:
                return None
            known = self._begin(name, place)
            if known is None:
                return None
        start = known.count
        try:
            if len(held) < start:
                raise _Wrong(len(held))
            if start and _digest(_entry(held[start - 1], name).text) != known.digest(start - 1):
                raise _Wrong(start - 1)
            if start and len(held) >= 2 * known.least:
                held_now = held.copy()
                different = known.differs(held_now, name)
                if different is not None:
                    raise _Wrong(different)
        except _Wrong as wrong:
            self._found_wrong(name, known, held, wrong.args[0], place)
            return None
        proves = start and held_now is not held
        fresh = held_now[start:]
        entries = [_entry(item, name) for item in fresh]
        for each in entries:
            known.add(each)
        known.held, known.state, known.last = held, state, fresh[-1] if fresh else known.last
        known.looked(place)
        if proves or not start:
            known.proved(place)
            self._told(GrowthProof(known.number, known.looks))
        found = NewEntries(b",".join([each.text for each in entries]))
        found.number, found.look, found.start, found.end = known.number, known.looks, start, known.count
        return found, tuple(known.opaque)

    def _known(self, name: str, held: list[object], state: object, place: str) -> _List | None:
        """The known list that this one continues; None for a new list."""
        lists = self._lists.get(name, [])
        for each in reversed(lists):
            if each.held is held:
                return self._used(lists, each)
        for each in reversed(lists):
            if each.count <= len(held) and held[each.count - 1] is each.last:
                return self._used(lists, each)
        for each in reversed(lists):
            end = each.count - 1
            if end >= len(held) or _digest(_entry(held[end], name).text) != each.digest(end):
                continue
            if each.differs(held.copy(), name) is None:  # a copy
                return self._used(lists, each)
        for each in reversed(lists):
            if each.state is state:
                self._found_wrong(name, each, held, each.differs(held.copy(), name) or 0, place)
                return None
        return None

    @staticmethod
    def _used(lists: list[_List], known: _List) -> _List:
        lists.remove(known)
        lists.append(known)
        return known

    def _begin(self, name: str, place: str) -> _List | None:
        self._begun[name] = begun = self._begun.get(name, 0) + 1
        if begun > _MOST_BEGUN:
            self._give_up(name, place)
            return None
        lists = self._lists.setdefault(name, [])
        if len(lists) >= _KEPT:
            self._prove(name, lists.pop(0), place)
        lists.append(_List(next(self._numbers)))
        return lists[-1]

    def _give_up(self, name: str, place: str) -> None:
        """Record all further lists of a name whole."""
        self._whole.add(name)
        self._settle(name, place)

    def _settle(self, name: str, place: str) -> None:
        for each in self._lists.pop(name, ()):
            self._prove(name, each, place)

    def _prove(self, name: str, known: _List, place: str) -> None:
        if known.proven == known.looks:
            return
        held = known.held.copy()
        different = known.differs(held, name)
        if different is not None:
            self._found_wrong(name, known, held, different, place)
            return
        known.proved(place)
        self._told(GrowthProof(known.number, known.looks))

    def _found_wrong(self, name: str, known: _List, held: list[object], at: int, place: str) -> None:
        """Report that a list does not only grow, once for its name."""
        said = name in self._whole
        self._whole.add(name)
        if known in self._lists.get(name, ()):
            self._lists[name].remove(known)
        first = known.differs(held.copy(), name)
        at = at if first is None else first
        since = bisect_right(known.counts, at)  # the look that first read the entry, or the last proof
        before = known.places[min(since, len(known.places) - 1)] if known.places else place
        what = "is gone" if at >= len(held) else "changed"
        wrong = f"{name}[{at}] {what} after {before}, though {name} was declared to grow only: found"
        self._told(GrowthProof(known.number, known.proven, "" if said else wrong, place))
        self._settle(name, place)


def mark_of(slots: Mapping[str, bytes]) -> str:
    """The note on a state with growing lists. It has the number and look of each list by its place; empty without
    lists."""
    found = [f"{n}={each.number}:{each.look}" for n, each in enumerate(slots.values()) if is_grown(each)]
    return _MARK + ",".join(found) if found else ""


def marked(note: str) -> dict[int, tuple[int, int]]:
    """The lists and looks by place that ``mark_of`` has written into a note. Lines of other notes are ignored."""
    for line in note.splitlines():
        if line.startswith(_MARK):
            pairs = (each.partition("=") for each in line[len(_MARK) :].split(","))
            return {int(n): (int(of[0]), int(of[2])) for n, _, said in pairs if (of := said.partition(":"))}
    return {}


def mark_in(note: str) -> str:
    """The part of a note that ``mark_of`` has made; empty without any."""
    return next((line for line in note.splitlines() if line.startswith(_MARK)), "")


def unproven(note: str, proofs: Mapping[str, object]) -> tuple[int, ...]:
    """Places of the parts of a state that are not proven.

    Args:
        note: The note that is kept with the state.
        proofs: The notes of the state's run, by name.
    """
    return tuple(n for n, (number, look) in marked(note).items() if look > _proven(proofs.get(f"{NOTE}{number}")))


def _proven(value: object) -> int:
    found = value.get("proven") if isinstance(value, dict) else None
    return found if type(found) is int else 0


def _entry(item: object, name: str) -> _Entry:
    """An entry as it is now.

    Raises:
        ValueError: The encoding depends on the values around it.
    """
    plain = encode_plain(item)
    if plain is not None:
        return _Entry(plain[1], (), plain[0])
    part = encode_part([item], f"{name}[]")
    if not part.alike:
        raise ValueError("it depends on what stands around it")
    return _Entry(part.encoded.body[1:-1], part.encoded.opaque, b"")


def _digest_of(run: list[object]) -> bytes:
    """The common digest of some plain entries; for other entries, a digest that matches no other."""
    try:
        return _digest(fingerprint_of(run))
    except ValueError:
        return b""


def _digest(text: bytes) -> bytes:
    return blake2b(text, digest_size=_SIZE).digest()
