"""Proves the ladder against a second reading of its rules: any recording, any calls, in any lane and order.

The machine records lanes of calls, then replays: the same next call, a changed one, an inserted one, one further on,
one from another lane, lanes that end. Each finding is compared with the oracle below, which states the rules of the
design by brute force over all recorded calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from reenact.facts.call import Call, Effect, ErrorFact, Failure, Kind, Value
from reenact.facts.event import Event, Payload
from reenact.facts.keys import Rules
from reenact.replaying.matching import Match, Matcher, Miss
from reenact.replaying.tape import Tape
from reenact.seams.lanes import UNOWNED

LANES = ("root", "root/a#1", "root/a#2", "root>tool#1", UNOWNED)


@dataclass(frozen=True)
class Fact:
    """A lane, as far as the tape asks."""

    path: str


class Recording:
    """The recorded calls, as far as the tape asks."""

    def __init__(self, events: list[Event], bodies: dict[str, bytes]) -> None:
        self.all = events
        self.bodies = bodies

    def events(self, *, lane: str) -> Iterator[Event]:
        return iter([event for event in self.all if event.lane == lane])

    def lanes(self) -> Iterator[Fact]:
        return iter(Fact(path) for path in LANES)

    def body(self, payload: Payload | None) -> bytes:
        return self.bodies[payload.digest] if payload is not None else b""

    def pieces(self, payload: Payload) -> Iterator[bytes]:
        yield self.body(payload)

    def holds(self, payload: Payload | None, data: bytes) -> bool:
        return self.body(payload) == data


def call(question: int, effect: Effect, name: str, ordinal: str | None) -> Call:
    """A tool call that asks ``question``."""
    body = b'{"q": %d}' % question
    return Call(Kind.TOOL, name, effect, "tool/1", {"tool": name}, body, ordinal=ordinal)


effects = st.sampled_from([Effect.READ, Effect.READ, Effect.WRITE])
questions = st.integers(0, 3)
names = st.sampled_from(["look", "look", "send"])
ordinals = st.sampled_from([None, None, None, "id1", "id2", "id3"])
calls = st.builds(call, questions, effects, names, ordinals)
outcomes = st.sampled_from([0, 0, 1, 2, -1, -2])


def asks_the_same(event: Event, asked: Call) -> bool:
    """Whether two calls ask the same, as this test made them."""
    return (event.call.name, event.call.channel) == (asked.name, asked.body.decode())


def alike(events: list[Event]) -> bool:
    """Whether it does not matter which of these is served."""
    return len({repr((event.outcome, event.answer)) for event in events}) == 1 and events[0].outcome is not None


def ids_agree(event: Event, asked: Call) -> bool:
    """Whether the provider's ids, where both calls have one, are one."""
    return None in (event.call.ordinal, asked.ordinal) or event.call.ordinal == asked.ordinal


def oracle(left: list[Event], ended: set[str], path: str, asked: Call) -> tuple[int | None, str]:
    """The design's rules, said again: (event, rung) or (None, why not)."""
    mine = [event for event in left if event.lane == path]
    same = [event for event in mine if asks_the_same(event, asked)]
    elsewhere = [event for event in left if event.lane != path and asks_the_same(event, asked)]
    elsewhere.sort(key=lambda event: LANES.index(event.lane))
    one_outcome = len(elsewhere) == 1 or (bool(elsewhere) and alike(elsewhere))
    moved = elsewhere[0] if one_outcome and all(event.lane in ended for event in elsewhere) else None
    if path == UNOWNED and same:
        if not alike(same) and len(same) > 1:
            return None, "ambiguous"
        return same[0].number, "exact" if len(same) == 1 else "moved"
    if mine and path != UNOWNED:
        if asks_the_same(mine[0], asked) and ids_agree(mine[0], asked):
            return mine[0].number, "exact"
        named = [event for event in same if asked.ordinal is not None and event.call.ordinal == asked.ordinal]
        if len(named) == 1:
            return named[0].number, "reordered"
        reachable = []
        for event in mine:
            if asks_the_same(event, asked):
                reachable.append(event)
            elif event.call.effect is Effect.WRITE:
                break
        if reachable:
            if len(reachable) > 1 and not alike(reachable):
                return None, "ambiguous"
            return reachable[0].number, "reordered"
        if same:
            return None, "changed"
    if moved is not None:
        return moved.number, "moved"
    if mine and path != UNOWNED:
        return None, "changed"
    return None, "ambiguous" if elsewhere and not one_outcome else "added"


