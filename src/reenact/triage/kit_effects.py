"""The third bucket of a kit: the run's requests to the world, and the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from reenact.facts.call import Effect, Failure, Fidelity, Json, Kind, Stream, Value
from reenact.facts.event import Event
from reenact.facts.imported_runs import is_imported, times_known
from reenact.facts.kit import Bucket, Item, ItemState, Stops
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.open_calls import ITEMS, is_opaque, item_of
from reenact.facts.thinned_runs import PAYLOADS, why_thinned
from reenact.triage import identity
from reenact.triage.gaps import gap_items
from reenact.triage.scene import ModelCall, Scene, label_of

_WORLD = tuple(ITEMS)
_LIMITS = lazy_regex(r"largest_(?:value|run)_mb")
_FEW = 4


def effects(scene: Scene) -> Iterator[Item]:
    """Every call with its outcome, identities, retrieval, order, timestamps, and escapes."""
    inside = _inside(scene.events)
    if scene.models:
        yield _calls("model_calls", [each.event for each in scene.models], inside)
    spoken = {each.event.number for each in scene.models}
    for name, events in _by_name(scene, spoken).items():
        if events:
            yield _calls(name, events, inside)
    yield from identity.carried(scene)
    yield from _chunks(scene.of_kind(Kind.RETRIEVAL))
    yield from _timestamps(scene)
    yield _order(scene)
    yield from _recording(scene)
    yield from gap_items(scene.gaps)


def _by_name(scene: Scene, spoken: set[int]) -> dict[str, list[Event]]:
    """Calls by the name of their item. A call of an MCP server's tool is a tool call."""
    found: dict[str, list[Event]] = {name: [] for name in ITEMS.values()}
    for event in scene.of_kind(*_WORLD):
        if event.number not in spoken:
            found[item_of(event.call)].append(event)
    return found


def _item(name: str, standing: ItemState, about: str, events: Iterable[Event] = (), **more: object) -> Item:
    numbers = tuple(event.number for event in events)
    return Item(Bucket.EFFECTS, name, standing, about, numbers, **more)  # type: ignore[arg-type]


def _inside(events: Iterable[Event]) -> set[int]:
    """Numbers of the calls that were made in a call which a replay answers as a whole. A replay does not hand out the
    answers of these inner calls."""
    inside: set[int] = set()
    whole: set[int] = set()
    for event in events:
        if event.parent in inside or event.parent in whole:
            inside.add(event.number)
        if not event.call.observed:
            whole.add(event.number)
    return inside


def _calls(name: str, events: list[Event], inside: set[int]) -> Item:
    """Calls of one sort, each with its request and answer.

    Args:
        name: The name of the item.
        events: The events.
        inside: The calls whose answers a replay does not give."""
    counted = Counter(label_of(event) for event in events)
    names = ", ".join(f"{each} x{count}" if count > 1 else each for each, count in counted.most_common(_FEW))
    if len(counted) > _FEW:
        names += " …"
    withheld = [event for event in events if event.fidelity is Fidelity.WITHHELD]
    if withheld:
        return _withheld(name, withheld, len(events), inside)
    blind = [event for event in events if _without_input(event)]
    if blind:
        about = f"{len(blind)} of {len(events)} are outputs without inputs: {blind[0].name}"
        capture = ("record the run with reenact, rather than import what was traced",)
        return _item(name, ItemState.PARTIAL, about, blind, capture=capture, stops=Stops.CODE)
    opaque = [event for event in events if event.number not in inside and is_opaque(event.call, event.outcome)]
    if opaque:
        first = opaque[0]
        return _item(
            name,
            ItemState.PARTIAL,
            f"{len(opaque)} of {len(events)} returned what cannot be stored: {first.name} at #{first.number}",
            opaque,
            capture=(
                f"let {first.name} return data: JSON, dataclasses, pydantic models",
                f"reenact replay REF --through {first.name}, which runs its own code",
            ),
            stops=Stops.EVENTS,
        )
    undeclared = [(event, types) for event in events if event.number not in inside and (types := _undeclared(event))]
    if undeclared:
        first, types = undeclared[0]
        declared = types[0].rpartition(".")[2]
        if isinstance(first.outcome, Stream):
            declared = f"Iterator[{declared}]"
        return _item(
            name,
            ItemState.PARTIAL,
            f"{len(undeclared)} of {len(events)} returned a type that is not declared, and comes back by that only: "
            f"{types[0]} from {first.name} at #{first.number}",
            [event for event, _ in undeclared],
            capture=(
                f"annotate what it returns, as def {first.name}(…) -> {declared}",
                f"reenact replay REF --through {first.name}, which runs its own code",
            ),
            stops=Stops.CODE,
        )
    never = [event for event in events if event.outcome is None and not event.call.observed]
    if never:
        about = f"{len(never)} of {len(events)} were never answered: {never[0].name} at #{never[0].number}"
        return _item(name, ItemState.PARTIAL, about, never)
    failed = sum(isinstance(event.outcome, Failure) for event in events)
    answered = "answered" if not failed else f"{failed} of them answered by an exception"
    between = " and " if not failed else ", "
    return _item(name, ItemState.CAPTURED, f"{len(events)}, asked{between}{answered}: {names}", events)


