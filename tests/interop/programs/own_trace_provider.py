"""A run within a span of the program's own provider, and its chance afterwards."""

import random
import sys

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

import reenact


class Kept(SpanExporter):
    def export(self, spans):
        for span in spans:
            parent = f"{span.parent.span_id:016x}" if span.parent else ""
            print(
                span.name,
                f"{span.context.trace_id:032x}",
                f"{span.context.span_id:016x}",
                parent or "-",
                span.resource.attributes["service.name"],
                span.status.status_code.name,
                file=sys.stderr,
            )
        return SpanExportResult.SUCCESS


provider = TracerProvider(resource=Resource({"service.name": "shop"}))
provider.add_span_processor(SimpleSpanProcessor(Kept()))
trace.set_tracer_provider(provider)


@reenact.tool
def refund(order):
    raise ValueError("closed")


random.seed(7)
first = random.random()
random.seed(7)
with trace.get_tracer("shop").start_as_current_span("request"):
    random.seed(7)
    with reenact.record(agent="desk", policy=reenact.Policy(otel_provider="program")):
        try:
            refund(7)
        except ValueError:
            pass
    assert random.random() == first
