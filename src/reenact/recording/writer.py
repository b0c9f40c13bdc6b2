"""The writer: one thread between the agent and the store, and the one gate of privacy.

The agent's thread only appends to a queue. Every few milliseconds the writer takes the queue, cleans the records, and
appends them to the log in one transaction; compression, hashing of large payloads and SQLite itself release the
interpreter lock. A fault here costs the recording, never the run.
"""

from __future__ import annotations

import _thread
import collections
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from reenact.abc.redaction import Redactor
from reenact.abc.store import Log
from reenact.errors import StoreBusy
from reenact.facts.call import Value
from reenact.facts.interruptions import let_through
from reenact.facts.large_values import is_large
from reenact.facts.lazy_dataclass import replace
from reenact.facts.record import CallIssued, CallSettled, OutputPrinted, Record, RunClosed, SegmentArrived
from reenact.recording.value_limits import Limits
from reenact.seams import background, lanes
from reenact.seams.loop_callbacks import post
from reenact.seams.turns import rejoining

GATHER_S = 0.02
"""How long records gather before they are written; well below the 50 ms within which they must reach the file."""
IDLE_TICKS = 20
IDLE_AT_ONCE = 64
"""The most pieces of idle work between two batches."""
LAST_WORK_US = 100_000
"""The time at the end of a run for work that may be left out."""
ATTEMPTS = 3
"""Failures of the writer itself, of all kinds together, after which a run that ends is left without its end."""
BUSY_ATTEMPTS = 3
"""How often a batch is offered to a store in which another process writes, before it is given up. Each attempt waits
for the store's own limit (ten seconds)."""
IN_PLACE_S = 1.0
"""The longest time for which a coroutine holds its whole thread for an intent. It takes about a millisecond, unless
the writer is reading the program's sources, as it does once in a process. If a disk stalls for longer, other tasks
may run."""
QUEUE_BYTES = 16 << 20
"""The most bytes that may wait to be written; one longer value may wait in addition, because it is in memory anyway."""
SLOWEST = 1 << 20
"""The least rate, in bytes a second, at which a busy machine cleans and writes long values: the end of a run waits for
them."""
BACKPRESSURE_S = 5.0

_LARGE = frozenset({SegmentArrived, OutputPrinted})
"""Records of the bytes that the agent receives or prints, which may be many: their waiting bytes are counted."""
_VALUES = frozenset({CallIssued, CallSettled})
"""Records that carry values: of these the large ones are counted."""
_COUNTED = 64 << 10


class Receipt:
    """A point in the queue with a waiter; a turn in the sense of ``abc.session``.

    Args:
        durable: Whether the records before it must be on the disk by then.
        in_place: Whether a waiting coroutine blocks its whole thread (bounded), so that no other task runs.
    """

    __slots__ = ("_doors", "_in_place", "_lock", "done", "durable", "kept")

    def __init__(self, durable: bool, in_place: bool = False) -> None:
        self.durable = durable
        self._in_place = in_place
        self.done = False
        self.kept = False
        self._lock = _thread.allocate_lock()
        self._doors: list[Callable[[], None]] = []

    def settle(self, kept: bool) -> None:
        """Called by the writer: everything before this point is in the file, or is lost."""
        with self._lock:
            self.kept = kept
            self.done = True
        while self._doors:  # no waiter is added any more; one whose call fails is called again next time
            self._doors[-1]()
            del self._doors[-1]

    def _listen(self, door: Callable[[], None]) -> bool:
        with self._lock:
            if self.done:
                return False
            self._doors.append(door)
            return True

    def wait(self, timeout_s: float = -1) -> None:
        """Block until written; a fault in here lets the caller go on."""
        door = _thread.allocate_lock()
        door.acquire()
        try:
            unwritten = self._listen(door.release)
        except Exception as error:
            let_through(error)
            return
        if unwritten:
            door.acquire(timeout=timeout_s)

    def __await__(self) -> Any:
        if self._in_place:
            self.wait(IN_PLACE_S)
            if self.done:
                return
        backend = lanes.backend()
        if backend is not None:
            yield from backend.rest(self._listen)
            return
        loop = lanes.running_loop()
        future = loop.create_future()

        def arrived() -> None:
            post(loop, lambda: None if future.done() else future.set_result(None), here=False)

        if self._listen(arrived):
            yield from rejoining(future.__await__())


def _size(record: Record) -> int:
    """Bytes of the value that a record carries; 0 for small values, which are not counted."""
    if isinstance(record, CallIssued):
        size = len(record.call.body)
    elif isinstance(record, CallSettled) and isinstance(record.outcome, Value):
        body: Any = record.outcome.body
        size = (body.least if is_large(body) else len(body)) + len(record.outcome.changes)
    else:
        return 0
    return size if size >= _COUNTED else 0