def _withheld(name: str, events: list[Event], of: int, inside: set[int]) -> Item:
    """Calls whose answers were not kept: if a replay must give one of them, it cannot run."""
    note = events[0].fidelity_note or "could not be cleaned"
    limit = _LIMITS.search(note)
    return _item(
        name,
        ItemState.PARTIAL,
        f"{len(events)} of {of} are withheld: {note}",
        events,
        capture=(
            f"a larger {limit[0]} in the settings" if limit else "reenact show REF:EVENT",
            f"reenact replay REF --through {events[0].name}, which runs its own code",
        ),
        stops=Stops.NOTHING if all(event.number in inside or event.call.observed for event in events) else Stops.EVENTS,
    )


def _without_input(event: Event) -> bool:
    """Whether an event has an answer, and its request is missing."""
    if event.outcome is None or event.request is not None:
        return False
    if event.call.kind in (Kind.TOOL, Kind.MODEL, Kind.RETRIEVAL):
        return True
    return event.call.kind is Kind.HTTP and not event.call.head.get("url")


def _undeclared(event: Event) -> tuple[str, ...]:
    """Types in a frozen answer that a replay can only restore from a declared type, where none is declared."""
    outcome = event.outcome
    if event.call.observed or event.call.effect is Effect.NONE or not isinstance(outcome, (Value, Stream)):
        return ()
    names = outcome.head.get("undeclared")
    return tuple(map(str, names)) if isinstance(names, list) else ()


def _chunks(events: tuple[Event, ...]) -> Iterator[Item]:
    """The ids, scores and contents of retrieved documents."""
    if not events:
        return
    found = [(event, _of(event)) for event in events]
    unread = [event for event, chunks in found if chunks is None and isinstance(event.outcome, Value)]
    capture = ("return dictionaries with id, score and content (or pairs of a document and its score)",)
    if unread:
        about = f"{len(unread)} of {len(events)} results have a shape that is not known; the results are kept whole"
        yield _item("chunks", ItemState.PARTIAL, about, unread, capture=capture)
        return
    every = [chunk for _, chunks in found for chunk in chunks or () if isinstance(chunk, Mapping)]
    lacking = [name for name in ("id", "score", "content") if any(chunk.get(name) is None for chunk in every)]
    value: list[Json] = [{"event": event.number, "chunks": chunks} for event, chunks in found]
    if lacking:
        about = f"{len(every)} chunks, some without {' and '.join(lacking)}"
        yield _item("chunks", ItemState.PARTIAL, about, events, value=value, capture=capture)
    else:
        about = f"{len(every)} chunks with ids, scores and contents"
        yield _item("chunks", ItemState.CAPTURED, about, events, value=value)


def _of(event: Event) -> list[Json] | None:
    chunks = event.outcome.head.get("chunks") if isinstance(event.outcome, Value) else None
    return list(chunks) if isinstance(chunks, (list, tuple)) else None


