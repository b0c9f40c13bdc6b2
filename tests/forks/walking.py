"""Walks over a run: recorded in this process, it is forked at event after event and compared with its parent."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import reenact
from reenact.abc.store import Recording
from reenact.facts.insides import ANSWERED
from reenact.timetravel.forks.fork_points import inside
from tests.forks.side_by_side import differs_in_nothing, parts_behind

PATIENT = reenact.Policy(hold_ms=2000)
"""A bound on holds that a busy machine does not reach: what is proved here is not speed."""
_TOKEN = re.compile(r"~rx[a-z0-9]+~|~+")


def scenes(recording: Recording) -> list[dict[str, Any]]:
    """Everything about each event: who asked what and when, what came back piece by piece, the states.

    What lies inside a frozen tool is left out, with the note that says so, and events and deliveries are counted
    without it: in a fork it does not happen. Tokens that stand for credentials are other ones in every run, so their
    names are left out.
    """
    told = [_scene(recording, event) for event in recording.events() if inside(recording, event) is None]
    for name in ("event", "delivered"):
        numbers = {number for scene in told for number in scene[name] if number is not None}
        rank = {number: place for place, number in enumerate(sorted(numbers))}
        for scene in told:
            scene[name] = [rank.get(number) for number in scene[name]]
    return told


def _scene(recording: Recording, event: reenact.Event) -> dict[str, Any]:
    parts = list(recording.parts(event.number))
    return {
        "event": [event.number, event.parent],
        "delivered": [event.delivery, *(part[0] for part in parts)],
        "lane": (event.lane, event.position),
        "call": (event.kind, event.name, event.call.effect, event.call.rule),
        "head": _TOKEN.sub("~", repr(event.call.head)),
        "body": _TOKEN.sub("~", repr(recording.body(event.request))),
        "outcome": _TOKEN.sub("~", repr(event.outcome)),
        "answer": repr(recording.body(event.answer)),
        "pieces": [part[2] for part in parts],
        "states": [recording.checkpoint_slots(event.number, phase) for phase in ("in", "out")],
        "notes": {key: value for key, value in recording.notes(event.number).items() if key != ANSWERED},
    }


def first_unlike(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> str:
    """The first difference of two lists of scenes, in words; empty where there is none."""
    for one, other in zip(left, right, strict=False):
        for name, value in one.items():
            if value != other[name]:
                return f"event {one['event'][0]} {one['call'][1]}: {name} was {value!r}, is {other[name]!r}"
    return "" if len(left) == len(right) else f"{len(left)} events were, {len(right)} are"


@dataclass
class Walk:
    """One recorded run of a program, and its forks.

    Attributes:
        store: Where they are.
        entry: The program, as it is called again.
        output: What it returned when it was recorded.
        again: What it returned whenever it was called again, newest last.
    """

    store: Any
    entry: Callable[[], Any]
    output: Any = None
    again: list[Any] = field(default_factory=list)

    @classmethod
    def recorded(cls, store: Any, program: Callable[[], Any]) -> Walk:
        """Record a program that takes nothing."""
        walk = cls(store, program)
        walk.output = reenact.record(agent="walked", store=store, policy=PATIENT)(program)()
        walk.entry = walk._called
        walk._program = program
        walk.parent = store.run("@")
        return walk

    parent: reenact.Run = field(init=False)
    _program: Callable[[], Any] = field(init=False)

    def _called(self) -> Any:
        output = self._program()
        self.again.append(output)
        return output

    def open(self, run: reenact.Run | None = None) -> Recording:
        """The recording of a run; of the parent, unless told."""
        recording: Recording = self.store.open(run or self.parent)
        return recording

    def allowed(self, run: reenact.Run | None = None) -> list[int]:
        """Numbers of the events at which a fork may branch."""
        recording = self.open(run)
        return [event.number for event in recording.events() if inside(recording, event) is None]

    def sample(self, count: int, seed: str, *, everything: bool) -> list[int]:
        """The first, the last and some other allowed events; all of them where that is wanted."""
        allowed = self.allowed()
        if everything or len(allowed) <= count:
            return allowed
        return sorted({allowed[0], allowed[-1], *random.Random(seed).sample(allowed, count - 2)})

    def fork(self, at: int | str, run: reenact.Run | None = None, **options: Any) -> reenact.Run:
        """Fork the parent, or another run, calling the program in this process."""
        fork: reenact.Run = reenact.fork(run or self.parent, at, entry=self.entry, store=self.store, **options)
        return fork

    def replays(self, run: reenact.Run) -> None:
        """A run replays to *same*, and exactly."""
        replayed = reenact.replay(run, entry=self._program, store=self.store)
        assert (replayed.verdict, replayed.live_calls, replayed.unused) == ("exact", 0, 0)

    def unchanged(self, at: int, run: reenact.Run | None = None) -> reenact.Run:
        """A fork with no change and nothing live is its parent again: prefix, rest and output."""
        parent = run or self.parent
        fork = self.fork(at, parent, live="none")
        before, after = self.open(parent), self.open(fork)
        assert (fork.parent, fork.relation, fork.fork_event) == (parent.id, "fork", at)
        frozen = [number for number in self.allowed(parent) if number < at]
        assert [event.number for event in after.events()][: len(frozen)] == frozen
        unlike = first_unlike(scenes(before), scenes(after))
        assert not unlike, f"the fork at {at}: {unlike}"
        differs_in_nothing(before, after)
        assert self.again[-1] == self.output, f"the fork at {at}"
        self.replays(fork)
        return fork

    def changed(self, at: int) -> None:
        """A fork in which one call fails instead, with nothing live, parts from its parent there or later."""
        change = reenact.Change(errors={str(at): "RuntimeError:no"})
        try:
            fork = self.fork(at, change=change, live="none")
        except reenact.ReenactError:
            fork = next(self.store.runs(parent=self.parent.id, limit=1), self.parent)
        except RuntimeError:  # the agent lets it through
            fork = self.store.run("@")
        if fork.relation == "fork" and fork.fork_event == at:
            parts_behind(self.open(), self.open(fork), at)

    def events(self, run: reenact.Run) -> Iterator[reenact.Event]:
        """The events of a run."""
        yield from self.open(run).events()
