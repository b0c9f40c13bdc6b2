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
from reenact.timetravel.readings import is_model, reading_of


class Watched:
    """A view that notes which events were handed out, and how many bytes they hold (``weight``).

    Args:
        recording: What it lies over.
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
        """This view, as what it stands for."""
        return cast(Recording, self)


class Upto:
    """A view of a run that ended with an event.

    Args:
        recording: What it lies over.
        last: Number of the last event that is handed out; -1 for none.
        run: The run with the totals it had then.
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
    """What the run had added up to after each of its events."""
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