def _timestamps(scene: Scene) -> Iterator[Item]:
    """When each call began, spoke first, said its first word, and ended."""
    events = [event for event in scene.events if event.call.kind in (*_WORLD, Kind.MODEL)]
    if not events:
        return
    value = [_times(event, scene) for event in events]
    open_ = [event for event in events if event.ended_us is None and not event.call.observed]
    headless = [event for event in events if isinstance(event.outcome, Stream) and event.first_us is None]
    words = [each for each in scene.models if each.full and each.reading.streamed and not _said_nothing(each)]
    silent = [each.event for each in words if each.first_token_us is None]
    lacking = list({event.number: event for event in (*open_, *headless, *silent)}.values())
    if not times_known(scene.run):
        about = "the file that was imported does not know when anything happened"
        yield _item("timestamps", ItemState.MISSING, about, events)
    elif lacking:
        about = f"{len(lacking)} of {len(events)} calls have no end, first byte or first token"
        yield _item("timestamps", ItemState.PARTIAL, about, lacking, value=value)
    else:
        tokens = f", first token of {len(words)} streams" if words else ""
        about = f"start, first byte and end of {len(events)} calls{tokens}"
        yield _item("timestamps", ItemState.CAPTURED, about, events, value=value)


def _said_nothing(call: ModelCall) -> bool:
    reading = call.reading
    return reading.error is not None or not (reading.text or reading.thinking or reading.tool_calls)


def _times(event: Event, scene: Scene) -> dict[str, Json]:
    token = next((each.first_token_us for each in scene.models if each.event.number == event.number), None)
    return {
        "event": event.number,
        "start_us": event.issued_us,
        "first_byte_us": event.first_us,
        "first_token_us": token,
        "end_us": event.ended_us,
    }


def _order(scene: Scene) -> Item:
    """In which order the answers came."""
    kept = scene.run.capture.get("order") or "exact"
    unproven = scene.run.totals.unproven
    if is_imported(scene.run):
        about = "the file that was imported knows no order but that of its list"
        return _item("order", ItemState.MISSING, about, capture=("reenact record -- python agent.py",))
    if kept == "off":
        about = "not numbered: order = off"
        return _item("order", ItemState.MISSING, about, capture=("reenact record --order exact",))
    if unproven:
        about = f"{unproven} of {scene.run.totals.deliveries} deliveries came in an order that could not be proven"
        return _item("order", ItemState.PARTIAL, about, capture=("a larger hold_ms in the settings",))
    if kept == "arrival":
        about = "numbered as they came, never held: races may not be reproduced"
        return _item("order", ItemState.PARTIAL, about, capture=("reenact record --order exact",))
    return _item("order", ItemState.CAPTURED, f"{scene.run.totals.deliveries} deliveries, proven")


def _recording(scene: Scene) -> Iterator[Item]:
    """Faults of the recording itself."""
    run = scene.run
    if run.degraded:
        about = f"the recorder failed at times: {'; '.join(run.degraded[:_FEW])}"
        yield _item("recording", ItemState.PARTIAL, about, capture=("record it again",))
    if run.interrupted_at is not None or run.status.value == "interrupted":
        yield _item("end", ItemState.PARTIAL, "the process died: the run has no end of its own")
    why = why_thinned(run)
    if why:
        about = f"thinned ({why}): of each body size and digest are left; it can be listed, shown, counted and compared"
        yield _item(PAYLOADS, ItemState.MISSING, about, capture=_untouched(why), stops=Stops.EVENTS)
    elif scene.lost:
        about = f"{len(scene.lost)} payloads cannot be read: {scene.lost[0]}"
        damaged = ("reenact fsck, which names what is damaged",)
        yield _item(PAYLOADS, ItemState.MISSING, about, capture=damaged, stops=Stops.EVENTS)


def _untouched(why: str) -> tuple[str, ...]:
    """The ways to keep the bodies of a run that a rule has taken out, by the rule."""
    if why.startswith("sample"):
        setting = "a larger sample in the settings, or a share in sampling for this agent"
        return setting, "reenact record --tag keep=always on runs that are to stay whole"
    return "a larger day_mb in the settings", "reenact tag REF keep=always on runs that are to stay whole"
