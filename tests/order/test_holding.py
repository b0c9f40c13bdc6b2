"""Proves that the clock of a hold stands still while strands could run and do not get to, never for longer than its
ceiling, and that all holds together stay within a budget that grows with the run."""

from __future__ import annotations

import _thread
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reenact
from reenact.abc.sources import CLOCK
from reenact.facts.order import Tag
from reenact.recording.arrival_schedule import ArrivalSchedule
from reenact.recording.holds import (
    BUDGET_US,
    CEILING_US,
    GROWTH,
    RETRY_EVERY,
    SHORTEST_US,
    WORK_RATE,
    Holds,
    budget_us,
)
from reenact.seams import watch
from reenact.seams.hold_clock import LOOK_US, HoldClock, WatchLook
from reenact.seams.watch import Picture, delayed

from .driver import Program, Recorded, World, record, replay

micros = st.integers(0, 200_000)
looks = st.builds(WatchLook, micros, micros, st.integers(0, 2_000), micros, st.booleans(), st.booleans())


@given(looks)
def test_a_look_counts_no_time_twice(look: WatchLook) -> None:
    worked_us, spared_us = look.reckoned()
    assert worked_us >= 0 and spared_us >= 0
    assert worked_us + spared_us <= look.past_us
    if look.ready:
        assert worked_us + spared_us == look.past_us, "what is ready and has not worked did not get to"


@given(micros, micros)
def test_a_look_that_comes_late_counts_for_one_in_time(past_us: int, looking_us: int) -> None:
    """The watch waits for a core and for the interpreter's lock as the strands do: where it is late, they may be."""
    _, spared_us = WatchLook(past_us, used_us=0, looking_us=looking_us).reckoned()
    assert past_us - spared_us == min(past_us, LOOK_US + looking_us)


def test_threads_that_wait_for_a_core_side_by_side_stop_the_clock_once() -> None:
    before: Picture = {"1": (b"5", b"1000000", b"9"), "2": (b"5", b"7000000", b"9"), "gone": (b"1", b"1", b"1")}
    now: Picture = {"1": (b"5", b"1700000", b"9"), "2": (b"5", b"7600000", b"9"), "new": (b"1", b"900000000", b"1")}
    assert delayed(before, now) == 700
    assert WatchLook(1_000, used_us=0, delayed_us=700).reckoned() == (0, 700)


@given(st.lists(looks, max_size=60), st.integers(0, 2_000_000))
def test_the_clock_stands_still_no_longer_than_its_ceiling(seen: list[WatchLook], ceiling_us: int) -> None:
    clock, now_us = HoldClock(passes=3, since_us=17), 17
    for look in seen:
        now_us += look.past_us
        before, clock = clock, clock.at(now_us, *look.reckoned(), ceiling_us)
        assert clock.spared_us <= ceiling_us
        assert clock.waited_us + clock.spared_us == now_us - 17
        assert 0 <= clock.worked_us <= clock.waited_us
        assert clock.waited_us >= before.waited_us


@given(st.lists(looks, min_size=1), st.sampled_from([0, 1_000, 8_000, 20_000]))
def test_every_hold_ends(seen: list[WatchLook], hold_us: int) -> None:
    """Whatever the looks see: at the latest after the ceiling, and the hold at the rate of work."""
    clock, now_us, holds = HoldClock(passes=1), 0, Holds(hold_us, hold_us)
    while now_us < CEILING_US + hold_us * WORK_RATE:
        for look in seen:
            now_us += look.past_us + LOOK_US
            clock = clock.at(now_us, *look.reckoned(), CEILING_US)
    assert not holds.lasts(clock.waited_us, clock.worked_us)


