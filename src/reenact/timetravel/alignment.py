"""Finds the call of one run that corresponds to a call of another, by content and not by position.

Pure. Calls are compared inside their strand, and strands inside the call that holds them. So an inserted call does not
shift the calls after it, nor the calls inside those. A strand is searched three times: for equal requests in the same
order (as few as possible are left over), then for equal requests in another order, then for calls with the same name
and the same neighbours but another request. The rest was removed or added.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex
from reenact.timetravel.sequence_pairs import matched

T = TypeVar("T")

_ORDINAL = lazy_regex(r"#\d+")
_LEVEL = lazy_regex(r"[/>]")
_FUNCTION = lazy_regex(r"/[^/>#]*(?=#)")
_MOST_PAIRS = 4096
"""The most pairs of calls of one name whose similarity is computed."""
_ANY = 1e-3
"""The likeness of two calls for an equal name alone."""
STREAMED = "stream: true"
"""The word of a request whose answer is to be streamed."""


class PairSort(StrEnum):
    """The difference between the two sides of a pair."""

    ADDED = "added"
    REMOVED = "removed"
    REORDERED = "reordered"
    ARGUMENTS = "changed arguments"
    ANSWER = "changed answer"


@dataclass(frozen=True, slots=True)
class Face:
    """The parts of a call by which it is aligned.

    Attributes:
        number: The number of its event; faces are in this order.
        parent: The number of the call around it; None without one.
        lane: Path of its strand.
        call: Its kind and name.
        asks: Its request as a token, equal for equal requests.
        whole: Whether it was answered as a whole: its run does not have the calls inside it.
    """

    number: int
    parent: int | None
    lane: str
    call: str
    asks: str
    whole: bool = False


@dataclass(frozen=True, slots=True)
class CallPair:
    """A call of each run that correspond to each other, or a call without a counterpart (None).

    Attributes:
        left, right: Numbers of the events.
        change: ``ADDED`` or ``REMOVED`` without a counterpart, else ``REORDERED``, ``ARGUMENTS``, or None. If a call
            without a counterpart has None, it happened inside a call that the other run answered as a whole: its
            counterpart is unknown.
    """

    left: int | None
    right: int | None
    change: PairSort | None = None


Words = tuple[Callable[[Face], frozenset[str]], Callable[[Face], frozenset[str]]]
"""Two functions that give the words in a call: the first for the left run, the second for the right one."""


def _wordless(face: Face) -> frozenset[str]:
    return frozenset()


def align(left: Sequence[Face], right: Sequence[Face], words: Words = (_wordless, _wordless)) -> list[CallPair]:
    """Find the counterpart of every call.

    Args:
        left, right: The calls of both runs.
        words: Gives the words in a call; used only where several calls of one name may be meant.

    Returns:
        Every number of both sides exactly once. Calls of the left run are in their order, and added calls in theirs,
        each after all calls that it followed. Cost: with the length of both, and the square of the edits
        in a strand (bounded).
    """
    return _Alignment(left, right, words).run()


class _Alignment:
    """One alignment: the calls inside each call, and the pairs found so far."""

    def __init__(self, left: Sequence[Face], right: Sequence[Face], words: Words) -> None:
        self._left, self._right = left, right
        self._words = words
        self._inside = (_inside(left), _inside(right))
        self._found: dict[int, CallPair] = {}
        self._taken: set[int] = set()
        self._unknown: tuple[set[int], set[int]] = (set(), set())

    def run(self) -> list[CallPair]:
        pending: deque[tuple[Face | None, Face | None]] = deque([(None, None)])
        while pending:
            pending.extend(self._entered(*pending.popleft()))
        for one, other in _same_elsewhere(*self._free(self._left, self._right)):
            self._pair(one, other, PairSort.REORDERED)
            pending.append((one, other))
        while pending:
            pending.extend(self._entered(*pending.popleft()))
        return self._in_order()

    def _entered(self, left: Face | None, right: Face | None) -> Iterator[tuple[Face, Face]]:
        """Align the calls inside two calls that are a pair. If one run answered its call as a whole, the counterparts
        of the other's inner calls are unknown."""
        if left is None or right is None or left.whole == right.whole:
            yield from self._within(left, right)
            return
        side, pending = (1, [right]) if left.whole else (0, [left])
        while pending:
            inside = self._inside[side].get(pending.pop().number, ())
            self._unknown[side].update(face.number for face in inside)
            pending.extend(inside)

    def _within(self, left: Face | None, right: Face | None) -> Iterator[tuple[Face, Face]]:
        """Align the strands inside two corresponding calls (None: those of the whole runs). Returns the pairs, whose
        insides are aligned next."""
        ours = self._strands(0, left)
        theirs = self._strands(1, right)
        rest: tuple[list[Face], list[Face]] = ([], [])
        gaps: list[tuple[list[Face], list[Face]]] = []
        for strand, its in _strand_pairs(ours, theirs):
            mine, other = self._free(strand, its)
            matches = matched([_identity(face) for face in mine], [_identity(face) for face in other])
            for at, there in matches:
                self._pair(mine[at], other[there], None)
                yield mine[at], other[there]
            for gap in _gaps(mine, other, matches):
                gaps.append(gap)
                rest[0].extend(gap[0])
                rest[1].extend(gap[1])
        for one, same in _same_elsewhere(*rest):
            self._pair(one, same, PairSort.REORDERED)
            yield one, same
        for gap in gaps:
            before, after = self._free(*gap)
            for at, there in self._likeliest(before, after):
                self._pair(before[at], after[there], PairSort.ARGUMENTS)
                yield before[at], after[there]

    def _free(self, left: Sequence[Face], right: Sequence[Face]) -> tuple[list[Face], list[Face]]:
        """The calls of both sides without a counterpart so far."""
        ours, theirs = self._unknown
        return (
            [face for face in left if face.number not in self._found and face.number not in ours],
            [face for face in right if face.number not in self._taken and face.number not in theirs],
        )

    def _likeliest(self, left: Sequence[Face], right: Sequence[Face]) -> list[tuple[int, int]]:
        """Pairs of calls of one name between the same neighbours that keep their order: those with the most similar
        requests."""
        if not left or not right:
            return []
        ours, theirs = ([said(face) for face in faces] for said, faces in zip(self._words, (left, right), strict=True))
        if len(left) * len(right) > _MOST_PAIRS:
            streamed = ([f"{face.call} {STREAMED in said}" for face, said in zip(*each, strict=True)]
                        for each in ((left, ours), (right, theirs)))  # fmt: skip
            return matched(*streamed)
        worth = [
            [
                _likeness(said, its) if face.call == other.call else -1.0
                for other, its in zip(right, theirs, strict=True)
            ]
            for face, said in zip(left, ours, strict=True)
        ]
        return _best(worth)

    def _strands(self, side: int, around: Face | None) -> dict[str, list[Face]]:
        """The calls directly inside a call, by strand; paths are relative to that call."""
        strands: dict[str, list[Face]] = defaultdict(list)
        for face in self._inside[side].get(None if around is None else around.number, ()):
            strands[_relative(face.lane, None if around is None else around.lane)].append(face)
        return strands

    def _pair(self, left: Face, right: Face, change: PairSort | None) -> None:
        self._found[left.number] = CallPair(left.number, right.number, change)
        self._taken.add(right.number)

    def _in_order(self) -> list[CallPair]:
        """All pairs in the order of the left run; an added call comes after the call before it, and after all calls
        inside that one."""
        counterpart = {
            match.right: match.left for match in self._found.values() if match.change is not PairSort.REORDERED
        }
        last = last_inside(self._left)
        placed: dict[int, list[CallPair]] = defaultdict(list)
        followed: dict[str, int] = {}
        furthest = -1
        for face in self._right:
            at = counterpart.get(face.number)
            if at is not None:
                followed[face.lane] = last[at]
                furthest = max(furthest, at)
            elif face.number not in self._taken:
                furthest = max(furthest, followed.get(face.lane, -1))
                change = None if face.number in self._unknown[1] else PairSort.ADDED
                placed[furthest].append(CallPair(None, face.number, change))
        ordered = list(placed.get(-1, ()))
        for face in self._left:
            alone = CallPair(face.number, None, None if face.number in self._unknown[0] else PairSort.REMOVED)
            ordered.append(self._found.get(face.number) or alone)
            ordered.extend(placed.get(face.number, ()))
        return ordered


