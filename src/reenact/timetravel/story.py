"""The story of a run: one line an event, with ambient and repeated events folded, and suspicious ones marked.

Two passes: the first reads events without their payloads and decides what is folded and marked; the second reads the
payloads of the lines that remain, one at a time, when they are asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from reenact.abc.store import Recording
from reenact.facts import quiet_events
from reenact.facts.event import NODE, Event, strand_of
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.model_names import shown_name
from reenact.facts.plumbing import MARK as PLUMBING
from reenact.facts.plumbing import is_plumbing
from reenact.facts.rounds import FEWEST_ROUNDS, rounds_at
from reenact.timetravel import preview
from reenact.timetravel.event_line import event_text
from reenact.timetravel.model_readings import decision_of, model_name, reading_of

if TYPE_CHECKING:
    from reenact.facts.suspicions import Rule, Suspicion
    from reenact.timetravel.suspicion_marks import mark_of, marked
else:
    Rule = late("reenact.facts.suspicions", "Rule")
    Suspicion = late("reenact.facts.suspicions", "Suspicion")
    mark_of = late("reenact.timetravel.suspicion_marks", "mark_of")
    marked = late("reenact.timetravel.suspicion_marks", "marked")

WIDTH = 160
"""The default width of a line, in columns."""
SPENT = 10
"""The least columns at the end of a line for the duration."""
_ASIDE = 18
"""Columns of a line before its name: number and kind."""


@dataclass(frozen=True, slots=True)
class StoryLine:
    """One line of a story.

    Attributes:
        first, last: The numbers of its first and last event.
        count: The number of its events.
        depth: The depth of nesting: 0 for calls of the agent itself.
        kind: Sort of crossing; ``model`` for recognised exchanges too, ``plumbing`` for telemetry that is handed over,
            ``quiet`` for quiet events of several sorts, ``…`` for folded repeats.
        name: The name of the call.
        text: The request and the answer, in short.
        mark: Why a person should look here; empty for most.
        lane: The lane that issued it; empty for several lanes.
        strand: The short name of that lane, if there are several; empty for a single one.
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
    strand: str = ""
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
    group: str = ""
    """The group of quiet events (``quiet_events.group_of``); empty for the agent's own calls."""
    loops: bool = False
    """Whether a loop begins to repeat with these events."""

    @property
    def lane(self) -> str:
        """The lane of the events in this beat; empty if they are in several lanes."""
        lanes = {strand_of(event.lane) for event in self.events}
        return lanes.pop() if len(lanes) == 1 else ""


def tell(
    recording: Recording,
    *,
    everything: bool = False,
    stretch: tuple[int, int] | None = None,
    width: int = WIDTH,
    rules: Sequence[Rule] | None = None,
    marks: Mapping[int, Sequence[Suspicion]] | None = None,
) -> Iterator[StoryLine]:
    """The lines of a run, in order.

    Args:
        recording: The run.
        everything: Fold nothing.
        stretch: Only events from the first to the second number, both included.
        width: The width of a line.
        rules: The active rules of suspicion, None for all of this package; they always see the whole run.
        marks: Their marks by event, if these are known already.

    Returns:
        Lines, made lazily. Costs one pass over the events, one payload preview a line, and the reads of the rules
        (``store.courses``).
    """
    events = list(recording.events())
    marks = marked(recording, rules, events) if marks is None else marks
    if stretch is not None:
        events = [event for event in events if stretch[0] <= event.number <= stretch[1]]
    beats = _beats(events, marks)
    shown = beats if everything else list(_folded(_quiet(beats)))
    strands = names_of(beat.lane for beat in shown if not beat.group and not beat.pattern)
    nodes = nodes_of(events)
    for beat in shown:
        yield _line(recording, beat, strands, nodes, width)


def names_of(lanes: Iterable[str]) -> dict[str, str]:
    """The shortest end of each lane's path that distinguishes it from the others; empty with a single lane."""
    paths = [path for path in dict.fromkeys(lanes) if path]
    if len(paths) < 2:
        return {}
    names = {}
    for path in paths:
        parts = path.split("/")
        ends = ("/".join(parts[-n:]) for n in range(1, len(parts) + 1))
        names[path] = next(
            (end for end in ends if not any(other != path and f"/{other}".endswith(f"/{end}") for other in paths)), path
        )
    return names


