"""The story of a run: one line an event, what is ambient or repeated folded, what is suspicious marked.

Two passes: the first reads events without their payloads and decides what is folded and marked; the second reads the
payloads of the lines that remain, one at a time, when they are asked for.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from reenact.abc.store import Recording
from reenact.facts.call import EndKind, Failure, Stream
from reenact.facts.event import Event
from reenact.facts.plumbing import MARK as PLUMBING
from reenact.facts.plumbing import is_plumbing
from reenact.timetravel import preview
from reenact.timetravel.contents import Unread, answered, asked, error_of, status_of
from reenact.timetravel.readings import decision_of, is_model, model_name, parameters, reading_of

AMBIENT = frozenset(("clock", "random", "env", "flag"))
"""Kinds that the story folds unless all is asked for."""

_LONGEST_PATTERN = 6
_FEWEST_REPEATS = 3
_FIRST_BAD_STATUS = 400
_TEXT = 400
_PREVIEW_LIMIT = 256 << 10


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a story.

    Attributes:
        first, last: Numbers of the events it stands for.
        count: How many events that is.
        depth: How deep it is nested: 0 for what the agent itself called.
        kind: Sort of crossing; ``model`` for recognised exchanges too, ``plumbing`` for telemetry that is handed over,
            ``…`` for folded repeats.
        name: What was called.
        text: What was asked and answered, in short.
        mark: Why a person should look here; empty for most.
        lane: Lane that issued it.
        elapsed_us: From issue to end, microseconds; None while open.
    """

    first: int
    last: int
    count: int
    depth: int
    kind: str
    name: str
    text: str
    mark: str = ""
    lane: str = ""
    elapsed_us: int | None = None


@dataclass(frozen=True, slots=True)
class _Beat:
    """One or several events of the story before their payloads are read."""

    events: tuple[Event, ...]
    depth: int
    signature: tuple[str, ...]
    mark: str = ""
    pattern: int = 0
    """Length of the pattern a fold repeats; 0 where nothing is folded."""


def tell(recording: Recording, *, everything: bool = False, stretch: tuple[int, int] | None = None) -> Iterator[Line]:
    """The lines of a run, in order.

    Args:
        recording: The run.
        everything: Fold nothing.
        stretch: Only events from the first to the second number, both included.

    Returns:
        Lines, made when they are asked for. Costs one pass over the events, and one payload preview a line.
    """
    first, last = stretch or (0, None)
    events = []
    for event in recording.events(after=first - 1):
        if last is not None and event.number > last:
            break
        events.append(event)
    beats = _beats(events)
    for beat in beats if everything else _folded(_quiet(beats)):
        yield _line(recording, beat)


def elapsed(event: Event) -> int | None:
    """Microseconds from issue to end; None while open."""
    return None if event.ended_us is None else max(event.ended_us - event.issued_us, 0)


def suspicion(event: Event) -> str:
    """Why this event alone deserves a look: an error, an error status, no answer; empty for most."""
    error = error_of(event)
    status = status_of(event)
    if isinstance(event.outcome, Failure):
        return "error"
    if event.outcome is None:
        return "" if event.call.observed and event.kind != "step" else "no answer"
    if isinstance(event.outcome, Stream):
        end = event.outcome.end
        if status is not None and status >= _FIRST_BAD_STATUS:
            return f"status {status}"
        if end is None:
            return "broken off"
        if end.kind in (EndKind.ERROR, EndKind.CANCELLED) or error is not None:
            return f"stream {end.kind.value}"
    return ""


def _beats(events: Iterable[Event]) -> list[_Beat]:
    """One beat an event, with its depth, its signature and its mark."""
    depths: dict[int, int] = {}
    seen: dict[tuple[str, ...], int] = {}
    beats = []
    for event in events:
        depth = depths.get(event.parent, -1) + 1 if event.parent is not None else 0
        depths[event.number] = depth
        mark = suspicion(event)
        identity = (event.kind, event.name, event.key)
        if event.key and event.kind not in AMBIENT and not event.call.observed and not is_plumbing(event.call):
            if not mark and identity in seen:
                mark = f"the same as #{seen[identity]}"
            seen.setdefault(identity, event.number)
        beats.append(_Beat((event,), depth, _signature(event), mark))
    return beats


def _signature(event: Event) -> tuple[str, ...]:
    """What makes two events the same in a loop: for a model its decision, since the conversation grows meanwhile."""
    decision = decision_of(event)
    if decision is not None:
        return ("model", model_name(event), json.dumps([decision.tools, decision.text], default=str))
    return (event.kind, event.name, event.key or f"#{event.number}")


def _quiet(beats: Iterable[_Beat]) -> list[_Beat]:
    """Neighbouring ambient events as one beat each, and neighbouring exports of telemetry."""
    out: list[_Beat] = []
    for beat in beats:
        event = beat.events[0]
        quiet = "ambient" if event.kind in AMBIENT else PLUMBING if is_plumbing(event.call) else ""
        if not quiet or beat.mark:
            out.append(beat)
        elif out and out[-1].signature == (quiet,):
            out[-1] = replace(out[-1], events=out[-1].events + beat.events)
        else:
            out.append(replace(beat, signature=(quiet,)))
    return out


