"""Puts the runs of a bundle into a store, under their own ids, all of them or none."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from reenact.abc.store import Store
from reenact.errors import RunNotFound, StoreError
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.record import Record, RunClosed, RunOpened
from reenact.facts.run import Run
from reenact.store.bundles import BundleStore, bundle_store, content_digest
from reenact.store.run_records import as_begun
from reenact.timetravel.bundling.related_runs import gather_alone, records


@dataclass(frozen=True, slots=True)
class UnpackResult:
    """The runs that were taken in.

    Attributes:
        run: The main run, as the store has it now.
        fresh: Ids of the runs that were not there before.
        runs: Ids of all runs that the bundle holds.
    """

    run: Run
    fresh: tuple[str, ...]
    runs: tuple[str, ...]


def unpack(path: Path, store: Store) -> UnpackResult:
    """Take the runs of a bundle into a store. A run that the store already has with the same content stays unchanged.

    Args:
        path: The bundle.
        store: The store; a missing one is made.

    Raises:
        UsageError, StoreError: The file is no bundle, or one of its runs is there with other content. Nothing was
            written.
    """
    packed = bundle_store(path)
    for last in (False, True):
        wanted = [each for each in packed.bundle.runs if not _is_there(store, packed, each.run, path)]
        try:
            store.adopt([(as_begun(each.run), each.records) for each in wanted])
            break
        except StoreError:
            if last or not any(_found(store, each.run.id) for each in wanted):
                raise  # else another process has unpacked it: look again
    main = packed.bundle.main.run.id
    return UnpackResult(
        store.run(main), tuple(each.run.id for each in wanted), tuple(each.run.id for each in packed.bundle.runs)
    )


def _is_there(store: Store, packed: BundleStore, run: Run, path: Path) -> bool:
    """Whether a store holds a run of a bundle.

    Raises:
        StoreError: The store holds another run with the same id.
    """
    found = _found(store, run.id)
    if found is None:
        return False
    if _content(store, found) != _content(packed, packed.run(run.id)):
        raise StoreError(
            f"run {tail(run.id)} is here already, with other content",
            cause="it was packed with something removed, or one of the two was changed",
            next_command=f"reenact diff {tail(run.id)} {shlex.quote(str(path))}",
            run=run.id,
        )
    return True


def _found(store: Store, run_id: str) -> Run | None:
    try:
        return store.run(run_id)
    except RunNotFound:
        return None
    except StoreError as error:
        if "url" in error.facts:  # there is no store yet
            return None
        raise


def _content(store: Store, run: Run) -> str:
    """One digest over the recorded data. Later flags and notes of people are not part of it."""
    return content_digest(_as_recorded(records(gather_alone(store, run), store)))


def _as_recorded(found: Iterable[Record]) -> Iterable[Record]:
    for record in found:
        if isinstance(record, (RunOpened, RunClosed)):
            yield replace(record, run=replace(record.run, flag=None, flagged=False, tags={}))
        else:
            yield record
