"""Spans of a run while it is recorded: what they cost the agent, and what a span costs there by OpenTelemetry's SDK
alone, by MLflow's tracing and by Langfuse's client."""

from __future__ import annotations

import importlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median
from typing import Any

import reenact
from bench.absent import Absent
from reenact import Policy
from reenact.interop.otlp.process_exporter import exporter_for

ROUNDS = 9


class _Receiver(BaseHTTPRequestHandler):
    """Takes what is sent to it."""

    bodies = 0
    """How many with spans it has taken."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        _Receiver.bodies += self.path.endswith("/v1/traces")
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Nothing is said."""


@contextmanager
def _receiver() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


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
    """Microseconds of a recorded call that is a span, over one that is none: of its thread, of the clock; and of the
    thread for such a call as a whole, its recording and its span."""
    thread, wall, whole = [], [], []
    with _receiver() as endpoint, tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            figures = []
            for policy in (Policy(), Policy(otel_endpoint=endpoint)):
                with reenact.record(store=folder, policy=policy):
                    look(0)
                    figures.append(_work(look, size))
            thread.append(figures[1][0] - figures[0][0])
            wall.append(figures[1][1] - figures[0][1])
            whole.append(figures[1][0])
        exporter_for(Policy(otel_endpoint=endpoint)).leave(5)
    if not _Receiver.bodies:
        raise Absent("its spans have not come to the receiver")
    return {"thread_us": median(thread), "wall_us": median(wall), "whole_us": median(whole)}


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
    said: dict[str, str | int] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "look",
        "code.line.number": 1,
    }

    def call(number: int) -> None:
        with tracer.start_as_current_span("execute_tool look", attributes=said) as span:
            span.set_attribute("gen_ai.tool.call.arguments", "{}")
            span.set_attribute("gen_ai.tool.call.result", "1")
            span.set_attribute("reenact.event.seq", number)

    figures = [_work(call, size) for _ in range(ROUNDS)]
    provider.shutdown()
    return {"thread_us": median(each[0] for each in figures), "wall_us": median(each[1] for each in figures)}


def mlflow_spans(size: int) -> Mapping[str, float]:
    """The same of a span that MLflow's tracing makes, with six attributes, for a receiver of OTLP on this machine."""
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    mlflow = _neighbour("mlflow", "mlflow-tracing")
    with _receiver() as endpoint:
        os.environ.update(
            MLFLOW_TRACKING_URI=endpoint,
            OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{endpoint}/v1/traces",
            OTEL_EXPORTER_OTLP_TRACES_PROTOCOL="http/protobuf",
        )
        said: dict[str, str | int] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "look",
            "code.line.number": 1,
        }

        def call(number: int) -> None:
            with mlflow.start_span("execute_tool look", span_type="TOOL", attributes=said) as span:
                span.set_inputs({})
                span.set_outputs(1)
                span.set_attribute("reenact.event.seq", number)

        provider = importlib.import_module("mlflow.tracing.provider").provider
        return _below(lambda: mlflow.start_span("agent"), call, lambda: provider.get().force_flush(), size)


def langfuse_spans(size: int) -> Mapping[str, float]:
    """The same of an observation that Langfuse's client makes, for a receiver of OTLP on this machine."""
    langfuse = _neighbour("langfuse", "langfuse")
    with _receiver() as endpoint:
        made = langfuse.Langfuse(public_key="public", secret_key="none", base_url=endpoint)
        said = {"operation": "execute_tool", "line": 1}

        def call(number: int) -> None:
            named = made.start_as_current_observation(name="execute_tool look", as_type="tool", input={}, metadata=said)
            with named as span:
                span.update(output=1, version=str(number))

        return _below(lambda: made.start_as_current_observation(name="agent"), call, made.flush, size)


def _neighbour(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise Absent(f"{package} is not installed") from None


def _below(
    root: Callable[[], AbstractContextManager[Any]],
    call: Callable[[int], object],
    flush: Callable[[], object],
    size: int,
) -> Mapping[str, float]:
    """Microseconds a call below a root span, in rounds; between them all is sent, so that no queue is full."""
    figures = []
    for _ in range(ROUNDS):
        with root():
            call(0)
            figures.append(_work(call, size))
        flush()
    if not _Receiver.bodies:
        raise Absent("its spans have not come to the receiver")
    return {"thread_us": median(each[0] for each in figures), "wall_us": median(each[1] for each in figures)}
