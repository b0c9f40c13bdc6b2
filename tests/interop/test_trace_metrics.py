"""Metrics of a run beside its spans: names, sums and buckets at a receiver, and what one costs that takes none."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)

from reenact.facts.features import OTHER, Case, Features, fingerprint
from reenact.facts.frequent_names import FingerprintTally, Key
from reenact.facts.run import Run, Status
from reenact.interop.otlp.measures import Instrument, Measurement, cold_case, of_run
from reenact.interop.otlp.metric_sums import MOST, SenderSums, as_protobuf
from tests.http.server import Server
from tests.interop.conftest import Tried
from tests.interop.spans_out import AGENT, Receiver, said, serve
from tests.programs import read_program


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    if made.hold is not None:
        made.hold.set()
    made.server.close()


def recorded(desk: Tried, server: Server, endpoint: str, **more: str) -> Any:
    lines = [f"{name} = {value!r}" for name, value in {"endpoint": endpoint, **more}.items()]
    desk.writes("reenact.toml", "\n".join(["[otel]", *lines, ""]))
    desk.writes("agent.py", AGENT)
    serve(server)
    return desk.reenact("record", "--agent", "desk@2", "--", "python", "agent.py", server.url)


def metrics(request: ExportMetricsServiceRequest) -> dict[str, Any]:
    """The metrics of the last request by name."""
    (group,) = request.resource_metrics
    return {each.name: each for scope in group.scope_metrics for each in scope.metrics}


def points(metric: Any, *names: str) -> dict[tuple[Any, ...], Any]:
    """The points of a metric by some of their attributes."""
    held = getattr(metric, metric.WhichOneof("data"))
    assert held.aggregation_temporality == 2
    return {tuple(said(each).get(name) for name in names): each for each in held.data_points}


def test_a_run_is_measured_by_the_conventions(desk: Tried, server: Server, receiver: Receiver) -> None:
    done = recorded(desk, server, receiver.server.url)
    assert (done.code, done.out) == (0, b"It is lost.\n200\n"), done.err.decode()
    assert b"lost" not in done.err
    found = metrics(receiver.measured[-1])
    (group,) = receiver.measured[-1].resource_metrics
    sender = said(group.resource)
    assert (sender["service.name"], sender["service.version"], len(sender["service.instance.id"])) == ("desk", "2", 32)
    spans = {said(span)["reenact.event.seq"]: span for span in receiver.spans if "reenact.event.seq" in said(span)}
    took: dict[str, float] = {}
    for span in spans.values():
        name = span.name.split()[0]
        took[name] = took.get(name, 0) + (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9

    calls = points(found["gen_ai.client.operation.duration"], "gen_ai.request.model", "error.type", "server.port")
    port = server.port
    assert {key: each.count for key, each in calls.items()} == {
        ("gpt-test", "overloaded", port): 1,
        ("gpt-test", None, port): 2,
        ("local", None, None): 1,
        (None, None, None): 1,  # the retrieval
    }
    asked = [each for key, each in calls.items() if key[0]]
    assert sum(each.sum for each in asked) == pytest.approx(took["chat"])
    for each in calls.values():
        assert len(each.bucket_counts) == len(each.explicit_bounds) + 1 == 15 and sum(each.bucket_counts) == each.count
        assert each.min <= each.max and each.start_time_unix_nano < each.time_unix_nano

    used = points(found["gen_ai.client.token.usage"], "gen_ai.token.type", "gen_ai.provider.name")
    assert {key: (each.count, each.sum) for key, each in used.items()} == {
        ("input", "openai"): (2, 22.0),
        ("output", "openai"): (2, 6.0),
    }
    (tokens,) = (each for key, each in used.items() if key[0] == "input")
    assert list(tokens.explicit_bounds)[:4] == [1, 4, 16, 64] and list(tokens.bucket_counts)[:4] == [0, 0, 2, 0]
    tools = points(found["gen_ai.execute_tool.duration"], "gen_ai.tool.name", "error.type")
    assert {key: each.count for key, each in tools.items()} == {("look", None): 1, ("refund", "ValueError"): 1}
    ((who, agent),) = points(found["gen_ai.invoke_agent.duration"], "gen_ai.agent.name", "error.type").items()
    assert (who, agent.count) == (("desk", None), 1) and agent.sum > sum(each.sum for each in asked)
    for name, count in (("inference_calls", 4.0), ("tool_calls", 2.0)):
        (each,) = points(found[f"gen_ai.invoke_agent.{name}"]).values()
        assert (each.count, each.sum) == (1, count)
    ((who, runs),) = points(found["reenact.runs"], "gen_ai.agent.name", "reenact.run.status").items()
    assert (who, runs.as_int) == (("desk", "ok"), 1) and found["reenact.runs"].sum.is_monotonic
    assert "reenact.run.failures" not in found and "reenact.cold_cases" not in found

    count = len(receiver.measured)
    server.close()
    replayed = desk.reenact("replay", "@")
    assert replayed.code == 0 and b"metrics" not in replayed.err and len(receiver.measured) == count
    assert b"v1/metrics" not in desk.reenact("--json", "show", "@").out


def test_the_names_of_the_next_release_are_one_setting(desk: Tried, server: Server, receiver: Receiver) -> None:
    assert recorded(desk, server, receiver.server.url, metrics="next").code == 0
    found = metrics(receiver.measured[-1])
    assert "gen_ai.client.token.usage" not in found
    (used,) = points(found["gen_ai.client.inference.usage.input_tokens"], "gen_ai.request.model").values()
    assert used.as_int == 22 and found["gen_ai.client.inference.usage.input_tokens"].sum.is_monotonic
    assert {key[0] for key in points(found["gen_ai.client.inference.duration"], "gen_ai.request.model")} == {
        "gpt-test",
        "local",
    }
    assert {key[0] for key in points(found["gen_ai.client.operation.duration"], "gen_ai.operation.name")} == {
        "retrieval"
    }
    (each,) = points(found["gen_ai.client.inference.operation.output_tokens"]).values()
    assert each.sum == 6


def test_metrics_can_be_left_out(desk: Tried, server: Server, receiver: Receiver) -> None:
    assert recorded(desk, server, receiver.server.url, metrics="off").code == 0
    assert receiver.spans and not receiver.measured


@pytest.mark.parametrize("status", ["404 Not Found", "405 Method Not Allowed"])
def test_a_receiver_that_takes_spans_alone_is_left_in_peace(
    desk: Tried, server: Server, receiver: Receiver, status: str
) -> None:
    receiver.metrics_status = status
    done = recorded(desk, server, receiver.server.url)
    assert done.code == 0 and b"lost" not in done.err and len(receiver.spans) == 10
    assert len(receiver.measured) == 1


def test_a_receiver_that_fails_is_named(desk: Tried, server: Server, receiver: Receiver) -> None:
    receiver.metrics_status = "500 Broken"
    done = recorded(desk, server, receiver.server.url)
    assert (done.code, done.out) == (0, b"It is lost.\n200\n")
    assert done.err.count(b"metrics were lost: 127.0.0.1:") == 1 and b"answered 500 Broken" in done.err


def test_a_receiver_that_is_down_or_hangs_costs_a_second(desk: Tried, server: Server, receiver: Receiver) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        done = recorded(desk, server, f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert (done.code, done.out) == (0, b"It is lost.\n200\n")
    assert b"10 spans were lost" in done.err and b"metrics were lost: 127.0.0.1:" in done.err
    receiver.hold = threading.Event()
    desk.writes(
        "idle.py",
        "import reenact, sys\n"
        "with reenact.record(agent='idle', policy=reenact.Policy(otel_endpoint=sys.argv[1])):\n"
        "    pass\n",
    )
    began = time.perf_counter()
    done = desk.run("python", "idle.py", receiver.server.url)
    assert time.perf_counter() - began < 10, "ten times the second that it may take"
    assert b"metrics were lost: they were not taken in time" in done.err, done.err.decode()


def test_metrics_go_over_grpc(desk: Tried, server: Server) -> None:
    got: list[ExportMetricsServiceRequest] = []

    def take(request: ExportMetricsServiceRequest, context: Any) -> ExportMetricsServiceResponse:
        got.append(request)
        return ExportMetricsServiceResponse()

    pool = ThreadPoolExecutor(2)
    collector = grpc.server(pool)
    method = grpc.unary_unary_rpc_method_handler(
        take, ExportMetricsServiceRequest.FromString, ExportMetricsServiceResponse.SerializeToString
    )
    service = "opentelemetry.proto.collector.metrics.v1.MetricsService"
    collector.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {"Export": method})])
    port = collector.add_insecure_port("127.0.0.1:0")
    collector.start()
    done = recorded(desk, server, f"grpc://127.0.0.1:{port}")
    collector.stop(0).wait()
    pool.shutdown()
    assert done.code == 0 and b"metrics" not in done.err, done.err.decode()
    assert b"10 spans were lost: " in done.err and b"UNIMPLEMENTED" in done.err  # it takes metrics alone
    assert "gen_ai.client.token.usage" in metrics(got[-1])


PROGRAM = read_program("interop/own_instruments.py")


def test_the_programs_own_instruments_take_them_and_its_random_is_untouched(desk: Tried) -> None:
    pytest.importorskip("opentelemetry.sdk.metrics", reason="the SDK of OpenTelemetry is not installed")
    desk.writes("shop.py", PROGRAM)
    done = desk.run("python", "shop.py", "trace")
    assert done.code == 0, done.err.decode()
    lines = done.out.decode().splitlines()
    assert "reenact.runs 5 None reenact" in lines
    assert "gen_ai.execute_tool.duration 5 ValueError reenact" in lines, lines
    done = desk.run("python", "shop.py", "always")
    assert done.code == 0 and not done.out, done.out.decode() + done.err.decode()
    assert b"metrics were lost: its exemplars would draw from the agent's random" in done.err


def test_a_failed_run_and_a_cold_one_are_counted() -> None:
    def of(status: Status, error: str, features: Features) -> dict[str, Measurement]:
        run = Run(id="r", agent="desk", started_us=5, origin_us=0, status=status, error=error, ended_us=9)
        return {each.instrument.name: each for each in of_run(run, 1, 2, features)}

    failed = Features(error="ValueError", template="no")
    found = of(Status.FAILED, "ValueError: no", failed)
    assert dict(found["reenact.run.failures"].attributes) == {"gen_ai.agent.name": "desk", "error.type": "ValueError"}
    assert "reenact.cold_cases" not in found
    bare = Features(cold=("tool_calls",))
    found = of(Status.OK, "", bare)
    assert found["reenact.cold_cases"] == cold_case("desk", fingerprint(Case.COLD, bare))
    both = replace(failed, cold=("tool_calls",))
    found = of(Status.FAILED, "ValueError: no", both)
    assert found["reenact.cold_cases"] == cold_case("desk", fingerprint(Case.FAILED, failed))


def test_a_cold_run_is_counted_by_the_name_of_its_group(desk: Tried, receiver: Receiver) -> None:
    desk.writes("reenact.toml", f"[otel]\nendpoint = {receiver.server.url!r}\n")
    desk.writes(
        "agent.py",
        "import reenact, threading\n"
        "@reenact.tool(effect='read')\n"
        "def connect(host):\n"
        "    return threading.Lock()\n"
        "connect('db')\n",
    )
    done = desk.reenact("record", "--agent", "desk", "--", "python", "agent.py")
    assert done.code == 0, done.err.decode()
    found = metrics(receiver.measured[-1])["reenact.cold_cases"]
    ((key, counted),) = points(found, "gen_ai.agent.name", "reenact.fingerprint").items()
    line = json.loads(desk.reenact("--json", "ls", "--cold").out)
    assert (key, counted.as_int) == (("desk", line["fingerprint"]), 1) and found.sum.is_monotonic
    assert set(said(counted)) == {"gen_ai.agent.name", "reenact.fingerprint"}


def test_the_hundred_most_frequent_fingerprints_are_named_and_no_sum_shrinks() -> None:
    sums = SenderSums(1)

    def sent() -> dict[tuple[object, ...], int]:
        found = metrics(ExportMetricsServiceRequest.FromString(as_protobuf([({}, sums)], 2, "0")))
        counted = points(found["reenact.cold_cases"], "gen_ai.agent.name", "reenact.fingerprint")
        return {key: point.as_int for key, point in counted.items()}

    sums.add(cold_case("desk", f"f{number:03}") for number in range(150))
    first = sent()
    assert len(first) == 101 and first["desk", "other"] == 50
    sums.add(cold_case("desk", "f149") for _ in range(3))
    later = sent()
    assert len(later) == 101 and later["desk", "f149"] == 3, "by its name from when it was one of the most frequent"
    assert later["desk", "other"] == 51 and sum(later.values()) == 153
    assert all(count >= first[key] for key, count in later.items() if key in first)


def test_a_name_that_comes_once_costs_no_sorting_and_no_memory_for_good() -> None:
    tally = FingerprintTally(most=2)
    tally.add(Key("desk", name) for name in ("a", "a", "b", "b"))
    for number in range(1000):
        tally.add([Key("desk", f"once{number}")])
    assert tally.sums == {Key("desk", "a"): 2, Key("desk", "b"): 2, Key("desk", OTHER): 1000}
    assert len(tally._groups._counts) <= 200


def test_sets_of_attributes_are_bounded() -> None:
    sums = SenderSums(1)
    counter = Instrument("c", "1", "Counts.")
    sums.add(Measurement(counter, 1, (("n", number),)) for number in range(MOST + 10))
    groups: list[tuple[Mapping[str, Any], SenderSums]] = [({"service.name": "a"}, sums)]
    found = metrics(ExportMetricsServiceRequest.FromString(as_protobuf(groups, 2, "0")))
    held = points(found["c"], "otel.metric.overflow")
    assert len(found["c"].sum.data_points) == MOST + 1 and held[True,].as_int == 10
