"""A schedule chooses by what waits and by the time, and changes nothing by it: a table for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reenact.abc.sources import CLOCK
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.order import ALARM_SIGNAL, Delivery, Tag, TimerSpan, event_tag, signal_tag
from reenact.recording.arrival_schedule import ArrivalSchedule
from reenact.replaying.recorded_schedule import RecordedSchedule
from reenact.replaying.request_replay import PreambleSchedule
from reenact.seams.schedules import PendingChange, Standstill
from reenact.seams.waits import Waiter, never_tag
from reenact.timetravel.forks.alarms import own_signal
from reenact.timetravel.forks.fork_schedule import ForkSchedule, own_tag
from reenact.timetravel.forks.fork_time import UNSURE

FIRST, SECOND, THIRD = event_tag(0, 0), event_tag(1, 0), event_tag(2, 0)
WAKE, OTHER, SOON, LATE = (Tag(kind, "root", n, 0) for n, kind in enumerate("wwtt"))
SIGNAL, NEVER = signal_tag("root", ALARM_SIGNAL, 7), never_tag()
OWN_SIGNAL = own_signal(SIGNAL)
TIMERS_US = {SOON: 1_000_000, LATE: 2_000_000}
ORDER = (FIRST, SECOND, THIRD)


@dataclass(frozen=True, slots=True)
class Row:
    """A case of a table.

    Attributes:
        waits: What waits, in order of arrival.
        goes: What is chosen: a turn, the name of the method that makes a change, or nothing.
        order: What is recorded, a tenth of a second apart.
        settled, held: As for a ``Standstill``.
        dead: What waits and is not wanted any more.
        told: What the schedule is told before, by name.
    """

    waits: tuple[Tag, ...]
    goes: Tag | str | None
    order: tuple[Tag, ...] = ORDER
    settled: bool = True
    held: tuple[Tag, ...] = ()
    dead: tuple[Tag, ...] = ()
    told: tuple[tuple[str, Any], ...] = ()


def parts_of(row: Row) -> tuple[Any, ...]:
    deliveries = [Delivery(number, tag, number * 100_000, True) for number, tag in enumerate(row.order)]
    return (lambda: iter(deliveries), lambda each: each.tag == SECOND, lambda each: None, lambda: None)


def arrival(row: Row) -> ArrivalSchedule:
    return ArrivalSchedule(CLOCK, 0, "exact", 1000, repr)


def recorded(row: Row) -> RecordedSchedule:
    return RecordedSchedule(*parts_of(row))


def preamble(row: Row) -> PreambleSchedule:
    schedule = PreambleSchedule(*parts_of(row))
    schedule.rests = lambda waiter: waiter.tag == THIRD
    return schedule


def fork(row: Row) -> ForkSchedule:
    schedule = ForkSchedule(repr, CLOCK, lambda: 0, *parts_of(row))
    time = schedule.time
    time.cut = time.by_time = time.differs = True
    for tag, due_us in TIMERS_US.items():
        time.sets(tag, TimerSpan(0, due_us))
    return schedule


TABLES: dict[Callable[[Row], Any], tuple[Row, ...]] = {
    arrival: (
        Row((), None),
        Row((SECOND, FIRST), SECOND),
        Row((SECOND, FIRST), SECOND, settled=False),
        Row((SECOND, FIRST), FIRST, held=(SECOND,)),
        Row((SECOND,), None, held=(SECOND,)),
    ),
    recorded: (
        Row((THIRD, FIRST), FIRST),
        Row((THIRD, FIRST), FIRST, settled=False),
        Row((FIRST,), FIRST, dead=(FIRST,)),
        Row((THIRD,), None, settled=False),
        Row((THIRD,), "_unawaited"),
        Row((THIRD, WAKE), WAKE),
        Row((THIRD, SOON), SOON, told=(("sleeper", SOON),)),
        Row((THIRD,), "_advance", order=(SECOND, THIRD)),
        Row((SECOND, THIRD), SECOND, order=(SECOND, THIRD)),
        Row((THIRD,), None, order=(SIGNAL, THIRD)),
        Row((OTHER,), "_stands_in", order=(WAKE, THIRD), told=(("stand_in", lambda due, waiting: OTHER),)),
        Row((THIRD,), THIRD, told=(("loose", {2}),)),
        Row((SOON, WAKE), WAKE, order=()),
        Row((LATE, SOON), SOON, order=()),
        Row((LATE, SOON), None, order=(), told=(("cut_short", True),)),
        Row((NEVER,), None, order=()),
    ),
    preamble: (
        Row((THIRD, FIRST), FIRST),
        Row((SOON, FIRST), FIRST, order=()),
        Row((SOON, THIRD), None, order=()),
    ),
    fork: (
        Row((THIRD, FIRST), FIRST, told=(("time.cut", False),)),
        Row((FIRST,), "reached_end", order=(), told=(("time.cut", False), ("open_ended", True))),
        Row((THIRD, FIRST), FIRST),
        Row((FIRST, OWN_SIGNAL), OWN_SIGNAL),
        Row((FIRST,), None, told=(("alarms.struck_us", CLOCK.mono_us() + 3_600_000_000),)),
        Row((FIRST,), "forgets", told=(("alarms.struck_us", 0),)),
        Row((FIRST,), FIRST, told=(("alarms.struck_us", 0), ("alarms.arrived", True))),
        Row((FIRST,), FIRST, dead=(FIRST,)),
        Row((THIRD,), None, settled=False),
        Row((THIRD,), "_leaves"),
        Row((THIRD,), "_advance", order=(SECOND, THIRD)),
        Row((THIRD, own_tag(9, 0)), own_tag(9, 0)),
        Row((THIRD, own_tag(9, 0)), own_tag(9, 0), told=(("time.places", {9: 0}),)),
        Row((FIRST, WAKE), WAKE, held=(FIRST,)),
        Row((FIRST,), None, held=(FIRST,)),
        Row((THIRD,), "_leaves", order=(SIGNAL, THIRD), told=(("time._real_since_us", 0),)),
        Row((THIRD,), None, order=(SIGNAL, THIRD)),
        Row((SOON,), "_leaves_put_off", order=(SOON, THIRD)),
        Row((SOON, LATE), SOON, order=()),
        Row((LATE, WAKE), WAKE, order=()),
        Row((NEVER,), None, order=()),
        Row((SOON, FIRST), SOON, told=(("late", FIRST),)),
        Row((SOON, FIRST), "remark", told=(("near", FIRST),)),
        Row((SOON, FIRST), FIRST, told=(("near", FIRST), ("time.remarked", {UNSURE}))),
    ),
}


def told(schedule: Any, row: Row) -> set[Tag]:
    """Tell it what it is told; gives what only sleeps."""
    sleeps = set()
    for name, value in row.told:
        if name == "sleeper":
            sleeps.add(value)
        elif name in ("late", "near"):  # an answer that comes behind the first timer, or a little behind it
            after_us = 500_000 if name == "late" else 20_000
            schedule.time.answers_later(value.number, 0, TIMERS_US[SOON] + after_us)
        else:
            *path, last = name.split(".")
            setattr(getattr(schedule, path[0]) if path else schedule, last, value)
    return sleeps


def known(schedule: Any) -> tuple[Any, ...]:
    """What a choice might have changed."""
    time, order = getattr(schedule, "time", None), getattr(schedule, "order", None)
    forked = (set(time.remarked), time.departed, time.cut, dict(time.flights)) if time is not None else ()
    replayed = (order.head, order.after, order.at_us, set(order.early), list(schedule.doubts)) if order else ()
    return (*replayed, *forked, schedule.gate.passes, schedule.gate.running, list(schedule.gate.waiting))


CASES = [(make, row) for make, rows in TABLES.items() for row in rows]


@pytest.mark.parametrize(("make", "row"), CASES, ids=[f"{make.__name__}-{row.goes}" for make, row in CASES])
def test_a_schedule_chooses(make: Callable[[Row], Any], row: Row) -> None:
    schedule = make(row)
    sleeps = told(schedule, row)

    def waiter(tag: Tag) -> Waiter:
        return Waiter(tag, lambda: None, lambda: tag not in row.dead, TIMERS_US.get(tag), tag in sleeps)

    schedule.gate.waiting.update((tag, waiter(tag)) for tag in row.waits)
    before = known(schedule)
    at = Standstill(schedule.gate.waiting, row.settled, -1, row.held)
    chosen = [schedule.choose(at), schedule.choose(at)]
    assert known(schedule) == before and chosen[0] == chosen[1]
    change = chosen[0].does if isinstance(chosen[0], PendingChange) else None
    went = getattr(change, "__name__", None) if change is not None else chosen[0] and chosen[0].tag
    assert went == row.goes or (row.goes == "reached_end" and change is schedule.reached_end)


def test_a_renamed_waiter_keeps_the_moment_of_its_timer() -> None:
    """A strand with another name takes the next place: its timer is still due when it was set to be."""
    schedule = fork(Row((SOON,), SOON, order=(LATE, THIRD)))
    schedule.stand_in = lambda due, waiting: SOON
    schedule.gate.waiting[SOON] = Waiter(SOON, lambda: None, None, TIMERS_US[SOON])
    schedule.time.due.over(LATE)
    change = schedule.choose(Standstill(schedule.gate.waiting))
    assert isinstance(change, PendingChange)
    change.does(*change.args)
    assert schedule.time.due.timer(LATE) == TimerSpan(0, TIMERS_US[SOON])
    assert (list(schedule.gate.waiting), schedule.time.due.timer(SOON)) == ([LATE], None)
