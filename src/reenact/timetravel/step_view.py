"""The step view: the agent's work, step by step, derived for every run, also without declared steps.

Where the agent's author declared steps, those are the steps. Where none are declared, a step is one model decision and
the tool calls that follow it, up to the next decision; events before the first decision are a step of their own if a
tool was called there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reenact.abc.body_access import UNPROVEN
from reenact.abc.store import Recording
from reenact.errors import BlobMissing
from reenact.facts.call import Json, calls_a_tool
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.values import jsonable
from reenact.timetravel.event_contents import Unread, answered, arguments_of, asked, error_data, error_of
from reenact.timetravel.model_readings import Decision, decides, decision_of

_ACTS = frozenset(("retrieval", "process", "human", "db"))
_LIMIT = 1 << 20
_StateOf = Callable[[Recording, int, str | None], Json]


@dataclass(frozen=True, slots=True)
class StepCall:
    """One tool call of a step: the event, the tool, its arguments, and its result or error (one of them is None)."""

    event: int
    tool: str
    arguments: Json
    result: Json = None
    error: Json = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a run.

    Attributes:
        id: ``RUN:EVENT`` of its first event.
        number: Position among the run's steps, from 0.
        name: Declared name; empty for a derived step.
        declared: Whether the agent's author named it.
        first, last: Numbers of its first and last event.
        input_state: The state at its beginning; None where none was kept.
        decision: The model's decision, as data; None without a model call.
        acts: Its tool calls, in order.
        output_state: State it left; None where none was kept.
        error: Its error, as data.
        started_us: Wall clock, microseconds since the epoch.
        duration_us: Microseconds; None while open.
    """

    id: str
    number: int
    name: str
    declared: bool
    first: int
    last: int
    input_state: Json
    decision: Json
    acts: tuple[StepCall, ...]
    output_state: Json
    error: Json
    started_us: int
    duration_us: int | None

    @property
    def tool(self) -> str | None:
        """Name of the first tool it called; None where it called none."""
        return self.acts[0].tool if self.acts else None


@dataclass(slots=True)
class _Draft:
    """A step while its events are gathered."""

    opening: Event
    events: list[Event] = field(default_factory=list)


def steps_of(recording: Recording, *, shown: bool = False) -> Iterator[Step]:
    """The steps of a run, in order. Costs one pass over the events and the payloads of the tool calls.

    Args:
        recording: The run.
        shown: For people: an unproven state is replaced by a text that says so.

    Raises:
        BlobMissing: A state is not proven (``unproven``), or was removed.
    """
    declared = [event for event in recording.events(kinds=["step"]) if event.kind == "step"]
    drafts = _declared(recording) if declared else _derived(recording)
    for number, draft in enumerate(drafts):
        yield _step(recording, number, draft, bool(declared), shown_state if shown else event_state)


def event_state(recording: Recording, number: int, phase: str | None = None) -> Json:
    """State kept at an event, decoded: at its end, else at its start (or at the phase asked for); None without any."""
    for each in (phase,) if phase else ("out", "in"):
        slots = recording.checkpoint_slots(number, each)
        if slots is not None:
            state = {name: jsonable(body) for name, body in slots.items()}
            # A state that is no dictionary is stored in one slot without a name.
            return state[""] if set(state) == {""} else state
    return None


def shown_state(recording: Recording, number: int, phase: str | None = None) -> Json:
    """The state for people, and for the document of one event. For an unproven state, a text that says so."""
    try:
        return event_state(recording, number, phase)
    except BlobMissing as missing:
        if missing.reason != UNPROVEN:
            raise
        return f"not known: {missing.args[0]}"


def step_data(step: Step) -> dict[str, Json]:
    """One step as JSON-able data."""
    first = step.acts[0] if step.acts else None
    return {
        "step": step.number,
        "id": step.id,
        "name": step.name,
        "declared": step.declared,
        "events": [step.first, step.last],
        "input_state": step.input_state,
        "decision": step.decision,
        "tool": step.tool,
        "arguments": first.arguments if first else None,
        "result": first.result if first else None,
        "acts": [
            {"event": act.event, "tool": act.tool, "arguments": act.arguments, "result": act.result, "error": act.error}
            for act in step.acts
        ],
        "error": step.error,
        "output_state": step.output_state,
        "timestamp_us": step.started_us,
        "duration_us": step.duration_us,
    }


def _declared(recording: Recording) -> Iterator[_Draft]:
    """One draft for each declared step, with every event inside it, at any depth; steps inside steps have their own."""
    owner: dict[int, int] = {}
    drafts: dict[int, _Draft] = {}
    for event in recording.events():
        above = owner.get(event.parent) if event.parent is not None else None
        if event.kind == "step":
            drafts[event.number] = _Draft(event)
            owner[event.number] = event.number
        elif above is not None:
            owner[event.number] = above
            drafts[above].events.append(event)
    yield from drafts.values()


def _acts(event: Event) -> bool:
    """Whether the event is an act of the agent; the set-up of an MCP session does not count."""
    return event.kind in _ACTS or calls_a_tool(event.call)


def _derived(recording: Recording) -> Iterator[_Draft]:
    """One draft for each model decision, with the outermost calls that follow it."""
    draft: _Draft | None = None
    inside: set[int] = set()
    for event in recording.events():
        nested = event.parent in inside
        if decides(event) or _acts(event):
            inside.add(event.number)
        if nested:
            inside.add(event.number)
            continue
        if decides(event):
            if draft is not None:
                yield draft
            draft = _Draft(event, [event])
        elif _acts(event):
            if draft is None:
                draft = _Draft(event)
            draft.events.append(event)
    if draft is not None:
        yield draft


def _step(recording: Recording, number: int, draft: _Draft, declared: bool, state_of: _StateOf) -> Step:
    opening = draft.opening
    events = draft.events or [opening]
    ends = [event.ended_us for event in ((opening,) if declared else events)]
    known = [end for end in ends if end is not None]
    finished = bool(known) and len(known) == len(ends)
    errors = [error_of(opening)] if declared else [error_of(event) for event in events]
    failed = next((error for error in errors if error is not None), None)
    decisions = [decision for event in events if (decision := decision_of(event)) is not None]
    return Step(
        id=f"{opening.run}:{opening.number}",
        number=number,
        name=opening.name if declared else "",
        declared=declared,
        first=opening.number,
        last=max(event.number for event in (opening, *events)),
        input_state=state_of(recording, opening.number, "in"),
        decision=_decision_data(decisions[0]) if decisions else None,
        acts=tuple(_act(recording, event) for event in events if _acts(event)),
        output_state=state_of(recording, opening.number, "out"),
        error=None if failed is None else error_data(failed),
        started_us=recording.run.started_us + opening.issued_us,
        duration_us=max(known) - opening.issued_us if finished else None,
    )


def _decision_data(decision: Decision) -> dict[str, Json]:
    calls = [{"name": name, "arguments": arguments} for name, arguments in decision.tools]
    return {"tool_calls": calls, "text": decision.text, "finish": decision.finish}


def _act(recording: Recording, event: Event) -> StepCall:
    arguments = arguments_of(_read(asked(recording, event, _LIMIT)))
    error = error_of(event)
    if error is not None:
        return StepCall(event.number, event.name, arguments, error=error_data(error))
    return StepCall(event.number, event.name, arguments, result=_read(answered(recording, event, _LIMIT)))


def _read(content: Json | Unread) -> Json:
    return {"unread": content.size} if isinstance(content, Unread) else content
