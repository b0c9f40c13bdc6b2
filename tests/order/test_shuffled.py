"""A shuffled replay hands out answers in every order, by its seed, and a timer only when no answer waits."""

from __future__ import annotations

from itertools import permutations

from reenact.facts.order import Tag, event_tag
from reenact.replaying.recorded_schedule import RecordedSchedule

ANSWERS = 3
TIMER = ANSWERS


def released(seed: int) -> tuple[int, ...]:
    """The order in which a gate releases three answers and a timer that wait at it, the timer since before them."""
    schedule = RecordedSchedule(lambda: iter(()), lambda _: False, lambda _: None, lambda: None)
    schedule.shuffle(seed)
    gate = schedule.gate
    order: list[int] = []
    gate.offer(Tag("t", "root", 0, 0), lambda: order.append(TIMER), deadline_us=1)
    for number in range(ANSWERS):
        gate.offer(event_tag(number, 0), lambda number=number: order.append(number))  # type: ignore[misc]
    assert order == [], "something still runs"
    for _ in range(ANSWERS + 1):
        gate.blocked()
    return tuple(order)


def test_every_order_of_answers_comes_and_the_timer_last() -> None:
    found = {released(seed) for seed in range(100)}
    assert found == {(*answers, TIMER) for answers in permutations(range(ANSWERS))}


def test_a_seed_gives_the_same_order_again() -> None:
    assert [released(seed) for seed in range(20)] == [released(seed) for seed in range(20)]
