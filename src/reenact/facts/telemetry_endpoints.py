"""The list of endpoints that only take telemetry: one row for each, as data. Endpoints that give data to a program are
never in it: prompts, flags, price lists, version checks, and answers that name an upload.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from reenact.facts.lazy_dataclass import dataclass

LIST: Final = 1
"""The version of the list. A run keeps it, and rows of later versions do not apply to that run."""


@dataclass(frozen=True, slots=True)
class Success:
    """The answer of an endpoint when all is well.

    Attributes:
        status: The HTTP status; an RPC ends with ``OK``.
        media: Media type of the body; empty: none.
        body: The body, or the message of an RPC.
    """

    status: int = 200
    media: str = ""
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One row.

    Attributes:
        name: The name of the rule; several rows may share a name, and are turned off together.
        methods: HTTP methods in capitals, or ``GRPC``.
        path: Pattern of the path (``*`` is anything within a part, ``**/`` any number of parts in front).
        hosts: Patterns of known hosts.
        form: The form of the body (``facts.telemetry``), required at any other host. If it is empty, only known hosts
            count.
        answer: Its answer when all is well.
        since: The first version of the list that has it.
    """

    name: str
    methods: tuple[str, ...]
    path: str
    hosts: tuple[str, ...] = ()
    form: str = ""
    answer: Success = Success()
    since: int = 1


_JSON = "application/json"
_PROTOBUF = "application/x-protobuf"
_OBJECT = Success(200, _JSON, b"{}")
_TAKEN = Success(202, _JSON, b"{}")
_POST = ("POST",)

_OTLP_HOSTS: Final = (
    "api.honeycomb.io", "api.*.honeycomb.io", "otlp.nr-data.net", "otlp.*.nr-data.net", "otlp.arize.com",
    "otlp.*.arize.com", "app.phoenix.arize.com", "trace.wandb.ai", "api.braintrust.dev", "api-*.braintrust.dev",
    "logfire-api.pydantic.dev", "logfire-*.pydantic.dev", "app.langwatch.ai", "otlp.agentops.ai", "api.traceloop.com",
    "cloud.langfuse.com", "*.cloud.langfuse.com", "api.smith.langchain.com", "*.api.smith.langchain.com",
    "telemetry.crewai.com", "otlp-gateway-*.grafana.net", "api.axiom.co", "*.ingest.sentry.io", "*.ingest.*.sentry.io",
    "www.comet.com", "otlp.*.datadoghq.com", "otlp.*.datadoghq.eu", "api.openlit.io", "*.signoz.cloud",
)  # fmt: skip
"""Hosts that take OTLP. For requests to them, the form of the body is not checked."""


def _otlp() -> Iterator[Endpoint]:
    """OpenTelemetry's protocol, wherever it is spoken: protobuf or JSON over HTTP, and gRPC."""
    for signal, service, group in (
        ("traces", "trace.v1.TraceService", "resourceSpans"),
        ("metrics", "metrics.v1.MetricsService", "resourceMetrics"),
        ("logs", "logs.v1.LogsService", "resourceLogs"),
    ):
        path = f"**/v1/{signal}"
        yield Endpoint("otlp", _POST, path, (), f"json {group}", _OBJECT)
        yield Endpoint("otlp", _POST, path, _OTLP_HOSTS, "protobuf", Success(200, _PROTOBUF, b""))
        yield Endpoint("otlp", ("GRPC",), f"opentelemetry.proto.collector.{service}/Export", (), "protobuf")


