"""Runs within a span, with the program's own instruments, and its chance afterwards."""

import random
import sys

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics._internal.exemplar import AlwaysOnExemplarFilter, TraceBasedExemplarFilter
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider

import reenact

reader = InMemoryMetricReader()
filters = {"always": AlwaysOnExemplarFilter, "trace": TraceBasedExemplarFilter}
metrics.set_meter_provider(MeterProvider([reader], exemplar_filter=filters[sys.argv[1]]()))
trace.set_tracer_provider(TracerProvider())


@reenact.tool
def refund(order):
    raise ValueError("closed")


random.seed(7)
first = [random.random() for _ in range(50)]
random.seed(7)
with trace.get_tracer("shop").start_as_current_span("request"):
    random.seed(7)
    for _ in range(5):
        with reenact.record(agent="desk", policy=reenact.Policy(otel_provider="program")) as run:
            try:
                refund(7)
            except ValueError:
                pass
from reenact.interop.otlp.process_exporter import _exporters

for each in _exporters.values():
    each.leave(5)
assert [random.random() for _ in range(50)] == first
for resource in (reader.get_metrics_data() or sys.exit(0)).resource_metrics:
    for scope in resource.scope_metrics:
        for metric in scope.metrics:
            for point in metric.data.data_points:
                value = getattr(point, "count", None) or point.value
                print(metric.name, value, dict(point.attributes).get("error.type"), scope.scope.name)