class Writer:
    """Drains a queue of records into a log.

    Args:
        log: The log for the records.
        redactor: Cleans them first.
        gather: Gives further records at each drain (turns at the gate, ambient reads), at least all turns that were
            granted before a queued record.
        fault: Called with every failure; must not raise.
        saw: Called with every record of the queue before it is cleaned.
        idle: Called when there is nothing to write; returns whether it has more to do.
    """

    def __init__(
        self,
        log: Log,
        redactor: Redactor,
        gather: Callable[[], Iterable[Record]],
        fault: Callable[[Exception], object],
        saw: Callable[[Record], None],
        idle: Callable[[], bool] = lambda: False,
    ) -> None:
        self._log = log
        self._redactor = redactor
        self._gather = gather
        self._fault = fault
        self._saw = saw
        self._idle = idle
        self._queue: collections.deque[Record | Receipt] = collections.deque()
        self._bell = _thread.allocate_lock()
        self._bell.acquire()
        self._asleep = False
        self._awaited = False
        self._closing = False
        self._over = False
        self._ended = _thread.allocate_lock()
        self._ended.acquire()
        self._due: list[Receipt] = []
        self._held: list[Record] = []
        self._offered = 0
        self._taken = 0
        self._bytes = 0
        self._longest = 0
        self._bytes_lock = _thread.RLock()  # a signal handler may print while its own thread holds it
        self._room: list[Any] = []
        self.limits = Limits()
        """The limits for values that come back to the run."""
        self.tap: Callable[[Sequence[Record]], object] | None = None
        """Called with cleaned records after they were offered to the log; a fault in it costs no record."""
        self._start()

    # --- the agent's side --------------------------------------------------------------------------------------

    def put(self, record: Record) -> None:
        """Queue a record. About a microsecond; blocks (bounded) only when ``QUEUE_BYTES`` wait to be written.

        After the writer has ended, records of strands that outlive their run are dropped."""
        if self._over:
            return
        self._queue.append(record)
        if self._asleep:
            self._ring()
        kind = type(record)
        if kind in _LARGE:
            self._account(len(record.data))  # type: ignore[union-attr]
        elif kind in _VALUES:
            size = _size(record)
            if size:
                self._account(size)

    def receipt(self, *, durable: bool = False, in_place: bool = False) -> Receipt:
        """A turn that comes when all records queued so far are in the file (``durable``: on the disk)."""
        receipt = Receipt(durable, in_place)
        self._queue.append(receipt)
        self._awaited = True
        self._ring()
        if self._over:
            self._let_go()
        return receipt

    def flush(self, timeout_s: float = 10.0, *, durable: bool = False) -> bool:
        """Wait until everything queued so far is in the file (``durable``: on the disk); False if it is not there in
        time, or was lost."""
        receipt = self.receipt(durable=durable)
        receipt.wait(timeout_s)
        return receipt.kept

    def close(self, timeout_s: float = 30.0) -> None:
        """Write the queue and end the thread. The time limit grows with the length of the queue."""
        self._closing = True
        self._ring()
        self._ended.acquire(timeout=timeout_s + self._bytes / SLOWEST)

    def _start(self) -> None:
        background.start(self._run)

    def _ring(self) -> None:
        try:
            self._bell.release()
        except RuntimeError:  # the bell is ringing already
            pass

    def _account(self, size: int) -> None:
        with self._bytes_lock:
            self._bytes += size
            if size > QUEUE_BYTES:
                self._longest = max(self._longest, size)
            if self._bytes - self._longest <= QUEUE_BYTES:
                return
            door = _thread.allocate_lock()
            door.acquire()
            self._room.append(door)
        self._ring()
        door.acquire(timeout=BACKPRESSURE_S)

    # --- the writer's side -------------------------------------------------------------------------------------

    def _run(self) -> None:
        lanes.adopt_thread(None)  # our own thread is no strand of the agent
        try:
            try:
                self._finish()
            except Exception as error:  # a fault before the work began, or after the waiters were released
                self._fault(error)
                self._finish()
        finally:
            self._over = True
            self._ended.release()

    def _finish(self) -> None:
        """Write to the end, then release the log. May be called again after a failure."""
        try:
            self._work()
        except Exception as error:
            self._fault(error)
        finally:
            try:
                self._log.close()
            except Exception as error:
                self._fault(error)
            self._over = True
            self._let_go()

    def _work(self) -> None:
        """Write batches until the end is written, or until several attempts to write it have failed."""
        quiet = failed = 0
        while True:
            try:
                worked = self._drain()
                if self._closing and not self._queue:
                    self._drain(last=True)
                    if not self._held:
                        return
            except Exception as error:
                self._fault(error)
                failed += 1
                if self._closing and failed > ATTEMPTS:
                    return
                worked = False
            quiet = 0 if worked else quiet + 1
            if self._some_idle_work() and not worked:
                continue
            if quiet > IDLE_TICKS:
                self._asleep = True
                if not self._queue and not self._closing:
                    self._bell.acquire()
                self._asleep = False
                quiet = 0
            if not self._awaited:  # two wake-ups may have come as one: only this flag shows that a caller waits
                self._bell.acquire(timeout=GATHER_S)

    def _let_go(self) -> None:
        """Release all waiters, because nothing more is written."""
        self._let_on(False)
        while True:
            try:
                item = self._queue.popleft()
            except IndexError:
                return
            if isinstance(item, Receipt):
                item.settle(False)

    def _some_idle_work(self) -> bool:
        """Do a little idle work in each round, because the end of the run would wait for what is left."""
        try:
            done = 0
            while done < IDLE_AT_ONCE and self._idle():
                done += 1
            return done > 0
        except Exception as error:
            self._fault(error)
            return False

    def _drain(self, *, last: bool = False) -> bool:
        """Write one batch; False if there was nothing."""
        self._awaited = False
        self._let_on(False)  # the waiters that a fault in the last round has left
        batch: list[Record] = []
        cleaned: list[Record] = []
        kept = False
        try:
            self._take(batch)
            batch.extend(self._gather())
            clean, limited = self._redactor.clean, self.limits.limited
            for each in batch:
                record = limited(each)
                self._show(record)
                cleaned += clean(record)
            if last:
                cleaned.extend(self._redactor.flush())
            durable = any(receipt.durable for receipt in self._due)
            kept = self._keep(cleaned, durable=durable)
        except Exception as error:
            self._fault(error)
        worked = bool(batch or self._due)
        self._let_on(kept)
        if self.tap is not None:
            self._tell(cleaned)
        return worked

    def _keep(self, cleaned: list[Record], *, durable: bool) -> bool:
        """Write a batch, after batches that wait for a busy store. If a batch cannot be written, only the end of the
        run is written: it is short, and shows that the rest is missing.

        Raises:
            Exception: The batch is lost, or not written yet.
        """
        records, self._held = self._held + cleaned, []
        if not records and not durable:
            return True
        try:
            self._log.write(records, durable=durable)
        except StoreBusy:
            self._offered += 1
            if self._offered < BUSY_ATTEMPTS:
                self._held = records
                return False
            self._offered = 0
            self._keep_end(records, "another process wrote for too long: some of the recording is lost")
            raise
        except Exception as error:
            self._keep_end(records, f"{type(error).__name__}: {error}".partition("\n")[0])
            raise
        self._offered = 0
        return True

    def _keep_end(self, records: list[Record], fault: str) -> None:
        ends = [each for each in records if type(each) is RunClosed]
        if ends:
            self._log.write(
                [RunClosed(replace(each.run, degraded=(*each.run.degraded, fault)), each.extra) for each in ends]
            )

    def _let_on(self, kept: bool) -> None:
        """Tell every waiter whose records have been taken from the queue. A waiter stays in the list until it was
        called, so a fault here delays it by a round at most."""
        while self._due:
            self._due[0].settle(kept)
            del self._due[0]
        if self._taken:
            self._release()

    def _tell(self, cleaned: Sequence[Record]) -> None:
        try:
            if self.tap is not None:
                self.tap(cleaned)
        except Exception as error:  # the tap sees no more of this run
            self.tap = None
            print(f"reenact: no more spans of this run are made: {type(error).__name__}: {error}", file=sys.stderr)

    def _show(self, record: Record) -> None:
        try:
            self._saw(record)
        except Exception as error:
            self._fault(error)

    def _take(self, batch: list[Record]) -> None:
        """Take the records for one batch from the queue."""
        queue = self._queue
        while queue:
            if self._taken >= QUEUE_BYTES // 4:
                self._awaited = True  # perhaps a caller further on in the queue waits
                break
            item = queue[0]
            if isinstance(item, Receipt):
                self._due.append(item)
                queue.popleft()
                if item.durable:
                    if queue:  # the flag is never cleared here: a caller may have come meanwhile
                        self._awaited = True  # perhaps a later caller waits
                    break
                continue
            if type(item) in _LARGE:
                self._taken += len(item.data)  # type: ignore[union-attr]
            elif type(item) in _VALUES:
                self._taken += _size(item)
            batch.append(item)
            queue.popleft()

    def _release(self) -> None:
        """Let waiters for room go on, if there is enough of it now."""
        with self._bytes_lock:
            self._bytes -= self._taken
            self._taken = 0
            self._longest = min(self._longest, self._bytes)  # the longest value is written, or still waits
            if self._bytes - self._longest > QUEUE_BYTES // 2:
                return
            while self._room:
                self._room[-1].release()
                del self._room[-1]
