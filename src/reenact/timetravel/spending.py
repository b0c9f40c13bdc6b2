"""Spending: the sums over many runs, by agent, tenant, day or class: runs, bytes, tokens, money.

Each call is counted once, for the run that made it: a child run counts its own calls, not the calls around it; a fork
counts its live calls, not the calls that its parent's recording answered. Calls without a price are counted and named,
never taken as free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

from reenact.abc.store import Store
from reenact.facts.call import Json, Kind
from reenact.facts.event import Event
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.retention import classed
from reenact.facts.run import Run, Status
from reenact.facts.thinned_runs import why_thinned
from reenact.recording.tallies import belongs
from reenact.store.sqlite_store import SqliteStore
from reenact.store.usage import Usage
from reenact.timetravel.cost import PriceOf, calls_around, reading_cost, reading_made
from reenact.timetravel.forks.fork_course import ASKED

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNREAD: Final = "an answer that has not been read"


def day_of(run: Run) -> str:
    """The day on which a run began, ``2026-11-23`` (UTC)."""
    return (_EPOCH + timedelta(microseconds=run.started_us)).date().isoformat()


KEYS: Final[Mapping[str, Callable[[Run], str]]] = {
    "agent": lambda run: run.agent,
    "tenant": lambda run: run.tenant or "",
    "day": day_of,
    "class": classed,
    "user": lambda run: run.user or "",
    "session": lambda run: run.session or "",
    "status": lambda run: run.status.value,
    "route": lambda run: run.route,
}
"""The keys by which runs can be added up."""


@dataclass(slots=True)
class Sum:
    """The sums over some runs.

    Attributes:
        runs, failed: The number of runs, and of those that did not end well.
        thinned: The number of runs without bodies.
        size: Bytes in the store's file, about.
        models: Model calls.
        tokens_in, tokens_out: The tokens, as providers counted them.
        cost: The cost in US dollars of the calls whose price is known.
        unpriced: Model calls without a price, by the name of the model; nothing is added to ``cost`` for them.
    """

    runs: int = 0
    failed: int = 0
    thinned: int = 0
    size: int = 0
    models: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: Decimal = Decimal(0)
    unpriced: Counter[str] = field(default_factory=Counter)

    def plus(self, other: Sum) -> None:
        """Add the sums over other runs."""
        for name in ("runs", "failed", "thinned", "size", "models", "tokens_in", "tokens_out", "cost"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.unpriced.update(other.unpriced)

    @property
    def whole(self) -> bool:
        """Whether ``cost`` includes every model call."""
        return not self.unpriced


def is_own(run: Run, event: int) -> bool:
    """Whether a run itself made the call of an event, so that no recording answered it.

    Args:
        run: A run with a log of its own.
        event: Number of a model call.
    """
    if run.relation == "replay":
        return False
    known = run.environment
    asked, resumed = known.get(ASKED), known.get("resumed")
    if isinstance(asked, list | tuple):
        return event in asked
    if isinstance(resumed, list | tuple) and resumed:
        return event >= int(resumed[-1].get("at", 0))
    return run.fork_event is None or event >= run.fork_event


class Account:
    """The sums of each run.

    Args:
        runs: The runs to add up.
        priced: A price list; None for no prices.
    """

    def __init__(self, runs: Iterable[Run], priced: PriceOf | None) -> None:
        self.runs = list(runs)
        self._priced = priced
        self.sums: dict[str, Sum] = {
            run.id: Sum(runs=1, failed=run.status not in (Status.OK, Status.RECORDING), thinned=bool(why_thinned(run)))
            for run in self.runs
        }

    def takes(self, run: str, size: int) -> None:
        """Note the size of a run."""
        self.sums[run].size += size

    def asked(self, run: Run, reading: Mapping[str, Json]) -> None:
        """Note the known facts of a model call of a run."""
        found, usage = self.sums[run.id], reading.get("usage") or {}
        found.models += 1
        found.tokens_in += _count(usage.get("tokens_in"))
        found.tokens_out += _count(usage.get("tokens_out"))
        price = None if self._priced is None else reading_cost(reading, run.started_us, self._priced)
        if price is None:
            found.unpriced[str(reading.get("model_answered") or reading.get("model_asked") or "a model")] += 1
        else:
            found.cost += price

    def unknown(self, run: str, name: str, count: int = 1) -> None:
        """Note model calls of a run of which only the model's name is known."""
        found = self.sums[run]
        found.models += count
        found.unpriced[name] += count

    def say(self, said: Mapping[str, Json]) -> None:
        """Keep the programs' own notes of their cost, which win over all computed costs."""
        for run, value in said.items():
            if run in self.sums and isinstance(value, int | float) and not isinstance(value, bool):
                self.sums[run].cost = Decimal(str(value))
                self.sums[run].unpriced.clear()

    def by(self, names: Iterable[str], known: Mapping[str, Callable[[Run], str]] = KEYS) -> dict[tuple[str, ...], Sum]:
        """The sums by some facts of a run, in the order in which the runs came."""
        keys = [known[name] for name in names]
        found: dict[tuple[str, ...], Sum] = {}
        for run in self.runs:
            found.setdefault(tuple(key(run) for key in keys), Sum()).plus(self.sums[run.id])
        return found


