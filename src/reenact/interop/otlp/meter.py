"""The target of a process's measurements: they are summed and sent as OTLP, or given to the program's own
instruments."""

from __future__ import annotations

import _thread
import collections
import os
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any, Final, Protocol

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.facts.call import Json
from reenact.facts.frequent_names import FingerprintTally
from reenact.interop.otlp.measures import Instrument, Measurement, labels
from reenact.interop.otlp.metric_sums import SenderSums, as_protobuf
from reenact.interop.otlp.otlp_client import METRICS, Target, Unsent, send_signal
from reenact.interop.otlp.outgoing_span import SCOPE

_EVERY: Final = "OTEL_METRIC_EXPORT_INTERVAL"
_EVERY_MS: Final = 60_000
MOST: Final = 8192
"""The most measurements that wait for the program's instruments."""


class Meter(Protocol):
    """Takes measurements in any thread, and hands them on in ours."""

    def take(self, resource: Mapping[str, Json], measurements: Iterable[Measurement]) -> None:
        """Keep measurements; never waits for the world."""

    def due_s(self) -> float | None:
        """The seconds until the kept measurements are due; None where there are none."""

    def hand_on(self) -> None:
        """Deliver the measurements.

        Raises:
            Unsent: The measurements were not accepted.
        """


class SumSender:
    """Sums, sent to an endpoint every minute (``OTEL_METRIC_EXPORT_INTERVAL``, ms) and at the end.

    An endpoint that takes no metrics is not tried again. There is no message about it, because many tools take spans
    alone.
    """

    def __init__(self, to: Target) -> None:
        self._to = to
        self._lock = _thread.allocate_lock()
        self._groups: dict[str, tuple[dict[str, Json], SenderSums]] = {}
        self._own = ENTROPY.bytes(16).hex()
        self._sent_us = CLOCK.mono_us()
        self._fresh = False
        self._refused = False
        text = os.environ.get(_EVERY, "")
        self._every_us = (int(text) if text.isdigit() else _EVERY_MS) * 1000

    def take(self, resource: Mapping[str, Json], measurements: Iterable[Measurement]) -> None:
        """Add measurements to the sums."""
        if self._refused:
            return
        key = repr(sorted(resource.items()))
        with self._lock:
            group = self._groups.get(key)
            if group is None:
                made = {**resource, "service.instance.id": self._own}
                group = self._groups[key] = (made, SenderSums(CLOCK.wall_us() * 1000))
            group[1].add(measurements)
            self._fresh = True

    def due_s(self) -> float | None:
        """The seconds until the sums are to be sent; None where nothing is new."""
        return max(0, self._sent_us + self._every_us - CLOCK.mono_us()) / 1e6 if self._fresh else None

    def hand_on(self) -> None:
        """Send the present sums; refused values are part of the next ones."""
        with self._lock:
            body = as_protobuf(self._groups.values(), CLOCK.wall_us() * 1000, version("reenact"))
            self._fresh = False
        self._sent_us = CLOCK.mono_us()
        try:
            send_signal(self._to, METRICS, body)
        except Unsent as error:
            self._refused = error.unknown
            if not error.unknown:
                self._fresh = True
                raise


class OfProgram:
    """The program's own instruments: a ``Meter`` of its ``MeterProvider``, in our thread."""

    def __init__(self) -> None:
        self._waiting: collections.deque[Measurement] = collections.deque(maxlen=MOST)
        self._made: dict[str, Any] = {}
        self._few: dict[str, FingerprintTally] = {}

    def take(self, resource: Mapping[str, Json], measurements: Iterable[Measurement]) -> None:
        """Keep measurements until our thread hands them on."""
        self._waiting.extend(measurements)

    def due_s(self) -> float | None:
        """Zero while measurements wait; None where there are none."""
        return 0.0 if self._waiting else None

    def hand_on(self) -> None:
        """Record the kept measurements with the program's instruments, outside every span: so none becomes an exemplar,
        for which the SDK would draw from the agent's ``random``. Without a provider they are dropped silently.

        Raises:
            Unsent: The program would make an exemplar of every measurement.
        """
        api, context = sys.modules.get("opentelemetry.metrics"), sys.modules.get("opentelemetry.context")
        provider = None if api is None else api.get_meter_provider()
        if provider is None or context is None or not hasattr(provider, "_measurement_consumer"):
            self._waiting.clear()
            return
        if _draws(provider):
            self._waiting.clear()
            raise Unsent("its exemplars would draw from the agent's random (AlwaysOnExemplarFilter)")
        nowhere = context.Context()
        while self._waiting:
            each = self._waiting.popleft()
            made = self._made.get(each.instrument.name)
            if made is None:
                made = self._made[each.instrument.name] = _instrument(provider, each.instrument)
            put = made.record if each.instrument.bounds else made.add
            put(each.value, dict(self._labels(each)), context=nowhere)

    def _labels(self, measured: Measurement) -> Iterable[tuple[str, Json]]:
        """The attributes of a measurement. An instrument of the program keeps those that it was first given."""
        if not measured.instrument.few:
            return measured.attributes
        tally = self._few.setdefault(measured.instrument.name, FingerprintTally())
        tally.add([measured.key])
        return labels(tally.place(measured.key))


def _draws(provider: Any) -> bool:
    config = getattr(provider, "_sdk_config", None)
    return type(getattr(config, "exemplar_filter", None)).__name__ == "AlwaysOnExemplarFilter"


def _instrument(provider: Any, of: Instrument) -> Any:
    meter = provider.get_meter(SCOPE, version("reenact"))
    if not of.bounds:
        return meter.create_counter(of.name, of.unit, of.about)
    try:
        return meter.create_histogram(of.name, of.unit, of.about, explicit_bucket_boundaries_advisory=of.bounds)
    except TypeError:  # an SDK before 1.30 takes no buckets
        return meter.create_histogram(of.name, of.unit, of.about)
