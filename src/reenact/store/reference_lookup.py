"""References to a run in a store, and to an event of the run.

The command that was given a reference reads its other parts (a field of an event, a stretch of events).
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NoReturn

from reenact.errors import EventNotFound, RunNotFound, UsageError
from reenact.facts.ids import ALPHABET, TAIL_LENGTH, TIME_LENGTH, tail
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.phrases import counted
from reenact.facts.run import ATTEMPT, INNER, TRIES, Run, run_failed

if TYPE_CHECKING:
    from reenact.abc.store import Recording
    from reenact.facts.event import Event
    from reenact.facts.model_names import events_called, shown_name
else:
    events_called = late("reenact.facts.model_names", "events_called")
    shown_name = late("reenact.facts.model_names", "shown_name")

_BACK = lazy_regex(r"@(?:~([0-9]{1,9}))?")
_NUMBER = lazy_regex(r"[0-9]{1,18}")
_OCCURRENCE = lazy_regex(r"(.+)#([0-9]{1,9})", re.DOTALL)
_LISTED = 8


@dataclass(frozen=True, slots=True)
class Latest:
    """The last run, or the run ``back`` runs before it. With ``failed``, only recorded runs that failed count, because
    a failed fork or replay would hide the incident. If a failed run was mended by a resumption, its failed attempt
    counts in its place."""

    back: int = 0
    failed: bool = False

    def counted(self, runs: Iterable[Run], find: Callable[[str], Run]) -> Iterator[Run]:
        """The runs, out of some, that count for this reference.

        Args:
            runs: Yields runs without a parent, newest first; only failed ones if the reference says so.
            find: Gives a run by its id, or raises ``RunNotFound``.
        """
        tries = TRIES if self.failed else ()
        for run in runs:
            whole = self._mended(run, find) if self.failed and run.relation == ATTEMPT else run
            if whole is not None and whole.relation not in INNER and whole.relation not in tries:
                yield run

    def _mended(self, attempt: Run, find: Callable[[str], Run]) -> Run | None:
        """The run of an attempt, if this run has not failed. None if it has failed: then the run itself is counted."""
        try:
            whole = find(attempt.parent or "")
        except RunNotFound:
            return None
        return None if run_failed(whole) else whole


@dataclass(frozen=True, slots=True)
class Prefix:
    """A reference to a run by the beginning of its id, or of its tail (the displayed part of the id)."""

    text: str


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A reference to the n-th event with a name, counted from 1."""

    name: str
    ordinal: int


def parse_run(text: str) -> Latest | Prefix:
    """The run part of a reference.

    Raises:
        UsageError: The reference is of a kind that is not available yet.
        RunNotFound: The text cannot be the name of a run.
    """
    if back := _BACK.fullmatch(text):
        return Latest(int(back[1] or 0))
    if text == "@failed":
        return Latest(failed=True)
    if text.endswith(".reenact"):
        raise UsageError(
            f"{text} is a bundle, and no run of this store",
            cause="a bundle is opened by itself, or unpacked into the store first",
            next_command=f"reenact unpack {shlex.quote(text)}",
        )
    if text.startswith("@golden/"):
        raise UsageError(
            f"{text} is a golden, and no run of this store",
            cause="a golden is a bundle in tests/goldens, which is opened by itself",
            next_command=f"reenact show {shlex.quote(text)}",
        )
    lowered = text.lower()
    if not lowered or len(lowered) > TIME_LENGTH + TAIL_LENGTH or any(letter not in ALPHABET for letter in lowered):
        raise RunNotFound(
            f"no run is called {text!r}",
            cause="a run is named by the first letters of its id, @ for the last, @~2 or @failed",
            next_command="reenact ls",
            ref=text,
            candidates=(),
        )
    return Prefix(lowered)


def parse_event(text: str) -> int | Occurrence:
    """The part of a reference after the colon: a number, or ``name#n`` (a name alone means the first event of this
    name).

    Raises:
        EventNotFound: The part is empty.
    """
    if _NUMBER.fullmatch(text):
        return int(text)
    if occurrence := _OCCURRENCE.fullmatch(text):
        return Occurrence(occurrence[1], int(occurrence[2]))
    if not text:
        raise EventNotFound(
            "the reference names no event", cause="an event is RUN:12 or RUN:search_docs#2", next_command="reenact ls"
        )
    return Occurrence(text, 1)


