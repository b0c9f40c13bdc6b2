"""Spans while a run is recorded: what arrives at a receiver, and what a receiver that is down or slow costs."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from reenact.interop.otlp.otlp_client import TIMEOUT_S, Unsent
from reenact.interop.otlp.outgoing_span import Batch, SentSpan, SpanKind
from reenact.interop.otlp.process_exporter import MOST, Exporter
from tests.http.server import Server
from tests.interop.conftest import Tried
from tests.interop.spans_out import AGENT, Receiver, said, serve, told
from tests.programs import read_program


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    if made.hold is not None:
        made.hold.set()
    made.server.close()


def settings(desk: Tried, endpoint: str, **more: str) -> None:
    lines = [f"{name} = {value!r}" for name, value in {"endpoint": endpoint, **more}.items()]
    desk.writes("reenact.toml", "\n".join(["[otel]", *lines, ""]))


def recorded(desk: Tried, server: Server) -> Any:
    desk.writes("agent.py", AGENT)
    return desk.reenact("record", "--agent", "desk@2", "--", "python", "agent.py", server.url)


def spans_of(desk: Tried, *words: str) -> dict[str, dict[str, Any]]:
    """The spans of the last run as they are exported from the store, by id."""
    done = desk.reenact("export", "otel", "@", "-o", "after.json", *words)
    assert done.code == 0, done.err.decode()
    return {each["spanId"]: each for each in told((desk.folder / "after.json").read_bytes())}


@pytest.mark.parametrize("content", ["reference", "inline"])
@pytest.mark.parametrize("dialect", ["otel", "openinference"])
def test_what_is_sent_as_it_happens_is_what_is_exported_later(
    desk: Tried, server: Server, receiver: Receiver, content: str, dialect: str
) -> None:
    serve(server)
    settings(desk, receiver.server.url, content=content, dialect=dialect)
    done = recorded(desk, server)
    assert (done.code, done.out) == (0, b"It is lost.\n200\n"), done.err.decode()
    after = spans_of(desk, "--content", content, "--dialect", dialect)
    assert len(receiver.spans) == len(after) == 10
    for span in receiver.spans:
        other = after[span.span_id.hex()]
        assert (span.name, span.kind, span.trace_id.hex()) == (other["name"], other["kind"], other["traceId"])
        assert span.parent_span_id.hex() == other.get("parentSpanId", "")
        assert span.status.message == other["status"].get("message", "")
        times = str(span.start_time_unix_nano), str(span.end_time_unix_nano)
        assert times == (other["startTimeUnixNano"], other["endTimeUnixNano"])
        other["said"].pop("reenact.suspicions", None)  # they are known when the run has ended
        assert said(span) == other["said"], span.name


def test_the_receiver_is_no_part_of_the_recording_and_of_no_replay(
    desk: Tried, server: Server, receiver: Receiver
) -> None:
    serve(server)
    settings(desk, receiver.server.url)
    assert recorded(desk, server).code == 0
    shown = desk.reenact("--json", "show", "@").out + desk.reenact("kit", "@").out
    assert str(receiver.server.port).encode() not in shown and b"v1/traces" not in shown
    server.close()
    count = len(receiver.server.requests)
    replayed = desk.reenact("replay", "@")
    assert replayed.code == 0 and b"same" in replayed.err, replayed.err.decode()
    assert len(receiver.server.requests) == count and b"spans" not in replayed.err


def test_a_receiver_that_is_down_costs_spans_and_no_event(desk: Tried, server: Server) -> None:
    serve(server)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        settings(desk, f"http://127.0.0.1:{taken.getsockname()[1]}")
        done = recorded(desk, server)
    assert (done.code, done.out) == (0, b"It is lost.\n200\n")
    assert b"10 spans were lost: 127.0.0.1:" in done.err and b"cannot be reached" in done.err
    assert len(spans_of(desk)) == 10


def test_a_receiver_that_never_answers_is_waited_for_for_a_second(
    desk: Tried, server: Server, receiver: Receiver
) -> None:
    serve(server)
    receiver.hold = threading.Event()
    settings(desk, receiver.server.url)
    began = time.monotonic()
    done = recorded(desk, server)
    assert (done.code, done.out) == (0, b"It is lost.\n200\n")
    assert b"10 spans were lost: they were not taken in time" in done.err
    assert time.monotonic() - began < TIMEOUT_S  # it would have been waited for so long at least


def span(number: int) -> SentSpan:
    return SentSpan("0" * 31 + "1", f"{number:016x}", "", "a span", SpanKind.INTERNAL, 0, 1, {})


def test_what_cannot_be_sent_is_bounded_and_costs_next_to_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    go, held = threading.Event(), threading.Event()

    def deliver(batches: Sequence[Batch]) -> None:
        held.set()
        go.wait(10)

    exporter = Exporter(deliver)
    exporter.offer({}, span(0))
    assert held.wait(10)
    began = time.perf_counter()
    for number in range(2 * MOST):
        exporter.offer({}, span(number))
    took = time.perf_counter() - began
    assert took / (2 * MOST) < 0.001
    assert exporter.lost == MOST
    began = time.perf_counter()
    exporter.leave(0.2)
    assert 0.1 < time.perf_counter() - began < 2
    assert capsys.readouterr().err == f"reenact: {2 * MOST + 1} spans were lost: more spans came than could be sent\n"
    exporter.leave(0.2)
    assert capsys.readouterr().err == ""  # it is said once
    go.set()


def test_spans_are_offered_again_to_a_receiver_that_is_busy() -> None:
    came: list[int] = []
    done = threading.Event()

    def deliver(batches: Sequence[Batch]) -> None:
        came.append(sum(len(batch.spans) for batch in batches))
        if len(came) == 1:
            raise Unsent("busy", again=True)
        done.set()

    exporter = Exporter(deliver)
    exporter.offer({}, span(1))
    assert done.wait(20)
    exporter.leave(5)
    assert came == [1, 1] and exporter.lost == 0


def test_a_forked_child_sends_its_own_spans(desk: Tried, receiver: Receiver) -> None:
    desk.writes(
        "forks.py",
        "import os, sys, reenact\n"
        "from reenact import Policy\n"
        "policy = Policy(otel_endpoint=sys.argv[1])\n"
        "with reenact.record(agent='parent', policy=policy):\n"
        "    pass\n"
        "child = os.fork()\n"
        "with reenact.record(agent='child' if child == 0 else 'again', policy=policy):\n"
        "    pass\n"
        "if child == 0:\n"
        "    sys.exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n",
    )
    done = desk.run("python", "forks.py", receiver.server.url)
    assert done.code == 0 and done.err == b"", done.err.decode()
    names = sorted(span.name for span in receiver.spans)
    assert names == ["invoke_agent again", "invoke_agent child", "invoke_agent parent"]


class Collector:
    """A receiver of OTLP over gRPC, on the official library."""

    def __init__(self) -> None:
        self.got: list[ExportTraceServiceRequest] = []
        self.told: list[dict[str, str]] = []
        self.pool = ThreadPoolExecutor(2)
        self.server = grpc.server(self.pool)
        method = grpc.unary_unary_rpc_method_handler(
            self._export, ExportTraceServiceRequest.FromString, ExportTraceServiceResponse.SerializeToString
        )
        service = "opentelemetry.proto.collector.trace.v1.TraceService"
        self.server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {"Export": method})])
        self.endpoint = f"grpc://127.0.0.1:{self.server.add_insecure_port('127.0.0.1:0')}"
        self.server.start()

    def _export(self, request: ExportTraceServiceRequest, context: Any) -> ExportTraceServiceResponse:
        self.got.append(request)
        self.told.append(dict(context.invocation_metadata()))
        return ExportTraceServiceResponse()


def test_spans_go_over_grpc_and_leave_no_trace_in_the_recording(desk: Tried, server: Server) -> None:
    serve(server)
    collector = Collector()
    settings(desk, collector.endpoint)
    desk.environment["OTEL_EXPORTER_OTLP_HEADERS"] = "Api-Key=k"
    done = recorded(desk, server)
    assert (done.code, done.out) == (0, b"It is lost.\n200\n"), done.err.decode()
    spans = [each for got in collector.got for each in got.resource_spans[0].scope_spans[0].spans]
    assert {span.span_id.hex() for span in spans} == set(spans_of(desk))
    assert collector.told[0]["api-key"] == "k"
    port = collector.endpoint.rpartition(":")[2].encode()
    assert port not in desk.reenact("--json", "show", "@").out + desk.reenact("kit", "@").out
    server.close()
    count = len(collector.got)
    replayed = desk.reenact("replay", "@")
    assert replayed.code == 0 and b"same" in replayed.err, replayed.err.decode()
    assert len(collector.got) == count
    collector.server.stop(0).wait()
    collector.pool.shutdown()
    gone = desk.reenact("export", "otel", "@")
    assert gone.code != 0 and b"answered UNAVAILABLE" in gone.err, gone.err.decode()


LONG = """
import reenact

