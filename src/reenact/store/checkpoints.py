"""The agent's messages and state at an event, derived from its log.

The state is what the nearest step says that encloses the event or came before it in the same strand. Messages and
model are what the last model call until then was given and answered.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

from reenact.abc.store import Recording
from reenact.facts.call import Failure, Json, Kind, Stream, Value
from reenact.facts.checkpoint import Checkpoint
from reenact.facts.dialects import read, recognise, sort_of
from reenact.facts.event import Event
from reenact.facts.reading import Reading
from reenact.facts.values import decode, jsonable

PROMPT_VERSION = "prompt_version"
"""Name of the note that says which version of the prompt was in use."""


def build_checkpoint(recording: Recording, at: Event) -> Checkpoint:
    """What the agent held at an event.

    Args:
        recording: The run.
        at: The event; a step itself gives the state it began with.

    Raises:
        BlobMissing, BlobCorrupt: A state is not what was stored.
    """
    run = recording.run
    steps: list[Event] = []
    tools: list[Json] = []
    models: list[Event] = []
    noted = ""
    for event in recording.events(kinds=(Kind.STEP, Kind.TOOL, Kind.MODEL, Kind.HTTP)):
        if event.number > at.number:
            break
        if event.kind == Kind.STEP:
            steps.append(event)
        elif event.kind == Kind.TOOL:
            tools.append(_tool_call(recording, event))
        elif event.kind == Kind.MODEL or event.call.head.get("method") == "POST":
            models.append(event)
        noted = str(event.attributes.get(PROMPT_VERSION) or noted)
    inside = _enclosing(recording, at)
    around = [each for each in steps if each.number in inside]
    step = around[-1] if around else None
    reading = _last_reading(recording, models)
    return Checkpoint(
        run=run.id,
        event=at.number,
        step=step.name if step is not None else "",
        step_number=[each.number for each in steps].index(step.number) + 1 if step is not None else None,
        timestamp_us=run.started_us + at.issued_us,
        messages=tuple(_messages(reading)),
        state=_state(recording, steps, at, inside),
        tool_calls=tuple(tools),
        model_config=_config(reading),
        prompt_version=noted or str(recording.notes(None).get(PROMPT_VERSION) or "") or _hash(reading),
        agent_version=run.version,
        metadata={
            "agent": run.agent,
            "user": run.user,
            "tenant": run.tenant,
            "session": run.session,
            "tags": dict(run.tags),
        },
    )


def _enclosing(recording: Recording, at: Event) -> set[int]:
    """Numbers of the events that an event happened inside, itself included."""
    found = {at.number}
    parent = at.parent
    while parent is not None and parent not in found:
        found.add(parent)
        parent = recording.event(parent).parent
    return found


def _state(recording: Recording, steps: list[Event], at: Event, inside: set[int]) -> Json:
    """What the nearest step that kept any state says."""
    for step in _nearest_first(steps, at, inside):
        for phase in ("in", "out") if step.number in inside else ("out", "in"):
            slots = recording.checkpoint_slots(step.number, phase)
            if slots is not None:
                return _decoded(slots)
    return None


def _nearest_first(steps: list[Event], at: Event, inside: set[int]) -> Iterator[Event]:
    """Steps that may say what held at an event: those around it and those that ended before it in a strand that it
    continues; then, where there are none, any that ended before it."""
    ended = [
        step
        for step in reversed(steps)
        if step.number in inside or (step.ended_us is not None and step.ended_us <= at.issued_us)
    ]
    yield from (step for step in ended if step.number in inside or _continues(at.lane, step.lane))
    yield from (step for step in ended if step.number not in inside and not _continues(at.lane, step.lane))


def _continues(lane: str, other: str) -> bool:
    """Whether a lane is another one, or lies below it."""
    return lane == other or lane.startswith((f"{other}/", f"{other}>"))


def _decoded(slots: Mapping[str, bytes]) -> Json:
    if list(slots) == [""]:
        return decode(slots[""])
    return {name: decode(body) for name, body in slots.items()}


def _last_reading(recording: Recording, candidates: list[Event]) -> Reading | None:
    """The reading of the last model call among some events that converses, made anew from its bytes."""
    for event in reversed(candidates):
        body = recording.body(event.request)
        if event.kind == Kind.MODEL:
            return _in_process(recording, event, body)
        protocol = recognise(event.call.head, body)
        if protocol is None or sort_of(protocol) == "embedding":
            continue
        outcome = event.outcome
        if isinstance(outcome, Stream):
            answer = (data for _, _, data in recording.parts(event.number))
            return read(event.call.head, body, outcome.head, answer)
        return read(event.call.head, body, {}, b"")
    return None


def _in_process(recording: Recording, event: Event, body: bytes) -> Reading:
    """The reading of a model function: its arguments are what it was asked, its result what it said."""
    arguments = jsonable(body) if body else {}
    asked = arguments.get("messages") if isinstance(arguments, dict) else None
    answered = jsonable(recording.body(event.answer)) if isinstance(event.outcome, Value) else ""
    return Reading(
        dialect="function",
        model_asked=event.name,
        messages=tuple(asked) if isinstance(asked, list) else (arguments,),
        text=answered if isinstance(answered, str) else json.dumps(answered, ensure_ascii=False),
    )


def _config(reading: Reading | None) -> dict[str, Json]:
    """Model asked and answered, who answered where, and the parameters."""
    if reading is None:
        return {}
    config: dict[str, Json] = {
        "model": reading.model_asked,
        "model_answered": reading.model_answered,
        "provider": reading.provider,
        "region": reading.region,
        "parameters": dict(reading.params),
        "tools_hash": reading.tools_hash,
    }
    return {name: value for name, value in config.items() if value}


def _messages(reading: Reading | None) -> Iterator[Json]:
    """The conversation as the model saw it, with its answer."""
    if reading is None:
        return
    if reading.system:
        yield {"role": "system", "text": reading.system}
    yield from reading.messages
    if reading.text or reading.tool_calls:
        answer: dict[str, Json] = {"role": "assistant", "text": reading.text}
        if reading.tool_calls:
            answer["tool_calls"] = list(reading.tool_calls)
        yield answer


def _tool_call(recording: Recording, event: Event) -> Json:
    """Name, arguments, and result or error of a tool event."""
    found: dict[str, Json] = {
        "event": event.number,
        "name": event.name,
        "arguments": jsonable(recording.body(event.request)) if event.request is not None else None,
    }
    if isinstance(event.outcome, Value):
        body = recording.body(event.answer)
        found["result"] = jsonable(body) if body else None
    elif isinstance(event.outcome, Failure):
        found["error"] = f"{event.outcome.error.type}: {event.outcome.error.text}"
    return found


def _hash(reading: Reading | None) -> str:
    """A short name for a system prompt; empty for none."""
    if reading is None or not reading.system:
        return ""
    return hashlib.sha256(reading.system.encode("utf-8", "surrogatepass")).hexdigest()[:16]
