"""``reenact serve``: what OpenTelemetry's own exporters send is a run when they hear the answer, and hostile requests
cost nothing."""

from __future__ import annotations

import gzip
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from reenact.abc.sources import ENTROPY
from reenact.abc.store import Store
from reenact.errors import StoreError
from reenact.facts.policy import Policy
from reenact.facts.trace_runs import trace_of
from reenact.interop.otlp import span_listener, span_receiver
from reenact.interop.otlp.intake import LARGEST
from reenact.interop.otlp.span_receiver import Receiver
from tests.programs import read_program

from .conftest import Tried

SPANS = read_program("interop/spans_in_pieces.py")
INSTRUMENTED = """
    import sys
    import openai
    from openinference.instrumentation.openai import OpenAIInstrumentor
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    world, endpoint = sys.argv[1:]
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint + "/v1/traces")))
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    client = openai.OpenAI(base_url=world, api_key="none")
    asked = [{"role": "user", "content": "Where is order 7?"}]
    print(client.chat.completions.create(model="gpt-5", messages=asked).choices[0].message.content)
    provider.shutdown()
"""


class Model(BaseHTTPRequestHandler):
    """A model that says one thing."""

    def do_POST(self) -> None:
        """The one answer."""
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": "On its way."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
        said = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-5", "choices": [choice]}
        body = json.dumps({**said, "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


SLOW = """
import sys, time
from reenact.interop.otlp.span_receiver import Receiver
joined = Receiver._joined
def slowly(*given):
    print("it joins", file=sys.stderr, flush=True)
    time.sleep(600)
    return joined(*given)
Receiver._joined = slowly
"""
"""Has a receiver join parts for so long that it is stopped meanwhile."""


class Served:
    """A receiver of the desk's store."""

    def __init__(self, desk: Tried, *words: str, **variables: str) -> None:
        command = ["reenact", "serve", "--bind", "127.0.0.1:0", "--grpc", "127.0.0.1:0", *words]
        env = {**desk.environment, **variables}
        self.process = subprocess.Popen(command, cwd=desk.folder, env=env, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        said = self.process.stderr.readline()
        found = re.search(r"(http://127\.0\.0\.1:(\d+)) and grpc://(127\.0\.0\.1:\d+);", said)
        assert found, said + self.process.stderr.read()
        self.url, self.port, self.rpc = found[1], int(found[2]), found[3]

    def post(
        self, body: bytes | str, path: str = "/v1/traces", headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """One request; its status, and its answer as data."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", path, body, {"content-type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def end(self, number: int = signal.SIGTERM) -> str:
        """End it; what it has said."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=60)[1]


@pytest.fixture
def served(desk: Tried) -> Iterator[Served]:
    """A receiver; it must end well."""
    made = Served(desk)
    yield made
    if made.process.returncode is None:
        made.end()
        assert made.process.returncode == 0


@contextmanager
def model() -> Iterator[str]:
    """Where a model answers."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def span(number: int, trace: int = 1, parent: int = 0, **attributes: Any) -> dict[str, Any]:
    """A span as OTLP's JSON has it."""
    listed = [{"key": name, "value": {"stringValue": value}} for name, value in attributes.items()]
    times = {"startTimeUnixNano": str(10**18 + number), "endTimeUnixNano": str(10**18 + number + 5)}
    ids = {"traceId": f"{trace:032x}", "spanId": f"{number:016x}", "name": f"step {number}", "attributes": listed}
    return {**ids, **times, **({"parentSpanId": f"{parent:016x}"} if parent else {})}


def request(*spans: Any) -> str:
    """A request of some spans."""
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]})


def runs(desk: Tried) -> list[dict[str, Any]]:
    """The runs of the store."""
    return [json.loads(line) for line in desk.reenact("--json", "ls").out.splitlines()]


def steps(desk: Tried) -> list[str]:
    """The names of the steps of the only run."""
    lines = desk.reenact("--json", "show", "@").out.splitlines()
    return [each["name"] for each in map(json.loads, lines) if each.get("kind") == "step"]


@pytest.mark.parametrize("kind", ["http", "grpc"])
def test_what_an_exporter_sends_in_pieces_is_one_run(desk: Tried, served: Served, kind: str) -> None:
    desk.writes("agent.py", textwrap.dedent(SPANS))
    sent = desk.run(sys.executable, "agent.py", kind, served.rpc if kind == "grpc" else served.url)
    assert (sent.code, sent.err) == (0, b"")
    (run,) = runs(desk)
    assert (run["agent"], run["totals"]["tools"]) == ("shop", 3)
    shown = desk.reenact("show", "@").out.decode()
    assert [f"look({n})" in shown for n in range(3)] == [True] * 3, shown
    assert b"absent" in desk.reenact("kit", "@").out, "a result that no span has"
    assert "4 spans of 1 trace received" in served.end()


def test_an_instrumented_client_of_another_project(desk: Tried, served: Served) -> None:
    desk.writes("agent.py", textwrap.dedent(INSTRUMENTED))
    with model() as world:
        sent = desk.run(sys.executable, "agent.py", world, served.url)
    assert (sent.code, sent.out) == (0, b"On its way.\n"), sent.err
    (run,) = runs(desk)
    assert run["totals"]["models"] == 1
    shown = desk.reenact("show", "@").out
    assert b"Where is order 7?" in shown and b"On its way." in shown


def test_what_was_acknowledged_is_there_after_a_kill(desk: Tried) -> None:
    served = Served(desk)
    for number in range(1, 6):
        assert served.post(request(span(number)))[0] == 200
    served.end(signal.SIGKILL)
    assert sorted(steps(desk)) == [f"step {n}" for n in range(1, 6)]
    assert desk.reenact("fsck").code == 0
    again = Served(desk)
    assert again.post(request(span(6)))[0] == 200
    again.end()
    assert len(runs(desk)) == 1 and len(steps(desk)) == 6, "a receiver that was begun anew goes on with the trace"


def test_a_late_a_repeated_and_an_orphaned_span(desk: Tried, served: Served) -> None:
    first = request(span(2, parent=1), span(9, parent=8))
    assert served.post(first) == (200, {}) and served.post(first) == (200, {})
    (before,) = runs(desk)
    assert served.post(request(span(1), span(2, parent=1))) == (200, {})
    (after,) = runs(desk)
    assert before["run"] == after["run"], "a link to the run stays good"
    assert sorted(steps(desk)) == ["step 1", "step 2", "step 9"]


def test_what_people_set_on_a_run_stays(desk: Tried, served: Served) -> None:
    served.post(request(span(1)))
    assert desk.reenact("tag", "@", "case=7").code == 0 and desk.reenact("flag", "@", "odd").code == 0
    served.post(request(span(2)))
    (run,) = runs(desk)
    assert (run["tags"]["case"], run["flag"], len(steps(desk))) == ("7", "odd", 2)


def test_twenty_at_once_keep_their_traces_apart(desk: Tried, served: Served) -> None:
    with ThreadPoolExecutor(20) as pool:
        said = list(pool.map(lambda n: served.post(request(span(1, n), span(2, n, 1))), range(1, 21)))
    assert said == [(200, {})] * 20
    assert {run["totals"]["events"] for run in runs(desk)} == {3} and len(runs(desk)) == 20


def test_records_of_logs_go_to_their_spans(desk: Tried, served: Served) -> None:
    served.post(request(span(1)))
    record = {"traceId": f"{1:032x}", "spanId": f"{1:016x}", "body": {"stringValue": "the log says this"}}
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{**record, "timeUnixNano": str(10**18)}]}]}]}
    assert served.post(json.dumps(logs), "/v1/logs") == (200, {})
    assert len(runs(desk)) == 1 and b"the log says this" in desk.reenact("cat", "@:1.response.body").out
    assert b"not in the file" not in desk.reenact("kit", "@").out


