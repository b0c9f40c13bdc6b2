"""The scene: everything that a kit is judged from, read once from a run's own log. The only module here that reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from reenact.abc.store import Recording, Store
from reenact.errors import StoreError
from reenact.facts.call import Effect, Json, Kind, Stream, Value, calls_a_tool
from reenact.facts.event import REWRITTEN, Event, sent_call
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import dataclass, field, replace
from reenact.facts.reading import Reading
from reenact.facts.run import Run, Totals
from reenact.facts.trace_runs import is_traced_model, reading_in
from reenact.store.nested_runs import holder_of
from reenact.triage.tool_requests import ToolRequest, is_embedding, model_tools, request_of, traceparent_in

if TYPE_CHECKING:
    from reenact.facts.dialects import read, recognise
else:
    read = late("reenact.facts.dialects", "read")
    recognise = late("reenact.facts.dialects", "recognise")

PROCESS = "kit.process"
REVISION = "kit.revision"
"""Names of the notes that a recording leaves on the run (``recording.run_evidence``)."""

FULL_READINGS = 64
"""The number of model calls whose request is read in full; for others the stored reading is used."""
ADDRESSES = 500
"""The most places of a run at which ambient reads are looked for."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One model call.

    Attributes:
        event: The event.
        reading: The reading; without the prompt where ``full`` is False.
        full: Whether the request was read again, prompt and all.
        first_token_us: The time of the first word, microseconds since the run began; None where it is not known.
    """

    event: Event
    reading: Reading
    full: bool = True
    first_token_us: int | None = None


@dataclass(frozen=True, slots=True)
class SceneCall:
    """One tool call as the world saw it.

    Attributes:
        event: Its outermost event.
        label: The name of the call for people: the tool's name, and the exchange if the tool has no event of its own.
        request: Its request.
    """

    event: Event
    label: str
    request: ToolRequest


@dataclass(frozen=True, slots=True)
class Scene:
    """The facts from which a kit is judged.

    Attributes:
        run: The run.
        environment: Facts of its process; of the root run for a run inside a run.
        notes: Notes on the run.
        process: The stored note of packages and sources; empty without one.
        revision: The note of the revision; empty where there is none.
        events: All its events, without their bytes.
        models: Its model calls.
        acts: Its tool calls, the outermost ones.
        embeddings: Requests for embeddings: model and dimensions.
        gaps: The escapes from the recording: what, where, how often.
        lost: Payloads that could not be read, in words.
        handed_in: The ``traceparent`` among the arguments of the run's entry point; empty without one.
        ambient: Sources that were read without a call (``wall``, ``urandom/16`` …).
    """

    run: Run
    environment: Mapping[str, Json]
    notes: Mapping[str, Json]
    process: Mapping[str, Json]
    revision: Mapping[str, Json]
    events: tuple[Event, ...]
    models: tuple[ModelCall, ...]
    acts: tuple[SceneCall, ...]
    embeddings: tuple[tuple[Event, Mapping[str, Json]], ...]
    gaps: tuple[tuple[str, str, int], ...]
    lost: tuple[str, ...] = ()
    handed_in: str = ""
    ambient: frozenset[str] = frozenset()

    def of_kind(self, *kinds: Kind) -> tuple[Event, ...]:
        """Events of some kinds."""
        return tuple(event for event in self.events if event.call.kind in kinds)

    def said(self, *names: str) -> tuple[str, str]:
        """A fact about the run that a person or the environment gave, and its source: a note, a tag, or a conventional
        variable; empty without one."""
        for name in names:
            for where, facts in (("note", self.notes), ("tag", self.run.tags)):
                value = facts.get(name)
                if value not in (None, ""):
                    return str(value), f"the {where} {name}"
            known = self.environment.get("conventional")
            found = known.get(name) if isinstance(known, Mapping) else None
            if isinstance(found, Mapping):
                return str(found.get("value")), f"{found.get('variable')} of the environment"
        return "", ""


@dataclass(slots=True)
class _Draft:
    """The facts that are gathered in one pass over the events."""

    events: list[Event] = field(default_factory=list)
    models: list[ModelCall] = field(default_factory=list)
    acts: list[SceneCall] = field(default_factory=list)
    embeddings: list[tuple[Event, Mapping[str, Json]]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    handed_in: str = ""
    inside: set[int] = field(default_factory=set)
    """Calls of tools, models and retrievers, and the events below them, which are parts of these calls."""


def scene_of(store: Store, run: Run, *, sent: bool = True) -> Scene:
    """Read the facts from which a kit is judged.

    Args:
        store: The store of the run.
        run: The run.
        sent: Read model requests as a fork sent them; False: as the agent's code made them.

    Returns:
        The scene. Costs one pass over the events, the bodies of all model calls, and one body for each tool call.
    """
    recording = store.open(run)
    root = holder_of(store, run)
    log = recording if root.id == run.id else store.open(root)
    draft = _Draft()
    for each in recording.events():
        event = replace(each, attributes={})
        try:
            notes = {key: note for key, note in each.attributes.items() if sent or key != REWRITTEN}
            event = replace(each, attributes=notes)
            _look(recording, event, draft)
        except StoreError as error:
            draft.lost.append(f"#{event.number}: {error.message}")
        draft.events.append(event)
    kept = _notes(log, draft)
    return Scene(
        # A run inside a run is recorded like its root, unless it says differently.
        run=replace(run, capture={**root.capture, **run.capture}, totals=_proven(run, root)),
        environment=root.environment,
        notes={**kept, **_notes(recording, draft)},
        process=_held(store, _mapping(kept.get(PROCESS))),
        revision=_mapping(kept.get(REVISION)) or _mapping(root.environment.get("git")),
        events=tuple(draft.events),
        models=tuple(draft.models),
        acts=tuple(draft.acts),
        embeddings=tuple(draft.embeddings),
        gaps=tuple(recording.gaps()),
        lost=tuple(draft.lost),
        handed_in=draft.handed_in,
        ambient=_ambient(recording, draft.events),
    )


def _ambient(recording: Recording, events: list[Event]) -> frozenset[str]:
    """The reads of the run outside of calls; for a long run, as far as a limited search shows."""
    calls: Counter[str] = Counter({lane.path: 0 for lane in recording.lanes()})
    calls.update(event.lane for event in events)
    addresses = ((lane, position) for lane, count in calls.items() for position in range(count + 1))
    return frozenset(
        source for lane, position in islice(addresses, ADDRESSES) for source in recording.ambient(lane, position)
    )


def _notes(recording: Recording, draft: _Draft) -> Mapping[str, Json]:
    try:
        return recording.notes(None)
    except StoreError as error:
        draft.lost.append(f"the notes of the run: {error.message}")
        return {}


def _proven(run: Run, root: Run) -> Totals:
    """The run's totals, with the number of unproven deliveries from the root run: its log holds both runs."""
    return replace(run.totals, unproven=root.totals.unproven)


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _held(store: Store, process: Mapping[str, Json]) -> Mapping[str, Json]:
    """The note of the process. If this run only names another run that holds the note, it is fetched from there."""
    holder = process.get("held_by")
    if not isinstance(holder, str):
        return process
    try:
        found = _mapping(store.open(holder).notes(None).get(PROCESS))
    except (LookupError, StoreError):
        found = {}
    return {**found, **process} if found.get("digest") == process.get("digest") else process