@given(st.lists(st.tuples(st.integers(0, 3_000_000), st.booleans(), st.integers(0, 400_000)), max_size=80))
def test_holds_stay_within_a_budget_that_grows(turns: list[tuple[int, bool, int]]) -> None:
    holds, now_us, longest_us = Holds(20_000, 20_000), 0, 0
    for past_us, proven, waited_us in turns:
        now_us += past_us
        if proven:
            holds = holds.helped()
            continue
        holds = holds.next(now_us)
        if not holds.hold_us or not holds.can_pay(now_us):
            continue
        longest_us, now_us, holds = max(longest_us, waited_us), now_us + waited_us, holds.in_vain(waited_us)
        assert holds.spent_us <= budget_us(now_us) + longest_us
        assert holds.hold_us <= holds.longest_us


def test_a_budget_that_is_spent_recovers() -> None:
    holds = Holds(20_000, 20_000).in_vain(BUDGET_US)
    assert not holds.can_pay(0)
    assert holds.can_pay(GROWTH), "5 % of the time since the run began come to it"


def test_holds_that_did_not_help_come_back_once_a_delivery_goes_with_proof() -> None:
    holds = Holds(20_000, 20_000)
    while holds.hold_us:
        holds = holds.in_vain(0)
    for _ in range(RETRY_EVERY - 1):
        holds = holds.next(0)
        assert not holds.hold_us
    assert holds.next(0).hold_us == SHORTEST_US
    for _ in range(3):
        holds = holds.helped()
    assert holds.hold_us == 20_000


def test_a_hold_in_vain_costs_the_time_in_which_its_clock_stood_still_too() -> None:
    """The program has waited through all of it: a strand that now works and now blocks unseen must not make every
    delivery wait for the ceiling."""
    schedule = ArrivalSchedule(CLOCK, CLOCK.mono_us(), "exact", 1_000, lambda path: None)
    gate = schedule.gate
    gate.offer(Tag("w", "root", 0, 0), lambda: None)  # the strand of the test runs, so it is held
    for now_us in range(0, 200_000, LOOK_US):
        gate.look(now_us, worked_us=LOOK_US // 4, spared_us=LOOK_US * 3 // 4)
        if schedule.holds.spent_us:
            assert schedule.holds.spent_us == now_us
            return
    raise AssertionError("the hold has not ended")


def test_holds_of_no_length_stay_left_out() -> None:
    holds = Holds(0, 0)
    for _ in range(RETRY_EVERY + 1):
        holds = holds.next(0).helped()
    assert holds.hold_us == 0


def record_in_a_crowd(program: Program) -> Recorded:
    """Record where some thread of the program always waits for a core: no look ever finds all of them asleep."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch.WATCH, "_picture", lambda me: None)
        return record(program, policy=reenact.Policy())


def test_a_strand_that_blocks_where_no_hook_sees_it_does_not_stop_the_clock_for_ever() -> None:
    """The lock was made before the recording began, so it is the interpreter's own."""
    door = _thread.allocate_lock()

    def program(world: World) -> list[int]:
        door.acquire()
        answers: list[int] = []

        def blocks() -> None:
            with door:
                answers.append(world.ask("behind the door"))

        def opens() -> None:
            answers.append(world.ask("before it"))
            door.release()

        threads = [threading.Thread(target=each) for each in (blocks, opens)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers

    recorded = record_in_a_crowd(program)
    assert recorded.run.status == "ok"
    assert 0 < recorded.run.totals.unproven < recorded.run.totals.deliveries
    replayed = replay(recorded, program)
    assert (replayed.replay.output, replayed.replay.verdict) == (recorded.output, "same")


def test_a_busy_wait_does_not_stop_the_clock_for_ever() -> None:
    def program(world: World) -> list[int]:
        answers: list[int] = []
        thread = threading.Thread(target=lambda: answers.append(world.ask("is it there?")))
        thread.start()
        while not answers:
            pass
        thread.join()
        return answers

    recorded = record_in_a_crowd(program)
    assert recorded.run.status == "ok"
    assert recorded.run.totals.unproven > 0
    replayed = replay(recorded, program)
    assert (replayed.replay.output, replayed.replay.verdict) == (recorded.output, "same")