def test_what_cannot_be_read_is_counted_and_the_rest_is_kept(desk: Tried, served: Served) -> None:
    status, said = served.post(request(span(1), {"traceId": "no", "name": 7}, span(2)))
    assert (status, said["partialSuccess"]["rejectedSpans"]) == (200, "1"), said
    assert sorted(steps(desk)) == ["step 1", "step 2"]


def _bomb() -> bytes:
    return gzip.compress(b"0" * (LARGEST + 1))


DEEP = '{"resourceSpans":' + "[" * 100_000 + "]" * 100_000 + "}"


@pytest.mark.parametrize(
    ("body", "headers", "path", "status"),
    [
        (b'{"resourceSpans": [', {}, "/v1/traces", 400),
        (b"[]", {}, "/v1/traces", 400),
        (DEEP.encode(), {}, "/v1/traces", 400),
        (b"\x0a\xff\xff\xff", {"content-type": "application/x-protobuf"}, "/v1/traces", 400),
        (b"no gzip", {"content-encoding": "gzip"}, "/v1/traces", 400),
        (b"{}", {"content-encoding": "br"}, "/v1/traces", 415),
        (b"{}", {"content-type": "text/xml"}, "/v1/traces", 415),
        (b"{}", {}, "/v1/metrics", 404),
        (b"", {"content-length": str(LARGEST + 1)}, "/v1/traces", 413),
        (b"", {"transfer-encoding": "gzip"}, "/v1/traces", 411),
        (b"seven\r\n", {"transfer-encoding": "chunked"}, "/v1/traces", 400),
    ],
)
def test_what_is_no_request_is_refused_by_the_protocols_codes(
    served: Served, desk: Tried, body: bytes, headers: dict[str, str], path: str, status: int
) -> None:
    found, said = (
        served.post(body, path, headers) if headers.get("content-type", "json").endswith("json") else (None, None)
    )
    if found is None:
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
        connection.request("POST", path, body, headers)
        found = connection.getresponse().status
        connection.close()
    assert found == status, said
    assert served.post(request(span(1))) == (200, {}), "the next one is served"
    assert len(runs(desk)) == 1


