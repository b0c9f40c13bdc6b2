"""An agent with everything that becomes a span, the server that it asks, and a receiver that decodes what arrives."""

from __future__ import annotations

import gzip
import json
import threading
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.http.server import HANG_UP, Request, Server, Wait, answer, as_json
from tests.programs import read_program

AGENT = read_program("interop/calls_of_every_kind.py")


def serve(server: Server) -> None:
    """The model: refuses once, wants a tool, answers."""
    asked = []

    def chat(request: Request) -> Any:
        asked.append(request)
        if len(asked) == 1:
            return as_json({"error": {"message": "too busy", "type": "overloaded"}}, "503 Busy")
        usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
        call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"order":"7","n":2}'}}
        message: dict[str, Any] = {"role": "assistant", "content": "It is lost."}
        if len(asked) == 2:
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        finish = "tool_calls" if len(asked) == 2 else "stop"
        choices = [{"index": 0, "message": message, "finish_reason": finish}]
        return as_json(
            {
                "id": f"r{len(asked)}",
                "object": "chat.completion",
                "model": "gpt-test-1",
                "choices": choices,
                "usage": usage,
            }
        )

    server.routes |= {"/v1/chat/completions": chat, "/plain": lambda request: answer(b"fine")}


class Receiver:
    """A receiver of OTLP over HTTP that decodes with the official protobuf. ``hold`` makes it wait until it is set."""

    def __init__(self) -> None:
        self.server = Server()
        self.hold: threading.Event | None = None
        self.status = "200 OK"
        self.got: list[ExportTraceServiceRequest] = []
        self.arrived = threading.Event()
        self.server.routes["/v1/traces"] = self._take
        self.measured: list[ExportMetricsServiceRequest] = []
        self.metrics_status = "200 OK"
        self.server.routes["/v1/metrics"] = self._measure
        self.logged: list[ExportLogsServiceRequest] = []
        self.logs_status = "200 OK"
        self.server.routes["/v1/logs"] = self._log

    def _take(self, request: Request) -> Any:
        if self.hold is not None:
            return [Wait(self.hold), HANG_UP]
        body = gzip.decompress(request.body) if request.header("content-encoding") == "gzip" else request.body
        self.got.append(ExportTraceServiceRequest.FromString(body))
        self.arrived.set()
        return answer(b"", self.status, [("Content-Type", "application/x-protobuf")])

    def _measure(self, request: Request) -> Any:
        if self.hold is not None:
            return [Wait(self.hold), HANG_UP]
        body = gzip.decompress(request.body) if request.header("content-encoding") == "gzip" else request.body
        self.measured.append(ExportMetricsServiceRequest.FromString(body))
        return answer(b"", self.metrics_status, [("Content-Type", "application/x-protobuf")])

    def _log(self, request: Request) -> Any:
        body = gzip.decompress(request.body) if request.header("content-encoding") == "gzip" else request.body
        self.logged.append(ExportLogsServiceRequest.FromString(body))
        return answer(b"", self.logs_status, [("Content-Type", "application/x-protobuf")])

    @property
    def records(self) -> list[Any]:
        """Every record of a log that has arrived."""
        return [
            record
            for request in self.logged
            for group in request.resource_logs
            for scope in group.scope_logs
            for record in scope.log_records
        ]

    @property
    def spans(self) -> list[Any]:
        """Every span that has arrived."""
        return [
            span
            for request in self.got
            for group in request.resource_spans
            for scope in group.scope_spans
            for span in scope.spans
        ]

    def named(self) -> dict[str, Any]:
        """The spans by name; of one name the last."""
        return {span.name: span for span in self.spans}


def said(span: Any) -> dict[str, Any]:
    """The attributes of a decoded span."""
    return {each.key: _plain(each.value) for each in span.attributes}


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_plain(each) for each in value.array_value.values]
    return getattr(value, kind)


def told(document: bytes) -> list[dict[str, Any]]:
    """The spans of a file of JSON, their attributes as a mapping under ``said``."""
    spans = json.loads(document)["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return [{**span, "said": {each["key"]: _of(each["value"]) for each in span["attributes"]}} for span in spans]


def _of(value: dict[str, Any]) -> Any:
    ((kind, held),) = value.items()
    if kind == "arrayValue":
        return [_of(each) for each in held["values"]]
    return int(held) if kind == "intValue" else held