def _look(recording: Recording, event: Event, draft: _Draft) -> None:
    """Sort one event."""
    nested = event.parent in draft.inside
    kind = event.call.kind
    if kind is Kind.INPUT and event.name == "arguments":
        draft.handed_in = traceparent_in(request_of(recording, event))
    model = None if nested else _model(recording, event, len(draft.models) < FULL_READINGS)
    vectors = None if model is None else _vectors(model.reading)
    if vectors is not None:
        draft.embeddings.append((event, vectors))
    elif model is not None:
        draft.models.append(model)
    acts = event.call.effect is not Effect.NONE and (kind is Kind.DB or calls_a_tool(event.call))
    if nested or model is not None or acts or kind is Kind.RETRIEVAL:
        draft.inside.add(event.number)
    if nested or model is not None:
        return
    request = request_of(recording, event) if acts or kind is Kind.HTTP else None
    if request is None:
        return
    if is_embedding(request):
        draft.embeddings.append((event, request.embedding(recording, event)))
    elif acts:
        draft.acts.append(SceneCall(event, label_of(event), request))
    elif tool := _asked_by_a_model(event, draft):
        draft.acts.append(SceneCall(event, f"{tool} ({request.method} {request.path})", request))


def label_of(event: Event) -> str:
    """The name of a call, for people: a tool of an MCP server with its server."""
    server = event.call.head.get("server") if event.call.kind is Kind.MCP else None
    return f"{event.name} (MCP server {server})" if server and calls_a_tool(event.call) else event.name


