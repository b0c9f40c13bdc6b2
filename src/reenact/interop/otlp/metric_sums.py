"""Sums of measurements since the process began, and their encoding as OTLP's protobuf."""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Final

from reenact.facts.call import Json
from reenact.facts.frequent_names import FingerprintTally
from reenact.interop.otlp.measures import Instrument, Measurement, labels
from reenact.interop.otlp.outgoing_span import SCOPE
from reenact.interop.otlp.protobuf import attributes, double, fixed, message, number, text

MOST: Final = 2000
"""The most sets of attributes of one metric, as in the SDK of OpenTelemetry; further sets are summed together."""
_BEYOND: Final = (("otel.metric.overflow", True),)
_CUMULATIVE: Final = 2
_Attributes = tuple[tuple[str, Json], ...]


class Point:
    """The sum of one metric for one set of attributes; for a histogram also the number of values in each bucket."""

    __slots__ = ("buckets", "count", "largest", "smallest", "total")

    def __init__(self, instrument: Instrument) -> None:
        self.count = 0
        self.total = 0.0
        self.smallest = float("inf")
        self.largest = float("-inf")
        self.buckets = [0] * (len(instrument.bounds) + 1)

    def add(self, value: float, bounds: tuple[float, ...]) -> None:
        """Take in one value."""
        self.count += 1
        self.total += value
        self.smallest, self.largest = min(self.smallest, value), max(self.largest, value)
        self.buckets[bisect_left(bounds, value)] += 1


class SenderSums:
    """The measurements of one sender.

    Args:
        began_ns: The beginning of its sums, nanoseconds since the epoch.
    """

    def __init__(self, began_ns: int) -> None:
        self._began_ns = began_ns
        self._metrics: dict[str, tuple[Instrument, dict[_Attributes, Point]]] = {}
        self._few: dict[str, FingerprintTally] = {}

    def add(self, measurements: Iterable[Measurement]) -> None:
        """Add some measurements. About 2 µs each."""
        for each in measurements:
            instrument = each.instrument
            _, points = self._metrics.setdefault(instrument.name, (instrument, {}))
            if instrument.few:
                self._few.setdefault(instrument.name, FingerprintTally()).add([each.key])
                continue
            point = points.get(each.attributes)
            if point is None:
                key = each.attributes if len(points) < MOST else _BEYOND
                point = points.setdefault(key, Point(instrument))
            point.add(each.value, instrument.bounds)

    def metrics(self, now_ns: int) -> bytes:
        """The present metrics of a ``ScopeMetrics``."""
        times = fixed(2, self._began_ns) + fixed(3, now_ns)
        for name, tally in self._few.items():
            instrument, points = self._metrics[name]
            points.clear()
            for key, count in tally.sums.items():
                point = points[labels(key)] = Point(instrument)
                point.add(count, ())
        return b"".join(message(2, _metric(*each, times)) for each in self._metrics.values())


def _metric(instrument: Instrument, points: Mapping[_Attributes, Point], times: bytes) -> bytes:
    histogram = bool(instrument.bounds)
    made = _histogram if histogram else _sum
    data = b"".join(message(1, made(instrument, point, dict(found), times)) for found, point in points.items())
    data += number(2, _CUMULATIVE) + (b"" if histogram else number(3, 1))
    named = text(1, instrument.name) + text(2, instrument.about) + text(3, instrument.unit)
    return named + message(9 if histogram else 7, data)


def _sum(instrument: Instrument, point: Point, found: Mapping[str, Json], times: bytes) -> bytes:
    return times + fixed(6, int(point.total)) + attributes(7, found)


def _histogram(instrument: Instrument, point: Point, found: Mapping[str, Json], times: bytes) -> bytes:
    bounds = instrument.bounds
    return b"".join(
        (
            times,
            fixed(4, point.count),
            double(5, point.total),
            message(6, struct.pack(f"<{len(point.buckets)}Q", *point.buckets)),
            message(7, struct.pack(f"<{len(bounds)}d", *bounds)),
            attributes(9, found),
            double(11, point.smallest),
            double(12, point.largest),
        )
    )


def as_protobuf(groups: Iterable[tuple[Mapping[str, Json], SenderSums]], now_ns: int, version: str) -> bytes:
    """An ``ExportMetricsServiceRequest``.

    Args:
        groups: The attributes of each sender, and its measurements.
        now_ns: The time, nanoseconds since the epoch.
        version: The version of this library.
    """
    scope = message(1, text(1, SCOPE) + text(2, version))
    made = (message(1, attributes(1, found)) + message(2, scope + sums.metrics(now_ns)) for found, sums in groups)
    return b"".join(message(1, each) for each in made)
