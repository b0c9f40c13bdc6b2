"""The agent's messages and state at an event, derived from its log.

The state is that of the nearest step around the event, or before the event in the same strand. Messages and model come
from the last model call up to the event.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from reenact.abc.store import Recording
from reenact.facts.call import Failure, Json, Kind, Stream, Value
from reenact.facts.checkpoint import Checkpoint, Snapshot
from reenact.facts.event import Event, sent_call
from reenact.facts.late import late
from reenact.facts.reading import Reading
from reenact.facts.trace_runs import is_traced_model, reading_in
from reenact.facts.values import decode, jsonable
from reenact.store.check_sums import damaged

if TYPE_CHECKING:
    from reenact.facts.dialects import read, recognise, sort_of
else:
    read = late("reenact.facts.dialects", "read")
    recognise = late("reenact.facts.dialects", "recognise")
    sort_of = late("reenact.facts.dialects", "sort_of")

PROMPT_VERSION = "prompt_version"
"""The name of the evidence that states the version of the prompt."""


def build_checkpoint(recording: Recording, at: Event) -> Checkpoint:
    """The agent's messages and state at an event.

    Args:
        recording: The run.
        at: The event. For a step, the state is the one at its beginning.

    Raises:
        BlobMissing, BlobCorrupt: A stored state is damaged.
    """
    run = recording.run
    steps: list[int] = []
    tools: list[Json] = []
    noted = ""
    for event in recording.events(kinds=(Kind.STEP, Kind.TOOL, Kind.MODEL, Kind.HTTP), before=at.number + 1):
        if event.kind == Kind.STEP:
            steps.append(event.number)
        elif event.kind == Kind.TOOL:
            tools.append(_tool_call(recording, event))
        noted = str(event.attributes.get(PROMPT_VERSION) or noted)
    step = enclosing_step(recording, at)
    if step is not None and step.number not in steps:  # the index disagrees with the row
        raise damaged(f"event {step.number}")
    reading = conversation_at(recording, at)
    return Checkpoint(
        run=run.id,
        event=at.number,
        step=step.name if step is not None else "",
        step_number=steps.index(step.number) + 1 if step is not None else None,
        timestamp_us=run.started_us + at.issued_us,
        started_us=run.started_us,
        messages=messages_of(reading),
        state=state_at(recording, at),
        tool_calls=tuple(tools),
        model_config=config_of(reading),
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


def enclosing_step(recording: Recording, at: Event) -> Event | None:
    """The innermost step that an event happened inside; a step is inside itself. The search costs one look-up for each
    level of steps."""
    for number in sorted(_enclosing(recording, at), reverse=True):
        event = recording.event(number)
        if event.kind == Kind.STEP:
            return event
    return None


def state_at(recording: Recording, at: Event) -> Json:
    """The state that held when an event was issued, decoded; None where no step before it kept a state."""
    place = snapshot_at(recording, at)
    return None if place is None else decode_state(recording, place)


def decode_state(recording: Recording, place: Snapshot) -> Json:
    """The decoded state of a snapshot."""
    slots = recording.checkpoint_slots(place.event, place.phase) or {}
    if list(slots) == [""]:
        return decode(slots[""])
    return {name: decode(body) for name, body in slots.items()}


def snapshot_at(recording: Recording, at: Event) -> Snapshot | None:
    """The snapshot with the state at the time when an event was issued. It is found by one look-up, however long the
    run is."""
    return next(snapshots_before(recording, at), None)


def snapshots_before(recording: Recording, at: Event) -> Iterator[Snapshot]:
    """The snapshots of steps around an event, or before it in a strand that the event continues, newest first. If there
    are none, the snapshots of other steps that had ended."""
    inside = _enclosing(recording, at)
    own = lanes_above(at.lane)
    found = False
    for place in recording.snapshots(lanes=own, before=at.number + 1, backwards=True):
        if _said_before(recording, place, at, inside):
            found = True
            yield place
    if not found:
        for place in recording.snapshots(before=at.number, backwards=True):
            if _said_before(recording, place, at, inside):
                yield place


def lanes_above(lane: str) -> tuple[str, ...]:
    """The lanes whose steps a lane continues: the lane itself, and each lane whose path is a beginning of its path."""
    ends = [n for n, letter in enumerate(lane) if letter in "/>"]
    return (lane, *(lane[:end] for end in reversed(ends)))


def _said_before(recording: Recording, place: Snapshot, at: Event, inside: set[int]) -> bool:
    """Whether a snapshot had been taken when an event was issued. If a step around the event kept only its state at the
    end, this state counts, too."""
    if place.event in inside:
        return place.phase == "in" or recording.checkpoint_slots(place.event, "in") is None
    ended = recording.event(place.event).ended_us
    return ended is not None and ended <= at.issued_us


def _enclosing(recording: Recording, at: Event) -> set[int]:
    """The numbers of an event and of all events that it happened inside."""
    found = {at.number}
    parent = at.parent
    while parent is not None and parent not in found:
        found.add(parent)
        parent = recording.event(parent).parent
    return found


def conversation_at(recording: Recording, at: Event) -> Reading | None:
    """The reading of the last model call with a conversation, up to an event, made again from its bytes. None if there
    is no call."""
    for event in recording.events(kinds=(Kind.MODEL, Kind.HTTP), before=at.number + 1, backwards=True):
        found = conversation_of(recording, event)
        if found is not None:
            return found
    return None


def conversation_of(recording: Recording, event: Event) -> Reading | None:
    """The reading of a model call with a conversation, made again from its bytes; None for any other event."""
    if is_traced_model(event.call):
        answer = recording.body(event.answer) if isinstance(event.outcome, Value) else b""
        return reading_in(recording.body(event.request), answer)
    if event.kind == Kind.MODEL:
        return _in_process(recording, event, recording.body(event.request))
    if event.call.head.get("method") != "POST":
        return None
    body = recording.body(event.request)
    protocol = recognise(event.call.head, body)
    if protocol is None or sort_of(protocol) == "embedding":
        return None
    call, outcome = sent_call(event, body), event.outcome
    if isinstance(outcome, Stream):
        said = (data for _, _, data in recording.parts(event.number))
        return read(call.head, call.body, outcome.head, said)
    return read(call.head, call.body, {}, b"")


def _in_process(recording: Recording, event: Event, body: bytes) -> Reading:
    """The reading of a call of a model function: its arguments are the question, its result is the answer."""
    arguments = jsonable(body) if body else {}
    asked = arguments.get("messages") if isinstance(arguments, dict) else None
    answered = jsonable(recording.body(event.answer)) if isinstance(event.outcome, Value) else ""
    return Reading(
        dialect="function",
        model_asked=event.name,
        messages=tuple(asked) if isinstance(asked, list) else (arguments,),
        text=answered if isinstance(answered, str) else json.dumps(answered, ensure_ascii=False),
    )


def config_of(reading: Reading | None) -> dict[str, Json]:
    """The requested model, the model that answered, the provider and region, and the parameters."""
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


def messages_of(reading: Reading | None) -> tuple[Json, ...]:
    """The conversation as the model saw it, with its answer."""
    return tuple(_messages(reading))


def _messages(reading: Reading | None) -> Iterator[Json]:
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
    """The name, the arguments, and the result or error of a tool event."""
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
    """A short digest of the system prompt of a reading; empty if there is no prompt."""
    if reading is None or not reading.system:
        return ""
    return hashlib.sha256(reading.system.encode("utf-8", "surrogatepass")).hexdigest()[:16]
