"""The exporter of a process: a bounded queue of finished spans, and one thread of ours that hands them on.

Its thread is no strand of the agent, so nothing that it does is recorded. A receiver that is down costs spans, which
are counted, and never an event or a wait of the agent; the end of the program waits for a bounded time.
"""

from __future__ import annotations

import _thread
import atexit
import collections
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Final

from reenact.abc.sources import CLOCK
from reenact.facts.call import Json
from reenact.facts.policy import Policy
from reenact.interop.otlp import log_events
from reenact.interop.otlp.measures import Measurement
from reenact.interop.otlp.meter import Meter, OfProgram, SumSender
from reenact.interop.otlp.otlp_client import LOGS, Target, Unsent, send, send_signal, target
from reenact.interop.otlp.outgoing_span import AT_ONCE, LARGEST, Batch, SentSpan, weight
from reenact.interop.otlp.programs import through_provider
from reenact.seams import background, lanes

MOST: Final = 2048
"""The most spans that wait at a time, as in the SDK of OpenTelemetry."""
GATHER_S: Final = 0.2
"""How long spans gather before they are sent."""
LAST_S: Final = 1.0
"""How long the end of the program waits."""
_PAUSE_S: Final = 1.0
_ATTEMPTS: Final = 3

Deliver = Callable[[Sequence[Batch]], None]


class SpanSender:
    """Sends spans to an endpoint, and their log records separately.

    A fault in records costs no span: the spans have their content too. An endpoint that refuses records is silently not
    tried again: many tools accept only spans.

    Args:
        to: The endpoint.

    Attributes:
        lost: The number of refused records.
        why: The last reason.
    """

    def __init__(self, to: Target) -> None:
        self._to = to
        self._refused = False
        self.lost = 0
        self.why = ""

    def __call__(self, batches: Sequence[Batch]) -> None:
        """Send the spans, and then their log records.

        Raises:
            Unsent: The spans were not taken.
        """
        send(self._to, batches)
        body = b"" if self._refused else log_events.as_protobuf(batches)
        if not body:
            return
        try:
            send_signal(self._to, LOGS, body)
        except Unsent as error:
            self._refused = error.unknown
            if not error.unknown:
                self.lost += log_events.count(batches)
                self.why = str(error)


