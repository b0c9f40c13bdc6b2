"""Everything that can be asked of a store, each question by itself: its answer, or the error that names the damage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from reenact.abc.store import Store
from reenact.errors import ReenactError
from reenact.facts.call import Json
from reenact.facts.event import Event
from reenact.facts.run import Run
from reenact.store.sqlite_store import SqliteStore

FILTERS: tuple[Mapping[str, object], ...] = (
    {}, {"agent": "a"}, {"tag": {"k": "v"}}, {"status": "ok"}, {"failed": True}, {"limit": 2}, {"text": "user"},
)  # fmt: skip
KINDS = ("model", "tool", "http", "step")


def answers(path: Path, runs: tuple[Run, ...]) -> dict[str, object]:
    """All answers of a store about all of its runs; an error stands for the answer that it takes the place of."""
    found: dict[str, object] = {}
    with SqliteStore(path) as store:
        for name, ask in _questions(store, runs):
            try:
                found[name] = ask()
            except ReenactError as error:
                found[name] = error
    return found


def _questions(store: Store, runs: tuple[Run, ...]) -> list[tuple[str, Callable[[], object]]]:
    asked: list[tuple[str, Callable[[], object]]] = []
    for filters in FILTERS:
        asked.append((f"runs {filters}", lambda filters=filters: [*store.runs(**filters)]))  # type: ignore[misc]
    asked += [(f"run {ref}", partial(store.run, ref)) for ref in ("@", "@~1")]
    for run in runs:
        asked += [(f"{run.agent} {name}", partial(ask, store, run.id)) for name, ask in _OF_A_RUN.items()]
        for n in range(9):
            asked.append((f"{run.agent} event {n}", partial(_event, store, run.id, n)))
    return asked


def _seen(events: Iterable[Event]) -> object:
    """Events with the evidence that they fetch when it is looked at."""
    return [replace(event, attributes=dict(event.attributes)) for event in events]


def _whole(store: Store, event: Event) -> object:
    recording = store.open(event.run)
    slots = [recording.checkpoint_slots(event.number, phase) for phase in ("in", "out")]
    return (
        _seen([event]), recording.body(event.request), recording.body(event.answer), slots,
        [*recording.parts(event.number)],
    )  # fmt: skip


def _event(store: Store, run: str, number: int) -> object:
    recording = store.open(run)
    if number >= recording.count():
        return None
    return _whole(store, recording.event(number))


def _notes(store: Store, run: str) -> Mapping[str, Json]:
    return dict(store.open(run).notes(None))


def _of_kind(kind: str) -> Callable[[Store, str], object]:
    return lambda store, run: _seen(store.open(run).events(kinds=(kind,)))


_OF_A_RUN: dict[str, Callable[[Store, str], object]] = {
    "run": lambda store, run: store.run(run),
    "opened": lambda store, run: store.open(run).run,
    "count": lambda store, run: store.open(run).count(),
    "events": lambda store, run: _seen(store.open(run).events()),
    "backwards": lambda store, run: _seen(store.open(run).events(backwards=True)),
    "whole": lambda store, run: [_whole(store, event) for event in store.open(run).events()],
    "of a lane": lambda store, run: _seen(store.open(run).events(lane="root")),
    **{f"of kind {kind}": _of_kind(kind) for kind in KINDS},
    "named": lambda store, run: _seen(store.open(run).events(name="m")),
    "named ref": lambda store, run: _seen([store.event(f"{run}:m#2")]),
    "lanes": lambda store, run: [*store.open(run).lanes()],
    "order": lambda store, run: [*store.open(run).deliveries()],
    "reads": lambda store, run: [*store.open(run).reads()],
    "ambient": lambda store, run: dict(store.open(run).ambient("root", 6)),
    "printed": lambda store, run: b"".join(store.open(run).printed(1)),
    "printed err": lambda store, run: b"".join(store.open(run).printed(2)),
    "notes": _notes,
    "gaps": lambda store, run: [*store.open(run).gaps()],
    "snapshots": lambda store, run: [*store.open(run).snapshots()],
    "versions": lambda store, run: [*store.open(run).versions("docs")],
    "checkpoint": lambda store, run: store.checkpoint(run, 6),
}
