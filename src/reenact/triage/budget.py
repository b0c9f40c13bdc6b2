"""The non-determinism budget of a run: each source of chance, and the means that hold it, from the run's own events.

For each source there are two answers: one for a replay, and one for a new live run. A replay freezes all that went
through a seam; a live run keeps only what the run itself fixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reenact.abc.store import Store
from reenact.facts.call import Effect, Failure, Json, Kind, Stream
from reenact.facts.event import Event
from reenact.facts.imported_runs import times_known
from reenact.facts.kit import Allowance, Hold
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.run import Run
from reenact.facts.trace_runs import is_traced, is_traced_model, is_untold
from reenact.triage.gaps import is_contact
from reenact.triage.scene import ModelCall, Scene, scene_of

_DATED = lazy_regex(
    r"(?:[-@:._](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2}(?:-\d{4})?|\d{4}))(?:-v\d+(?::\d+)?)?$|@\d+$|:[0-9a-f]{12,}$"
)
_BUSY = (408, 425, 429, 500, 502, 503, 504, 529)
_INDEX = ("index_version", "retrieval_version", "corpus_version", "index")
_FEW = 4
_NONE = "the run has none"


def budget_of(store: Store, run: Run) -> tuple[Allowance, ...]:
    """The budget of a run. Costs as much as its kit.

    Args:
        store: The store of the run.
        run: The run.
    """
    return allow(scene_of(store, run))


def allow(scene: Scene) -> tuple[Allowance, ...]:
    """The budget of a scene, source by source: pure."""
    calls = [
        each for each in scene.models if each.event.call.kind is not Kind.MODEL or is_traced_model(each.event.call)
    ]
    return (
        _sampling(scene, calls),
        _seed(calls),
        _drift(calls),
        _routing(scene, calls),
        _races(scene),
        _tools(scene),
        _retrieval(scene),
        _load(scene),
        _clock(scene),
    )


def _replayed(events: Iterable[Event]) -> Hold:
    """Whether a replay can answer some events. A replay cannot answer an event that never got an answer, or whose
    answer a trace leaves out."""
    return Hold.ACCEPTED if any(event.outcome is None or is_untold(event) for event in events) else Hold.FROZEN


def _numbers(events: Iterable[Event]) -> tuple[int, ...]:
    return tuple(event.number for event in events)


def _at(numbers: Iterable[int]) -> str:
    shown = list(numbers)
    return ", ".join(f"#{number}" for number in shown[:_FEW]) + (" …" if len(shown) > _FEW else "")


def _allowance(name: str, live: Hold | None, about: str, events: Iterable[Event] = ()) -> Allowance:
    events = tuple(events)
    return Allowance(name, _replayed(events), live, about, _numbers(events))


def _sampling(scene: Scene, calls: list[ModelCall]) -> Allowance:
    if not scene.models:
        return _allowance("sampling", None, "no model was asked")
    events = [each.event for each in scene.models]
    values: dict[Json, list[int]] = {}
    for each in calls:
        values.setdefault(_temperature(each), []).append(each.event.number)
    words = [
        f"temperature {value} at {_at(numbers)}"
        if value is not None
        else f"no temperature sent at {_at(numbers)}: the provider's default"
        for value, numbers in values.items()
    ]
    greedy = bool(calls) and set(values) <= {0} and len(calls) == len(scene.models)
    about = "; ".join(words) or f"{len(events)} calls of models in the process"
    return _allowance("sampling", Hold.PINNED if greedy else Hold.ACCEPTED, about, events)


def _temperature(call: ModelCall) -> Json:
    value = call.reading.params.get("temperature")
    return value if isinstance(value, (int, float)) else None


def _seed(calls: list[ModelCall]) -> Allowance:
    if not calls:
        return _allowance("seed", None, "no model was asked over the wire")
    seeds = [next((each.reading.params.get(name) for name in ("seed", "random_seed")), None) for each in calls]
    events = [each.event for each in calls]
    if all(seed is not None for seed in seeds):
        shown = ", ".join(dict.fromkeys(map(str, seeds)))
        return _allowance("seed", Hold.PINNED, f"seed {shown} in every request", events)
    lacking = [event for event, seed in zip(events, seeds, strict=True) if seed is None]
    return _allowance("seed", Hold.ACCEPTED, f"none sent at {_at(_numbers(lacking))}", lacking)


def _drift(calls: list[ModelCall]) -> Allowance:
    """Whether the name of a model will mean the same model later."""
    if not calls:
        return _allowance("model drift", None, "no model was asked over the wire")
    events = [each.event for each in calls]
    aliases = [each for each in calls if not _DATED.search(each.reading.model_asked)]
    names = dict.fromkeys(each.reading.model_asked for each in calls)
    if not aliases:
        return _allowance("model drift", Hold.PINNED, f"asked by a dated name: {', '.join(names)}", events)
    words = []
    for asked, answered in dict.fromkeys((each.reading.model_asked, each.reading.model_answered) for each in aliases):
        says = f", {answered} answered" if answered and answered != asked else ""
        words.append(f"{asked or 'no name'} is an alias{says}")
    return _allowance("model drift", Hold.ACCEPTED, "; ".join(words), [each.event for each in aliases])


def _routing(scene: Scene, calls: list[ModelCall]) -> Allowance:
    if not calls:
        return _allowance("provider routing", None, "no model was asked over the wire")
    events = [each.event for each in calls]
    providers = ", ".join(dict.fromkeys(each.reading.provider for each in calls))
    regions = list(dict.fromkeys(each.reading.region for each in calls if each.reading.region))
    said, where = scene.said("region")
    prints = {str(each.reading.params.get("fingerprint")) for each in calls if each.reading.params.get("fingerprint")}
    told = f", fingerprint {', '.join(sorted(prints))}" if prints else ", no fingerprint"
    if regions or said:
        place = ", ".join(regions) or f"{said} ({where})"
        return _allowance("provider routing", Hold.PINNED, f"{providers} in {place}{told}", events)
    return _allowance("provider routing", Hold.ACCEPTED, f"{providers}, region unknown{told}", events)


def _races(scene: Scene) -> Allowance:
    """Calls that were under way at the same time, and whether their order is proven."""
    name = "tool latency and races"
    events = [event for event in scene.events if not event.call.observed]
    if not events:
        return _allowance(name, None, _NONE)
    pair = _together(events) if is_traced(scene.run) else _overlap(events)
    order = scene.run.capture.get("order") or "exact"
    unproven = scene.run.totals.unproven
    replay = Hold.FROZEN if order == "exact" and not unproven else Hold.ACCEPTED
    proof = "order proven" if replay is Hold.FROZEN else f"order not proven at {unproven} deliveries (order={order})"
    if not times_known(scene.run):
        return Allowance(name, replay, Hold.ACCEPTED, "the file that was imported does not know what overlapped")
    if pair is None:
        return Allowance(name, replay, Hold.PINNED, f"one call at a time; {proof}")
    lanes = len({event.lane for event in events})
    about = f"#{pair[0].number} and #{pair[1].number} were under way together, {lanes} strands; {proof}"
    return Allowance(name, replay, Hold.ACCEPTED, about, _numbers(pair))


def _overlap(events: list[Event]) -> tuple[Event, Event] | None:
    """Two calls of different strands that were under way at the same time, of which neither is inside the other."""
    latest: Event | None = None
    for event in events:
        if (
            latest is not None
            and latest.lane != event.lane
            and not event.lane.startswith((latest.lane + "/", latest.lane + ">"))
            and (latest.ended_us is None or latest.ended_us > event.issued_us)
        ):
            return latest, event
        if latest is None or (event.ended_us or event.issued_us) >= (latest.ended_us or latest.issued_us):
            latest = event
    return None


def _together(events: list[Event]) -> tuple[Event, Event] | None:
    """Two calls of a trace whose times overlap, of which neither is inside the other. A trace has no strands."""
    above = {event.number: event.parent for event in events}
    latest: Event | None = None
    for event in sorted(events, key=lambda each: (each.issued_us, each.number)):
        if latest is not None and (latest.ended_us or 0) > event.issued_us:
            parent = event.parent
            while parent is not None and parent != latest.number:
                parent = above.get(parent)
            if parent is None:
                return latest, event
            continue
        latest = event
    return None


def _tools(scene: Scene) -> Allowance:
    """The allowance for tools: whether they would give the same answers again."""
    name = "tool drift"
    escaped = [(what, place) for what, place, _ in scene.gaps if is_contact(what)]
    if not scene.acts and not escaped:
        return _allowance(name, None, "no tool asked the world")
    events = [act.event for act in scene.acts]
    reads = sum(event.call.effect is Effect.READ for event in events)
    about = (
        f"{len(events)} answers of the world ({reads} reads): {', '.join(dict.fromkeys(a.label for a in scene.acts))}"
    )
    if escaped:
        about += f"; {escaped[0][0]} at {escaped[0][1]} escaped the recording"
    replay = Hold.ACCEPTED if escaped else _replayed(events)
    return Allowance(name, replay, Hold.ACCEPTED, about, _numbers(events))


def _retrieval(scene: Scene) -> Allowance:
    name = "retrieval freshness"
    events = [*scene.of_kind(Kind.RETRIEVAL), *(event for event, _ in scene.embeddings)]
    if not events:
        return _allowance(name, None, "nothing was retrieved")
    said, where = scene.said(*_INDEX)
    if said:
        return _allowance(name, Hold.PINNED, f"index {said}, from {where}", events)
    about = f'{len(events)} retrievals, version of the index unknown: reenact.note("index_version", …)'
    return _allowance(name, Hold.ACCEPTED, about, events)


def _load(scene: Scene) -> Allowance:
    """Signs of load: refusals for the time being, time-outs, broken streams."""
    name = "time-of-day load"
    kinds = (Kind.HTTP, Kind.MCP, Kind.WEBSOCKET, Kind.DB)
    asked = [event for event in scene.events if event.call.kind in kinds or is_traced_model(event.call)]
    if not asked:
        return _allowance(name, None, "nothing was asked over a network")
    signs = list(_signs(asked))
    if signs:
        about = "; ".join(f"{words} at #{event.number}" for words, event in signs[:_FEW])
        return Allowance(name, _replayed(asked), Hold.ACCEPTED, about, _numbers(event for _, event in signs))
    slowest = max(asked, key=lambda event: (event.ended_us or event.issued_us) - event.issued_us)
    took_ms = ((slowest.ended_us or slowest.issued_us) - slowest.issued_us) / 1000
    about = f"no sign of it; the slowest answer took {took_ms:.0f} ms (#{slowest.number})"
    return Allowance(name, _replayed(asked), Hold.ACCEPTED, about, (slowest.number,))


def _signs(events: Iterable[Event]) -> Iterator[tuple[str, Event]]:
    for event in events:
        outcome = event.outcome
        if isinstance(outcome, Stream):
            status = outcome.head.get("status")
            if status in _BUSY:
                yield f"status {status}", event
            elif outcome.end is not None and outcome.end.error is not None:
                yield f"broken off ({outcome.end.error.type.rpartition('.')[2]})", event
        elif isinstance(outcome, Failure):
            yield outcome.error.type.rpartition(".")[2], event


def _clock(scene: Scene) -> Allowance:
    """The program's use of the time of day."""
    name = "clock logic"
    if is_traced(scene.run):
        return Allowance(name, Hold.ACCEPTED, Hold.ACCEPTED, "a trace does not say whether the program read a clock")
    reads = sorted(source for source in scene.ambient if source.partition("/")[0] == "wall")
    zone = scene.environment.get("time_zone")
    place = (zone.get("TZ") or zone.get("link") or "") if isinstance(zone, dict) else ""
    if not reads:
        return Allowance(name, Hold.FROZEN, None, "the program never read the wall clock")
    about = f"the wall clock was read; time zone {place or 'unknown'}"
    return Allowance(name, Hold.FROZEN, Hold.ACCEPTED, about)
