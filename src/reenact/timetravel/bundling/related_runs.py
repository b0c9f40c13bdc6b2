"""The runs that belong to a run: those that its replay needs, and those that were recorded inside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reenact.abc.store import Recording, Store
from reenact.errors import RunNotFound, UsageError
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.record import EvidenceNoted, Record
from reenact.facts.run import Run, Status
from reenact.facts.served_requests import RELATION, preamble_of
from reenact.recording.run_evidence import PROCESS
from reenact.store.run_records import records_of

_INSIDE = ("child", RELATION)


@dataclass(frozen=True, slots=True)
class GatheredRun:
    """One run with a log of its own.

    Attributes:
        role: Its role in a bundle.
        recording: The run.
        inner: Its child runs that lie in the same log.
    """

    role: str
    recording: Recording
    inner: tuple[Recording, ...]


def gather(store: Store, run: Run, role: str = "run") -> list[GatheredRun]:
    """A run, and after it all runs that belong to it.

    Args:
        store: The store with the run.
        run: The run.
        role: Its role in the bundle.

    Raises:
        UsageError: The run is still being recorded, or lies in the log of another run.
    """
    if run.status is Status.RECORDING:
        raise UsageError(
            f"run {tail(run.id)} is still being recorded",
            cause="what is packed must not change any more",
            next_command=f"reenact show {tail(run.id)}",
        )
    if run.lane:
        raise UsageError(
            f"run {tail(run.id)} lies in the log of another run",
            cause="a nested recording is part of the run around it, and is packed with that",
            next_command=f"reenact pack {tail(run.parent or run.id)} -o run.reenact",
        )
    found = [_whole(store, run, role)]
    known = {run.id}
    before = preamble_of(run)
    if before and before not in known:
        known.add(before)
        found.append(_whole(store, store.run(before), "needed"))
    for each in _inside(store, run, known):
        found.append(_whole(store, each, "inner"))
    return found


def gather_alone(store: Store, run: Run) -> GatheredRun:
    """A run without the runs that belong to it, except those in its own log."""
    return _whole(store, run, "run")


def records(gathered: GatheredRun, store: Store) -> Iterator[Record]:
    """All records of a run, with the evidence that lies with another run of the same process put in its place."""
    for record in records_of(gathered.recording, gathered.inner):
        if isinstance(record, EvidenceNoted) and record.event is None and record.key == PROCESS:
            yield EvidenceNoted(None, PROCESS, _evidence(store, record.value))
        else:
            yield record


def _evidence(store: Store, value: object) -> object:
    """A run's evidence of its process, sources and packages. If it only names another run that holds the
    evidence, the evidence of that run is taken."""
    holder = value.get("held_by") if isinstance(value, Mapping) else None
    if not isinstance(holder, str):
        return value
    try:
        held = store.open(holder).notes(None).get(PROCESS)
    except RunNotFound:
        return value
    return held if isinstance(held, Mapping) and "held_by" not in held else value


def _whole(store: Store, run: Run, role: str) -> GatheredRun:
    return GatheredRun(role, store.open(run), tuple(store.open(each) for each in _nested(store, run)))


def _nested(store: Store, run: Run) -> Iterator[Run]:
    """The child runs in the same log, at any depth."""
    waiting = [run.id]
    while waiting:
        for each in store.runs(parent=waiting.pop()):
            if each.lane:
                yield each
                waiting.append(each.id)


def _inside(store: Store, run: Run, known: set[str]) -> Iterator[Run]:
    """The runs inside a run that have logs of their own: requests it served, programs it started."""
    waiting = [run.id]
    while waiting:
        for each in store.runs(parent=waiting.pop()):
            if each.id in known or each.relation not in _INSIDE:
                continue
            known.add(each.id)
            waiting.append(each.id)
            if not each.lane and each.status is not Status.RECORDING:
                yield each
