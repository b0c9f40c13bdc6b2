"""Finds the recorded strand of a strand whose function has another name now.

A lane is known by the names and numbers on its path. A lane may have a child whose name was not recorded, while a
recorded child does not appear. The two may be the same strand. They are paired once, at the first call of the strand,
by parent, number and request. From then on the strand has its recorded address. All that is found by the address of a
lane follows: its calls, its place in the order, its reads, and the strands that it starts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise, zip_longest

from reenact.facts.event import Event
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.order import Tag
from reenact.facts.run import Run
from reenact.replaying.matching import Miss, alike
from reenact.replaying.tape import Tape
from reenact.seams.lanes import UNOWNED, Lane

RENAMED = "renamed"
"""The place beside the environment where a fork stores the new addresses of its parent's strands."""

_STEP = lazy_regex(r"([/>])([^/>#]*)#(\d+)")


def began_as(run: Run) -> list[str]:
    """The new addresses under which strands of the parent began in a fork; empty for other runs."""
    told = run.environment.get(RENAMED)
    return [each for each in told if isinstance(each, str)] if isinstance(told, list) else []


class StrandPairs:
    """Pairs strands of new names with recorded ones.

    Args:
        tape: The recorded calls.
        known: New addresses that a fork gave to strands of its parent before they were paired. They occur in the fork's
            order, and are no strands of their own.
    """

    def __init__(self, tape: Tape, known: Collection[str] = ()) -> None:
        self._tape = tape
        self._known = frozenset(known)
        self._recorded: dict[str, defaultdict[str, set[str]]] | None = None
        self._paths: set[str] = set()
        self._old: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()
        self._became: dict[str, str] = {}
        self.count = 0
        """How many strands have been paired."""

    def pair(self, lane: Lane, agrees: Callable[[Event], bool]) -> Miss | None:
        """Give a lane its recorded address, if it is a recorded lane under another name. Returns the recorded strands,
        if several would fit.

        Args:
            lane: The lane, which is about to make a call.
            agrees: Whether a recorded call has the same request.
        """
        if lane.path == UNOWNED or lane.position > 1:
            return None
        _follow(lane)
        if self._is_recorded(lane.path):
            return None
        ways = [way for way in self._ways(lane) if way[-1] not in self._taken]
        heads = [(way, head) for way in ways if (head := self._tape.head(way[-1])) is not None and agrees(head)]
        if not heads:
            return None
        if len(heads) > 1 and not all(self._same(heads[0][0][-1], way[-1]) for way, _ in heads[1:]):
            last = [_STEP.findall(way[-1])[-1][1] for way, _ in heads]
            return Miss(heads[0][1], "renamed", tuple(dict.fromkeys(last)))
        self._take(lane, heads[0][0])
        return None

    def address(self, lane: Lane) -> str:
        """The address of the recorded reads of a lane that has not made a call yet: its own address, or the only
        possible one under another name. The address is final only when the lane has made a call."""
        if lane.path == UNOWNED or lane.position:
            return lane.path
        _follow(lane)
        if self._is_recorded(lane.path):
            return lane.path
        ways = [way[-1] for way in self._ways(lane) if way[-1] not in self._taken]
        return ways[0] if len(ways) == 1 else lane.path

    def is_open(self, lane: Lane) -> bool:
        """Whether a lane without a call may turn out to be a recorded lane under another name."""
        if lane.path == UNOWNED or lane.position:
            return False
        _follow(lane)
        return not self._is_recorded(lane.path) and any(way[-1] not in self._taken for way in self._ways(lane))

    def recorded(self, path: str) -> str:
        """The recorded address of a lane that was paired; for any other lane, its own address."""
        return self._became.get(path, path)

    def new(self) -> list[str]:
        """The first addresses of the strands that have turned out to be recorded ones."""
        return sorted([*self._known, *(path for path, old in self._became.items() if path != old)])

    def stand_in(self, due: Tag, waiting: Iterable[Tag]) -> Tag | None:
        """The only awaited turn that may be ``due`` under another name: the start of a thread or a job, or a timer of a
        strand that has not made a call yet. None if no turn may be it, or more than one.

        Args:
            due: The next recorded turn. No strand waits for it.
            waiting: The turns that are waited for.
        """
        if due.kind == "e" or not self._is_recorded(due.lane):
            return None
        found = [tag for tag in waiting if tag._replace(lane="") == due._replace(lane="") and self._may_be(tag, due)]
        return found[0] if len(found) == 1 else None

    def _may_be(self, tag: Tag, due: Tag) -> bool:
        """Whether an unrecorded lane may be a recorded one, because it or the lanes around it have other names now."""
        now, then = list(_STEP.finditer(tag.lane)), list(_STEP.finditer(due.lane))
        if not now or tag.lane in self._paths or len(now) != len(then):
            return False
        return tag.lane[: now[0].start()] == due.lane[: then[0].start()] and all(
            self._may_be_called(step, recorded, due.lane[: recorded.start()])
            for step, recorded in zip(now, then, strict=True)
        )

    def _may_be_called(self, step: re.Match[str], recorded: re.Match[str], parent: str) -> bool:
        """Whether ``step``, a part of today's path, may be a renamed strand of the recorded path."""
        if step[0] == recorded[0]:
            return True
        name, old = step[1] + step[2], recorded[1] + recorded[2]
        strands = step[1] == recorded[1] == "/" and step[3] == recorded[3]
        return strands and self._old.get((parent, name), old) == old

    def _is_recorded(self, path: str) -> bool:
        if self._recorded is None:
            self._recorded = defaultdict(lambda: defaultdict(set))
            for fact in self._tape.paths():
                self._paths.add(fact.partition("/")[0].partition(">")[0])  # the root lane has no other name
                at = 0
                for step in _STEP.finditer(fact):
                    parent, at = fact[: step.start()], step.end()
                    if fact[:at] in self._known:
                        break
                    self._recorded[parent][step[1] + step[2]].add(step[3])
                    self._paths.add(fact[:at])
        return path in self._paths

    def _ways(self, lane: Lane) -> list[list[str]]:
        """The recorded addresses that a lane may have. Each is given as the addresses of the lanes around it and its
        own."""
        steps = list(_STEP.finditer(lane.path))
        start = lane.path[: steps[0].start()] if steps else lane.path
        around: dict[str, Lane] = {}
        origin = lane.origin
        while origin is not None:
            around.setdefault(origin.path, origin)
            origin = origin.origin
        ways = [[start]]
        for step in steps:
            now = around.get(lane.path[: step.start()])
            ways = [[*way, found] for way in ways for found in self._children(way[-1], step, now)]
        return ways

    def _children(self, parent: str, step: re.Match[str], now: Lane | None) -> list[str]:
        """The recorded lanes below ``parent`` that a part of today's path may stand for, under a new name."""
        kind, name, number = step[1], step[2], step[3]
        if self._recorded is None or parent not in self._recorded:
            return []
        recorded = self._recorded[parent]
        if kind + name in recorded:
            return [f"{parent}{kind}{name}#{number}"] if number in recorded[kind + name] else []
        known = self._old.get((parent, kind + name))
        names = [known] if known is not None else list(recorded)
        appeared = now.children() if now is not None else ()
        return [
            f"{parent}{each}#{number}"
            for each in names
            if each[0] == kind == "/" and number in recorded[each] and (each == known or each not in appeared)
        ]

    def _take(self, lane: Lane, way: Sequence[str]) -> None:
        """Give a lane, and the lanes around it, their recorded addresses."""
        self._taken.update(way)
        addresses = dict(zip(self._prefixes(lane.path), way, strict=True))
        steps = list(_STEP.finditer(lane.path))
        for (parent, recorded), step in zip(pairwise(way), steps, strict=True):
            old = self._old[parent, step[1] + step[2]] = recorded[len(parent) :].partition("#")[0]
            self.count += old != step[1] + step[2] and lane.path[: step.end()] not in self._became
        self._became.update(addresses)
        each: Lane | None = lane
        while each is not None:
            each.path = addresses.get(each.path, each.path)
            each = each.origin

    @staticmethod
    def _prefixes(path: str) -> list[str]:
        steps = list(_STEP.finditer(path))
        return [path[: steps[0].start()] if steps else path, *(path[: step.end()] for step in steps)]

    def _same(self, left: str, right: str) -> bool:
        """Whether two recorded strands had the same requests and answers, and started no strand."""
        if any(path.startswith((f"{left}/", f"{left}>", f"{right}/", f"{right}>")) for path in self._paths):
            return False
        pairs = zip_longest(self._tape.lane(left).rest(), self._tape.lane(right).rest())
        return all(
            one is not None
            and other is not None
            and one.call.name == other.call.name
            and one.request == other.request
            and alike(one, other)
            for one, other in pairs
        )


def _follow(lane: Lane) -> None:
    """Move a lane below the recorded address of the lane around it, if it was numbered before the outer lane had this
    address."""
    around = lane.origin
    if around is None:
        return
    _follow(around)
    if not lane.path.startswith(around.path):
        step = list(_STEP.finditer(lane.path))[-1]
        lane.path = around.path + step[0]