class Exporter:
    """Delivers spans.

    Args:
        deliver: Delivers them, in our thread; raises ``Unsent`` where they were refused.
        meter: The target of measurements; None: none are made.
    """

    def __init__(self, deliver: Deliver, meter: Meter | None = None) -> None:
        self._deliver = deliver
        self._meter = meter
        self._metering = False
        self._unmeasured = ""
        self._queue: collections.deque[tuple[Mapping[str, Json], SentSpan]] = collections.deque()
        self._bell = _thread.allocate_lock()
        self._bell.acquire()
        self._begun = False
        self._waiting = False
        self._leaving = False
        self._under_way = 0
        self._door = _thread.allocate_lock()
        self._version = version("reenact")
        self.lost = 0
        """The number of spans that were not delivered."""
        self.why = ""

    def offer(self, resource: Mapping[str, Json], span: SentSpan) -> None:
        """Hand over a finished span. Never waits: a span beyond the limit is lost, and counted."""
        if len(self._queue) >= MOST:
            self.lost += 1
            self.why = self.why or "more spans came than could be sent"
            return
        self._queue.append((resource, span))
        self._begin()
        if self._waiting or len(self._queue) >= AT_ONCE:
            self._ring()

    def measure(self, resource: Mapping[str, Json], measurements: Iterable[Measurement]) -> None:
        """Hand over measurements. Never waits."""
        meter = self._meter
        if meter is None:
            return
        idle = meter.due_s() is None
        meter.take(resource, measurements)
        self._begin()
        if idle and self._waiting:  # our thread waits without a time limit
            self._ring()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            background.start(self._run)

    def leave(self, timeout_s: float = LAST_S) -> None:
        """At the end of the program: wait this long at most until everything is delivered, and report losses once."""
        self._leaving = True
        self._unmeasured = ""
        if self._owes():
            self._door.acquire(blocking=False)
            self._ring()
            until = CLOCK.mono_us() + int(timeout_s * 1e6)
            while self._owes() and (left := (until - CLOCK.mono_us()) / 1e6) > 0:
                self._door.acquire(timeout=left)
        self._say_spans()
        self._say_records()
        self._say_metrics()

    def _owes(self) -> bool:
        """Whether anything has not been handed on yet."""
        if self._queue or self._under_way or self._metering:
            return True
        return self._meter is not None and not self._unmeasured and self._meter.due_s() is not None

    def _say_spans(self) -> None:
        missing = self.lost + len(self._queue) + self._under_way
        self._queue.clear()
        self.lost = 0
        self._under_way = 0
        if missing:
            why = self.why or "they were not taken in time"
            noun = "span was" if missing == 1 else "spans were"
            print(f"reenact: {missing} {noun} lost: {why}", file=sys.stderr)

    def _say_records(self) -> None:
        sent = self._deliver
        if isinstance(sent, SpanSender) and sent.lost:
            noun = "record of a log was" if sent.lost == 1 else "records of a log were"
            print(f"reenact: {sent.lost} {noun} lost: {sent.why}", file=sys.stderr)
            sent.lost = 0

    def _say_metrics(self) -> None:
        if self._meter is None or (self._meter.due_s() is None and not self._unmeasured and not self._metering):
            return
        print(f"reenact: metrics were lost: {self._unmeasured or 'they were not taken in time'}", file=sys.stderr)
        self._meter = None

    def _ring(self) -> None:
        try:
            self._bell.release()
        except RuntimeError:  # it is released already
            pass

    def _run(self) -> None:
        lanes.adopt_thread(None)  # our own thread is no strand of the agent
        while True:
            if not self._queue:
                self._waiting = True
                due = self._due_s()
                if not self._queue and due != 0:
                    self._bell.acquire(timeout=due)
                self._waiting = False
            if not self._leaving:
                self._bell.acquire(timeout=GATHER_S)
            if self._queue:
                self._hand_on()
            if self._due_s() == 0:
                self._hand_on_metrics()

    def _due_s(self) -> float:
        """The seconds until metrics are to be handed on; -1 where there are none."""
        due = None if self._meter is None else self._meter.due_s()
        if due is None or (self._leaving and self._unmeasured):
            return -1
        return 0.0 if self._leaving else due

    def _hand_on_metrics(self) -> None:
        meter = self._meter
        self._metering = True
        self._unmeasured = ""
        try:
            if meter is not None:
                meter.hand_on()
        except Exception as error:  # the program's own instruments may raise any error
            self._unmeasured = str(error) if isinstance(error, Unsent) else f"{type(error).__name__}: {error}"
        finally:
            self._metering = False
            self._open_door()

    def _hand_on(self) -> None:
        """Deliver the waiting spans; after a temporary failure they are offered again, unless the program ends."""
        taken = self._taken()
        self._under_way = len(taken)
        try:
            for attempt in range(_ATTEMPTS):
                try:
                    self._deliver(self._batches(taken))
                    return
                except Unsent as error:
                    self.why = str(error)
                    if not error.again or self._leaving or attempt == _ATTEMPTS - 1:
                        break
                    self._bell.acquire(timeout=_PAUSE_S)
                except Exception as error:  # the program's own processors may raise any error
                    self.why = f"{type(error).__name__}: {error}"
                    break
            self.lost += self._under_way  # zero where the end of the program has counted them
        finally:
            self._under_way = 0
            self._open_door()

    def _taken(self) -> list[tuple[Mapping[str, Json], SentSpan]]:
        """The next spans, as many as fit into one request."""
        taken = [self._queue.popleft()]
        size = weight(taken[0][1])
        while self._queue and len(taken) < AT_ONCE and (size := size + weight(self._queue[0][1])) <= LARGEST:
            taken.append(self._queue.popleft())
        return taken

    def _open_door(self) -> None:
        try:
            self._door.release()
        except RuntimeError:  # no thread waits
            pass

    def _batches(self, taken: Sequence[tuple[Mapping[str, Json], SentSpan]]) -> list[Batch]:
        groups: dict[int, tuple[Mapping[str, Json], list[SentSpan]]] = {}
        for resource, span in taken:
            groups.setdefault(id(resource), (resource, []))[1].append(span)
        return [Batch(resource, spans, self._version) for resource, spans in groups.values()]


_exporters: dict[tuple[str, str], Exporter] = {}


def exporter_for(policy: Policy) -> Exporter:
    """The exporter of this process for a policy.

    Raises:
        UsageError: Its endpoint is no address.
    """
    key = policy.otel_provider, policy.otel_endpoint
    found = _exporters.get(key)
    if found is None:
        found = _exporters[key] = Exporter(*_ways(policy))
        atexit.register(found.leave)
    return found


def _ways(policy: Policy) -> tuple[Deliver, Meter]:
    if policy.otel_provider:
        return through_provider, OfProgram()
    to = target(policy.otel_endpoint)
    return SpanSender(to), SumSender(to)


def _forked() -> None:
    """Forget the exporters in a forked child: its parent keeps the thread, and sends the waiting spans. The child's own
    runs begin an exporter."""
    for each in _exporters.values():
        atexit.unregister(each.leave)
    _exporters.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
