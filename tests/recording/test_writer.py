"""Proves that the writer serves a strand that waits for a receipt at once, and lets only records gather."""

from __future__ import annotations

import _thread
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from reenact.facts.record import OutputPrinted, Record
from reenact.recording import writer as module
from reenact.recording.writer import Writer

PLAIN = OutputPrinted(1, 0, b"said")


class Log:
    """Keeps how many records each write had."""

    def __init__(self) -> None:
        self.written: list[int] = []

    def write(self, records: Sequence[Record], *, durable: bool) -> None:
        self.written.append(len(records))

    def close(self) -> None:
        """Nothing is open."""


class Plain:
    """Cleans nothing away."""

    def clean(self, record: Record) -> tuple[Record, ...]:
        return (record,)

    def flush(self) -> tuple[Record, ...]:
        return ()


class Bell:
    """A bell whose rings come as one, as they do where the writer's thread gets no processor in between.

    Attributes:
        slept: What the writer would have slept for, each time.
        meanwhile: What the agent does during the first of them, in turn.
    """

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.meanwhile: list[Callable[[], object]] = []

    def acquire(self, timeout: float = -1) -> bool:
        self.slept.append(timeout)
        assert len(self.slept) < 100, "the writer is never told to end"
        if self.meanwhile:
            self.meanwhile.pop(0)()
        return True

    def release(self) -> None:
        """It is ringing already."""


@pytest.fixture
def unstarted(monkeypatch: pytest.MonkeyPatch) -> tuple[Writer, Bell, Log]:
    """A writer whose work is done by the test itself."""
    monkeypatch.setattr(Writer, "_start", lambda self: None)
    log, redactor = Log(), Plain()
    stub: Any = redactor
    writer = Writer(log, stub, tuple, repr, repr)  # type: ignore[arg-type]
    bell = Bell()
    writer._bell = bell  # type: ignore[assignment]
    return writer, bell, log


def test_a_caller_that_waits_is_not_left_to_gather(unstarted: tuple[Writer, Bell, Log]) -> None:
    """The ring of a record wakes the writer, and that of a receipt behind it is lost in the first."""
    writer, bell, _ = unstarted
    asked: list[Any] = []

    def asks() -> None:
        if bell.slept[-1] != -1:  # it gathers: it is not asleep yet
            bell.meanwhile.append(asks)
            return
        writer.put(PLAIN)
        asked.append(writer.receipt(durable=True))
        bell.meanwhile.append(ends)

    def ends() -> None:
        assert asked[0].done, "the writer gathers while a caller waits for it"
        writer._closing = True

    bell.meanwhile.append(asks)
    writer._work()
    assert asked[0].kept


def test_who_stands_behind_another_receipt_is_served_in_the_next_round(unstarted: tuple[Writer, Bell, Log]) -> None:
    writer, bell, log = unstarted
    asked = []
    for _ in range(3):
        writer.put(PLAIN)
        asked.append(writer.receipt(durable=True))

    def ends() -> None:
        assert all(each.done for each in asked), "the writer gathers while a caller waits for it"
        writer._closing = True

    bell.meanwhile.append(ends)
    writer._work()
    assert log.written[:3] == [1, 1, 1]


def test_who_stands_behind_much_is_served_in_the_next_round(
    unstarted: tuple[Writer, Bell, Log], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUEUE_BYTES", 4 * len(PLAIN.data))
    writer, bell, _ = unstarted
    writer._queue.extend([PLAIN, PLAIN, PLAIN])
    asked = writer.receipt()

    def ends() -> None:
        assert asked.done, "the writer gathers while a caller waits for it"
        writer._closing = True

    bell.meanwhile.append(ends)
    writer._work()


def test_records_for_which_nobody_waits_gather(unstarted: tuple[Writer, Bell, Log]) -> None:
    writer, bell, log = unstarted
    writer.put(PLAIN)

    def more() -> None:
        assert bell.slept == [module.GATHER_S]
        writer.put(PLAIN)
        writer.put(PLAIN)
        bell.meanwhile.append(ends)

    def ends() -> None:
        writer._closing = True

    bell.meanwhile.append(more)
    writer._work()
    assert log.written == [1, 2]


class Racing(deque[Any]):
    """A queue to which another strand adds when the writer has just seen that it is empty."""

    between: Callable[[], object] | None = None

    def __bool__(self) -> bool:
        empty = not len(self)
        if empty and self.between is not None:
            act, self.between = self.between, None
            act()
        return not empty


def _racing(writer: Writer) -> list[Any]:
    """Ask for a receipt, and for another one at the moment at which the writer has seen nothing behind the first."""
    writer._queue = queue = Racing()
    asked = [writer.receipt(durable=True)]

    def look_again() -> None:  # the loop of ``_take`` has looked before it took the first
        asked.append(writer.receipt(durable=True))

    queue.between = look_again
    return asked


def test_who_comes_while_the_writer_looks_behind_a_receipt_is_served_in_the_next_round(
    unstarted: tuple[Writer, Bell, Log],
) -> None:
    writer, bell, _ = unstarted
    asked = _racing(writer)

    def ends() -> None:
        assert len(asked) == 2 and all(each.done for each in asked), "the writer gathers while a caller waits for it"
        writer._closing = True

    bell.meanwhile.append(ends)
    writer._work()
    assert all(each.kept for each in asked)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Writer, _thread.LockType]]:
    """A writer whose gate stands still at its first record, until the lock is released."""
    monkeypatch.setattr(module, "QUEUE_BYTES", 1 << 20)
    monkeypatch.setattr(module, "BACKPRESSURE_S", 60.0)
    still = _thread.allocate_lock()
    still.acquire()

    class Slow(Plain):
        def clean(self, record: Record) -> tuple[Record, ...]:
            with still:
                return (record,)

    log, redactor = Log(), Slow()
    stub: Any = redactor
    writer = Writer(log, stub, tuple, repr, repr)  # type: ignore[arg-type]
    yield writer, still
    if still.locked():
        still.release()
    writer.close()


def _put(writer: Writer, *sizes: int) -> threading.Thread:
    """Strands of the agent print texts of these sizes."""

    def printing() -> None:
        for size in sizes:
            writer.put(OutputPrinted(1, 0, bytes(size)))

    thread = threading.Thread(target=printing)
    thread.start()
    return thread


def test_what_comes_behind_a_long_value_does_not_wait_until_that_is_cleaned(
    slow: tuple[Writer, _thread.LockType],
) -> None:
    writer, _ = slow
    behind = _put(writer, 30 << 20, 6, 1, 1 << 19, 6)
    behind.join(10)
    assert not behind.is_alive(), "a print waits for the value before it"


def test_no_more_than_the_bound_waits_beside_a_long_value(slow: tuple[Writer, _thread.LockType]) -> None:
    writer, still = slow
    _put(writer, 30 << 20).join(10)
    second, third = _put(writer, 3 << 20), _put(writer, 1 << 20, 6)
    second.join(0.5)
    assert second.is_alive() or third.is_alive(), "two long values wait at once"
    assert writer._bytes <= (30 << 20) + (3 << 20) + (1 << 20) + 6
    still.release()
    second.join(10)
    third.join(10)
    assert not second.is_alive() and not third.is_alive()
