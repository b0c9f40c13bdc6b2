"""The kit of a run that was made from a trace: for each item whether it is exact, semantic or absent, and how to get
it.

A trace has no program, no bytes of the wire and no proven order. It may have conversations, answers, tools and times,
if its instrumentation was set to capture them; the kit names that setting.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from reenact.facts.call import Json, Kind
from reenact.facts.event import Event
from reenact.facts.kit import Bucket, Item, ItemState, Stops
from reenact.facts.lazy_dataclass import replace
from reenact.facts.trace_runs import NEEDED, SPAN, Grade, graded, trace_of, weakest
from reenact.triage import identity
from reenact.triage.scene import Scene

_RECORD: Final = "reenact record -- python agent.py"
_CONTENT: Final[Mapping[str, str]] = {
    "otel.genai": "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY in the agent's environment",
    "otel.genai (before)": "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true, and its logs in the same file",
    "openinference": "OPENINFERENCE_HIDE_INPUTS=false and OPENINFERENCE_HIDE_OUTPUTS=false in the agent's environment",
    "openllmetry": "TRACELOOP_TRACE_CONTENT=true in the agent's environment",
    "vercel.ai": "experimental_telemetry: { recordInputs: true, recordOutputs: true }",
    "pydantic-ai": "InstrumentationSettings(include_content=True)",
}
"""The setting with which a dialect's instrumentation captures content."""
_WAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "tools": ("the request's tool definitions as an attribute (gen_ai.tool.definitions, llm.tools)",),
    "content": ("the text of each document as an attribute (retrieval.documents.N.document.content)",),
    "model": ("gen_ai.request.model on the span",),
    "provider": ("gen_ai.provider.name on the span",),
    "parameters": ("gen_ai.request.temperature and its like on the span",),
    "usage": ("gen_ai.usage.input_tokens and gen_ai.usage.output_tokens on the span",),
    "times": ("a span of its own for each call of a tool",),
    "call_id": ("gen_ai.tool.call.id on the span",),
}
_FEW: Final = 4
_SPANS: Final = frozenset({"otlp", "langfuse"})
"""Formats whose traces are spans of OpenTelemetry, so that their instrumentation can be set to capture more."""


def traced(scene: Scene) -> Iterator[Item]:
    """Every item of the kit of a trace."""
    item = partial(_item, scene.run.entry.target in _SPANS)
    models = [event for event in scene.of_kind(Kind.MODEL) if _part(event, "answer")]
    tools = scene.of_kind(Kind.TOOL)
    found = scene.of_kind(Kind.RETRIEVAL)
    yield from _entry(scene)
    yield from item(Bucket.INPUT, "system_prompt", models, ("system",))
    yield from item(Bucket.INPUT, "history", models, ("messages",))
    yield from (_of_run(each) for each in identity.named(scene))
    yield _trace(scene)
    yield _commit(scene)
    for name, part in (("model", "model"), ("provider", "provider"), ("parameters", "parameters")):
        yield from item(Bucket.ENVIRONMENT, name, models, (part,))
    yield from item(Bucket.ENVIRONMENT, "tool_schemas", _offering(scene, models), ("tools",))
    yield from item(Bucket.EFFECTS, "model_calls", models, ("answer",))
    yield from item(Bucket.EFFECTS, "tool_calls", tools, ("arguments", "result"))
    yield from item(Bucket.EFFECTS, "call_ids", tools, ("call_id",))
    yield from item(Bucket.EFFECTS, "retrievals", found, ("query", "documents"))
    yield from item(Bucket.EFFECTS, "chunks", found, ("content",))
    yield from item(Bucket.EFFECTS, "tokens", models, ("usage",))
    for each in identity.carried(scene):
        yield replace(each, fidelity=(Grade.SEMANTIC if each.there else Grade.ABSENT).value)
    yield from item(Bucket.EFFECTS, "timestamps", (*models, *tools, *found), ("times",))
    yield from _never(scene)
    if scene.lost:
        about = f"{len(scene.lost)} payloads cannot be read: {scene.lost[0]}"
        capture = ("reenact fsck, which names what is damaged",)
        yield Item(Bucket.EFFECTS, "payloads", ItemState.MISSING, about, capture=capture, stops=Stops.EVENTS)


def _part(event: Event, name: str) -> Grade | None:
    return graded(event).get(name)


def _offering(scene: Scene, models: list[Event]) -> list[Event]:
    """The model calls that have offered tools, as far as the trace shows: those that say so, or all if tools ran."""
    ran = bool(scene.of_kind(Kind.TOOL)) or any(each.reading.tool_calls for each in scene.models)
    return [event for event in models if ran or _part(event, "tools") is not Grade.ABSENT]


