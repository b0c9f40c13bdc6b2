"""Proves that who goes next in a fork is the same by lines kept up to date as by a walk through all who wait."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from reenact.facts.order import Delivery, Tag, TimerSpan, event_tag
from reenact.replaying.recorded_schedule import RecordedSchedule
from reenact.seams.waits import Waiter, never_tag
from reenact.timetravel.forks import due_moments
from reenact.timetravel.forks.due_moments import LATE_US, UNSURE_US
from reenact.timetravel.forks.fork_schedule import own_tag
from reenact.timetravel.forks.fork_time import OWN, ForkTime
from reenact.timetravel.forks.waiter_lines import WaiterLines

KEPT = 3
"""So few calls and timers are remembered, that some are forgotten."""
EVENTS = 5
NEAR_US = st.sampled_from(
    [-LATE_US - 1, -LATE_US, -UNSURE_US - 1, -UNSURE_US, -1, 0, 1, UNSURE_US, LATE_US, LATE_US + 1]
)
MOMENTS_US = st.builds(lambda at_ms, near_us: max(0, at_ms * 1000 + near_us), st.integers(0, 400), NEAR_US)


class Still:
    """A clock that stands."""

    def wall_us(self) -> int:
        """Nothing."""
        return 0

    def mono_us(self) -> int:
        """Nothing."""
        return 0


def is_before(one_us: int, other_us: int) -> bool:
    """Whether something comes clearly before something else."""
    return one_us + LATE_US < other_us


class Plain:
    """The answers of a walk through all who wait."""

    def __init__(self, time: ForkTime, waiting: dict[Tag, Waiter]) -> None:
        self._time, self._waiting = time, waiting

    def others(self, tag: Tag) -> list[tuple[int, Waiter]]:
        """Who waits beside ``tag``, and when it comes."""
        time, found = self._time, []
        for each in self._waiting.values():
            if each.tag != tag and each.tag.lane != "~never" and (each.alive is None or each.alive()):
                coming = time.comes(each, each.tag, time.then_us(each.tag))
                if coming is None and time.departed and (each.tag.kind != "e" or each.tag.lane == OWN):
                    coming = time.known_us()
                if coming is not None:
                    found.append((coming, each))
        return found

    def sooner(self, tag: Tag, comes_us: int, *, answers: bool) -> Waiter | None:
        """See ``WaiterLines``."""
        known = self.others(tag)
        early = [
            each for each in known if is_before(each[0], comes_us) and (answers or each[1].deadline_us is not None)
        ]
        if not early:
            return None
        fires, first = min(early, key=lambda each: each[0])
        calls = [each for each in known if each[1].deadline_us is None and not is_before(fires, each[0])]
        return min(calls, key=lambda each: each[0], default=(fires, first))[1]

    def is_unsure(self, tag: Tag, comes_us: int, *, timer: bool) -> bool:
        """See ``WaiterLines``."""
        return any(
            coming + UNSURE_US < comes_us and (timer or waiter.deadline_us is not None)
            for coming, waiter in self.others(tag)
        )

    def first(self, tag: Tag, comes_us: int) -> Waiter | None:
        """See ``WaiterLines``."""
        before = [each for each in self.others(tag) if each[0] < comes_us]
        return min(before, key=lambda each: each[0], default=(comes_us, None))[1]

    def is_near(self, tag: Tag, comes_us: int) -> bool:
        """See ``WaiterLines``."""
        events = [coming for coming, waiter in self.others(tag) if waiter.tag.kind == "e"]
        return any(not (is_before(other, comes_us) or is_before(comes_us, other)) for other in events)


class Waits(RuleBasedStateMachine):
    """A gate at which timers, answers and others wait, and leave."""

    @initialize(moments=st.lists(MOMENTS_US, min_size=EVENTS, max_size=EVENTS))
    def begin(self, moments: list[int]) -> None:
        """The parent's order has an answer of each event in two parts."""
        tags = [event_tag(number // 2, number % 2) for number in range(2 * EVENTS)]
        times = sorted([*moments, *moments])
        order = [Delivery(number, tags[number], times[number], True) for number in range(2 * EVENTS)]

        def again() -> Iterator[Delivery]:
            return iter(order)

        schedule = RecordedSchedule(again, lambda _: False, lambda _: None, lambda: None)
        self.order, self.gate = schedule.order, schedule.gate
        self.time = ForkTime(self.gate, self.order, Still(), lambda: 0)
        self.gate.running = 1
        self.time.cut = self.time.by_time = self.time.differs = True
        self.plain = Plain(self.time, self.gate.waiting)
        self.dead: set[Tag] = set()
        self.count = 0

    def tag(self, kind: str) -> Tag:
        """A tag that nobody had."""
        self.count += 1
        return Tag(kind, "root", self.count, 0)

    @rule(deadline_us=MOMENTS_US)
    def sets_a_timer(self, deadline_us: int) -> None:
        """A timer."""
        tag = self.tag("t")
        self.time.sets(tag, TimerSpan(0, deadline_us))
        self.gate.offer(tag, lambda: None, alive=lambda: tag not in self.dead, deadline_us=deadline_us)

    @rule(number=st.integers(0, EVENTS - 1), issued_us=MOMENTS_US, came_us=MOMENTS_US)
    def asks(self, number: int, issued_us: int, came_us: int) -> None:
        """A call is made whose answer is recorded."""
        self.time.answers_later(number, issued_us, came_us)

    @rule(number=st.integers(0, EVENTS - 1), part=st.integers(0, 1), own=st.booleans())
    def awaits_an_answer(self, number: int, part: int, own: bool) -> None:
        """Somebody waits for part of an answer of the parent's, or of the fork's own."""
        tag = own_tag(number, part) if own else event_tag(number, part)
        self.dead.discard(tag)
        self.gate.waiting[tag] = Waiter(tag, lambda: None, lambda: tag not in self.dead)

    @rule(never=st.booleans())
    def awaits_another(self, never: bool) -> None:
        """Somebody waits to be woken, or for nothing."""
        tag = never_tag() if never else self.tag("w")
        self.gate.waiting[tag] = Waiter(tag, lambda: None)

    @rule(data=st.data(), dies=st.booleans())
    def leaves(self, data: st.DataObject, dies: bool) -> None:
        """Somebody waits no more: its turn has come, or it is nobody's."""
        if self.gate.waiting:
            tag = data.draw(st.sampled_from([*self.gate.waiting]))
            if dies and self.gate.waiting[tag].alive is not None:
                self.dead.add(tag)
            else:
                del self.gate.waiting[tag]
                self.time.due.over(tag)

    @rule(by_us=st.sampled_from([1, 40_000, 120_000]))
    def time_passes(self, by_us: int) -> None:
        """Time of the fork's own."""
        self.order.at_us += by_us

    @rule()
    def departs(self) -> None:
        """It leaves its parent's times, once there is something to leave."""
        if self.count > 4:
            self.time.departs()

    @rule(data=st.data(), from_us=MOMENTS_US, near_us=NEAR_US)
    def same_answers(self, data: st.DataObject, from_us: int, near_us: int) -> None:
        """Whatever is next, and whenever that comes: also so near to each of the others."""
        time, plain = self.time, self.plain
        tag = data.draw(st.sampled_from([Tag("t", "next", 0, 0), *self.gate.waiting]))
        now_us, lines = time.known_us(), time.by_moment()
        known = [coming + near_us for coming, _ in plain.others(tag)]
        for comes in (from_us, now_us + near_us, *known):
            for flag in (False, True):
                assert lines.is_unsure(tag, comes, now_us, timer=flag) == plain.is_unsure(tag, comes, timer=flag)
            early = plain.sooner(tag, comes, answers=time.departed)
            assert lines.sooner(tag, comes, now_us, answers=time.departed) is early
            assert lines.first(tag, comes, now_us) is plain.first(tag, comes)
            assert lines.is_near(tag, comes, now_us) == plain.is_near(tag, comes)
            event(f"departed {time.departed}, early {early is not None}")


@pytest.fixture
def few_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls and timers are soon forgotten."""
    monkeypatch.setattr(due_moments, "_KEPT", KEPT)


Waits.TestCase.settings = settings(max_examples=settings().max_examples * 5, stateful_step_count=50, deadline=None)
TestWaits = pytest.mark.usefixtures("few_kept")(Waits.TestCase)


def looks_at(size: int) -> int:
    """How many of so many timers fifty deliveries look at: of each it is asked whether it is alive."""
    looks = 0

    def alive() -> bool:
        nonlocal looks
        looks += 1
        return True

    schedule = RecordedSchedule(lambda: iter(()), bool, lambda _: None, lambda: None)
    time, gate = ForkTime(schedule.gate, schedule.order, Still(), lambda: 0), schedule.gate
    gate.running = 1
    time.cut = time.by_time = time.differs = True
    tags = [Tag("t", "root", number, 0) for number in range(size)]
    for number, tag in enumerate(tags):
        time.sets(tag, TimerSpan(0, 1_000_000 + number * 977))
        gate.offer(tag, lambda: None, alive=alive, deadline_us=1_000_000 + number * 977)
    for tag in tags[:50]:
        timer = time.due.timer(tag)
        assert timer is not None and time.sooner(tag, timer.due_us) is None
        time.is_unsure(tag, timer.due_us)
        del gate.waiting[tag]
    return looks


def test_a_delivery_looks_at_a_few_of_those_who_wait() -> None:
    assert looks_at(100) == looks_at(4_000) <= 50 * 4


def lines_of(moments: dict[Tag, int]) -> tuple[dict[Tag, Waiter], WaiterLines]:
    """Those who come then, each of which is a timer or an answer."""
    waiting = {tag: Waiter(tag, lambda: None, None, 1 if tag.kind == "t" else None) for tag in moments}
    return waiting, WaiterLines(waiting, lambda waiter: moments[waiter.tag], lambda _: False)


@pytest.mark.parametrize(("later_us", "first"), [(LATE_US, "e"), (LATE_US + 1, "t")])
def test_an_answer_goes_before_a_timer_unless_that_is_clearly_before(later_us: int, first: str) -> None:
    timer, answer = Tag("t", "root", 1, 0), event_tag(1, 0)
    _, lines = lines_of({timer: 10, answer: 10 + later_us})
    found = lines.sooner(Tag("t", "next", 0, 0), 10**6, 0, answers=False)
    assert found is not None and found.tag.kind == first


def test_who_has_left_is_forgotten_before_long() -> None:
    """Also behind those who stay, where nobody looks."""
    schedule = RecordedSchedule(lambda: iter(()), bool, lambda _: None, lambda: None)
    time, waiting = ForkTime(schedule.gate, schedule.order, Still(), lambda: 0), schedule.gate.waiting
    first, *others = (Tag("t", "root", number, 0) for number in range(2_000))
    for number, tag in enumerate((first, *others)):
        time.sets(tag, TimerSpan(0, number))
        waiting[tag] = Waiter(tag, lambda: None, None, number)
        assert time.by_moment().first(Tag("t", "next", 0, 0), 9, 0) is waiting[first]
        assert sum(map(len, time.by_moment()._lines)) < 100
        if tag is not first:
            del waiting[tag]
