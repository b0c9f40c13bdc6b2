"""The runs of a store as a triage sees them: each with its features; missing features are made once and stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final

from reenact.abc.store import Store
from reenact.errors import ReenactError, RunNotFound, StoreError
from reenact.facts.features import Case, Features, case_of, fingerprint
from reenact.facts.late import late
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.run import Run, Status
from reenact.store.feature_rows import FeatureRow
from reenact.store.sqlite_store import SqliteStore

if TYPE_CHECKING:
    from reenact.triage.run_features import features_of, looked_at
else:
    features_of = late("reenact.triage.run_features", "features_of")
    looked_at = late("reenact.triage.run_features", "looked_at")

HEALTHY: Final = 100
"""The least number of healthy runs of an agent whose kits are examined, to compare a group's missing items with
them."""
NEWEST: Final = 1_000
"""The healthy runs to examine are chosen among this many of the newest ones."""

_OWN: Final = ("", "request")
_AT_ONCE: Final = 256

OnProgress = Callable[[str, int, int], object]
"""Called with the current work, the number done, and the number of all."""


@dataclass(frozen=True, slots=True)
class EndedRun:
    """One run that has ended.

    Attributes:
        id, agent, user, tenant, session, started_us: Fields of the run.
        features: Its features.
        case: The reason why it is looked into; None without one.
        fingerprint: The fingerprint of its case; empty without one.
        flag: A person's verdict; None without one.
    """

    id: str
    agent: str
    user: str | None
    tenant: str | None
    session: str | None
    started_us: int
    features: Features
    case: Case | None
    fingerprint: str
    flag: str | None

    @property
    def cold(self) -> bool:
        """Whether the run cannot be replayed."""
        return bool(self.features.cold)

    @property
    def healthy(self) -> bool:
        """Whether the run ended well and is not flagged. A healthy run may be cold."""
        return self.case in (None, Case.COLD)


def seen(store: Store, told: OnProgress = lambda what, done, total: None) -> list[EndedRun]:
    """All runs of a store that were recorded by themselves and have ended, newest first.

    Runs inside another run, forks and kept replays are no cases of their own. Missing features are made, and stored if
    the store can be written. A run that is damaged, or is removed meanwhile, is left out.

    Args:
        store: The store. Takes some 3 s for 100,000 runs whose features exist.
        told: Called with the progress.
    """
    rows = ended(store)
    rows = _filled(store, rows, told)
    return [seen_of(row) for row in _examined(store, rows, told)]


def seen_of(row: FeatureRow) -> EndedRun:
    """A run with features, as a triage sees it."""
    features = row.features or Features()
    case = case_of(row.status, row.flag is not None, features)
    name = "" if case is None else fingerprint(case, features, row.flag or "")
    return EndedRun(
        row.id, row.agent, row.user, row.tenant, row.session, row.started_us, features, case, name, row.flag
    )


def _rows(store: Store) -> Iterator[FeatureRow]:
    if isinstance(store, SqliteStore):
        yield from store.features().all()
        return
    for run in store.runs():
        yield row_of(run, None)


def features_in(store: Store, run: Run) -> Features:
    """The features of one run that has ended: the stored ones, or new ones from its log.

    Raises:
        StoreError: A part of it is damaged.
    """
    if isinstance(store, SqliteStore):
        for row in store.features().all(" AND r.run_id = ?", (run.id,)):
            if row.features is not None:
                return row.features
    return features_of(store.open(run))


def row_of(run: Run, features: Features | None) -> FeatureRow:
    """A run as a row."""
    flag = (run.flag or "") if run.flagged else None
    return FeatureRow(
        run.id, run.agent, run.user, run.tenant, run.session, run.started_us, run.status, run.relation,
        bool(run.lane), flag, features,
    )  # fmt: skip


def ended(store: Store) -> list[FeatureRow]:
    """The ended runs of a store with logs of their own, newest first, with the features that exist. Runs that are still
    being recorded are left out; those whose process died are interrupted."""
    found = []
    for row in (row for row in _rows(store) if row.origin in _OWN and not row.inside):
        if row.status is not Status.RECORDING:
            found.append(row)
            continue
        with suppress(ReenactError):
            run = store.run(row.id)
            if run.status is not Status.RECORDING:
                found.append(row_of(run, row.features))
    return found


def _filled(store: Store, rows: list[FeatureRow], told: OnProgress) -> list[FeatureRow]:
    """Add the features that were not written when a run closed, and keep only runs that are cases of their own."""
    lacking = [row for row in rows if row.features is None]
    made = _made(store, lacking, lambda run, _: features_of(store.open(run)), "features", told)
    known = [row if row.features is not None else made.get(row.id) for row in rows]
    return [row for row in known if row is not None and (row.origin in _OWN and not row.inside)]


def _examined(store: Store, rows: list[FeatureRow], told: OnProgress) -> list[FeatureRow]:
    """Add the features that need the whole run: for cases, and for some healthy and some thinned runs of each agent."""
    wanted: list[FeatureRow] = []
    healthy: dict[tuple[str, bool], list[FeatureRow]] = {}
    for row in rows:
        run = seen_of(row)
        if run.case is None or (run.healthy and run.features.thinned):  # may be a hundred times as many as the others
            healthy.setdefault((row.agent, run.cold), []).append(row)
        elif _unexamined(row):
            wanted.append(row)
    for each in healthy.values():
        newest = each[:NEWEST]
        lacking = [row for row in newest if _unexamined(row)]
        wanted += lacking[: max(0, HEALTHY - (len(newest) - len(lacking)))]
    made = _made(store, wanted, lambda run, row: looked_at(store, run, row.features or Features()), "kits", told)
    return [made.get(row.id, row) for row in rows]


def _unexamined(row: FeatureRow) -> bool:
    return row.features is not None and row.features.lacks is None


def _made(
    store: Store, rows: list[FeatureRow], make: Callable[[Run, FeatureRow], Features], what: str, told: OnProgress
) -> dict[str, FeatureRow]:
    """Make features for some runs, and store them. Returns the rows by run. A run that cannot be read is left out;
    features that cannot be stored are still used."""
    found: dict[str, FeatureRow] = {}
    source, done = iter(rows), 0
    while some := list(islice(source, _AT_ONCE)):
        made: list[tuple[Run, Features]] = []
        for row in some:
            told(what, done, len(rows))
            done += 1
            with suppress(ReenactError):
                run = store.run(row.id)
                features = make(run, row)
                made.append((run, features))
                found[run.id] = row_of(run, features)
        _keep(store, made)
    return found


def _keep(store: Store, made: list[tuple[Run, Features]]) -> None:
    if isinstance(store, SqliteStore):
        with suppress(
            StoreError
        ):  # the store is of an older format, read only, or busy: the next triage makes the features again
            store.features().put(made)


def representative(store: Store, members: Iterable[EndedRun]) -> Run | None:
    """The newest of some runs that still exists, if possible one that can be replayed.

    Args:
        store: The store of the runs.
        members: The runs, newest first.
    """
    every = list(members)
    for one in (*(each for each in every if not each.cold), *(each for each in every if each.cold)):
        with suppress(RunNotFound):
            return store.run(one.id)
    return None


def restricted(
    runs: Iterable[EndedRun], since_us: int | None = None, ids: frozenset[str] | None = None
) -> list[EndedRun]:
    """The runs that began since a time, and are among some ids."""
    return [run for run in runs if (since_us is None or run.started_us >= since_us) and (ids is None or run.id in ids)]