def test_a_body_in_pieces_is_taken_and_bounded(served: Served, desk: Tried) -> None:
    packed = gzip.compress(request(span(1), span(2, parent=1)).encode())
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    for _ in range(2):  # the connection stays, so the body was read to its end
        pieces = [packed[:7], packed[7:9], packed[9:]]
        connection.request("POST", "/v1/traces", iter(pieces), headers, encode_chunked=True)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"{}")
    connection.request("POST", "/v1/traces", (b" " * (1 << 20) for _ in range(66)), headers, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as cut:
        cut.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}")
        cut.shutdown(socket.SHUT_WR)
        assert cut.makefile("rb").readline().split()[1] == b"400"
    assert sorted(steps(desk)) == ["step 1", "step 2"]


def test_a_connection_that_waits_does_not_hold_the_end_and_a_request_under_way_is_answered(
    desk: Tried, served: Served
) -> None:
    waits = http.client.HTTPConnection("127.0.0.1", served.port)
    waits.request("POST", "/v1/traces", request(span(1)), {"content-type": "application/json"})
    assert waits.getresponse().read() == b"{}"  # it stays open, as a Collector's does
    body = request(span(2)).encode()
    fields = (
        "Host: x",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Expect: 100-continue",
        "",
        "",
    )
    with socket.create_connection(("127.0.0.1", served.port)) as slow, slow.makefile("rb") as answers:
        slow.sendall("\r\n".join(("POST /v1/traces HTTP/1.1", *fields)).encode())
        assert answers.readline().split()[1] == b"100" and answers.readline() == b"\r\n"
        served.process.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionRefusedError):
            while served.process.poll() is None:
                socket.create_connection(("127.0.0.1", served.port)).close()
        slow.sendall(body)
        assert answers.readline().split()[1] == b"200"
    assert served.process.wait(span_listener._PATIENCE_S - 5) == 0
    waits.close()
    assert sorted(steps(desk)) == ["step 1", "step 2"]


def test_a_bomb_is_refused_before_it_is_unpacked(served: Served) -> None:
    status, said = served.post(_bomb(), headers={"content-encoding": "gzip"})
    assert (status, "64 MiB" in said["message"]) == (413, True)
    if sys.platform == "linux":
        status_of = Path(f"/proc/{served.process.pid}/status").read_text()
        peak = next(int(line.split()[1]) for line in status_of.splitlines() if line.startswith("VmHWM"))
        assert peak < 256 << 10


def test_a_sender_of_too_much_hears_so(served: Served) -> None:
    status, said = served.post(b" " * (LARGEST + (1 << 20)))
    assert (status, "64 MiB" in said["message"]) == (413, True)


def test_a_hostile_key_is_a_key(desk: Tried, served: Served) -> None:
    attributes: dict[str, Any] = {"__proto__": "a", "constructor": "b", "__class__": "c"}
    assert served.post(request(span(1, **attributes))) == (200, {})
    assert steps(desk) == ["step 1"]


