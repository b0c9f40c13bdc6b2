"""Spans through the program's own OpenTelemetry: finished ones, given to the processors of its ``TracerProvider``.

They are never started through its tracer, whose generator of ids draws from the agent's ``random``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reenact.facts.call import Json
from reenact.interop.otlp.call_attributes import as_text
from reenact.interop.otlp.otlp_client import Unsent
from reenact.interop.otlp.outgoing_span import SCOPE, Batch, SentSpan, SpanEvent, SpanKind


def through_provider(batches: Sequence[Batch]) -> None:
    """Give spans to the program's provider, with its resource.

    Raises:
        Unsent: The program has set up no provider so far.
    """
    api, sdk = sys.modules.get("opentelemetry.trace"), sys.modules.get("opentelemetry.sdk.trace")
    provider = api.get_tracer_provider() if api is not None and sdk is not None else None
    processor = getattr(provider, "_active_span_processor", None)
    if api is None or sdk is None or processor is None:
        raise Unsent("the program has set up no TracerProvider of OpenTelemetry's SDK", again=True)
    for batch in batches:
        for span in batch.spans:
            processor.on_end(_readable(api, sdk, provider, span, batch.version))
    _log(batches)


def _log(batches: Sequence[Batch]) -> None:
    """Give the log records on spans to the program's logger provider, if it has set up one."""
    api = sys.modules.get("opentelemetry._logs")
    if api is None or "opentelemetry.sdk._logs" not in sys.modules:
        return
    provider = api.get_logger_provider()
    for batch in batches:
        for span in batch.spans:
            for each in span.records:
                record = api.LogRecord(
                    timestamp=each.at_ns,
                    observed_timestamp=each.at_ns,
                    trace_id=int(span.trace, 16),
                    span_id=int(span.id, 16),
                    trace_flags=sys.modules["opentelemetry.trace"].TraceFlags(1),
                    severity_number=api.SeverityNumber(each.severity),
                    attributes=dict(each.attributes),
                    event_name=each.name,
                )
                provider.get_logger(SCOPE, batch.version).emit(record)


def _readable(api: Any, sdk: Any, provider: Any, span: SentSpan, version: str) -> Any:
    """A finished span as the SDK has it."""
    kinds = {SpanKind.INTERNAL: api.SpanKind.INTERNAL, SpanKind.CLIENT: api.SpanKind.CLIENT}
    status = api.Status(api.StatusCode.ERROR, span.error) if span.error is not None else api.Status()
    instrumentation = sys.modules["opentelemetry.sdk.util.instrumentation"]
    return sdk.ReadableSpan(
        name=span.name,
        context=_context(api, span.trace, span.id),
        parent=_context(api, span.trace, span.parent) if span.parent else None,
        resource=getattr(provider, "resource", None),
        attributes=dict(_flat(span.attributes)),
        events=[_event(sdk, each) for each in span.events],
        kind=kinds[span.kind],
        status=status,
        start_time=span.start_ns,
        end_time=span.end_ns,
        instrumentation_scope=instrumentation.InstrumentationScope(SCOPE, version),
    )


def _context(api: Any, trace: str, own: str) -> Any:
    flags = api.TraceFlags(api.TraceFlags.SAMPLED)
    return api.SpanContext(int(trace, 16), int(own, 16), is_remote=False, trace_flags=flags)


def _event(sdk: Any, happened: SpanEvent) -> Any:
    return sdk.Event(happened.name, dict(_flat(happened.attributes)), happened.at_ns)


def _flat(attributes: Mapping[str, Json]) -> Iterator[tuple[str, Any]]:
    """Attributes as the SDK takes them: texts, numbers and lists of texts."""
    for name, value in attributes.items():
        if isinstance(value, (list, tuple)):
            yield name, [str(as_text(each)) for each in value]
        else:
            yield name, value if isinstance(value, (str, int, float)) else as_text(value)
