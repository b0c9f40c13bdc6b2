"""Waits at a gate: the delivery that is waited for, and the frame in which a strand waits without being counted."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Mapping
from typing import Any

from reenact.errors import Halt
from reenact.facts.order import Tag

Wait = Generator[Any, Any, int]
"""The wait of a coroutine for its turn; gives the turn's number."""
_nevers = itertools.count()

RECALLED = -2
"""The number of a turn that was called back: its waiter goes on in another way (``Gate.recall``)."""


class Waiter:
    """One delivery that has arrived, or may arrive, and waits for its turn.

    Attributes:
        tag: Its identity.
        wake: Makes the receiver runnable; called with the gate locked and the receiver already counted.
        alive: False once the receiver no longer wants it (a cancelled timer); such a waiter takes no number.
        deadline_us: Virtual time of a timer in a replay; None for other waits than timers.
        sleeper: Whether the timer is a plain sleep, which may always fire.
        number: The number of the turn that it was given.
        halt: Set instead of a number when the replay stops.
    """

    __slots__ = ("alive", "deadline_us", "halt", "number", "sleeper", "tag", "wake")

    def __init__(
        self,
        tag: Tag,
        wake: Callable[[], None],
        alive: Callable[[], bool] | None = None,
        deadline_us: int | None = None,
        sleeper: bool = False,
    ) -> None:
        self.tag = tag
        self.wake = wake
        self.alive = alive
        self.deadline_us = deadline_us
        self.sleeper = sleeper
        self.number: int | None = None
        self.halt: Halt | None = None


class Rest:
    """A wait in which a strand is not counted until its turn has come.

    Args:
        waiting: The deliveries that have not had their turn (``Gate.waiting``).
        tags: The turns of which any one ends the wait; none where the system ends it.
    """

    __slots__ = ("tags", "waiting")

    def __init__(self, waiting: Mapping[Tag, Waiter], *tags: Tag) -> None:
        self.waiting = waiting
        self.tags = tags

    def counted(self) -> bool:
        """Whether the waiter's turn has come, so that its strand runs as soon as the system lets it.

        The caller holds the gate's lock."""
        return bool(self.tags) and not any(tag in self.waiting for tag in self.tags)


def rest(out: Rest, wait: Callable[..., Any], *args: object) -> Any:
    """Wait without being counted. All uncounted waits happen in this frame.

    So a signal handler that interrupts this frame knows that its strand is not counted (``seams.strands.signals``).
    Call it inside the ``try`` that counts the strand again.

    Args:
        out: The wait, which that handler reads.
        wait: A function that blocks: a lock's ``acquire``, or a wait of the system.
        args: The arguments of ``wait``.
    """
    return wait(*args)


def outside(wait: Callable[..., Any], *args: object) -> Any:
    """Wait for the system inside our own code; it does not matter whether its strand is counted.

    A handler of a signal that interrupts this frame may run at once."""
    return wait(*args)


def never_tag() -> Tag:
    """The tag of a turn that never comes."""
    return Tag("w", "~never", next(_nevers), 0)
