"""An agent whose runs are traces: tool calls, retries and errors at a receiver, and the way back to the run.

A receiver of OpenTelemetry's protocol runs here, as a collector would; the agent is recorded and its spans are sent
there as they happen. Then the failing span is looked at: it names its run and event, and that run is replayed.
"""

from __future__ import annotations

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import reenact
from reenact.facts.call import Failure


@reenact.tool(effect="read")
def find_order(number: str) -> dict[str, str]:
    """The state of an order."""
    return {"number": number, "state": "lost"}


BANK = iter([False, False, True])
"""Whether the bank answers, each time it is asked."""


@reenact.tool
def refund(number: str) -> str:
    """Pay an order back; the bank fails twice."""
    if not next(BANK):
        raise ConnectionError("the bank does not answer")
    return f"order {number} is paid back"


@reenact.step("settle")
def settle(number: str) -> str:
    """Pay back, with two retries."""
    while True:
        try:
            return refund(number)
        except ConnectionError:
            continue


def answer(number: str) -> str:
    """What the agent does."""
    if find_order(number)["state"] == "lost":
        return settle(number)
    return "it is on its way"


class Receiver(ThreadingHTTPServer):
    """A receiver of spans; ``whole`` is set when the span of a run has come, which is sent last."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.spans: list[Any] = []
        self.whole = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Taking(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        """One request of an exporter."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.server.spans += [span for scope in group.scope_spans for span in scope.spans]
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if any(not span.parent_span_id for span in self.server.spans):
            self.server.whole.set()

    def log_message(self, *args: Any) -> None:
        """Nothing is said of requests."""


def said(span: Any, name: str) -> Any:
    """An attribute of a span; None where it has none of that name."""
    found = next((each.value for each in span.attributes if each.key == name), None)
    return None if found is None else getattr(found, found.WhichOneof("value"))


def show(spans: list[Any], parent: bytes = b"", depth: int = 0) -> None:
    """Print the tree of spans, as a tool for traces shows it."""
    inside = [span for span in spans if span.parent_span_id == parent]
    for span in sorted(inside, key=lambda each: (each.start_time_unix_nano, said(each, "reenact.event.seq") or 0)):
        words = ["  " * depth + span.name]
        retry = said(span, "reenact.retry")
        words += [f"retry {retry}"] if retry else []
        words += [f"failed: {span.status.message}"] if span.status.code == span.status.STATUS_CODE_ERROR else []
        print("  ".join(words))
        show(spans, span.span_id, depth + 1)


def main() -> None:
    """Record, look at the spans, and go back."""
    receiver = Receiver()
    endpoint = f"http://127.0.0.1:{receiver.server_port}"
    recorded = reenact.record(answer, agent="refunds", policy=reenact.Policy(otel_endpoint=endpoint))
    print(recorded("7"))
    receiver.whole.wait(10)
    show(receiver.spans)
    failed = next(span for span in receiver.spans if span.status.code == span.status.STATUS_CODE_ERROR)
    run = said(failed, "reenact.run.id")
    print(f"the span of event {said(failed, 'reenact.event.seq')} names run {run}")
    with reenact.open_store() as store:
        event = store.event(f"{run}:{said(failed, 'reenact.event.seq')}")
        assert isinstance(event.outcome, Failure)
        print("in the store:", event.name, event.outcome.error.text)
    receiver.shutdown()


if __name__ == "__main__":
    main()
