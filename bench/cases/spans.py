"""Spans of a run while it is recorded: what they cost the agent, and what a span of OpenTelemetry's SDK costs alone."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median
from typing import Any

import reenact
from bench.absent import Absent
from reenact import Policy
from reenact.interop.otlp.exporters import exporter_for

ROUNDS = 9


class _Receiver(BaseHTTPRequestHandler):
    """Takes what is sent to it."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Nothing is said."""


@contextmanager
def _receiver() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


@reenact.tool(effect="read")
def look(number: int) -> int:
    """A tool that does nothing."""
    return number


def _work(call: Callable[[int], object], size: int) -> tuple[float, float]:
    """Microseconds of the thread's processor, and of the clock, a call."""
    thread, wall = time.thread_time_ns(), time.perf_counter_ns()
    for number in range(size):
        call(number)
    return (time.thread_time_ns() - thread) / size / 1e3, (time.perf_counter_ns() - wall) / size / 1e3


def spans(size: int) -> Mapping[str, float]:
    """Microseconds of a recorded call that is a span, over one that is none: of its thread, of the clock."""
    thread, wall = [], []
    with _receiver() as endpoint, tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            figures = []
            for policy in (Policy(), Policy(otel_endpoint=endpoint)):
                with reenact.record(store=folder, policy=policy):
                    look(0)
                    figures.append(_work(look, size))
            thread.append(figures[1][0] - figures[0][0])
            wall.append(figures[1][1] - figures[0][1])
        exporter_for(Policy(otel_endpoint=endpoint)).leave(5)
    return {"thread_us": median(thread), "wall_us": median(wall)}


def sdk_spans(size: int) -> Mapping[str, float]:
    """The same of a span that OpenTelemetry's SDK makes, with six attributes, for a batch that is thrown away."""
    try:
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
    except ImportError:
        raise Absent("opentelemetry-sdk is not installed") from None

    class Nowhere(SpanExporter):
        def export(self, spans: Any) -> Any:
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    tracer = provider.get_tracer("bench")
    said = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look", "code.line.number": 1}

    def call(number: int) -> None:
        with tracer.start_as_current_span("execute_tool look", attributes=said) as span:
            span.set_attribute("gen_ai.tool.call.arguments", "{}")
            span.set_attribute("gen_ai.tool.call.result", "1")
            span.set_attribute("reenact.event.seq", number)

    figures = [_work(call, size) for _ in range(ROUNDS)]
    provider.shutdown()
    return {"thread_us": median(each[0] for each in figures), "wall_us": median(each[1] for each in figures)}