class Ladder(RuleBasedStateMachine):
    """A recording, and the calls of its replay."""

    @initialize(
        recorded=st.lists(st.tuples(st.sampled_from(LANES), calls, outcomes), max_size=14),
    )
    def record(self, recorded: list[tuple[str, Call, int]]) -> None:
        bodies: dict[str, bytes] = {}
        events: list[Event] = []
        for number, (lane, asked, outcome) in enumerate(recorded):
            bodies[f"q{number}"] = asked.body
            answer = None
            kept: Any = Failure(ErrorFact("ValueError", f"failed {outcome}"))
            if outcome >= 0:
                answer = Payload(f"a{outcome}", 1)
                kept = Value(b"")
            position = sum(event.lane == lane for event in events)
            stored = replace(asked, body=b"", channel=asked.body.decode())
            payload = Payload(f"q{number}", len(asked.body))
            events.append(
                Event(
                    "run", number, lane, position, None, stored, payload, outcome=kept, answer=answer, delivery=number
                )
            )
        self.left = list(events)
        self.served: list[int] = []
        self.ended: set[str] = set()
        self.count = len(events)
        self.tape = Tape(Recording(events, bodies))  # type: ignore[arg-type]
        self.matcher = Matcher(self.tape, Rules({}), lambda path: path in self.ended)

    def ask(self, path: str, asked: Call) -> None:
        """One call of the replay, checked against the oracle and against the promises themselves."""
        expected, why = oracle(self.left, self.ended, path, asked)
        found = self.matcher.find(path, asked)
        quick = self.matcher.identical(path, asked)
        if isinstance(found, Miss):
            assert (expected, why) == (None, found.reason)
            assert quick is None
            return
        event = found.event
        assert asks_the_same(event, asked), "never an answer that belongs to another call"
        assert event.number not in self.served, "never the same answer twice"
        assert (event.number, found.how) == (expected, why)
        if quick is not None:
            assert quick == found
        if found.how == "exact" and path != UNOWNED:
            assert quick == found, "the fast way finds what the ladder finds"
        self.served.append(event.number)
        self.left.remove(event)
        self.tape.use(event)

    @rule(path=st.sampled_from([*LANES, "root/new#1"]), asked=calls)
    def any_call(self, path: str, asked: Call) -> None:
        self.ask(path, asked)

    @precondition(lambda self: self.left)
    @rule(data=st.data())
    def the_next_call_of_a_lane(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted({event.lane for event in self.left})))
        head = next(event for event in self.left if event.lane == path)
        self.ask(path, self._again(head))

    @precondition(lambda self: self.left)
    @rule(data=st.data())
    def a_recorded_call_in_any_lane(self, data: st.DataObject) -> None:
        event = data.draw(st.sampled_from(self.left))
        path = data.draw(st.sampled_from([event.lane, event.lane, *LANES]))
        self.ask(path, self._again(event))

    @precondition(lambda self: self.left)
    @rule(data=st.data(), ordinal=ordinals)
    def a_recorded_call_under_another_id(self, data: st.DataObject, ordinal: str | None) -> None:
        event = data.draw(st.sampled_from(self.left))
        self.ask(event.lane, replace(self._again(event), ordinal=ordinal))

    @rule(path=st.sampled_from(LANES))
    def a_lane_ends(self, path: str) -> None:
        self.ended.add(path)

    @staticmethod
    def _again(event: Event) -> Call:
        return replace(event.call, body=event.call.channel.encode(), channel="")

    @invariant()
    def what_is_left_is_what_was_not_served(self) -> None:
        assert sorted(event.number for event in self.tape.unused()) == sorted(event.number for event in self.left)
        assert len(self.left) + len(self.served) == self.count
        assert self.tape.used == len(self.served)


TestLadder = Ladder.TestCase


def _lane(*recorded: tuple[Call, int]) -> tuple[Tape, Matcher]:
    machine = Ladder()
    machine.record([("root", asked, outcome) for asked, outcome in recorded])
    return machine.tape, machine.matcher


def test_unchanged_lanes_are_matched_call_by_call() -> None:
    """Whatever was recorded: asked again in the same order, each call finds itself by the first rung."""
    recorded = [(call(n % 2, Effect.READ, "look", None), n % 3) for n in range(8)]
    tape, matcher = _lane(*recorded)
    for number, (asked, _) in enumerate(recorded):
        found = matcher.find("root", asked)
        assert isinstance(found, Match)
        assert (found.event.number, found.how) == (number, "exact")
        tape.use(found.event)


def test_nothing_is_found_across_a_write() -> None:
    _, matcher = _lane((call(0, Effect.WRITE, "send", None), 0), (call(1, Effect.READ, "look", None), 1))
    found = matcher.find("root", call(1, Effect.READ, "look", None))
    assert isinstance(found, Miss)
    assert (found.nearest.number if found.nearest else None, found.reason) == (0, "changed")


def test_a_provider_id_is_the_better_ordinal() -> None:
    """Two calls with equal arguments and different answers, made in the other order: each id finds its own."""
    first, second = (call(0, Effect.READ, "look", each) for each in ("id1", "id2"))
    tape, matcher = _lane((first, 1), (second, 2))
    for asked, number, how in ((second, 1, "reordered"), (first, 0, "exact")):
        found = matcher.find("root", asked)
        assert isinstance(found, Match)
        assert (found.event.number, found.how) == (number, how)
        tape.use(found.event)


def test_an_unknown_id_is_not_guessed() -> None:
    """Equal arguments, different answers, and an id that neither has: nobody knows which answer it is."""
    _, matcher = _lane((call(0, Effect.READ, "look", "id1"), 1), (call(0, Effect.READ, "look", "id2"), 2))
    found = matcher.find("root", call(0, Effect.READ, "look", "id3"))
    assert isinstance(found, Miss)
    assert found.reason == "ambiguous"
