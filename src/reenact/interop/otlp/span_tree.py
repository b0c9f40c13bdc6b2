"""The course of a run as spans: one for it, one for each call, each with its parent, its retries and its errors."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from reenact.facts.call import Json, Kind
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Run, Status
from reenact.facts.trace_runs import is_original
from reenact.facts.tracecontext import Around, span_id, trace_id
from reenact.interop.otlp.call_attributes import SpelledCall, as_text, spelled
from reenact.interop.otlp.event_spans import MENTIONED, RecountedEvent, is_spanned, recounted, wrong
from reenact.interop.otlp.log_events import records_of
from reenact.interop.otlp.outgoing_span import SentSpan, SpanEvent
from reenact.interop.traces import SpanSort

_MOST_EVENTS: Final = 128
"""Events of one span, as the SDK of OpenTelemetry has it."""
_MOST_SIGNS: Final = 512
"""The most failed calls among which a repetition is looked for."""
_REFERENCE: Final = "reenact:{run}:{event}.{side}"


class SpanTree:
    """Makes the spans of one run as its calls end.

    Args:
        run: The run as it began.
        began_us: The wall clock at that time, microseconds since the epoch.
        dialect: The dialect of names (``facts.policy.OTEL_DIALECTS``).
        around: The caller's span; None: the run is a trace of its own.
    """

    def __init__(self, run: Run, began_us: int, dialect: str = "otel", around: Around | None = None) -> None:
        self._run = run
        self._began_ns = began_us * 1000
        self._dialect = dialect
        self._around = around
        self.trace = trace_id(run.id) if around is None else around.trace
        self._silent: dict[int, int | None] = {}
        """Calls that are no span, and the call around each."""
        self._mentions: dict[int | None, list[SpanEvent]] = {}
        self._failed: OrderedDict[tuple[str, int | None, str], int] = OrderedDict()
        self._last_us = 0

    def issued(self, event: Event) -> None:
        """Note that a call has been issued; its outcome is not read."""
        if not is_spanned(event):
            self._silent[event.number] = event.parent

    def ended(self, seen: RecountedEvent) -> SentSpan | None:
        """The span of a call that has ended (or never did, if the run is over); None where it is no span."""
        event = seen.event
        self._last_us = max(self._last_us, event.ended_us or event.issued_us)
        if not is_spanned(event):
            self._mention(event, seen)
            return None
        told = recounted(seen)
        error = wrong(seen)
        more: dict[str, Json] = {"reenact.run.id": self._run.id, "reenact.event.seq": event.number}
        repeats = self._repeats(seen, failed=error is not None)
        if repeats:
            more["reenact.retry"] = repeats
            if event.call.kind is Kind.HTTP:
                more["http.request.resend_count"] = repeats
        if not seen.inline:
            more |= _references(self._run.id, event, told)
        happened = self._mentions.pop(event.number, [])
        end_ns = self._at(max(event.ended_us or event.issued_us, event.issued_us))
        if error is not None:
            said = {"exception.type": error.type, "exception.message": error.text}
            happened.append(SpanEvent("exception", end_ns, said))
        attributes = spelled(replace(told, shared={**told.shared, **more}), self._dialect)
        return SentSpan(
            self.trace,
            span_id(self._run.id, event.number),
            self._parent(event.parent),
            told.title,
            told.kind,
            self._at(event.issued_us),
            end_ns,
            attributes,
            tuple(happened),
            None if error is None else error.text,
            records_of(told, attributes, end_ns, error) if self._dialect == "otel" else (),
        )

    def closed(self, run: Run, asked: Json = None, answered: Json = None) -> SentSpan:
        """The span of the run itself, last.

        Args:
            run: The run as it ended.
            asked, answered: Its input and output, where content is written.
        """
        totals, inline = run.totals, asked is not None or answered is not None
        said: dict[str, Json] = {"agent": run.agent, "session": run.session, "user": run.user, "tenant": run.tenant}
        for name in ("tokens_in", "tokens_out"):
            said[f"usage.{name}"] = getattr(totals, name) or None
        failed = run.status not in (Status.OK, Status.RECORDING)
        kind, _, text = run.error.partition(": ")
        shared: dict[str, Json] = {
            "reenact.run.id": run.id,
            "reenact.run.status": run.status.value,
            "reenact.run.parent": run.parent,
            "reenact.run.events": totals.events,
            "error.type": (kind or run.status.value) if failed else None,
            "reenact.route": run.route,
            "reenact.degraded": list(run.degraded),
            **{f"reenact.tag.{name}": value for name, value in run.tags.items()},
        }
        subject = run.agent or run.route or "run"
        told = SpelledCall(
            SpanSort.OTHER,
            "invoke_agent",
            subject,
            said=said,
            asked=asked,
            answered=answered,
            inline=inline,
            shared=shared,
        )
        end_ns = self._at(self._last_us)
        if run.ended_us is not None:
            end_ns = max(end_ns, self._began_ns + (run.ended_us - run.started_us) * 1000)
        return SentSpan(
            self.trace,
            span_id(self._run.id, None),
            "" if self._around is None else self._around.span,
            told.title,
            told.kind,
            self._began_ns,
            end_ns,
            spelled(told, self._dialect),
            tuple(self._mentions.pop(None, ())),
            (text or run.error or run.status.value) if failed else None,
        )

    def _at(self, since_us: int) -> int:
        return self._began_ns + since_us * 1000

    def _parent(self, event: int | None) -> str:
        return span_id(self._run.id, self._span_around(event))

    def _span_around(self, event: int | None) -> int | None:
        while event is not None and event in self._silent:
            event = self._silent[event]
        return event

    def _mention(self, event: Event, seen: RecountedEvent) -> None:
        """Add a small event to the span around it."""
        if event.call.kind not in MENTIONED or is_original(event.call):
            return
        events = self._mentions.setdefault(self._span_around(event.parent), [])
        if len(events) >= _MOST_EVENTS:
            return
        said: dict[str, Json] = {"reenact.event.seq": event.number, "reenact.name": event.name}
        name = f"reenact.{event.kind}"
        if event.call.kind is Kind.FLAG:
            name, said["feature_flag.key"] = "feature_flag.evaluation", event.name
        if seen.answered is not None:
            said["feature_flag.result.value" if event.call.kind is Kind.FLAG else "reenact.value"] = as_text(
                seen.answered
            )
        events.append(SpanEvent(name, self._at(event.issued_us), said))

    def _repeats(self, seen: RecountedEvent, *, failed: bool) -> int:
        """The number of earlier failures of the same call of the same strand."""
        if not seen.sign:
            return 0
        key = seen.event.lane, seen.event.parent, seen.sign
        count = self._failed.pop(key, 0)
        if failed:
            self._failed[key] = count + 1
            if len(self._failed) > _MOST_SIGNS:
                self._failed.popitem(last=False)
        return count


def resource(run: Run, version: str, commit: str = "") -> dict[str, Json]:
    """The attributes of the sender of a run's spans.

    Args:
        run: The run.
        version: The version of this library.
        commit: The commit of the agent's code; empty where it is not known.
    """
    found = {
        "service.name": run.agent or "reenact",
        "service.version": run.version,
        "vcs.ref.head.revision": commit,
        "telemetry.sdk.name": "reenact",
        "telemetry.sdk.language": "python",
        "telemetry.sdk.version": version,
    }
    return {name: value for name, value in found.items() if value}


_SIDES: Final[Mapping[SpanSort, tuple[str, str]]] = {
    SpanSort.MODEL: ("gen_ai.input.messages_ref", "gen_ai.output.messages_ref"),
}


def _references(run: str, event: Event, told: SpelledCall) -> dict[str, Json]:
    """The references to the content of a call: ``reenact cat`` prints the content for the text after ``reenact:``."""
    asked, answered = _SIDES.get(told.sort, ("reenact.request.ref", "reenact.response.ref"))
    http = event.call.kind is Kind.HTTP
    found = {asked: _REFERENCE.format(run=run, event=event.number, side="request.body" if http else "args")}
    if event.outcome is not None:
        found[answered] = _REFERENCE.format(run=run, event=event.number, side="response.body" if http else "result")
    return found