def nodes_of(events: Iterable[Event]) -> dict[int, str]:
    """The names of the strands of a graph's nodes (LangGraph), by the numbers of their events: the node, with a number
    where several strands run it."""
    at: dict[str, str] = {}
    lanes: dict[str, dict[str, None]] = {}
    found: dict[int, tuple[str, str]] = {}
    for event in events:
        lane = strand_of(event.lane)
        noted = event.attributes.get(NODE)
        if isinstance(noted, str):
            at[lane] = noted
        if node := at.get(lane):
            lanes.setdefault(node, {})[lane] = None
            found[event.number] = (node, lane)
    numbers = {node: {lane: n for n, lane in enumerate(among, 1)} for node, among in lanes.items() if len(among) > 1}
    return {
        event: f"{node}#{numbers[node][lane]}" if node in numbers else node for event, (node, lane) in found.items()
    }


def elapsed(event: Event) -> int | None:
    """Microseconds from issue to end; None while open."""
    return None if event.ended_us is None else max(event.ended_us - event.issued_us, 0)


def _beats(events: Iterable[Event], marks: Mapping[int, Sequence[Suspicion]]) -> list[_Beat]:
    """One beat for each event, with its depth, its signature and its mark."""
    depths: dict[int, int] = {}
    beats = []
    for event in events:
        depth = depths.get(event.parent, -1) + 1 if event.parent is not None else 0
        depths[event.number] = depth
        found = marks.get(event.number, ())
        loops = any(each.rule == "loop" for each in found)
        group = quiet_events.group_of(event)
        beats.append(_Beat((event,), depth, _signature(event), mark_of(found), group=group, loops=loops))
    return beats


def _signature(event: Event) -> tuple[str, ...]:
    """The signature by which two events of a loop are the same: for a model its decision, because the conversation
    grows."""
    decision = decision_of(event)
    if decision is not None:
        return ("model", model_name(event), json.dumps([decision.tools, decision.text], default=str))
    return (event.kind, event.name, event.asked or f"#{event.number}")


def _quiet(beats: Iterable[_Beat]) -> list[_Beat]:
    """Neighbouring quiet events of one depth as one beat each."""
    out: list[_Beat] = []
    for beat in beats:
        before = out[-1] if out else None
        if beat.mark or not beat.group:
            out.append(beat)
        elif before is not None and before.group and not before.mark and before.depth == beat.depth:
            out[-1] = replace(before, events=before.events + beat.events)
        else:
            out.append(replace(beat, signature=("quiet",)))
    return out


def _folded(beats: Sequence[_Beat]) -> Iterator[_Beat]:
    """Patterns of up to six beats that occur three or more times in a row: once in full, the rest as one beat."""
    signatures = [(beat.signature, beat.depth) for beat in beats]
    at = 0
    while at < len(beats):
        length, times = rounds_at(signatures, at)
        if times < FEWEST_ROUNDS:
            yield beats[at]
            at += 1
            continue
        end = at + length * times
        yield from beats[at : at + length]
        rest = tuple(event for beat in beats[at + length : end] for event in beat.events)
        mark = "suspicious: a loop" if any(beat.loops for beat in beats[at:end]) else ""
        yield _Beat(rest, beats[at].depth, ("repeat",), mark, pattern=length)
        at = end


def _line(
    recording: Recording, beat: _Beat, strands: Mapping[str, str], nodes: Mapping[int, str], width: int
) -> StoryLine:
    event, last = beat.events[0], beat.events[-1]
    count, lane = len(beat.events), beat.lane
    strand = nodes.get(event.number) or strands.get(lane, "") if lane else "several" if strands else ""
    if beat.pattern:
        return StoryLine(
            event.number, last.number, count, beat.depth, "…", "", _repeat_text(beat), beat.mark, lane, strand
        )
    if beat.group and count > 1:
        kind, name, text = quiet_events.summary(beat.events)
        return StoryLine(event.number, last.number, count, beat.depth, kind, preview.safe(name), preview.safe(text))
    kind = "model" if reading_of(event) is not None else PLUMBING if is_plumbing(event.call) else event.kind
    name = preview.safe(shown_name(event))
    aside = _ASIDE + 2 * beat.depth + len(name) + (len(strand) + 2 if strand or strands else 0)
    aside += len(beat.mark) + 6 if beat.mark else 0
    aside += SPENT if elapsed(event) is not None else 0
    text = event_text(recording, event, max(width - aside, 24))
    return StoryLine(
        event.number, event.number, 1, beat.depth, kind, name, text, beat.mark, event.lane, strand, elapsed(event)
    )


def _repeat_text(beat: _Beat) -> str:
    names = list(dict.fromkeys(map(shown_name, beat.events)))
    words = {1: "call", 2: "pair"}.get(beat.pattern, f"{beat.pattern} calls")
    times = len(beat.events) // beat.pattern
    shown = preview.clip(preview.safe(" + ".join(names)), 60)
    lanes = len({strand_of(event.lane) for event in beat.events})
    if lanes > 1 and not beat.mark:
        return f"the same {words} in {lanes} other lanes: {shown}"
    return f"the same {words} again, {times} more times, identical arguments: {shown}"
