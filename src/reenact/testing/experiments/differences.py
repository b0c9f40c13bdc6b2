"""The differences of a cell's run from the recorded one: the first one, and the tool calls that changed."""

from __future__ import annotations

from collections.abc import Iterator

from reenact.abc.store import Recording
from reenact.facts.call import Kind
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import replace
from reenact.timetravel import preview
from reenact.timetravel.alignment import PairSort
from reenact.timetravel.event_contents import Unread, arguments_of, asked
from reenact.timetravel.forks import permits
from reenact.timetravel.model_readings import is_model, model_name
from reenact.timetravel.run_comparison import Comparison

_TOOLS = frozenset((Kind.TOOL, Kind.RETRIEVAL, Kind.MCP, Kind.HTTP, Kind.PROCESS, Kind.DB, Kind.WEBSOCKET))
_MARKS = {PairSort.ADDED: "+", PairSort.REMOVED: "-", PairSort.REORDERED: "^"}
_WIDTH = 120


def first_difference(comparison: Comparison) -> str:
    """The first difference in words; empty without one."""
    first = comparison.first_difference
    if first is None:
        return ""
    event, at = first.event, first.numbers[0] if first.numbers[0] is not None else first.numbers[1]
    kind, name = ("model", model_name(event)) if is_model(event) else (event.kind, event.name)
    return preview.safe(f"#{at} {' and '.join(first.changes)}: {kind} {name}")


def changed_calls(comparison: Comparison) -> Iterator[str]:
    """The tool calls that differ, as their author would write them: ``+`` marks a call made only now, ``-`` one made
    only then, ``^`` one in another order, ``~`` one with other arguments or another answer. Every call but a model's
    counts as a tool's."""
    for pair in comparison.differences:
        event = pair.event
        recording = comparison.recordings[0 if pair.numbers[1] is None else 1]
        if event.kind in _TOOLS and not event.call.observed and not asks_a_model(recording, event):
            mark = next((_MARKS[change] for change in pair.changes if change in _MARKS), "~")
            yield f"{mark} {_written(recording, event)}"


def asks_a_model(recording: Recording, event: Event) -> bool:
    """Whether an event is a call of a model, answered or not."""
    return is_model(event) or permits.is_model(replace(event.call, body=recording.body(event.request)))


def _written(recording: Recording, event: Event) -> str:
    request = asked(recording, event)
    arguments = None if isinstance(request, Unread) else arguments_of(request)
    return preview.call_text(event.name, arguments, _WIDTH)