def _vectors(reading: Reading) -> Mapping[str, Json] | None:
    """Model and dimensions of a call for vectors, from its reading; None for a call for words."""
    if getattr(reading, "sort", "") != "embedding":
        return None
    name = reading.model_asked or reading.model_answered
    return {"model": name, "dimensions": getattr(reading, "dimensions", 0) or reading.params.get("dimensions")}


def _asked_by_a_model(event: Event, draft: _Draft) -> str:
    """The tool that a plain exchange belongs to, among the tools that the last model call before the exchange
    requested. Empty if no model requested a tool: the exchange is then the program's own."""
    if not draft.models:
        return ""
    tools = model_tools(draft.models[-1].reading)
    if len(tools) <= 1:
        return next(iter(tools), "")
    since = draft.models[-1].event.number
    nth = sum(1 for act in draft.acts if act.event.number > since)
    return tools[nth] if nth < len(tools) else tools[-1]


def _model(recording: Recording, event: Event, in_full: bool) -> ModelCall | None:
    """The model call of an event; None where the event is no model call."""
    if is_traced_model(event.call):
        return _traced(recording, event, in_full)
    if event.call.kind is Kind.MODEL:
        return ModelCall(event, Reading("function", model_asked=event.name))
    if event.call.kind is not Kind.HTTP:
        return None
    kept = event.attributes.get("reading")
    brief = _brief(kept) if isinstance(kept, Mapping) else None
    if brief is None:
        return _read(recording, event) if event.call.head.get("method") == "POST" else None
    return (_read(recording, event) if in_full else None) or ModelCall(event, brief, full=False)


def _traced(recording: Recording, event: Event, in_full: bool) -> ModelCall:
    """A model call, from the event of a trace."""
    kept = event.attributes.get("reading")
    if in_full or not isinstance(kept, Mapping):
        answer = recording.body(event.answer) if isinstance(event.outcome, Value) else b""
        full = reading_in(recording.body(event.request), answer)
        return ModelCall(
            event, replace(full, dialect=str(kept.get("dialect") or "") if isinstance(kept, Mapping) else "")
        )
    return ModelCall(event, _brief(kept), full=False)


_TEXTS = (
    *("dialect", "provider", "region", "model_asked", "model_answered", "system", "tools_hash"),
    "text",
    "thinking",
)
_LISTS = ("messages", "tools", "tool_calls")
_OBJECTS = ("params", "usage", "error")


def _brief(kept: Mapping[str, Json]) -> Reading:
    """The stored reading, without fields of a wrong type."""
    sorts: tuple[tuple[tuple[str, ...], type], ...] = ((_TEXTS, str), (_LISTS, list), (_OBJECTS, Mapping))
    fit = {name: kept[name] for names, sort in sorts for name in names if isinstance(kept.get(name), sort)}
    sizes = {name: kept[name] for name in ("dimensions",) if isinstance(kept.get(name), int)}
    flags = {name: True for name in ("streamed", "partial", "stateless") if kept.get(name) is True}
    return Reading.from_json({**fit, **sizes, **flags})


def _read(recording: Recording, event: Event) -> ModelCall | None:
    """An exchange read again from its bytes; None where it is no model call."""
    body = recording.body(event.request)
    if recognise(event.call.head, body) is None:
        return None
    call, outcome = sent_call(event, body), event.outcome
    head = outcome.head if isinstance(outcome, Stream) else {}
    parts = list(recording.parts(event.number)) if isinstance(outcome, Stream) else []
    reading = read(call.head, call.body, head, b"".join(data for _, _, data in parts))
    if reading is None:
        return None
    first_us = _first_token(event, body, head, parts) if reading.streamed else None
    return ModelCall(event, reading, first_token_us=first_us)


_TRIED = 64


def _first_token(
    event: Event, body: bytes, head: Mapping[str, Json], parts: list[tuple[int | None, int, bytes]]
) -> int | None:
    """When the first word of a streamed answer came: the first segment after which the answer has any text."""
    for at_us, beginning in _beginnings(parts):
        reading = read(event.call.head, body, head, beginning)
        if reading is not None and (reading.text or reading.thinking or reading.tool_calls):
            return at_us
    return None


def _beginnings(parts: list[tuple[int | None, int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Beginnings of a stream, segment by segment, as far as a first word can be expected."""
    data = b""
    for _, at_us, segment in parts[:_TRIED]:
        data += segment
        yield at_us, data
