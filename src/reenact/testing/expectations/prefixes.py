"""Prefixes: a run as it stood after one of its events, to find out with which event an expectation was lost.

Nothing is copied: a view lies over the recording and hands out fewer events.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any, cast

from reenact.abc.store import Recording
from reenact.facts.call import Kind
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Run, Totals
from reenact.timetravel.model_readings import is_model, reading_of


class WatchedView:
    """A view that notes the events that were read, and their bytes (``weight``).

    Args:
        recording: The recording.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.handed: set[int] = set()
        self.named: list[int] = []
        self.weight = 0

    def events(self, *, name: str | None = None, **choice: Any) -> Iterator[Event]:
        """See ``abc.store.Recording``; ``named`` keeps the events that were asked for by their name."""
        for event in self._recording.events(name=name, **choice):
            self.handed.add(event.number)
            self.weight += sum(payload.size for payload in (event.request, event.answer) if payload is not None)
            if name is not None:
                self.named.append(event.number)
            yield event

    def __getattr__(self, name: str) -> Any:
        return getattr(self._recording, name)

    @property
    def view(self) -> Recording:
        """This view, typed as a recording."""
        return cast(Recording, self)


class Upto:
    """A view of a run that ends with an event.

    Args:
        recording: The recording.
        last: The number of the last event; -1 for none.
        run: The run with its totals at that event.
    """

    def __init__(self, recording: Recording, last: int, run: Run) -> None:
        self._recording = recording
        self._end = last + 1
        self.run = run

    def events(self, *, before: int | None = None, **choice: Any) -> Iterator[Event]:
        """See ``abc.store.Recording``."""
        return self._recording.events(before=self._end if before is None else min(before, self._end), **choice)

    def count(self) -> int:
        """See ``abc.store.Recording``."""
        return sum(1 for _ in self.events())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._recording, name)


class Prefixes:
    """The prefixes of one run.

    Args:
        recording: The run.
        totals: Whether totals matter; they then cost one pass over the events.
    """

    def __init__(self, recording: Recording, *, totals: bool) -> None:
        self._recording = recording
        self._totals = _running_totals(recording) if totals else {}

    def upto(self, last: int) -> Recording:
        """The run as it stood after event ``last``; -1 for its beginning."""
        run = self._recording.run
        if self._totals:
            run = replace(run, totals=self._totals.get(last, Totals()))
        return cast(Recording, Upto(self._recording, last, run))


def _running_totals(recording: Recording) -> dict[int, Totals]:
    """The totals of the run after each of its events."""
    numbers, parts = [], []
    for event in recording.events():
        usage = (reading_of(event) or {}).get("usage") or {}
        numbers.append(event.number)
        parts.append(
            Totals(
                events=1,
                models=int(is_model(event)),
                tools=int(event.kind == Kind.TOOL),
                tokens_in=int(usage.get("tokens_in") or 0),
                tokens_out=int(usage.get("tokens_out") or 0),
            )
        )
    return dict(zip(numbers, accumulate(parts, _added), strict=True))


def _added(left: Totals, right: Totals) -> Totals:
    return Totals(
        left.events + right.events,
        left.models + right.models,
        left.tools + right.tools,
        left.tokens_in + right.tokens_in,
        left.tokens_out + right.tokens_out,
    )