def split(ref: str) -> tuple[str, str]:
    """A reference to an event as (run, event).

    Raises:
        UsageError: There is no colon in it.
    """
    bundle, ends, rest = ref.partition(".reenact:")
    run, colon, event = (bundle + ".reenact", ":", rest) if ends else ref.partition(":")
    if not colon:
        raise UsageError(
            f"{ref!r} names a run, not an event",
            cause="an event is RUN:12 or RUN:search_docs#2",
            next_command=f"reenact show {ref}",
        )
    return run, event


def find_event(recording: Recording, at: int | str) -> Event:
    """The event of a run that is named by a number or by ``name#n``.

    Raises:
        EventNotFound: No event matches.
    """
    wanted = at if isinstance(at, int) else parse_event(at)
    if isinstance(wanted, int):
        return recording.event(wanted)
    if wanted.ordinal > 0:
        for event in events_called(recording.events, wanted.name, skip=wanted.ordinal - 1):
            return event
    raise _no_such_name(recording, wanted.name, str(at))


def _no_such_name(recording: Recording, name: str, at: str) -> EventNotFound:
    """The error for a name that no event has, or that fewer events have than the reference counts. The error lists the
    existing names."""
    run = tail(recording.run.id)
    names = Counter(shown_name(event) for event in recording.events())
    found = sum(1 for _ in events_called(recording.events, name))
    count = "no event" if not found else f"only {counted(found, 'event')}"
    from difflib import get_close_matches  # imported late, because few names are misspelled

    near = [] if found else get_close_matches(name, names, 1)
    meant = f"; did you mean {near[0]}?" if near else ""
    listed = ", ".join(f"{each} ({times})" for each, times in islice(names.items(), _LISTED))
    more = " …" if len(names) > _LISTED else ""
    return EventNotFound(
        f"run {run} has {count} called {name!r}{meant}",
        cause=f"its events are {listed}{more}" if names else "it has no events",
        next_command=f"reenact show {run}",
        run=recording.run.id,
        event=at,
        names=tuple(names),
    )


def no_event(run: str, number: int, last: int | None) -> EventNotFound:
    """The error for a number that no event of a run has. ``last`` is the number of the run's last event; None if it has
    no events."""
    there = "it has none" if last is None else f"its events go from 0 to {last}"
    return EventNotFound(
        f"run {tail(run)} has no event {number}",
        cause=there,
        next_command=f"reenact show {tail(run)}",
        run=run,
        event=number,
    )


def refuse_run(ref: str, candidates: Iterable[str] = (), there: int = 0) -> NoReturn:
    """Refuse a reference that matches no run, or several.

    Args:
        ref: The reference.
        candidates: The complete ids of the runs that the reference may mean.
        there: The number of runs in the store that ``@`` counts.
    """
    found = tuple(candidates)
    if not found:
        cause = "it was deleted, it is in another store, or the reference has a typing mistake"
        if ref == "@failed":
            cause = (
                "no recorded run failed; forks and replays are not counted. Where the last run ended well with a wrong "
                "answer, `reenact flag @ 'why it is wrong'` marks it"
            )
        elif ref.startswith("@"):
            cause = f"@ counts {counted(there, 'run')} here; child runs and attempts to resume one are not counted"
        raise RunNotFound(
            f"no run matches {ref!r}",
            cause=cause,
            next_command="reenact ls",
            ref=ref,
            candidates=(),
        )
    ends = all(tail(each).startswith(ref.lower()) for each in found)  # else hidden parts match
    listed = ", ".join(tail(each) if ends else each for each in found[:_LISTED])
    listed += " …" if len(found) > _LISTED else ""
    raise RunNotFound(
        f"{ref!r} is not unique: {listed}",
        cause="several ids start with this",
        next_command=f"reenact show {tail(found[0])}",
        ref=ref,
        candidates=found,
    )