def test_a_secret_is_cleaned_before_it_is_on_disk(desk: Tried, served: Served) -> None:
    secret = "sk-ant-" + "api03-" + "A1b2C3d4" * 6
    served.post(request(span(1, 1, 0, **{"input.value": f"my key is {secret}"})))
    served.post(request(span(2)))
    for file in (desk.folder / ".reenact").glob("store.*"):
        assert secret.encode() not in file.read_bytes(), file.name
    assert b"my key is" in desk.reenact("show", "@:0").out


def test_without_the_token_nothing_is_taken(desk: Tried) -> None:
    served = Served(desk, "--token-env", "TOKEN", TOKEN="let-me-in")
    assert served.post(request(span(1)))[0] == 401
    assert served.post(request(span(1)), headers={"authorization": "Bearer let-me-out"})[0] == 401
    assert served.post(request(span(1)), headers={"authorization": "Bearer let-me-in"}) == (200, {})
    served.end()
    assert len(runs(desk)) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--bind", "0.0.0.0:0"), "there is no token"),
        (("--bind", "nowhere"), "it is HOST:PORT"),
        (("--token-env", "NOT_SET_HERE"), "NOT_SET_HERE is not set"),
    ],
)
def test_what_it_cannot_do_is_a_usage_error(desk: Tried, words: tuple[str, ...], said: str) -> None:
    refused = desk.reenact("serve", *words)
    assert refused.code == 2 and said in refused.err.decode() and b"next: " in refused.err


