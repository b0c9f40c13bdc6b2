"""The conventions' events of model calls leave as records of a log beside the spans, where content does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from reenact.facts.ids import tail
from reenact.interop.otlp import log_events
from reenact.interop.otlp.otlp_client import target
from reenact.interop.otlp.outgoing_span import Batch
from reenact.interop.otlp.process_exporter import SpanSender
from reenact.interop.otlp.programs import through_provider
from reenact.interop.otlp.run_spans import exported
from reenact.store import open_store
from tests.http.server import Server
from tests.interop.conftest import Bring, Tried
from tests.interop.spans_out import Receiver, said, serve
from tests.interop.test_trace_live import recorded, settings

DETAILS, EXCEPTION = "gen_ai.client.inference.operation.details", "gen_ai.client.operation.exception"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.server.close()


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Batch:
    """The spans of a recorded agent, with content."""
    desk, server = Tried(tmp_path_factory.mktemp("records")), Server()
    serve(server)
    done = recorded(desk, server)
    server.close()
    assert done.code == 0, done.err.decode()
    with open_store(str(desk.folder / ".reenact")) as store:
        return exported(store.open("@"), dialect="otel", inline=True, version="1").batch


def test_records_leave_as_it_happens_and_hold_what_their_spans_hold(
    desk: Tried, server: Server, receiver: Receiver
) -> None:
    serve(server)
    settings(desk, receiver.server.url, content="inline")
    done = recorded(desk, server)
    assert (done.code, b"lost" in done.err) == (0, False), done.err.decode()
    spans = {span.span_id: span for span in receiver.spans}
    names = [record.event_name for record in receiver.records]
    assert sorted(names) == [DETAILS] * 4 + [EXCEPTION]
    for record in receiver.records:
        span = spans[record.span_id]
        assert (record.trace_id, record.time_unix_nano) == (span.trace_id, span.end_time_unix_nano)
        assert record.severity_number == (13 if record.event_name == EXCEPTION else 9)
        if record.event_name == EXCEPTION:
            assert said(record)["error.type"] == said(span)["error.type"]
            continue
        for name, value in said(span).items():
            held = next(each.value for each in record.attributes if each.key == name)
            if name in ("gen_ai.input.messages", "gen_ai.output.messages"):
                assert held.WhichOneof("value") == "array_value"  # data, and no text
                assert plain(held) == without_nothing(json.loads(value))
    assert {span.name for span in spans.values() if span.name.startswith("chat")} == {"chat gpt-test", "chat local"}


def plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(each) for each in value.array_value.values]
    if kind == "kvlist_value":
        return {each.key: plain(each.value) for each in value.kvlist_value.values}
    return getattr(value, kind)


def without_nothing(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nothing(each) for name, each in value.items() if each is not None}
    return [without_nothing(each) for each in value] if isinstance(value, list) else value


def test_nothing_leaves_beside_the_spans_unless_content_does(desk: Tried, server: Server, receiver: Receiver) -> None:
    serve(server)
    settings(desk, receiver.server.url, content="reference")
    assert recorded(desk, server).code == 0
    assert (len(receiver.spans), receiver.logged) == (10, [])


def test_other_dialects_have_no_such_records(batch: Batch, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert log_events.count([batch]) == 5
    bare = Batch(batch.resource, [span for span in batch.spans if not span.records], "1")
    assert log_events.as_protobuf([bare]) == b""


def test_what_is_wrong_with_records_costs_no_span(batch: Batch, receiver: Receiver) -> None:
    sent = SpanSender(target(receiver.server.url))
    receiver.logs_status = "500 Broken"
    sent([batch])
    assert (sent.lost, "answered 500" in sent.why, len(receiver.spans)) == (5, True, len(batch.spans))
    receiver.logs_status = "404 Not Found"
    sent([batch])
    sent([batch])
    assert (sent.lost, len(receiver.logged), len(receiver.got)) == (5, 2, 3)  # it is not asked a third time


def test_spans_and_their_records_are_one_run_when_they_come_back(batch: Batch, bring: Bring) -> None:
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

    from reenact.interop.otlp.outgoing_span import as_json

    logs = MessageToDict(ExportLogsServiceRequest.FromString(log_events.as_protobuf([batch])))
    alone = as_json([batch]).decode()
    (first,) = bring("otlp", alone)
    (both,) = bring("otlp", json.dumps({**json.loads(alone), **logs}))
    assert (first.totals.models, first.totals.tools) == (both.totals.models, both.totals.tools), tail(both.id)
    assert (first.totals.events, first.totals.tokens_in) == (both.totals.events, both.totals.tokens_in)


def test_the_programs_own_logs_take_them(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    from opentelemetry import _logs, trace
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
    from opentelemetry.sdk.trace import TracerProvider

    kept, provider = InMemoryLogRecordExporter(), LoggerProvider()  # type: ignore[no-untyped-call]  # its maker has no types
    provider.add_log_record_processor(SimpleLogRecordProcessor(kept))
    monkeypatch.setattr(trace, "get_tracer_provider", TracerProvider)
    monkeypatch.setattr(_logs, "get_logger_provider", lambda: provider)
    through_provider([batch])
    found = [each.log_record for each in kept.get_finished_logs()]
    assert sorted(str(each.event_name) for each in found) == [DETAILS] * 4 + [EXCEPTION]
    spans = {int(span.id, 16) for span in batch.spans if span.records}
    assert {each.span_id for each in found} == spans