@reenact.tool(effect="read")
def page(number):
    return f"{number} " + "as it is told " * 60_000

@reenact.record(agent="reader")
def answer():
    for number in range(7):
        page(number)

answer()
"""


def test_more_than_a_receiver_takes_at_once_goes_in_several_requests(desk: Tried) -> None:
    collector = Collector()  # it takes 4 MiB at a time, as OpenTelemetry's does
    settings(desk, collector.endpoint, content="inline")
    desk.writes("agent.py", LONG)
    done = desk.run("python", "agent.py")
    assert (done.code, done.err) == (0, b""), done.err.decode()
    sent = desk.reenact("export", "otel", "@")
    assert sent.code == 0 and b"8 spans sent to" in sent.err, sent.err.decode()
    collector.server.stop(0).wait()
    collector.pool.shutdown()
    spans = [span.name for got in collector.got for span in got.resource_spans[0].scope_spans[0].spans]
    assert spans == 2 * [*7 * ["execute_tool page"], "invoke_agent reader"]
    written = desk.reenact("export", "otel", "@", "-o", "long.json", "--content", "inline")
    assert written.code == 0 and (desk.folder / "long.json").read_bytes().count(b"\n") == 3
    desk.environment["REENACT_STORE"] = "elsewhere"
    back = desk.reenact("import", "otlp", "long.json")
    assert b"8 spans, 0 model calls, 7 tool calls" in back.out, back


def test_what_the_gate_removes_is_in_no_span(desk: Tried, server: Server, receiver: Receiver) -> None:
    settings(desk, receiver.server.url, content="inline")
    key = "sk-proj-" + "a1B2" * 12
    desk.writes(
        "leaks.py",
        "import reenact, sys\n"
        "@reenact.tool\n"
        "def use(key):\n"
        "    return {'authorization': 'Bearer ' + key}\n"
        "use(sys.stdin.read())\n",
    )
    done = desk.run("reenact", "record", "--", "python", "leaks.py", stdin=key.encode())
    assert done.code == 0, done.err.decode()
    assert len(receiver.spans) == 2
    assert key.encode() not in b"".join(each.SerializeToString() for each in receiver.got)


PROVIDER = read_program("interop/own_trace_provider.py")


def test_spans_nest_in_the_callers_trace_through_its_own_provider(desk: Tried) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="the SDK of OpenTelemetry is not installed")
    desk.writes("shop.py", PROVIDER)
    done = desk.run("python", "shop.py")
    assert done.code == 0, done.err.decode()
    lines = {" ".join(line.split()[:-5]): line.split()[-5:] for line in done.err.decode().splitlines()}
    request, run, tool = lines["request"], lines["invoke_agent desk"], lines["execute_tool refund"]
    assert request[0] == run[0] == tool[0]
    assert (run[2], tool[2]) == (request[1], run[1])
    assert (tool[3], tool[4], run[4]) == ("shop", "ERROR", "UNSET")


def test_a_value_that_is_written_in_pieces_is_a_span_like_any_other(desk: Tried, receiver: Receiver) -> None:
    settings(desk, receiver.server.url, content="inline")
    desk.writes(
        "long.py",
        "import reenact\n"
        "@reenact.tool\n"
        "def fetch(kind):\n"
        "    return b'x' * (9 << 20) if kind == 'bytes' else 'y' * (9 << 20)\n"
        "print(len(fetch('bytes')), len(fetch('text')))\n",
    )
    done = desk.reenact("record", "--", "python", "long.py")
    assert done.code == 0 and b"no more spans" not in done.err, done.err.decode()
    assert sorted(span.name for span in receiver.spans)[:2] == ["execute_tool fetch", "execute_tool fetch"]
    assert len(receiver.spans) == 3
