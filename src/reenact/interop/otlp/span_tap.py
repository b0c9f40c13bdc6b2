"""The spans and measurements of a run while it is recorded: made of cleaned records, in the writer's thread.

A tap only sees records that the privacy gate has let through. A finished span goes to the exporter of the process
(``exporters``), which never makes a writer wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from importlib.metadata import version
from typing import Any, Final

from reenact.facts.call import Call, Failure, Json, Kind, Outcome, Stream, Value
from reenact.facts.dialects import read, recognise
from reenact.facts.dialects.request_rewriting import as_sent
from reenact.facts.event import REWRITTEN, Event
from reenact.facts.feature_collector import FeatureCollector
from reenact.facts.lazy_dataclass import dataclass, field, replace
from reenact.facts.policy import Policy
from reenact.facts.reading import Reading
from reenact.facts.record import (
    CallIssued,
    CallSettled,
    EvidenceNoted,
    HeadArrived,
    LaneOpened,
    Record,
    RunClosed,
    SegmentArrived,
    StreamEnded,
)
from reenact.facts.run import Run
from reenact.facts.tracecontext import Propagation, around, named_hosts
from reenact.facts.values import jsonable
from reenact.interop.otlp.call_attributes import as_text, returned
from reenact.interop.otlp.event_spans import RecountedEvent, is_spanned, recounted
from reenact.interop.otlp.measures import of_call, of_run
from reenact.interop.otlp.outgoing_span import SentSpan
from reenact.interop.otlp.process_exporter import Exporter, exporter_for
from reenact.interop.otlp.span_tree import SpanTree, resource
from reenact.interop.questions import conversation
from reenact.interop.traces import SpanSort
from reenact.timetravel.event_contents import arguments_of, decoded_body, parsed

LARGEST: Final = 4 << 20
"""Bytes of one answer that are held for its content."""
_REVISION: Final = "kit.revision"


@dataclass(slots=True)
class _Call:
    """A call under way."""

    event: Event
    sign: str
    body: bytes = b""
    model: bool = False
    size: int = 0
    segments: int = 0
    parts: list[bytes] = field(default_factory=list)
    reading: Reading | None = None


class SpanTap:
    """Makes the spans of one run.

    Args:
        run: The run as it began.
        policy: The rules for content in spans, and for the names of attributes.
        exporter: The exporter for them.

    Attributes:
        propagation: Decides which requests carry the trace; None: none does.
    """

    def __init__(self, run: Run, policy: Policy, exporter: Exporter) -> None:
        self._run = run
        caller = around(run.environment.get("traceparent"))
        self._sampled = caller is None or caller.sampled
        hosts = policy.otel_propagate
        self.propagation = Propagation(run.id, named_hosts(hosts), caller) if hosts else None
        self._inline = policy.otel_content == "inline"
        self._metrics = "" if policy.otel_metrics == "off" else policy.otel_metrics
        self._counts: Counter[SpanSort] = Counter()
        self._noticing = FeatureCollector()
        self._sender = resource(run, version("reenact"))
        self._course = SpanTree(run, run.started_us, policy.otel_dialect, caller)
        self._exporter = exporter
        self._resource = self._sender
        self._lanes: dict[int, str] = {}
        self._open: dict[int, _Call] = {}
        self._unread: dict[int, _Call] = {}
        """Calls of models that have ended, until their reading comes."""
        self._ends: dict[Kind, Json] = {}

    def __call__(self, records: Sequence[Record]) -> None:
        """Take in cleaned records. A fault of ours costs the run's further spans, which are counted."""
        for record in records:
            if self._metrics:
                self._noticing.see(record)
            see = _SEEN_BY.get(type(record))
            if see is not None:
                see(self, record)

    def leave(self, timeout_s: float) -> None:
        """At the end of the program: wait for spans that are being sent, and report losses."""
        self._exporter.leave(timeout_s)

    def _lane(self, record: LaneOpened) -> None:
        self._lanes[record.number] = record.path

    def _issued(self, record: CallIssued) -> None:
        call, body = record.call, record.call.body
        lane = self._lanes.get(record.lane, "")
        bare = replace(call, body=b"")
        event = Event(self._run.id, record.event, lane, record.position, record.parent, bare, issued_us=record.at_us)
        event = replace(event, fidelity=record.fidelity)
        self._course.issued(event)
        spanned = is_spanned(event)
        if not spanned and call.kind not in (Kind.FLAG, Kind.NOTE, Kind.FILE, *_ENDS):
            return
        sign = f"{call.name} {blake2b(body, digest_size=8).hexdigest()}" if spanned else ""
        model = call.kind is Kind.HTTP and recognise(call.head, body) is not None
        keeps = self._inline or call.kind is Kind.FLAG
        self._open[record.event] = _Call(event, sign, body if keeps else b"", model, size=len(body))

    def _head(self, record: HeadArrived) -> None:
        held = self._open.get(record.event)
        if held is not None:
            asked, held.size = held.size, 0
            attributes = {"asked": asked}
            outcome = Stream(record.head, None)
            held.event = replace(held.event, first_us=record.at_us, outcome=outcome, attributes=attributes)

    def _segment(self, record: SegmentArrived) -> None:
        held = self._open.get(record.event)
        if held is not None:
            held.size += len(record.data)
            held.segments += 1
            if self._inline and held.size <= LARGEST:
                held.parts.append(record.data)

    def _ended(self, record: StreamEnded) -> None:
        held = self._open.get(record.event)
        if held is not None:
            before = held.event.outcome
            head: Mapping[str, Json] = before.head if isinstance(before, Stream) else {}
            self._settle(held, Stream(head, record.end, held.size, held.segments), record.at_us)

    def _settled(self, record: CallSettled) -> None:
        held = self._open.get(record.event)
        if held is not None:
            self._settle(held, record.outcome, record.at_us)

    def _settle(self, held: _Call, outcome: Outcome, at_us: int) -> None:
        number = held.event.number
        del self._open[number]
        held.event = replace(held.event, outcome=outcome, ended_us=at_us)
        if held.model and held.reading is None:
            self._unread[number] = held
        else:
            self._tell(held)

    def _noted(self, record: EvidenceNoted) -> None:
        if record.event is None:
            if record.key == _REVISION and isinstance(record.value, Mapping) and record.value.get("commit"):
                self._resource = resource(self._run, version("reenact"), str(record.value["commit"]))
            return
        if record.key == REWRITTEN and record.event in self._open:
            asks = self._open[record.event]
            call = as_sent(replace(asks.event.call, body=asks.body), record.value)
            asks.event, asks.body = replace(asks.event, call=replace(call, body=b"")), call.body
        if record.key != "reading" or not isinstance(record.value, Mapping):
            return
        held = self._unread.pop(record.event, None)
        reading = Reading.from_json({"dialect": "", **record.value})
        if held is not None:
            held.reading = reading
            self._tell(held)
        elif record.event in self._open:
            self._open[record.event].reading = reading

    def _closed(self, record: RunClosed) -> None:
        """Make the span of the run, which has ended; the end of a run inside it is ignored."""
        if record.run.id != self._run.id:
            return
        for held in [*self._unread.values(), *self._open.values()]:
            self._tell(held)
        self._unread.clear()
        self._open.clear()
        self._send(self._course.closed(record.run, self._ends.get(Kind.INPUT), self._ends.get(Kind.OUTPUT)))
        if self._metrics:
            counts = self._counts
            found = self._noticing.features(record.run)
            self._exporter.measure(
                self._sender, of_run(record.run, counts[SpanSort.MODEL], counts[SpanSort.TOOL], found)
            )

    def _tell(self, held: _Call) -> None:
        event = held.event
        if event.call.kind in _ENDS:
            self._end(held)
            return
        asked = event.attributes.get("asked", held.size)
        answered = held.size if isinstance(event.outcome, Stream) else None
        if isinstance(event.outcome, Value):
            answered = len(event.outcome.body)
        seen = RecountedEvent(event, held.reading, sizes=(asked or None, answered), sign=held.sign, inline=self._inline)
        if self._inline or event.call.kind is Kind.FLAG:
            seen = _with_content(seen, held)
        if self._metrics and is_spanned(event):
            self._counts[recounted(seen).sort] += 1
            self._exporter.measure(self._sender, of_call(seen, self._metrics))
        self._send(self._course.ended(seen))

    def _end(self, held: _Call) -> None:
        if not self._inline:
            return
        kind, outcome = held.event.call.kind, held.event.outcome
        if kind is Kind.INPUT:
            self._ends.setdefault(kind, arguments_of(jsonable(held.body)))
        else:
            data = _bytes(outcome.body) if isinstance(outcome, Value) else b""
            self._ends[kind] = jsonable(data or held.body)

    def _send(self, span: SentSpan | None) -> None:
        if span is not None and self._sampled:
            self._exporter.offer(self._resource, span)