def last_inside(faces: Sequence[Face]) -> dict[int, int]:
    """The number of the last event inside each call, by the call's number; the call's own number if it holds none."""
    found: dict[int, int] = {}
    for face in reversed(faces):
        last = found[face.number] = max(found.get(face.number, -1), face.number)
        if face.parent is not None:
            found[face.parent] = max(found.get(face.parent, -1), last)
    return found


def _inside(faces: Sequence[Face]) -> dict[int | None, list[Face]]:
    """The calls directly inside each call; None for an event that is in no call, or in a call that is not among
    ``faces``."""
    known = {face.number for face in faces}
    found: dict[int | None, list[Face]] = defaultdict(list)
    for face in faces:
        found[face.parent if face.parent in known else None].append(face)
    return found


def _identity(face: Face) -> str:
    return f"{face.call}\n{face.asks}"


def _relative(lane: str, around: str | None) -> str:
    """The path of a lane relative to a call: without the path of the call and the number of its scope."""
    if around is None or not lane.startswith(f"{around}>"):
        return lane if around is None or lane != around else ""
    rest = lane[len(around) + 1 :]
    level = _LEVEL.search(rest, rest.find("#") + 1)
    return rest[level.start() :] if level is not None else ""


def _strand_pairs(
    left: Mapping[str, list[Face]], right: Mapping[str, list[Face]]
) -> Iterator[tuple[list[Face], list[Face]]]:
    """The pairs of strands: strands of one name are paired in the order of their beginnings and by their first
    requests, so that an added strand does not shift the others. A strand whose name the other run lacks is paired by
    number and first request with a strand whose name this run lacks: a function was renamed."""
    names: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for side, strands in enumerate((left, right)):
        for path in strands:
            names[_ORDINAL.sub("", path)][side].append(path)
    renamed: dict[tuple[str, str], list[str]] = defaultdict(list)
    for old, new in names.values():
        for path in new if not old else ():
            renamed[_nameless(path), _identity(right[path][0])].append(path)
    for old, new in names.values():
        for path in old if not new else ():
            candidates = renamed[_nameless(path), _identity(left[path][0])]
            yield left[path], right[candidates.pop(0)] if candidates else []
        if old and new:
            yield from _of_one_name([left[path] for path in old], [right[path] for path in new])
    for rest in renamed.values():
        yield from (([], right[path]) for path in rest)