def account_of(store: Store, runs: Iterable[Run], priced: PriceOf | None) -> Account:
    """The sums of each run of a store. For a SQLite store no run is opened and no body is read.

    Raises:
        StoreError: The store is damaged.
    """
    account = Account(runs, priced)
    if isinstance(store, SqliteStore):
        _from_rows(store, account)
    else:
        every = list(store.runs())
        inside = _inside(every, account)
        for run in every:
            if not run.lane:
                _from_views(store, account, inside, run)
        said = {run.id: store.open(run).notes(None).get("cost") for run in account.runs}
        account.say(said)
    return account


class _Inside:
    """Finds the run that an event of a log belongs to: the log's own, or a child run.

    Args:
        nested: Child runs: the run with the log, the lane there, and the child run.
        account: The account.
    """

    def __init__(self, nested: Iterable[tuple[str, str, str]], account: Account) -> None:
        self._chosen = {run.id: run for run in account.runs}
        self._lanes: dict[str, list[tuple[str, str]]] = {}
        for whole, lane, run in nested:
            self._lanes.setdefault(whole, []).append((lane, run))
        for lanes in self._lanes.values():
            lanes.sort(key=lambda each: -len(each[0]))  # the innermost child run first

    def chosen(self, run: str) -> Run | None:
        """A run, if it is among the chosen ones."""
        return self._chosen.get(run)

    def at(self, whole: str, lane: str) -> Run | None:
        """The run that a lane of a log belongs to; None where that run is not among the chosen ones."""
        inner = (run for own, run in self._lanes.get(whole, ()) if belongs(lane, own))
        return self._chosen.get(next(inner, whole))


# --- any store -----------------------------------------------------------------------------------------------------


def _inside(runs: Iterable[Run], account: Account) -> _Inside:
    known = {run.id: run for run in runs}
    nested = []
    for run in known.values():
        whole: Run | None = run
        while whole is not None and whole.lane:
            whole = known.get(whole.parent or "")
        if run.lane and whole is not None:
            nested.append((whole.id, run.lane, run.id))
    return _Inside(nested, account)


def _from_views(store: Store, account: Account, inside: _Inside, run: Run) -> None:
    """The model calls of one log, event by event."""
    if not run.totals.models:
        return
    recording = store.open(run)
    within: set[int] = set()
    functions: list[tuple[Run, Event]] = []
    for event in recording.events(kinds=(Kind.HTTP, Kind.MODEL)):
        owner = inside.at(run.id, event.lane) if is_own(run, event.number) else None
        if owner is None:
            continue
        reading = reading_made(recording, event)
        if reading is not None:
            account.asked(owner, reading)
            within.update(calls_around(recording, event))
        elif event.kind == Kind.MODEL:
            functions.append((owner, event))
    for owner, event in functions:
        if event.number not in within:
            account.unknown(owner.id, event.name)


# --- a SQLite store ------------------------------------------------------------------------------------------------


def _from_rows(store: SqliteStore, account: Account) -> None:
    """The model calls of all runs at once. Only forks are opened, to see which calls they made live."""
    usage = store.usage()
    places = usage.places()
    owners = {place.log: run for run, place in places.items() if not place.lane}
    nested = ((owners.get(place.log, ""), place.lane, run) for run, place in places.items() if place.lane)
    inside = _Inside(nested, account)
    for log, size in usage.sizes().items():
        owner = inside.chosen(owners.get(log, ""))
        if owner is not None:
            account.takes(owner.id, size)
    wholes = {run.id: run for run in account.runs if not run.lane}
    for run in account.runs:
        whole = owners.get(places[run.id].log, "") if run.lane and run.id in places else ""
        if whole and whole not in wholes:
            wholes[whole] = store.run(whole)
    forks = {run.id for run in wholes.values() if run.fork_event is not None or "resumed" in run.environment}
    replays = {run.id for run in wholes.values() if run.relation == "replay"}
    by_row = {place.number: run for run, place in places.items()}
    said: dict[str, Json] = {}
    read: dict[int, list[int]] = {}
    for each in usage.noted():
        whole = owners.get(each.log, "")
        if each.name == "cost":
            said[by_row.get(each.event, "")] = each.value
        elif whole in wholes and whole not in forks and whole not in replays and isinstance(each.value, Mapping):
            read.setdefault(each.log, []).append(each.event)
            run_of = inside.at(whole, each.lane)
            if run_of is not None:
                account.asked(run_of, each.value)
    for run in wholes.values():
        if run.id in forks:
            _from_views(store, account, inside, run)
        elif run.id not in replays and run.id in places:
            _unread(store, usage, account, inside, (run, places[run.id].log, read.get(places[run.id].log, [])))
    account.say(said)


def _unread(store: Store, usage: Usage, account: Account, inside: _Inside, of: tuple[Run, int, list[int]]) -> None:
    """Model calls of a log without a reading: functions of the program, and answers that were not parsed yet."""
    run, log, read = of
    if run.totals.models <= len(read):
        return
    functions = usage.functions(log)
    within: set[int] = set()
    if functions and read:
        recording = store.open(run)
        for number in read:
            within |= calls_around(recording, recording.event(number))
    for number, lane, name in functions:
        owner = inside.at(run.id, lane)
        if owner is not None and number not in within:
            account.unknown(owner.id, name)
    left = run.totals.models - len(read) - len(functions)
    if left > 0 and inside.chosen(run.id) is not None:
        account.unknown(run.id, _UNREAD, left)


def _count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
