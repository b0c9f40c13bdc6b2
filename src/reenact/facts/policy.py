"""Policy: what a recording may keep and how, as one frozen value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from reenact.errors import UsageError
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import dataclass, field

if TYPE_CHECKING:
    from reenact.facts.ignored_requests import unrecorded
    from reenact.facts.plumbing import ruled
    from reenact.facts.sampling import shares
    from reenact.facts.tracecontext import named_hosts
else:
    ruled = late("reenact.facts.plumbing", "ruled")
    shares = late("reenact.facts.sampling", "shares")
    unrecorded = late("reenact.facts.ignored_requests", "unrecorded")
    named_hosts = late("reenact.facts.tracecontext", "named_hosts")

REDACTIONS = ("credential",)
"""Rules that ``redact`` may name."""

UNSAMPLED = ("nothing", "events")
"""The parts of a run outside of the sample that may be kept."""

OTEL_PROVIDERS = ("", "program")
"""The OpenTelemetry provider that gets the spans: none, or the recorded program's."""

OTEL_CONTENTS = ("reference", "inline")
"""The form of content in spans: a reference to it, or the content itself."""

OTEL_DIALECTS = ("otel", "otel-before", "openinference")
"""The sets of names for attributes in spans: OpenTelemetry's present and earlier names, and OpenInference's."""

OTEL_METRICS = ("released", "next", "off")
"""The sets of names for metrics: those of the conventions' last release, those of the next one, or no metrics."""

