"""Which requests are plumbing: by host, method and path, and by the form of the body where the host is not known."""

from __future__ import annotations

import gzip
import json

import pytest

from reenact.errors import UsageError
from reenact.facts.call import Call
from reenact.facts.plumbing import captured, pattern, plumbing_of, ruled
from reenact.facts.policy import Policy
from reenact.facts.telemetry import is_export
from reenact.facts.telemetry_endpoints import CATALOGUE, LIST
from reenact.seams.http.http_exchange import describe
from reenact.seams.rpc.rpc_calls import start

EVERY = ruled({})
SPAN = b"\x0a\x06\x12\x04\x12\x02\x0a\x00"
"""A trace of one span that says nothing, as protobuf."""
PARTS = (
    b'--b\r\nContent-Disposition: form-data; name="post.1"\r\n\r\n{}\r\n'
    b'--b\r\nContent-Disposition: form-data; name="patch.1.outputs"\r\n\r\n{}\r\n--b--\r\n'
)


def call(asked: str, body: bytes = b"", media: str = "application/json", encoding: str = "") -> Call:
    """A request as a call: ``METHOD URL``."""
    method, url = asked.split()
    headers = [["content-type", media], *([["content-encoding", encoding]] if encoding else [])]
    return describe(method, url, headers, body, "httpx")


def named(asked: Call) -> str:
    """The rule by which it is plumbing; empty where it is none."""
    found = EVERY.endpoint(asked)
    return "" if found is None else found.name


def text(**said: object) -> bytes:
    """A JSON object."""
    return json.dumps(said).encode()


KNOWN = {
    "POST https://api.smith.langchain.com/runs/multipart": "langsmith",
    "POST https://eu.api.smith.langchain.com/runs/batch": "langsmith",
    "PATCH https://api.smith.langchain.com/runs/0f3b": "langsmith",
    "POST https://eu.api.smith.langchain.com/api/v1/runs": "langsmith",
    "POST https://cloud.langfuse.com/api/public/ingestion": "langfuse",
    "POST https://us.cloud.langfuse.com/api/public/otel/v1/traces": "otlp",
    "POST https://o1.ingest.us.sentry.io/api/42/envelope/": "sentry",
    "POST https://us.i.posthog.com/batch/": "posthog",
    "POST https://eu.i.posthog.com/i/v0/e/": "posthog",
    "POST https://llmobs-intake.datadoghq.com/api/v2/llmobs": "datadog",
    "POST https://http-intake.logs.datadoghq.eu/api/v2/logs": "datadog",
    "POST https://http-intake.logs.us5.datadoghq.com/api/v2/logs": "datadog",
    "POST https://api.honeycomb.io/v1/traces": "otlp",
    "POST https://api.honeycomb.io/1/batch/agents": "honeycomb",
    "POST https://otlp.nr-data.net/v1/logs": "otlp",
    "POST https://trace-api.newrelic.com/trace/v1": "newrelic",
    "POST https://app.phoenix.arize.com/s/me/v1/traces": "otlp",
    "POST https://trace.wandb.ai/call/upsert_batch": "weave",
    "POST https://trace.wandb.ai/v2/me/mine/calls/complete": "weave",
    "POST https://api.braintrust.dev/logs3": "braintrust",
    "POST https://api.braintrust.dev/otel/v1/traces": "otlp",
    "POST https://logfire-us.pydantic.dev/v1/metrics": "otlp",
    "PATCH https://www.comet.com/opik/api/v1/private/spans/batch": "opik",
    "POST https://app.langwatch.ai/api/otel/v1/traces": "otlp",
    "POST https://otlp.agentops.ai/v1/traces": "otlp",
    "POST https://api.segment.io/v1/batch": "segment",
    "POST https://api2.amplitude.com/2/httpapi": "amplitude",
    "POST https://api.mixpanel.com/track": "mixpanel",
    "POST https://westeurope-5.in.applicationinsights.azure.com/v2.1/track": "azure",
    "HEAD https://huggingface.co/api/telemetry/gradio/start": "huggingface",
}
READ = [
    "GET https://cloud.langfuse.com/api/public/v2/prompts/main?label=production",
    "GET https://api.smith.langchain.com/commits/-/main/latest",
    "GET https://api.smith.langchain.com/info",
    "POST https://api.smith.langchain.com/runs/query",
    "POST https://us.i.posthog.com/flags/?v=2",
    "POST https://us.i.posthog.com/decide/?v=3",
    "GET https://api.traceloop.com/v1/traceloop/prompts",
    "POST https://cloud.langfuse.com/api/public/media",
    "POST https://api.braintrust.dev/logs3/overflow",
    "POST https://api.braintrust.dev/btql",
    "POST https://api.openai.com/v1/chat/completions",
    "POST https://api.openai.com/v1/batches",
    "POST https://api.smith.langchain.com/api/v1/annotation-queues/7/runs",
    "POST https://trace.wandb.ai/obj/read",
    "POST https://trace.wandb.ai/calls/stream_query",
    "POST https://example.com/batch/",
    "POST https://api.smith.langchain.com.example.com/runs/batch",
]