def _tracing() -> Iterator[Endpoint]:
    """Services that trace agents, by protocols of their own."""
    smith = ("api.smith.langchain.com", "*.api.smith.langchain.com")
    yield Endpoint(
        "langsmith", _POST, "**/runs/multipart", smith, "multipart post.|patch.|feedback.|attachment.", _TAKEN
    )
    yield Endpoint("langsmith", _POST, "**/runs/batch", smith, "json post/*/trace_id|patch/*/trace_id", _TAKEN)
    for prefix, hosts in (("", smith), ("api/v1/", smith), ("**/", ())):  # other parts of the service are read
        yield Endpoint("langsmith", _POST, f"{prefix}runs", hosts, "json id+name+run_type", _TAKEN)
        yield Endpoint("langsmith", ("PATCH",), f"{prefix}runs/*", hosts, "json trace_id+dotted_order", _TAKEN)

    fuse = ("cloud.langfuse.com", "*.cloud.langfuse.com")
    taken = Success(207, _JSON, b'{"successes":[],"errors":[]}')
    yield Endpoint("langfuse", _POST, "**/api/public/ingestion", fuse, "json batch", taken)

    scored = Success(202, _JSON, b'{"message":"Accepted"}')
    yield Endpoint("langfuse", _POST, "**/api/public/scores", (), "items name+value", scored)

    weave = ("trace.wandb.ai",)
    started = Success(200, _JSON, b'{"id":"","trace_id":""}')
    yield Endpoint(
        "weave", _POST, "**/call/upsert_batch", weave, "json batch/*/req", Success(200, _JSON, b'{"res":[]}')
    )
    yield Endpoint(
        "weave", _POST, "**/calls/complete", weave, "json batch/*/project_id", Success(200, _JSON, b'{"res":[]}')
    )
    yield Endpoint("weave", _POST, "**/call/start", weave, "json start/project_id", started)
    yield Endpoint("weave", _POST, "**/call/end", weave, "json end/project_id", _OBJECT)

    opik = ("www.comet.com",)
    created = Success(204)
    for what in ("traces", "spans"):
        yield Endpoint("opik", ("POST", "PATCH"), f"**/v1/private/{what}/batch", opik, f"json {what}", created)
        yield Endpoint("opik", ("PUT",), f"**/v1/private/{what}/feedback-scores", opik, "json scores", created)

    trust = ("api.braintrust.dev", "api-*.braintrust.dev")
    yield Endpoint("braintrust", _POST, "logs3", trust, "json rows+api_version", Success(200, _JSON, b'{"ids":[]}'))
    yield Endpoint("langwatch", _POST, "**/api/collector", ("app.langwatch.ai",), "json trace_id+spans", _OBJECT)
    helicone = ("api.helicone.ai", "*.api.helicone.ai", "api.hconeai.com", "api.us.helicone.ai", "eu.api.helicone.ai")
    yield Endpoint("helicone", _POST, "**/trace/log", helicone, "", _OBJECT)
    yield Endpoint("helicone", _POST, "*/v1/log", helicone, "json providerRequest+providerResponse", _OBJECT)


def _experiments() -> Iterator[Endpoint]:
    """MLflow: the requests that log a run. Endpoints that create or start something are left out, because programs read
    the id in their answers."""
    path = "**/mlflow/runs/"
    yield Endpoint("mlflow", _POST, f"{path}log-batch", (), "json run_id+metrics|run_id+params|run_id+tags", _OBJECT)
    for what in ("log-metric", "log-parameter", "set-tag"):
        yield Endpoint("mlflow", _POST, path + what, (), "json run_id+key+value|run_uuid+key+value", _OBJECT)