_ENDS: Final = (Kind.INPUT, Kind.OUTPUT)
_SEEN_BY: Final[Mapping[type, Callable[[SpanTap, Any], None]]] = {
    SegmentArrived: SpanTap._segment,
    CallIssued: SpanTap._issued,
    CallSettled: SpanTap._settled,
    HeadArrived: SpanTap._head,
    StreamEnded: SpanTap._ended,
    LaneOpened: SpanTap._lane,
    EvidenceNoted: SpanTap._noted,
    RunClosed: SpanTap._closed,
}
"""The function for each sort of record; other records are in no span."""


def _bytes(body: Any) -> bytes:
    """The bytes of a body; empty for a body that is written in pieces."""
    return body if isinstance(body, bytes) else b""


def _with_content(seen: RecountedEvent, held: _Call) -> RecountedEvent:
    """The event for its span, with the content of request and answer."""
    event, call = seen.event, seen.event.call
    outcome = event.outcome
    if held.model:
        head = outcome.head if isinstance(outcome, Stream) else {}
        return replace(seen, reading=read(call.head, held.body, head, b"".join(held.parts)) or seen.reading)
    asked: Json = _plain(call, held.body)
    answered: Json = None
    if isinstance(outcome, Stream):
        answered = _text(parsed(decoded_body(outcome.head, b"".join(held.parts)))) if held.parts else None
    elif isinstance(outcome, Value):
        answered = outcome.head.get("chunks") or jsonable(_bytes(outcome.body)) if outcome.body else None
        answered = returned(answered) if call.kind is Kind.TOOL and outcome.body else answered
    if call.kind is Kind.MODEL:
        return replace(seen, reading=_function(event, asked, answered))
    return replace(seen, asked=asked, answered=answered)


def _plain(call: Call, body: bytes) -> Json:
    if not body:
        return None
    return _text(parsed(decoded_body(call.head, body))) if call.kind is Kind.HTTP else arguments_of(jsonable(body))


def _text(content: Json) -> Json:
    return content.decode("utf-8", "backslashreplace") if isinstance(content, bytes) else content


def _function(event: Event, asked: Json, answered: Json) -> Reading:
    """A model inside the process: its arguments are the question, its result the answer."""
    messages = asked.get("messages") if isinstance(asked, Mapping) else None
    told = conversation(messages if isinstance(messages, list) else [{"role": "user", "content": as_text(asked)}])
    said = "" if isinstance(event.outcome, Failure) else str(as_text(answered) or "")
    return Reading("function", model_asked=event.name, system=told.system, messages=tuple(told.messages), text=said)


def open_tap(run: Run, policy: Policy) -> SpanTap | None:
    """The tap of a run that begins here; None where no spans are wanted."""
    if not (policy.otel_endpoint or policy.otel_provider):
        return None
    return SpanTap(run, policy, exporter_for(policy))
