"""The name of a model call: the name of the requested model, or of the model that answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from reenact.facts.call import Kind
from reenact.facts.event import Event

_UNREAD = frozenset((Kind.STEP, Kind.TOOL))
_ASKED_FIRST = ("model_asked", "model", "model_answered")


def shown_name(event: Event) -> str:
    """The name that a list shows: the requested model for a model call, or else the event's name."""
    return next(iter(model_names(event)), event.name)


def model_names(event: Event) -> tuple[str, ...]:
    """The names of the model of a recognised call: the requested model, and the model that answered. Other events have
    no such names."""
    reading = None if event.call.kind in _UNREAD else event.attributes.get("reading")
    if not isinstance(reading, Mapping):
        return ()
    names = (reading.get(key) for key in _ASKED_FIRST)
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str) and name))


def events_called(events: Callable[..., Iterable[Event]], name: str, skip: int = 0) -> Iterator[Event]:
    """The events with a name, in order: events with this name, or, without any, model calls with this model.

    Args:
        events: Gives the events of a run without the first ``skip``; with ``name``, only the events of that name.
        name: The name.
        skip: The number of events to leave out first. A store leaves them out without reading them.
    """
    found = False
    for event in events(name=name, skip=skip):
        found = True
        yield event
    if found or (skip and any(True for _ in events(name=name, limit=1))):
        return
    yield from islice((event for event in events() if name in model_names(event)), skip, None)
