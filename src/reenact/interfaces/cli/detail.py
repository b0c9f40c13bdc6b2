"""One event in detail, as text for a person."""

from __future__ import annotations

import json
from collections.abc import Iterator

from reenact.abc.body_access import WITHHELD
from reenact.abc.store import Recording
from reenact.facts.call import Failure, Json, Kind, Stream
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.interfaces.cli.shell import paint
from reenact.timetravel import preview
from reenact.timetravel.event_contents import Unread, answered, arguments_of, asked, asked_head, error_of, headers_of
from reenact.timetravel.model_readings import reading_of
from reenact.timetravel.step_view import shown_state
from reenact.timetravel.story import elapsed

_WIDTH = 160
_LINES = 60
_LIMIT = 1 << 20


def event_lines(recording: Recording, event: Event, mark: str = "") -> Iterator[str]:
    """The lines on one event: its request, answer, reading, timing, source line and lane."""
    title = f"#{event.number}  {event.kind}  {preview.safe(event.name)}  ({event.call.effect.value})"
    yield paint(f"{title}   <- {mark}" if mark else title, bold=True)
    yield from _facts(event)
    given = "input" if comes_in(event) else "request"
    yield from _block(given, _head_lines(asked_head(recording, event)), _content(asked(recording, event, _LIMIT)))
    outcome = event.outcome
    head = outcome.head if isinstance(outcome, Stream) else {}
    error = error_of(event)
    yield from _block(
        "answer" if error is None else "error", _head_lines(head), _content(answered(recording, event, _LIMIT))
    )
    if error is not None and isinstance(outcome, Stream):
        yield f"    {preview.safe(error.type)}: {preview.safe(error.text)}"
    reading = reading_of(event)
    if reading is not None:
        yield from _block("reading", [], reading)
    state = shown_state(recording, event.number)
    if state is not None:
        yield from _block("state", [], state)
    others = {key: value for key, value in event.attributes.items() if key != "reading"}
    if others:
        yield from _block("notes", [], others)


def _facts(event: Event) -> Iterator[str]:
    timing = f"issued at {preview.duration(event.issued_us)}"
    if event.first_us is not None:
        timing += f", first byte after {preview.duration(event.first_us - event.issued_us)}"
    if event.ended_us is not None:
        timing += f", took {preview.duration(elapsed(event))}"
    elif not comes_in(event):
        timing += ", never ended"
    yield f"  timing    {timing}"
    yield f"  lane      {preview.safe(event.lane)}, its call {event.position}"
    if event.parent is not None:
        yield f"  inside    #{event.parent}"
    if event.call.source:
        yield f"  source    {preview.safe(event.call.source)}"
    if event.delivery is not None:
        yield f"  delivery  {event.delivery}"
    if event.fidelity.value != "exact" or event.fidelity_note:
        yield f"  fidelity  {event.fidelity.value} {preview.safe(event.fidelity_note)}".rstrip()
    if isinstance(event.outcome, Stream):
        end = event.outcome.end
        how = end.kind.value if end is not None else "open"
        yield f"  stream    {event.outcome.segments} segments, {preview.size(event.outcome.size)}, ended: {how}"
    elif not comes_in(event):
        yield f"  outcome   {preview.clip(_one_word(event), 100)}"


def comes_in(event: Event) -> bool:
    """Whether an event is an input that the run began with. Nothing answers such an event."""
    return event.kind == Kind.INPUT and event.outcome is None


def onward(event: Event) -> str:
    """The command that prints most of an event: its answer, its error or its request; for an event without any of
    these, the command that shows its run."""
    if isinstance(event.outcome, Failure):
        return f"reenact cat {tail(event.run)}:{event.number}.result"
    if event.answer is not None and event.answer.size:
        return f"reenact cat {tail(event.run)}:{event.number}.response.body"
    if event.request is not None and event.request.size:
        return f"reenact cat {tail(event.run)}:{event.number}.request.body"
    return f"reenact show {tail(event.run)}"


def _one_word(event: Event) -> str:
    return type(event.outcome).__name__.lower() if event.outcome is not None else "open: never answered"


def _head_lines(head: object) -> list[str]:
    if not isinstance(head, dict):
        return []
    first = [f"{key}: {preview.brief(value, 120)}" for key, value in head.items() if key != "headers"]
    return first + [
        f"{preview.safe(name)}: {preview.clip(preview.safe(value), 120)}" for name, value in headers_of(head)
    ]


def _content(value: Json | Unread) -> Json:
    """The content to show, without the outer object of a call's arguments."""
    if isinstance(value, Unread):
        return f"<{preview.size(value.size)}, {'withheld' if value.why == WITHHELD else 'not shown'}>"
    return f"<{preview.size(len(value))}, no text>" if isinstance(value, bytes) else arguments_of(value)


def _block(name: str, heads: list[str], value: Json) -> Iterator[str]:
    if not heads and value is None:
        return
    yield paint(f"  {name}", bold=True)
    for text in heads:
        yield f"    {text}"
    if value is None:
        return
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)
    lines = text.splitlines()
    for line in lines[:_LINES]:
        yield f"    {preview.clip(preview.safe(line), _WIDTH)}"
    if len(lines) > _LINES:
        yield f"    … {len(lines) - _LINES} more lines"
