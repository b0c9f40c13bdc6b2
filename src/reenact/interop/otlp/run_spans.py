"""A recorded run as spans, afterwards: its records are read from the store, and the module that makes spans of a
running run makes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from reenact.abc.store import Recording
from reenact.abc.suspicion_rules import rules_in_force
from reenact.errors import BlobMissing
from reenact.facts.call import RETURN, Json, Kind, Stream, Value
from reenact.facts.dialects import read, recognise
from reenact.facts.event import Event, sent_call
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.plumbing import is_plumbing
from reenact.facts.reading import Reading
from reenact.facts.suspicions import Suspicion
from reenact.facts.trace_runs import is_original, is_traced_model, is_untold, reading_in
from reenact.facts.tracecontext import around
from reenact.interop.otlp.call_attributes import as_text, returned
from reenact.interop.otlp.event_spans import MENTIONED, SPANNED, RecountedEvent, is_spanned
from reenact.interop.otlp.outgoing_span import Batch, SentSpan
from reenact.interop.otlp.span_tree import SpanTree, resource
from reenact.interop.questions import conversation
from reenact.interop.trace_import import untold
from reenact.recording.head_commit import REVISION
from reenact.replaying.ambient_replay import clock_of
from reenact.timetravel.event_contents import Unread, answered, arguments_of, asked
from reenact.timetravel.model_readings import reading_of
from reenact.timetravel.suspicion_marks import marked

_ENDS: Final = frozenset({Kind.INPUT, Kind.OUTPUT})
_SAID_AT: Final = 256
SUSPICIONS: Final = "reenact.suspicions"
"""The attribute with the names of the rules of suspicion that mark a span's event. The run's span names all rules that
mark any of its events."""
LONG: Final = "contents of more than 1 MiB, or that were withheld"
BYTES: Final = "exchanges, without their headers and bytes"


@dataclass(frozen=True, slots=True)
class ExportedSpans:
    """A run as spans.

    Attributes:
        batch: Its spans, the run's own last.
        lost: The facts of the run that the spans lack: in words, with their number.
    """

    batch: Batch
    lost: Mapping[str, int]


def exported(
    recording: Recording, *, dialect: str, inline: bool, version: str, progress: Callable[[int, int], object] = untold
) -> ExportedSpans:
    """The spans of a run.

    Args:
        recording: The run.
        dialect: The dialect of names (``facts.policy.OTEL_DIALECTS``).
        inline: Write content (messages, arguments, results); else only references to it.
        version: The version of this library.
        progress: Called with the number of events that were read, and the number of all events, again and again.
    """
    run = recording.run
    course = SpanTree(run, clock_of(run)[0], dialect, around(run.environment.get("traceparent")))
    marks = marked(recording, rules_in_force())
    spans: list[SentSpan] = []
    lost: Counter[str] = Counter()
    ends: dict[Kind, Json] = {}
    for done, event in enumerate(recording.events()):
        if not done % _SAID_AT:
            progress(done, run.totals.events)
        course.issued(event)
        why = _lost(event)
        if why:
            lost[why] += 1
        if inline and event.call.kind in _ENDS:
            _end(recording, event, ends, lost)
        span = course.ended(_seen(recording, event, inline, lost))
        if span is not None:
            spans.append(_suspected(span, marks.get(event.number, ())))
    whole = course.closed(run, ends.get(Kind.INPUT), ends.get(Kind.OUTPUT))
    spans.append(_suspected(whole, [each for found in marks.values() for each in found]))
    if run.totals.deliveries:
        lost["turns, and with them the order of strands"] = run.totals.deliveries
    noted = recording.notes(None).get(REVISION)
    commit = str(noted.get("commit") or "") if isinstance(noted, Mapping) else ""
    return ExportedSpans(Batch(resource(run, version, commit), spans, version), dict(lost))


def _suspected(span: SentSpan, found: Iterable[Suspicion]) -> SentSpan:
    """A span with the names of the rules that mark its event; the rules' texts may hold content, and are left out."""
    names = list(dict.fromkeys(each.rule for each in found))
    return replace(span, attributes={**span.attributes, SUSPICIONS: names}) if names else span