@pytest.mark.parametrize("asked", KNOWN)
def test_known_hosts_are_recognised_by_method_and_path(asked: str) -> None:
    """The body is not looked at; another method of that path is no plumbing."""
    assert named(call(asked)) == KNOWN[asked]
    assert named(call("GET " + asked.split()[1])) == ""


@pytest.mark.parametrize("asked", READ)
def test_what_is_read_is_never_plumbing(asked: str) -> None:
    """Prompts, flags, models, and hosts that only look like a known one."""
    assert named(call(asked, text(any=1))) == ""


FORMS = {
    "protobuf": ("/v1/traces", SPAN, "application/x-protobuf", "otlp"),
    "json": ("/v1/metrics", text(resourceMetrics=[]), "application/json", "otlp"),
    "multipart": ("/ls/runs/multipart", PARTS, "multipart/form-data; boundary=b", "langsmith"),
    "runs": ("/runs/batch", text(post=[], patch=[{"trace_id": "t"}]), "application/json", "langsmith"),
    "ingestion": ("/api/public/ingestion", text(batch=[{"type": "trace-create"}]), "application/json", "langfuse"),
    "envelope": (
        "/api/7/envelope/",
        b'{"event_id":"1"}\n{"type":"event"}\n{}',
        "application/x-sentry-envelope",
        "sentry",
    ),
    "events": ("/batch/", text(api_key="phc", batch=[{"event": "seen"}]), "application/json", "posthog"),
    "traces of an agent": ("/v0.4/traces", b"\x91\x90", "application/msgpack", "datadog"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_other_hosts_need_the_form_too(form: str, encoding: str) -> None:
    """A collector of one's own is recognised by path and body together, compressed or not."""
    path, body, media, rule = FORMS[form]
    sent = gzip.compress(body) if encoding else body
    assert named(call(f"POST http://127.0.0.1:4318{path}", sent, media, encoding)) == rule
    assert named(call(f"POST http://127.0.0.1:4318{path}", b'{"order": 1}', media)) == ""
    assert named(call("POST http://127.0.0.1:4318/orders", body, media)) == ""


OWN = {
    "/batch": {"api_key": "k", "batch": ["question one", "question two"]},
    "/capture": {"api_key": "k", "event": "payment-7", "amount": 12},
    "/e": {"api_key": "k", "event": "concert", "seats": 2},
    "/call/start": {"start": "+49301234", "voice": "calm"},
    "/call/end": {"end": True, "call": "c1"},
    "/calls/complete": {"batch": ["c1", "c2"]},
    "/call/upsert_batch": {"batch": [{"id": "c1"}]},
    "/runs/batch": {"post": ["a", "b"]},
    "/runs": {"name": "nightly", "pipeline": 3},
    "/api/v1/store": {"event_id": "concert-42", "seat": "4F"},
    "/api/v1/envelope": {"event_id": "concert-42", "signer": "ann"},
    "/1/batch/orders": [{"data": {"sku": 3}}],
}
"""Requests of services of an agent's own, at paths where telemetry goes elsewhere: their answers are read."""


@pytest.mark.parametrize("path", OWN)
def test_a_service_of_ones_own_at_such_a_path_is_none(path: str) -> None:
    """What is asked there is compared."""
    assert named(call(f"POST https://shop.example.com{path}", json.dumps(OWN[path]).encode())) == ""


def test_a_job_that_ends_is_no_trace() -> None:
    """A time at which a run of anything ended is not yet one of LangSmith's."""
    job = text(status="done", end_time="2026-01-01T00:00:00Z", trace_id="t")
    assert named(call("PATCH https://jobs.example.com/runs/7", job)) == ""
    trace = text(trace_id="t", dotted_order="o", end_time="2026-01-01T00:00:00Z")
    assert named(call("PATCH https://traces.example.com/api/v1/runs/7", trace)) == "langsmith"


@pytest.mark.parametrize("path", ["/v1/logs", "/v1/metrics", "/v1/traces"])
def test_other_protobuf_at_such_a_path_is_none(path: str) -> None:
    """A query with fields of one's own, whose number and length happen to be those of an export."""
    query = b"\x0a\x0e\x0a\x04shop\x12\x06orders"
    assert named(call(f"POST https://shop.example.com{path}", query, "application/x-protobuf")) == ""


def test_an_rpc_is_recognised_by_its_service_and_message() -> None:
    """Wherever the collector is."""
    url = "grpc://collector:4317/opentelemetry.proto.collector.trace.v1.TraceService/Export"
    assert named(start(url, "unary_unary", None, SPAN)) == "otlp"
    assert named(start(url, "unary_unary", None, b"\x08\x01")) == ""
    assert named(start(url, "stream_unary", None, b"")) == ""
    assert named(start(url.replace("Export", "Import"), "unary_unary", None, SPAN)) == ""


@pytest.mark.parametrize("data", [b"", b"\x0a", b"\x0a\xff", b"\x08\x01", b"\x0a\x02\x08\x01", b"{}", b"\xff" * 20])
def test_other_bytes_are_no_export(data: bytes) -> None:
    """Nor is anything that is cut off."""
    assert not is_export(data)


def test_every_row_can_be_matched() -> None:
    """Rows have a host or a form, methods, and patterns that are not everything."""
    for row in CATALOGUE:
        assert row.hosts or row.form, row
        assert row.methods, row
        assert not pattern(row.path).fullmatch("orders"), row
        assert row.since <= LIST


def test_a_run_keeps_its_rules() -> None:
    """One that was recorded before there were any has none."""
    asked = call("POST https://api.segment.io/v1/batch")
    assert plumbing_of({}).endpoint(asked) is None
    assert plumbing_of({"plumbing": captured({})}).endpoint(asked) is not None
    assert plumbing_of({"plumbing": captured({"segment": "off"})}).endpoint(asked) is None
    assert plumbing_of({"plumbing": captured({"all": "off"})}).endpoint(asked) is None
    assert plumbing_of({"plumbing": {"list": 0, "own": {}}}).endpoint(asked) is None


def test_a_rule_of_a_project() -> None:
    """Method, host, path, and what is answered."""
    rules = ruled({"audit": 'PUT|POST audit.example.com/v2/* 202 {"ok": true}', "all": "off"})
    found = rules.endpoint(call("PUT https://audit.example.com:8443/v2/runs?x=1"))
    assert found is not None
    assert (found.name, found.answer.status, found.answer.body) == ("audit", 202, b'{"ok": true}')
    assert rules.endpoint(call("PUT https://audit.example.com/v2/runs/7")) is None
    assert rules.endpoint(call("PUT https://example.com/v2/runs")) is None


@pytest.mark.parametrize(
    "text", ["", "POST", "POST example.com", "POST https://example.com/x", "POST a/b 404", "POST a/b x"]
)
def test_a_rule_that_cannot_be_read_is_named(text: str) -> None:
    """Here, in settings and in a policy."""
    with pytest.raises(UsageError, match="audit"):
        Policy(plumbing={"audit": text})


def test_a_rule_that_is_none_cannot_be_turned_off() -> None:
    """The nearest one is named."""
    with pytest.raises(UsageError, match="did you mean sentry"):
        Policy(plumbing={"sentri": "off"})
