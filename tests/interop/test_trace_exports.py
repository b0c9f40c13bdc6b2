"""A run leaves as a trace: its names, parents, retries and errors, and what comes back when it is imported again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from reenact.abc.store import Store
from reenact.facts.event import Event
from reenact.facts.trace_runs import is_original, reading_in
from reenact.facts.values import jsonable
from reenact.interop.otlp import outgoing_span
from reenact.interop.otlp.outgoing_span import (
    Batch,
    SentSpan,
    SpanEvent,
    SpanKind,
    as_json,
    as_protobuf,
    in_requests,
    weight,
)
from reenact.interop.otlp.spans import spans_in
from reenact.store import open_store
from tests.http.server import Server
from tests.interop.conftest import Tried
from tests.interop.spans_out import AGENT, Receiver, said, serve, told

RECORDED = (
    "record",
    "--agent",
    "desk@2.1",
    "--user",
    "u1",
    "--tenant",
    "acme",
    "--session",
    "s1",
    "--tag",
    "stage=test",
)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Tried:
    """A desk with one recorded run of the agent; nobody serves it any more."""
    made = Tried(tmp_path_factory.mktemp("exported"))
    server = Server()
    serve(server)
    made.writes("agent.py", AGENT)
    done = made.reenact(*RECORDED, "--", "python", "agent.py", server.url)
    server.close()
    assert (done.code, done.out) == (0, b"It is lost.\n200\n"), done.err.decode()
    made.environment["RUN"] = json.loads(made.reenact("--json", "ls").out.splitlines()[0])["run"]
    return made


def exported(desk: Tried, *words: str, file: str = "trace.json") -> bytes:
    """The run as a file of spans."""
    done = desk.reenact("export", "otel", desk.environment["RUN"], "-o", file, *words)
    assert done.code == 0, done.err.decode()
    return (desk.folder / file).read_bytes()


def test_each_call_is_a_span_below_the_one_it_happened_in(desk: Tried) -> None:
    spans = told(exported(desk))
    names = {span["spanId"]: span["name"] for span in spans}
    tree = [(span["name"], names.get(span.get("parentSpanId", ""), "")) for span in spans]
    assert tree == [
        ("answer", "invoke_agent desk"),
        ("chat gpt-test", "answer"),
        ("chat gpt-test", "answer"),
        ("execute_tool look", "answer"),
        ("execute_tool refund", "answer"),
        ("retrieval find", "answer"),
        ("chat gpt-test", "answer"),
        ("chat local", "invoke_agent desk"),
        ("GET", "invoke_agent desk"),
        ("invoke_agent desk", ""),
    ]
    assert len({span["traceId"] for span in spans}) == 1 and len(names) == len(spans)
    inside = spans[0]
    assert all(int(inside["startTimeUnixNano"]) <= int(each["startTimeUnixNano"]) for each in spans[1:7])
    assert all(int(each["endTimeUnixNano"]) <= int(inside["endTimeUnixNano"]) for each in spans[1:7])


def test_a_model_call_carries_the_attributes_of_the_conventions(desk: Tried) -> None:
    refused, wanted, done = [span for span in told(exported(desk)) if span["name"] == "chat gpt-test"]
    assert (refused["status"], refused["said"]["error.type"]) == ({"code": 2, "message": "too busy"}, "overloaded")
    assert refused["said"]["http.response.status_code"] == 503 and "reenact.retry" not in refused["said"]
    assert wanted["said"]["reenact.retry"] == 1 and wanted["said"]["http.request.resend_count"] == 1
    assert wanted["status"] == {} and "reenact.retry" not in done["said"]
    kept = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-test",
        "gen_ai.response.model": "gpt-test-1",
        "gen_ai.response.id": "r2",
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.stop_sequences": ["END"],
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 3,
        "reenact.run.id": desk.environment["RUN"],
        "server.address": "127.0.0.1",
    }
    assert {name: wanted["said"].get(name) for name in kept} == kept
    assert not any("messages" in name and not name.endswith("_ref") for name in wanted["said"])


def test_what_a_reference_names_is_what_cat_prints(desk: Tried) -> None:
    _, wanted, _ = [span for span in told(exported(desk)) if span["name"] == "chat gpt-test"]
    where = wanted["said"]["gen_ai.output.messages_ref"].removeprefix("reenact:")
    printed = desk.reenact("cat", where)
    assert printed.code == 0 and json.loads(printed.out)["id"] == "r2"
    event = f"{wanted['said']['reenact.run.id']}:{wanted['said']['reenact.event.seq']}"
    assert desk.reenact("show", event).code == 0


def test_the_run_says_whose_it_is(desk: Tried) -> None:
    document = exported(desk)
    root = told(document)[-1]["said"]
    kept = {"user.id": "u1", "tenant.id": "acme", "gen_ai.conversation.id": "s1", "reenact.tag.stage": "test"}
    assert {name: root.get(name) for name in kept} == kept
    assert root["gen_ai.usage.input_tokens"] == 22 and root["reenact.run.status"] == "ok"
    sender = json.loads(document)["resourceSpans"][0]["resource"]["attributes"]
    resource = {each["key"]: each["value"]["stringValue"] for each in sender}
    assert (resource["service.name"], resource["service.version"]) == ("desk", "2.1")


def told_events(store: Store, run: str) -> list[tuple[Any, ...]]:
    """What the calls of a run were: sort, name, what was asked and what came of it."""
    recording = store.open(run)
    return [_told(recording, event) for event in recording.events() if not is_original(event.call)]


def _told(recording: Any, event: Event) -> tuple[Any, ...]:
    error = getattr(getattr(event.outcome, "error", None), "text", None)
    reading = event.attributes.get("reading")
    if event.kind == "model" and reading is not None:
        full = reading_in(recording.body(event.request), recording.body(event.answer))
        asked = [(each["role"], each["text"], each.get("tool_results")) for each in full.messages]
        answered = (full.text, [(call["id"], call["name"]) for call in full.tool_calls], full.finish)
        return ("model", full.model_asked, full.system, asked, [each["name"] for each in full.tools], answered, error)
    request = jsonable(recording.body(event.request)) if event.request is not None and event.request.size else None
    answer = jsonable(recording.body(event.answer)) if error is None and event.answer is not None else None
    return (event.kind, event.name, request, answer, error)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Tried]:
    """A desk of somebody else."""
    yield Tried(tmp_path)


@pytest.mark.parametrize("dialect", ["otel", "otel-before", "openinference"])
@pytest.mark.parametrize("file", ["trace.json", "trace.pb"])
def test_a_run_that_comes_back_has_the_same_calls(desk: Tried, elsewhere: Tried, dialect: str, file: str) -> None:
    (elsewhere.folder / file).write_bytes(exported(desk, "--content", "inline", "--dialect", dialect, file=file))
    done = elsewhere.reenact("import", "otlp", file)
    assert done.code == 0 and b"10 spans, 4 model calls, 2 tool calls" in done.out, done
    with open_store(str(elsewhere.folder / ".reenact")) as store:
        run = store.run("@")
        events = told_events(store, run.id)
    assert (run.agent, run.version, run.user, run.tenant, run.session) == ("desk", "2.1", "u1", "acme", "s1")
    question = [("user", "Where is order 7?", None)]
    found = '{"found": ["7", "7"], "text": "sp\\u00e4ter"}'
    then = [*question, ("assistant", "", None), ("tool", "", [{"id": "call_1", "text": found}])]
    wanted = ("", [("call_1", "look")], "tool_calls")
    assert events[2:] == [
        ("model", "gpt-test", "Be short.", question, ["look"], ("", [], ""), "too busy"),
        ("model", "gpt-test", "Be short.", question, ["look"], wanted, None),
        ("tool", "look", {"order": "7", "n": 2}, {"found": ["7", "7"], "text": "später"}, None),
        ("tool", "refund", {"order": "7"}, None, "order 7 is closed"),
        events[6],
        ("model", "gpt-test", "Be short.", then, [], ("It is lost.", [], "stop"), None),
        ("model", "local", "", [("user", "is it polite?", None)], [], ("polite", [], events[8][5][2]), None),
        ("step", "GET", None, "fine", None),
    ]
    assert events[6][:3] == ("retrieval", "find", {"query": "refund"})


def test_what_is_lost_is_counted(desk: Tried) -> None:
    done = desk.reenact("export", "otel", desk.environment["RUN"], "-o", "trace.json")
    said_so = done.err.decode()
    assert "10 spans written to trace.json, trace " in said_so
    assert "not in the spans: exchanges, without their headers and bytes (4)" in said_so


def test_the_same_run_is_the_same_trace_each_time(desk: Tried) -> None:
    assert exported(desk) == exported(desk)


def test_a_run_is_sent_to_the_endpoint_of_the_settings(desk: Tried) -> None:
    receiver = Receiver()
    (desk.folder / "reenact.toml").write_text(f'[otel]\nendpoint = "{receiver.server.url}"\n')
    desk.environment["OTEL_EXPORTER_OTLP_HEADERS"] = "api-key=k%20y"
    try:
        done = desk.reenact("export", "otel", desk.environment["RUN"])
        assert done.code == 0 and len(receiver.spans) == 10, done.err.decode()
        assert receiver.server.requests[0].header("api-key") == "k y"
        assert said(receiver.named()["execute_tool refund"])["error.type"] == "ValueError"
        receiver.status = "400 Bad"
        refused = desk.reenact("export", "otel", desk.environment["RUN"])
        assert refused.code != 0 and b"answered 400 Bad" in refused.err and b"Traceback" not in refused.err
        receiver.server.close()
        gone = desk.reenact("export", "otel", desk.environment["RUN"])
        assert gone.code != 0 and b"cannot be reached" in gone.err and b"-o trace.json" in gone.err
    finally:
        receiver.server.close()
        (desk.folder / "reenact.toml").unlink()


def test_without_a_target_it_is_usage(desk: Tried) -> None:
    done = desk.reenact("export", "otel")
    assert done.code == 2 and b"no target" in done.err and b"reenact export otel @ -o trace.json" in done.err
    other = desk.reenact("export", "har", "@", "--dialect", "otel")
    assert other.code == 2 and b"--dialect is for spans" in other.err


finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.one_of(
        st.text(),
        st.booleans(),
        st.integers(-(1 << 63), (1 << 63) - 1),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)
attributes = st.dictionaries(st.text(max_size=8), values, max_size=4)
times = st.integers(0, (1 << 63) - 1)
spans = st.builds(
    SentSpan,
    st.binary(min_size=16, max_size=16).map(bytes.hex),
    st.binary(min_size=8, max_size=8).map(bytes.hex),
    st.one_of(st.just(""), st.binary(min_size=8, max_size=8).map(bytes.hex)),
    st.text(),
    st.sampled_from(SpanKind),
    times,
    times,
    attributes,
    st.lists(st.builds(SpanEvent, st.text(), times, attributes), max_size=2).map(tuple),
    st.one_of(st.none(), st.text()),
)


@given(attributes, st.lists(spans, max_size=3))
def test_the_official_protobuf_reads_what_is_written(resource: dict[str, Any], made: list[SentSpan]) -> None:
    request = ExportTraceServiceRequest.FromString(as_protobuf([Batch(resource, made, "1")]))
    (group,) = request.resource_spans
    (scope,) = group.scope_spans
    assert (scope.scope.name, scope.scope.version) == ("reenact", "1")
    assert [_pair(each) for each in group.resource.attributes] == [(k, _known(v)) for k, v in resource.items()]
    for read, span in zip(scope.spans, made, strict=True):
        assert (read.trace_id.hex(), read.span_id.hex(), read.parent_span_id.hex()) == (
            span.trace,
            span.id,
            span.parent,
        )
        assert (read.name, int(read.kind)) == (_text(span.name), int(span.kind))
        assert (read.start_time_unix_nano, read.end_time_unix_nano) == (span.start_ns, span.end_ns)
        assert [_pair(each) for each in read.attributes] == [(_text(k), _known(v)) for k, v in span.attributes.items()]
        assert [(each.name, each.time_unix_nano) for each in read.events] == [
            (_text(e.name), e.at_ns) for e in span.events
        ]
        assert (read.status.code, read.status.message) == ((0, "") if span.error is None else (2, _text(span.error)))


@given(st.lists(spans, max_size=6), st.integers(1, 3000))
def test_no_request_is_larger_than_a_receiver_takes(made: list[SentSpan], largest: int) -> None:
    with patch.object(outgoing_span, "LARGEST", largest), patch.object(outgoing_span, "AT_ONCE", 4):
        parts = list(in_requests(Batch({}, made, "1")))
    assert [span for part in parts for span in part.spans] == made
    for part in parts:
        assert len(part.spans) < 2 or len(as_protobuf([part])) <= largest + 32
        assert len(part.spans) <= 4
    for part, after in pairwise(parts):
        whole = sum(map(weight, part.spans)) + weight(after.spans[0])
        assert len(part.spans) == 4 or whole > largest, "no request is smaller than it need be"


@given(st.lists(spans, max_size=3))
def test_json_says_what_protobuf_does(made: list[SentSpan]) -> None:
    found = list(spans_in(json.loads(as_json([Batch({}, made, "1")]))))
    for read, span in zip(found, made, strict=True):
        if isinstance(read, str):
            assert not span.trace.strip("0") or not span.id.strip("0"), read
            continue
        assert (read.trace, read.id, read.name) == (span.trace, span.id, _text(span.name))
        assert read.attributes == {_text(key): _known(value) for key, value in span.attributes.items()}
        assert (read.failed, read.status) == (span.error is not None, _text(span.error or ""))


def _text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _known(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {_text(key): _known(each) for key, each in value.items()}
    return [_known(each) for each in value] if isinstance(value, list) else value


def _pair(pair: Any) -> tuple[str, Any]:
    return pair.key, _value(pair.value)


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    if kind == "kvlist_value":
        return {each.key: _value(each.value) for each in value.kvlist_value.values}
    return getattr(value, kind)