def _lost(event: Event) -> str:
    """The part of an event that no span holds; empty without one."""
    if is_original(event.call) or event.call.kind in _ENDS:
        return ""
    if is_plumbing(event.call):
        return "exports of telemetry by the agent itself"
    if not is_spanned(event) and event.call.kind not in MENTIONED:
        return f"events of kind {event.kind}" + (" that are no request" if event.call.kind in SPANNED else "")
    return BYTES if event.call.kind is Kind.HTTP else ""


def _seen(recording: Recording, event: Event, inline: bool, lost: Counter[str]) -> RecountedEvent:
    reading = reading_told(recording, event, inline=inline)
    sizes = (
        None if event.request is None else event.request.size,
        event.outcome.size
        if isinstance(event.outcome, Stream)
        else None
        if event.answer is None
        else event.answer.size,
    )
    sign = f"{event.name} {event.request.digest if event.request is not None else ''}"
    given: Json = None
    came: Json = None
    if (inline and reading is None and is_spanned(event)) or event.call.kind is Kind.FLAG:
        given = arguments_of(_told(asked(recording, event), lost))
        content = answered(recording, event) if isinstance(event.outcome, Value | Stream) else None
        came = _told(content, lost)
        gave = event.call.kind is Kind.TOOL and isinstance(event.outcome, Value) and not is_untold(event)
        if gave and came is content:
            came = returned(came)
        if event.call.kind is Kind.RETRIEVAL and isinstance(event.outcome, Value):
            came = event.outcome.head.get("chunks") or came
    return RecountedEvent(event, reading, given, came, sizes, sign, inline)


def _told(content: object, lost: Counter[str]) -> Json:
    if isinstance(content, Unread):
        lost[LONG] += 1
        return None
    return content.decode("utf-8", "backslashreplace") if isinstance(content, bytes) else content


def _end(recording: Recording, event: Event, ends: dict[Kind, Json], lost: Counter[str]) -> None:
    """Input and output of the run: its first input, and the result of its function, or its last output."""
    kind = event.call.kind
    if kind is Kind.INPUT and kind not in ends:
        ends[kind] = arguments_of(_told(asked(recording, event), lost))
    elif kind is Kind.OUTPUT and (event.name == RETURN or kind not in ends):
        returned = event.name == RETURN
        ends[kind] = _told((answered if returned else asked)(recording, event), lost)


def reading_told(recording: Recording, event: Event, *, inline: bool) -> Reading | None:
    """The reading of a model call; with the conversation where content is written."""
    if event.call.kind not in (Kind.HTTP, Kind.MODEL):
        return None
    found = reading_of(event)
    brief = None if found is None else Reading.from_json({"dialect": "", **found})
    if brief is not None and not inline:
        return brief
    try:
        return _full(recording, event) or brief
    except BlobMissing:  # withheld, or thinned
        return brief


def _full(recording: Recording, event: Event) -> Reading | None:
    outcome = event.outcome
    if event.call.kind is Kind.MODEL:
        if not is_traced_model(event.call):
            return _function(recording, event)
        answer = recording.body(event.answer) if isinstance(outcome, Value) else b""
        return reading_in(recording.body(event.request), answer)
    if event.call.head.get("method") != "POST":
        return None
    body = recording.body(event.request)
    if recognise(event.call.head, body) is None:
        return None
    call, head = sent_call(event, body), outcome.head if isinstance(outcome, Stream) else {}
    return read(call.head, call.body, head, (data for _, _, data in recording.parts(event.number)))


def _function(recording: Recording, event: Event) -> Reading:
    """A model inside the process: its arguments are the question, its result the answer."""
    given = arguments_of(_known(asked(recording, event)))
    said = _known(answered(recording, event)) if isinstance(event.outcome, Value) else ""
    messages = given.get("messages") if isinstance(given, Mapping) else None
    told = conversation(messages if isinstance(messages, list) else [{"role": "user", "content": as_text(given)}])
    return Reading(
        dialect="function",
        model_asked=event.name,
        system=told.system,
        messages=tuple(told.messages),
        text=str(as_text(said) or ""),
    )


def _known(content: object) -> Json:
    return None if isinstance(content, Unread) else content