def _errors_and_apm() -> Iterator[Endpoint]:
    """Error trackers and monitoring."""
    sentry = ("sentry.io", "*.sentry.io")
    yield Endpoint("sentry", _POST, "**/api/*/envelope", sentry, "lines event_id|sent_at|dsn", _OBJECT)
    yield Endpoint("sentry", _POST, "**/api/*/store", sentry, "json event_id+timestamp+platform", _OBJECT)
    rollbar = Success(200, _JSON, b'{"err":0,"result":{"id":null}}')
    yield Endpoint("rollbar", _POST, "api/1/item", ("api.rollbar.com",), "json access_token+data", rollbar)

    dogs = ("*.datadoghq.com", "*.*.datadoghq.com", "*.datadoghq.eu", "*.ddog-gov.com", "*.*.ddog-gov.com")
    rates = Success(200, _JSON, b'{"rate_by_service":{}}')
    for version in ("v0.3", "v0.4", "v0.5", "v0.7"):
        yield Endpoint("datadog", ("POST", "PUT"), f"{version}/traces", dogs, "msgpack", rates)
    yield Endpoint("datadog", ("POST", "PUT"), "v0.6/stats", dogs, "", _OBJECT)
    for form in ("items _dd.stage", "json _dd.stage"):
        yield Endpoint("datadog", _POST, "**/api/v2/llmobs", dogs, form, _TAKEN)
    yield Endpoint("datadog", _POST, "**/api/v2/apmtelemetry", dogs, "json api_version+request_type", Success(202))
    for path in ("api/v1/series", "api/v2/series", "api/beta/sketches", "api/v2/logs", "v1/input", "api/v0.2/traces"):
        yield Endpoint("datadog", _POST, path, dogs, "", _TAKEN)

    comb = ("api.honeycomb.io", "api.*.honeycomb.io")
    yield Endpoint("honeycomb", _POST, "1/batch/*", comb, "items data+time", Success(200, _JSON, b"[]"))
    yield Endpoint("honeycomb", _POST, "1/events/*", comb, "", Success(200))
    relic = ("trace-api.newrelic.com", "trace-api.*.newrelic.com", "metric-api.newrelic.com", "log-api.newrelic.com",
             "metric-api.*.newrelic.com", "log-api.*.newrelic.com", "insights-collector.newrelic.com",
             "insights-collector.*.newrelic.com")  # fmt: skip
    for path in ("trace/v1", "metric/v1", "log/v1", "v1/accounts/events", "v1/accounts/*/events"):
        yield Endpoint("newrelic", _POST, path, relic, "", _TAKEN)
    yield Endpoint("elastic", _POST, "**/intake/v2/events", (), "lines metadata", Success(202))
    azure = ("*.applicationinsights.azure.com", "*.*.applicationinsights.azure.com", "dc.services.visualstudio.com")
    accepted = Success(200, _JSON, b'{"itemsReceived":0,"itemsAccepted":0,"errors":[]}')
    yield Endpoint("azure", _POST, "**/track", azure, "", accepted)
    indexed = Success(200, _JSON, b'{"text":"Success","code":0}')
    for path in ("**/services/collector", "**/services/collector/event"):
        yield Endpoint("splunk", _POST, path, (), "json event", indexed)
    yield Endpoint("loki", _POST, "**/loki/api/v1/push", (), "json streams", Success(204))
    yield Endpoint("zipkin", _POST, "**/api/v2/spans", (), "items traceId+id", Success(202))


def _analytics() -> Iterator[Endpoint]:
    """Product analytics, and reports of frameworks about their own use."""
    hog = ("*.i.posthog.com", "app.posthog.com", "eu.posthog.com", "us.posthog.com")
    noted = Success(200, _JSON, b'{"status":1}')
    events = "api_key+batch/*/event|api_key+event+distinct_id|api_key+event+properties/distinct_id"
    for path in ("batch", "capture", "e", "i/v0/e", "i/v0/ai/batch", "track"):
        yield Endpoint("posthog", _POST, path, hog, f"json {events}", noted)
    done = Success(200, _JSON, b'{"success":true}')
    segment = ("api.segment.io", "api.segment.com", "*.segmentapis.com")
    for path in ("batch", "track", "identify", "page", "screen", "group", "alias"):
        yield Endpoint("segment", _POST, f"v1/{path}", segment, "", done)
    code = Success(200, _JSON, b'{"code":200,"events_ingested":0,"payload_size_bytes":0,"server_upload_time":0}')
    for path in ("2/httpapi", "batch"):
        yield Endpoint("amplitude", _POST, path, ("api2.amplitude.com", "api.eu.amplitude.com"), "", code)
    panel = ("api.mixpanel.com", "api-*.mixpanel.com")
    status = Success(200, _JSON, b'{"error":null,"status":1}')
    for path in ("track", "engage", "groups"):
        yield Endpoint("mixpanel", _POST, path, panel, "", status)
    counted = Success(200, _JSON, b'{"code":200,"num_records_imported":0,"status":1,"error":null}')
    yield Endpoint("mixpanel", _POST, "import", panel, "", counted)
    yield Endpoint("analytics", _POST, "mp/collect", ("www.google-analytics.com",), "", Success(204))
    yield Endpoint("huggingface", ("HEAD",), "api/telemetry/**/*", ("huggingface.co",))


CATALOGUE: Final[tuple[Endpoint, ...]] = (
    *_otlp(), *_tracing(), *_experiments(), *_errors_and_apm(), *_analytics(),
)  # fmt: skip
"""All rows, in the order in which they are tried."""

NAMES: Final = tuple(dict.fromkeys(each.name for each in CATALOGUE))
"""Every name of a rule."""