def test_without_the_package_of_grpc_it_takes_http_and_says_so(desk: Tried) -> None:
    (desk.folder / "without").mkdir()
    desk.writes("without/grpc.py", "raise ImportError('no grpc here')\n")
    env = {**desk.environment, "PYTHONPATH": str(desk.folder / "without")}
    command = ["reenact", "serve", "--bind", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=desk.folder, env=env, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline() + process.stderr.readline()
        process.send_signal(signal.SIGTERM)
    assert re.search(r"listening on http://127\.0\.0\.1:\d+; Ctrl-C", said), said
    assert "reenact: no gRPC: grpcio is not installed: pip install 'reenact[otel]'" in said
    named = subprocess.run(
        [*command, "--grpc", "127.0.0.1:0"], cwd=desk.folder, env=env, capture_output=True, text=True
    )
    assert named.returncode == 2 and "next: pip install 'reenact[otel]'" in named.stderr


def test_a_port_that_is_taken_is_said(desk: Tried, served: Served) -> None:
    refused = desk.reenact("serve", "--bind", f"127.0.0.1:{served.port}")
    assert refused.code == 2 and b"nothing can listen on" in refused.err


# --- long traces ---------------------------------------------------------------------------------------------------


class Watch:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.us = 10**15

    def wall_us(self) -> int:
        """Microseconds since the epoch."""
        return self.us

    mono_us = wall_us


@pytest.fixture
def watch() -> Watch:
    """A clock."""
    return Watch()


@pytest.fixture
def receiver(store: Store, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> Receiver:
    """A receiver for which ten spans are many."""
    monkeypatch.setattr(span_receiver, "MOST", 10)
    return Receiver(store, Policy(), watch, ENTROPY)


def piece(first: int, last: int, **attributes: Any) -> bytes:
    """A request with some steps of one trace below its first one."""
    spans = (span(number, parent=int(number > 1), **attributes) for number in range(first, last))
    return request(*spans).encode()


def sizes(store: Store) -> list[int]:
    """How many spans each run has, the first run first."""
    return [trace_of(run)["spans"] for run in sorted(store.runs(), key=lambda run: run.id)]


def test_a_long_trace_in_pieces_is_one_run_when_it_is_quiet(store: Store, watch: Watch, receiver: Receiver) -> None:
    (first, _), *_ = receiver.take(piece(1, 13)).runs
    store.amend(first, tags={**first.tags, "keep": "always"})
    watch.us += 1000
    receiver.take(piece(13, 17))
    receiver.take(piece(17, 21))
    assert sizes(store) == [12, 8] and receiver.join_due() == 0
    watch.us += 5_000_000
    assert receiver.join_due() == 20 and receiver.join_due() == 0
    (run,) = store.runs()
    assert (run.id, run.tags["keep"], sizes(store)) == (first.id, "always", [20])
    events = [event for event in store.open(run).events() if event.kind == "step"]
    assert [event.name for event in events] == [f"step {number}" for number in range(1, 21)]
    assert {event.parent for event in events[1:]} == {0}
    receiver.take(piece(21, 22))  # a late one
    receiver.take(piece(3, 5, late="1"))
    assert sizes(store) == [20, 3]
    watch.us += 5_000_000
    assert receiver.join_due() == 23 and sizes(store) == [23]
    receiver.take(piece(21, 22, again="no") + b"\n")
    assert receiver.join_due(every=True) == 24


def test_parts_are_joined_when_they_are_as_many_as_the_first(store: Store, watch: Watch, receiver: Receiver) -> None:
    receiver.take(piece(1, 13))
    for first in range(13, 100):
        watch.us += 1000
        receiver.take(piece(first, first + 1))
        while receiver.join_due():
            pass
        assert len(sizes(store)) <= 6 and sum(sizes(store)) == first
    receiver.join_due(every=True)
    assert sizes(store) == [99]


def test_spans_that_come_while_parts_are_joined_are_kept(
    store: Store, watch: Watch, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.take(piece(1, 13))
    watch.us += 1000
    receiver.take(piece(13, 15))
    joined = receiver._joined

    def meanwhile(*words: Any) -> Any:
        watch.us += 1000
        receiver.take(piece(15, 17))
        return joined(*words)

    monkeypatch.setattr(receiver, "_joined", meanwhile)
    assert receiver.join_due(every=True) == 14 and sizes(store) == [14, 2]
    monkeypatch.undo()
    monkeypatch.setattr(span_receiver, "MOST", 10)
    assert receiver.join_due(every=True) == 16 and sizes(store) == [16]


def test_a_part_that_cannot_be_joined_stays(
    store: Store, watch: Watch, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver.take(piece(1, 13))
    watch.us += 1000
    receiver.take(piece(13, 15))

    def broken(*words: Any) -> Any:
        raise StoreError("the disk is full", cause="", next_command="reenact stats")

    monkeypatch.setattr(receiver, "_joined", broken)
    with pytest.raises(StoreError):
        receiver.join_due(every=True)
    assert sizes(store) == [12, 2]
    monkeypatch.undo()
    again = Receiver(store, Policy(), watch, ENTROPY)  # one that is started later
    monkeypatch.setattr(span_receiver, "MOST", 10)
    again.take(piece(15, 16))
    assert again.join_due(every=True) == 15 and sizes(store) == [15]


def test_a_receiver_that_ends_joins_what_it_has(desk: Tried, served: Served) -> None:
    assert served.post(request(*(span(number, parent=int(number > 1)) for number in range(1, 2101))))[0] == 200
    for number in range(2101, 2104):
        assert served.post(request(span(number, parent=1)))[0] == 200
    said = served.end()
    assert "joining the parts of 1 trace; Ctrl-C again leaves them apart" in said and "2103 spans of 1 trace" in said
    listed = desk.reenact("--json", "ls").out.splitlines()
    assert len(listed) == 1, listed
    assert json.loads(listed[0])["capture"]["import"]["trace"]["spans"] == 2103


def test_a_second_signal_leaves_the_parts_as_they_are(desk: Tried) -> None:
    (desk.folder / "slow").mkdir()
    desk.writes("slow/sitecustomize.py", SLOW)
    served = Served(desk, PYTHONPATH=str(desk.folder / "slow"))
    assert served.post(request(*(span(number, parent=int(number > 1)) for number in range(1, 2101))))[0] == 200
    assert served.post(request(span(2101, parent=1)))[0] == 200
    assert served.process.stderr is not None
    for awaited in ("it joins", "joining the parts", "it joins"):  # while it is up, at its end, and that again
        while awaited not in (line := served.process.stderr.readline()):
            assert line, f"it has ended without saying: {awaited}"
        if awaited == "it joins":
            served.process.send_signal(signal.SIGTERM)
    said = served.process.communicate(timeout=60)[1]
    assert served.process.returncode == 0 and "they stay apart" in said, said
    sizes = [
        json.loads(line)["capture"]["import"]["trace"]["spans"]
        for line in desk.reenact("--json", "ls").out.splitlines()
    ]
    assert sorted(sizes) == [1, 2100]
