"""The recorded order, and how far a replay, or a fork, has come in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reenact.facts.order import Delivery, Tag


class RecordedOrder:
    """The recorded deliveries that are yet to come, read a page at a time.

    Args:
        again: Gives an iterator over all recorded deliveries, from the first one.

    Attributes:
        head: The next delivery; None after the last.
        after: The delivery after the next one.
        at_us: Time of the last delivery, or of the timers that fired beyond it.
    """

    def __init__(self, again: Callable[[], Iterator[Delivery]]) -> None:
        self.again = again
        self.rest = again()
        self.early: set[Tag] = set()
        self.head = self._read()
        self.after = self._read()
        self.at_us = 0
        self._numbers: dict[Tag, int] | None = None

    def _read(self) -> Delivery | None:
        """The next delivery that was not handed out early."""
        found = next(self.rest, None)
        while self.early and found is not None and found.tag in self.early:
            self.early.remove(found.tag)
            found = next(self.rest, None)
        return found

    def advance(self) -> None:
        """Go on to the next number."""
        self.head, self.after = self.after, self._read()

    def passes(self, tag: Tag) -> None:
        """Note that a delivery after the head is handed out early: it is passed over when its own number comes."""
        self.early.add(tag)
        if self.after is not None and self.after.tag in self.early:
            self.early.remove(self.after.tag)
            self.after = self._read()

    def number_of(self, tag: Tag) -> int | None:
        """The number of a delivery; None for one that the recording does not have."""
        if self._numbers is None:
            self._numbers = {delivery.tag: delivery.number for delivery in self.again()}
        return self._numbers.get(tag)

    def later(self) -> Iterator[Delivery]:
        """The deliveries from the head on, including those that were handed out early."""
        head = self.head
        return (each for each in self.again() if each.number >= head.number) if head is not None else iter(())