def _item(spans: bool, bucket: Bucket, name: str, events: Iterable[Event], parts: tuple[str, ...]) -> Iterator[Item]:
    """An item over the facts in some events; none without such events. ``spans``: attributes of spans can add facts."""
    events = list(events)
    grades = {event.number: weakest(_part(event, part) or Grade.ABSENT for part in parts) for event in events}
    if not grades:
        return
    _, needed = NEEDED.get(name, ("", ""))
    stops = needed and all(_part(event, needed) in (None, Grade.ABSENT) for event in events)
    dialects = {number: _dialect(event) for event in events if (number := event.number) in grades}
    worst = weakest(grades.values())
    absent = tuple(number for number, grade in grades.items() if grade is Grade.ABSENT)
    counts = {grade: sum(each is grade for each in grades.values()) for grade in Grade}
    about = ", ".join(f"{grade.value} in {count} of {len(grades)}" for grade, count in counts.items() if count)
    told = ", ".join(dict.fromkeys(each for each in dialects.values() if each))
    standing = (
        ItemState.CAPTURED if not absent else ItemState.MISSING if len(absent) == len(grades) else ItemState.PARTIAL
    )
    yield Item(
        bucket,
        name,
        standing,
        f"{about}{f' (told by {told})' if told else ''}",
        absent or tuple(grades),
        value={number: grade.value for number, grade in grades.items()},
        capture=_ways(parts if spans else (), [dialects[number] for number in absent]) if absent else (),
        stops=Stops.EVENTS if stops else Stops.NOTHING,
        fidelity=worst.value,
    )


def _dialect(event: Event) -> str:
    said = event.attributes.get(SPAN)
    return str(said.get("dialect") or "") if isinstance(said, Mapping) else ""


def _ways(parts: Iterable[str], dialects: Iterable[str]) -> tuple[str, ...]:
    """The ways to capture absent items, cheapest first."""
    own = [way for part in parts for way in _WAYS.get(part, ())]
    if own:
        return tuple(dict.fromkeys((*own, _RECORD)))
    names = [name for each in dialects for name in each.split(" + ")]
    settings = [_CONTENT[name] for name in names if name in _CONTENT]
    return tuple(dict.fromkeys((*settings, _RECORD)))[:_FEW]


def _entry(scene: Scene) -> Iterator[Item]:
    yield Item(
        Bucket.INPUT,
        "entry",
        ItemState.MISSING,
        f"imported ({scene.run.entry.target}): a trace knows no program, and no code can be run from it",
        capture=(_RECORD,),
        stops=Stops.CODE,
        fidelity=Grade.ABSENT.value,
    )
    steps = [event for event in scene.of_kind(Kind.STEP) if event.parent is None and _part(event, "input")][:1]
    heard = _heard(scene) if steps and _part(steps[0], "input") is Grade.ABSENT else None
    if heard is None:
        yield from _item(scene.run.entry.target in _SPANS, Bucket.INPUT, "input", steps, ("input",))
        return
    about = f"what the user said, by the messages of the model call at #{heard.number}"
    yield Item(
        Bucket.INPUT, "input", ItemState.CAPTURED, about, (heard.number,), fidelity=Grade.SEMANTIC.value
    )  # fmt: skip


def _heard(scene: Scene) -> Event | None:
    """The first model call whose last message is a user's. A replay can give this message to a program."""
    told = (each for each in scene.models if each.full and each.reading.messages)
    return next((each.event for each in told if _role(each.reading.messages[-1]) == "user"), None)


def _role(message: Json) -> Json:
    return message.get("role") if isinstance(message, Mapping) else None


def _of_run(item: Item) -> Item:
    """An item of the run itself, with its fidelity: exact where the item exists."""
    names = {"user": "user.id", "tenant": "tenant.id", "session": "session.id, or gen_ai.conversation.id"}
    ways = () if item.there else (f"{names.get(item.name, item.name)} as an attribute of a span",)
    return replace(item, capture=ways, fidelity=(Grade.EXACT if item.there else Grade.ABSENT).value)


def _trace(scene: Scene) -> Item:
    said = trace_of(scene.run)
    about = f"{said.get('id')}, {said.get('spans')} spans"
    value: Json = {"run": scene.run.id, "trace": said.get("id")}
    return Item(Bucket.ENVIRONMENT, "run", ItemState.CAPTURED, about, value=value, fidelity=Grade.EXACT.value)


_OTEL_COMMIT: Final = "OTEL_RESOURCE_ATTRIBUTES=vcs.ref.head.revision=$(git rev-parse HEAD) in the agent's environment"
_COMMITS: Final = {
    "otlp": _OTEL_COMMIT,
    "langfuse": _OTEL_COMMIT,
    "langsmith": "revision_id in the metadata of the root run",
}
"""The way in which a trace of a format can name the code's revision."""


def _commit(scene: Scene) -> Item:
    said, where = scene.said("commit")
    if said:
        about = f"{said[:12]}, from {where}"
        return Item(Bucket.ENVIRONMENT, "commit", ItemState.PINNED, about, value=said, fidelity=Grade.EXACT.value)
    form = scene.run.entry.target or "otlp"
    said_by = (_COMMITS[form],) if form in _COMMITS else ()
    capture = (*said_by, f"reenact import {form} FILE --tag commit=…")
    about = "the trace does not name the code's revision"
    return Item(
        Bucket.ENVIRONMENT, "commit", ItemState.MISSING, about, capture=capture, fidelity=Grade.ABSENT.value
    )  # fmt: skip


_NEVER: Final = (
    (Bucket.ENVIRONMENT, "surroundings", "packages, Python, locale, variables, flags: no trace holds them"),
    (Bucket.EFFECTS, "wire", "bytes, headers, statuses and pieces of streams: no trace holds them"),
    (Bucket.EFFECTS, "order", "of what was under way at a time; a trace knows when calls began and ended"),
)


def _never(scene: Scene) -> Iterator[Item]:
    """Items that no trace has."""
    for bucket, name, about in _NEVER:
        yield Item(
            bucket, name, ItemState.MISSING, about, capture=(_RECORD,), expected=False, fidelity=Grade.ABSENT.value
        )