LARGEST_VALUE_MB = 100.0
"""The default for the longest value that is kept."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules by which a run is recorded.

    Attributes:
        order: ``exact`` (default: deliveries are spaced so that their order can be proven), ``arrival`` (numbered
            as they come, never held) or ``off`` (not numbered).
        hold_ms: Longest time the gate holds one delivery while recording, in milliseconds.
        files: Glob patterns, relative to the project, of files the run declares as results; their digests are
            compared on replay.
        file_contents: Glob patterns, relative to the project, of files whose content is kept when the run reads them; a
            replay then supplies it. ``*`` goes into folders. Of all other files that it reads, a digest is kept.
        env: Names of environment variables whose values may be stored; of all other variables, only the names are
            stored.
        require: The facts that must be known about a run: ``user_id``, ``tenant_id``, ``session_id``, ``agent``,
            ``version``, or the name of a tag. A missing one is a capture gap of the run.
        sample: Share of the runs that end well that are kept, 0 to 1. It is decided when a run ends: until then it is
            recorded like any other. Runs that failed, timed out, were interrupted or killed, or are flagged or labelled
            by then, are always kept, with the runs around them. To turn recording off, set ``REENACT_DISABLE=1``.
        sampling: The share of runs to keep by agent (``refunds``), by route of a server (``POST /ask``, ``/static/*``)
            or by one agent's route (``refunds@/ask``). It overrides ``sample``.
        unsampled: The part of a run outside of the sample that is kept: ``nothing``, or its ``events`` with names,
            times, sizes and digests, and no bodies. With its events, the run can be read and counted, but not replayed.
        retention: The class that decides how long the run is kept: ``ok``, ``failed``, ``flagged``, ``test``, a class
            in the setting ``keep``, a span (``90d``), or ``always``. If it is empty, the run's own end decides. A run
            of any other class is kept for good.
        redact: Extra redaction: the name of a field to the name of a rule. The only rule so far, ``credential``,
            removes the value of each field of that name, as it removes passwords.
        ignore: Named ignore rules for matching: name to JSON pointer with dots (``body.metadata.trace_id``).
        plumbing: Which requests only hand telemetry over, beside the list of this library: name to ``off`` (``all`` for
            the whole list), or to a rule ``METHOD HOST/PATH [STATUS [BODY]]``. Such requests never make a replay
            differ.
        server_ignore: Requests that a recorded server answers without a run (``server.ignore`` in the settings):
            ``PATH`` or ``METHOD PATH``, where ``*`` stands for any text.
        largest_value_mb: The longest value that is kept when a call returns it, in MB (a million bytes) as data. Of a
            longer value, only size and digest are kept; a replay that needs it names the value.
        largest_run_mb: The most data that a run keeps of its calls' answers, values and streams together, in MB. Of
            each further value, only size and digest are kept. 0 sets no limit.
        otel_endpoint: The address to which the run's spans are sent as they happen (``http://localhost:4318``, OTLP
            over HTTP). A replay sends no spans.
        otel_provider: With ``program``, spans go to the processors of the ``TracerProvider`` that the program has set
            up, and not to an endpoint.
        otel_content: The form of content in spans: ``reference`` (its place in the store) or ``inline``.
        otel_dialect: Names of attributes in spans: ``otel``, ``otel-before`` or ``openinference``.
        otel_metrics: Names of the metrics that are sent beside the spans: ``released`` (``gen_ai.client.token.usage``),
            ``next`` (``gen_ai.client.inference.usage.input_tokens``), or ``off`` for no metrics.
        otel_propagate: Hosts (``api.example.com``, ``localhost:8080``, ``*.example.com``) whose requests from the agent
            get the header ``traceparent``, where spans are sent, so that the trace goes on there. The header is no part
            of the key.
        check_changes: Look for changes that a tool makes to its arguments and surroundings. Without it such changes are
            not kept, and a replay does not make them again.

    Raises:
        UsageError: ``sample`` is no share, ``unsampled`` or ``otel_…`` is no permitted word, ``largest_value_mb`` or
            ``largest_run_mb`` is no size, ``sampling`` has an entry that is no agent, route or share, ``redact`` names
            a rule that does not exist, ``plumbing`` has a rule that cannot be read, ``server_ignore`` has an entry that
            is no path, or ``otel_propagate`` has an entry that is no host.
    """

    order: str = "exact"
    hold_ms: float = 20.0
    files: tuple[str, ...] = ()
    file_contents: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    sample: float = 1.0
    sampling: Mapping[str, float] = field(default_factory=dict)
    unsampled: str = "nothing"
    retention: str = ""
    redact: Mapping[str, str] = field(default_factory=dict)
    ignore: Mapping[str, str] = field(default_factory=dict)
    plumbing: Mapping[str, str] = field(default_factory=dict)
    server_ignore: tuple[str, ...] = ()
    largest_value_mb: float = LARGEST_VALUE_MB
    largest_run_mb: float = 0.0
    otel_endpoint: str = ""
    otel_provider: str = ""
    otel_content: str = "reference"
    otel_dialect: str = "otel"
    otel_metrics: str = "released"
    otel_propagate: tuple[str, ...] = ()
    check_changes: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.sample <= 1:
            raise UsageError(f"sample={self.sample!r} is no share", cause="it is 0 to 1", next_command="reenact config")
        if self.unsampled not in UNSAMPLED:
            raise UsageError(
                f"unsampled={self.unsampled!r} says nothing of the runs that are left out",
                cause=f"it is one of {', '.join(UNSAMPLED)}",
                next_command="reenact config",
            )
        for name in ("largest_value_mb", "largest_run_mb"):
            if not getattr(self, name) >= 0:
                raise UsageError(
                    f"{name}={getattr(self, name)!r} is no size",
                    cause="it is a number of megabytes",
                    next_command="reenact config",
                )
        for name, words in _WORDS.items():
            if getattr(self, name) not in words:
                raise UsageError(
                    f"{name}={getattr(self, name)!r} is no such word",
                    cause=f"allowed: {', '.join(filter(None, words))}{', or leave it empty' if '' in words else ''}",
                    next_command="reenact config",
                )
        given = [each for each in _CHECKED if getattr(self, each[0])]  # a check is loaded only for a field that is set
        for name, check, cause in given:
            try:
                check(getattr(self, name))
            except ValueError as error:
                raise UsageError(f"{name} {error}", cause=cause, next_command="reenact config") from None
        if self.plumbing:
            try:
                ruled(self.plumbing)
            except ValueError as error:
                raise UsageError(
                    f"plumbing: {error}", cause="a rule names one endpoint", next_command="reenact config"
                ) from None
        for name, rule in self.redact.items():
            if rule not in REDACTIONS:
                raise UsageError(
                    f"redact names the rule {rule!r} for {name!r}, which is not available yet",
                    cause=f"this version has: {', '.join(REDACTIONS)}",
                    next_command="reenact config",
                )


_WORDS = {
    "otel_provider": OTEL_PROVIDERS,
    "otel_content": OTEL_CONTENTS,
    "otel_dialect": OTEL_DIALECTS,
    "otel_metrics": OTEL_METRICS,
}
_CHECKED: tuple[tuple[str, Callable[[Any], object], str], ...] = (
    ("sampling", shares, "it gives agents and routes a share"),
    ("server_ignore", unrecorded, "it names requests by their path"),
    ("otel_propagate", named_hosts, "it names hosts, no addresses"),
)
"""The fields, each with its check (which raises ``ValueError``) and its meaning."""
