"""Conduct: how a run went about its task: the order of calls, repetitions, unanswered calls.

Everything here reads events without their payloads. *Before* means issued before: the agent decides that order, and not
the time of an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from reenact.abc.store import Recording
from reenact.facts.call import EndKind, Json, Kind, Stream, calls_a_tool
from reenact.facts.event import Event
from reenact.facts.insides import holds_unseen
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.plumbing import is_plumbing
from reenact.timetravel.model_readings import decision_of, is_model
from reenact.timetravel.step_view import event_state


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding, its reason in words (empty without one), and the event that shows the finding best."""

    value: Json
    why: str = ""
    event: int | None = None


def came_before(recording: Recording, names: Sequence[str]) -> Finding:
    """Whether each named call was made before the first call of the next name. A next name that was never called does
    not count."""
    for earlier, later in pairwise(names):
        second = _first(recording, later)
        if second is None:
            continue
        first = _first(recording, earlier, before=second)
        if first is None:
            return Finding(False, f"{later} was called at #{second}, {earlier} not before it", second)
    return Finding(True)


def in_order(recording: Recording, names: Sequence[str]) -> Finding:
    """Whether calls of these names were made, one after the other; others may lie between."""
    at, before = -1, ""
    for name in names:
        found = _first(recording, name, after=at)
        if found is None:
            why = f"no call of {name}" + (f" after {before} at #{at}" if before else "")
            return Finding(False, why)
        at, before = found, name
    return Finding(True)


def repeated(recording: Recording, name: str | None = None) -> Finding:
    """The number of times that the most frequent call was made: the same name with the same request.

    Args:
        recording: The run.
        name: Only calls of this name; None for all calls (tools, retrievals, plain HTTP) except model calls.

    Returns:
        0 where there was no call. Calls with arguments that could not be stored are not compared.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    latest: dict[tuple[str, str, str], int] = {}
    for event in recording.events(name=name) if name is not None else acts(recording):
        if event.call.head.get("opaque"):
            continue
        same = (event.kind, event.name, event.asked)
        counts[same] += 1
        latest[same] = event.number
    if not counts:
        return Finding(0)
    (most, count) = counts.most_common(1)[0]
    return Finding(count, "" if name is not None else most[1], latest[most])


def unanswered(recording: Recording) -> Finding:
    """The number of tool calls without an answer: those that a model asked for and that were never made, and those that
    never returned.

    If no call has the tool's name (an unmarked function of the agent), the agent's next calls count for it.
    """
    known = {event.name for event in recording.events() if _acts(event)}
    waiting: list[tuple[str, int]] = []
    left: list[tuple[str, int]] = []
    for event in recording.events():
        decision = decision_of(event)
        if is_model(event):
            waiting = [each for each in waiting if each[0] in known]  # the conversation went on
        elif _acts(event) or (event.kind == Kind.HTTP and not is_plumbing(event.call)):
            name = event.name
            answered = next((each for each in waiting if each[0] == name), None)
            answered = answered or next((each for each in waiting if each[0] not in known), None)
            if answered is not None:
                waiting.remove(answered)
            if _acts(event) and not _returned(event):
                left.append((name, event.number))
        if decision is not None:
            waiting += [(name, event.number) for name, _ in decision.tools]
    left = sorted([*left, *waiting], key=lambda each: each[1])
    if not left:
        return Finding(0)
    return Finding(len(left), ", ".join(f"{name} at #{number}" for name, number in left[:3]), left[0][1])


def state_left(recording: Recording, name: str) -> Finding:
    """The state that the last step of a name left."""
    for event in recording.events(kinds=[Kind.STEP], name=name, backwards=True):
        state = event_state(recording, event.number)
        if state is not None:
            return Finding(state, event=event.number)
    return Finding(None)


def acts(recording: Recording) -> Iterator[Event]:
    """The calls of the agent: tools, retrievals and plain HTTP, without calls inside them, and without telemetry."""
    inside: set[int] = set()
    for event in recording.events():
        if event.parent in inside:
            inside.add(event.number)
        elif _acts(event) or (event.kind == Kind.HTTP and not is_model(event) and not is_plumbing(event.call)):
            inside.add(event.number)
            yield event


def outermost(recording: Recording) -> Iterator[Event]:
    """The events that a replay has too: all but those inside calls that a replay answers as a whole."""
    unseen: set[int] = set()
    for event in recording.events():
        if event.parent not in unseen:
            yield event
        if event.parent in unseen or holds_unseen(event):
            unseen.add(event.number)


def _returned(event: Event) -> bool:
    """Whether a call returned, with a value or an exception; a cancelled call did not."""
    end = event.outcome.end if isinstance(event.outcome, Stream) else None
    return event.outcome is not None and (end is None or end.kind is not EndKind.CANCELLED)


def _acts(event: Event) -> bool:
    return event.kind == Kind.RETRIEVAL or calls_a_tool(event.call)


def _first(recording: Recording, name: str, *, after: int = -1, before: int | None = None) -> int | None:
    found = next(iter(recording.events(name=name, after=after, before=before, limit=1)), None)
    return None if found is None else found.number