def _folded(beats: Sequence[_Beat]) -> Iterator[_Beat]:
    """Patterns of up to six beats that stand three or more times in a row: once in full, the rest as one beat."""
    signatures = [(beat.signature, beat.depth) for beat in beats]
    at = 0
    while at < len(beats):
        length, times = _repeats(signatures, at)
        if times < _FEWEST_REPEATS:
            yield beats[at]
            at += 1
            continue
        end = at + length * times
        yield from beats[at : at + length]
        rest = tuple(event for beat in beats[at + length : end] for event in beat.events)
        own = (event for event in rest if not is_plumbing(event.call))
        acting = any(event.kind not in AMBIENT and not event.call.observed for event in own)
        mark = "suspicious: a loop" if acting else ""
        yield _Beat(rest, beats[at].depth, ("repeat",), mark, pattern=length)
        at = end


def _repeats(signatures: Sequence[tuple[tuple[str, ...], int]], at: int) -> tuple[int, int]:
    """The pattern that starts at ``at`` and covers most: its length, and how often it stands there."""
    best = (1, 1)
    for length in range(1, _LONGEST_PATTERN + 1):
        matched = at + length
        while matched < len(signatures) and signatures[matched] == signatures[matched - length]:
            matched += 1
        times = (matched - at) // length
        if times >= _FEWEST_REPEATS and times * length > best[0] * best[1]:
            best = (length, times)
    return best


def _line(recording: Recording, beat: _Beat) -> Line:
    event, last = beat.events[0], beat.events[-1]
    count = len(beat.events)
    if beat.pattern:
        return Line(event.number, last.number, count, beat.depth, "…", "", _repeat_text(beat), beat.mark)
    if beat.signature == ("ambient",) and count > 1:
        counts = Counter(part.kind for part in beat.events)
        text = ", ".join(f"{kind} {number}" for kind, number in counts.items())
        return Line(event.number, last.number, count, beat.depth, "ambient", f"{count} reads", text)
    if beat.signature == (PLUMBING,) and count > 1:
        counts = Counter(str(part.call.head[PLUMBING]) for part in beat.events)
        text = ", ".join(f"{rule} {number}" for rule, number in counts.items())
        return Line(event.number, last.number, count, beat.depth, PLUMBING, f"{count} exports", text)
    kind = "model" if reading_of(event) is not None else PLUMBING if is_plumbing(event.call) else event.kind
    name = preview.safe(model_name(event) if is_model(event) else event.name)
    text = event_text(recording, event)
    return Line(event.number, event.number, 1, beat.depth, kind, name, text, beat.mark, event.lane, elapsed(event))


def _repeat_text(beat: _Beat) -> str:
    names = list(dict.fromkeys(model_name(part) if is_model(part) else part.name for part in beat.events))
    words = {1: "call", 2: "pair"}.get(beat.pattern, f"{beat.pattern} calls")
    times = len(beat.events) // beat.pattern
    shown = preview.clip(preview.safe(" + ".join(names)), 60)
    return f"the same {words} again, {times} more times, identical arguments: {shown}"


def event_text(recording: Recording, event: Event) -> str:
    """What an event asked and what came back, in one safe line. Reads its payloads up to a bound."""
    if is_model(event):
        return _model_text(recording, event)
    request = asked(recording, event, _PREVIEW_LIMIT)
    outcome = outcome_text(recording, event)
    if event.kind in ("tool", "retrieval", "mcp"):
        left = "" if request is None else _asked_text(request)
        return f"{left} -> {outcome}" if outcome else left
    left = _short(request)
    if event.kind == "http":
        left = "" if event.request is None else preview.size(event.request.size)
    return " -> ".join(part for part in (left, outcome) if part)


def _asked_text(request: object) -> str:
    """The arguments of a call as its author would write them, or how large they are."""
    if isinstance(request, Unread):
        return f"({_short(request)})"
    return preview.call_text("", arguments_of(request), 120)


def arguments_of(request: object) -> object:
    """The arguments of an entry without the frame they are kept in, where all are positional or all are named."""
    if isinstance(request, Mapping) and set(request) == {"args", "kwargs"}:
        if not request["args"]:
            return request["kwargs"]
        if not request["kwargs"]:
            return request["args"]
    return request


def outcome_text(recording: Recording, event: Event) -> str:
    """What came back, in one safe line."""
    error = error_of(event)
    if isinstance(event.outcome, Failure) and error is not None:
        return preview.clip(preview.safe(f"{error.type.rpartition('.')[2]}: {error.text}"), _TEXT)
    if isinstance(event.outcome, Stream):
        size = preview.size(event.outcome.size)
        status = status_of(event) or event.outcome.head.get("status")  # gRPC has names for them
        words = [preview.safe(str(status))] if status is not None else []
        words.append(size if event.outcome.segments <= 1 else f"{size} in {event.outcome.segments} segments")
        return "  ".join(words)
    if event.outcome is None:
        return "" if event.call.observed else "(open)"
    answer = answered(recording, event, _PREVIEW_LIMIT)
    return _short(_said(answer) if event.kind == "human" else answer, empty="None")


def _said(answer: object) -> object:
    """What a person said: behind a letter, and before what was read ahead (``seams.stdin``)."""
    if not isinstance(answer, str) or not answer:
        return answer
    return answer[1:].partition("\n")[0] if answer[0] == "+" else "(nobody)"


def _model_text(recording: Recording, event: Event) -> str:
    decision = decision_of(event)
    if decision is None:
        return outcome_text(recording, event)
    chosen = [f"{key}={preview.brief(value, 20)}" for key, value in parameters(event).items() if key == "temperature"]
    says = ", ".join(preview.call_text(name, arguments, 160) for name, arguments in decision.tools)
    says = says or preview.brief(decision.text, _TEXT)
    return " ".join([*chosen, "->", says])


def _short(value: object, empty: str = "") -> str:
    if value is None:
        return empty
    if isinstance(value, Unread):
        return f"<{preview.size(value.size)}>"
    return preview.brief(value, _TEXT)