def _nameless(path: str) -> str:
    """The address of a strand without the names of the functions that the strands on it run."""
    return _FUNCTION.sub("/", path)


def _of_one_name(ours: list[list[Face]], theirs: list[list[Face]]) -> Iterator[tuple[list[Face], list[Face]]]:
    heads = matched([_identity(faces[0]) for faces in ours], [_identity(faces[0]) for faces in theirs])
    for before, after in _gaps(ours, theirs, heads):
        for n in range(max(len(before), len(after))):
            yield (before[n] if n < len(before) else []), (after[n] if n < len(after) else [])
    for at, there in heads:
        yield ours[at], theirs[there]


def _same_elsewhere(left: Sequence[Face], right: Sequence[Face]) -> Iterator[tuple[Face, Face]]:
    """Calls with the same request at different places, in order; in the same strand first."""
    places: dict[str, list[Face]] = defaultdict(list)
    for face in right:
        places[_identity(face)].append(face)
    for face in left:
        there = places.get(_identity(face))
        if there:
            best = next((n for n, each in enumerate(there) if each.lane == face.lane), 0)
            yield face, there.pop(best)


def _likeness(left: frozenset[str], right: frozenset[str]) -> float:
    """The similarity of two calls of one name; negative for different questions. A streamed call and an unstreamed one
    are the same only if nothing else differs."""
    if (STREAMED in left) != (STREAMED in right) and _unstreamed(left) != _unstreamed(right):
        return -1.0
    return _ANY + (len(left & right) / len(left | right) if left or right else 0.0)


def _unstreamed(words: frozenset[str]) -> set[str]:
    return {word for word in words if not word.startswith("stream")}


def _best(worth: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The pairs, in order, with the highest total value; the earliest ones among equals, and none with a negative
    value."""
    rows, columns = len(worth), len(worth[0])
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for at in range(rows - 1, -1, -1):
        for there in range(columns - 1, -1, -1):
            paired = worth[at][there] + best[at + 1][there + 1] if worth[at][there] >= 0 else -1.0
            best[at][there] = max(paired, best[at + 1][there], best[at][there + 1])
    out = []
    at = there = 0
    while at < rows and there < columns:
        if worth[at][there] >= 0 and best[at][there] <= worth[at][there] + best[at + 1][there + 1]:
            out.append((at, there))
            at, there = at + 1, there + 1
        elif best[at][there + 1] >= best[at + 1][there]:
            there += 1
        else:
            at += 1
    return out


def _gaps(left: list[T], right: list[T], matches: Sequence[tuple[int, int]]) -> Iterator[tuple[list[T], list[T]]]:
    """The parts between matches that follow each other on both sides."""
    at = there = 0
    for one, other in (*matches, (len(left), len(right))):
        if at < one or there < other:
            yield left[at:one], right[there:other]
        at, there = one + 1, other + 1
