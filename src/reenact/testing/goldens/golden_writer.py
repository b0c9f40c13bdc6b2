"""Writing a golden again, with other facts, or with later recordings beside the incident's own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from reenact.abc.sources import Clock
from reenact.abc.store import Store
from reenact.errors import UsageError
from reenact.facts.run import Run
from reenact.store.bundles import BELONGING, PackedRun, members_of, read_bundle, write_bundle
from reenact.testing.goldens.golden_trace import Golden
from reenact.testing.goldens.judges import question_of
from reenact.timetravel.bundling.cleaning import CleanBundle, clean, known_here
from reenact.timetravel.bundling.packing import require_no_secret
from reenact.timetravel.bundling.related_runs import gather_alone, records


def with_golden(
    path: Path, golden: Golden, *, overlays: Sequence[PackedRun] | None = None, opinions: Sequence[PackedRun] = ()
) -> None:
    """Write a bundle with other facts, in one step.

    Args:
        path: The bundle.
        golden: Its new facts.
        overlays: Its new list of later recordings; None keeps the old list.
        opinions: New opinions of judges; each replaces an earlier one on the same question.

    Raises:
        RedactionLeak: A credential would be left in it; nothing was written.
        UsageError, StoreError: It cannot be read or written.
    """
    runs = list(read_bundle(path).runs)
    if overlays is not None:
        runs = [each for each in runs if each.role != "overlay"] + list(overlays)
    asked_again = {question_of(each) for each in opinions}
    runs = [each for each in runs if not question_of(each) or question_of(each) not in asked_again]
    belonging = [each for each in runs if each.role in BELONGING]
    runs = [each for each in runs if each.role not in BELONGING] + list(opinions) + belonging
    with_runs(path, runs, golden)


def with_runs(path: Path, runs: Sequence[PackedRun], golden: Golden) -> None:
    """Write the bundle of a golden, in one step.

    Args:
        path: The file; one that is there is replaced.
        runs: Its runs, the incident first.
        golden: Its facts.

    Raises:
        RedactionLeak: A credential would be left in it; nothing was written.
        UsageError, StoreError: It cannot be written.
    """
    known = [(each.run.id, known_here(each.run, os.environ).spans) for each in runs]
    require_no_secret(members_of(runs, golden.to_json()), known)
    write_bundle(path, runs, golden.to_json())


def require_unchanged(path: Path, digest: str) -> None:
    """Require that a bundle is unchanged since it was read.

    Args:
        path: The bundle.
        digest: Its ``Bundle.digest`` then.

    Raises:
        UsageError: The bundle has changed.
        StoreError: The bundle is damaged.
    """
    if read_bundle(path).digest != digest:
        raise UsageError(
            f"{path.name} has changed meanwhile, and was left as it is",
            cause="another user, or another test of the same session, has written it",
            next_command="reenact golden ls --history",
        )


def cleaned_today(store: Store, run: Run) -> CleanBundle:
    """A run of today in the form in which a golden keeps it: without credentials.

    Args:
        store: The store of the run.
        run: The run.
    """
    gathered = gather_alone(store, run)
    return clean(run, records(gathered, store), known_here(run, os.environ))


def packed_today(store: Store, run: Run, role: str) -> PackedRun:
    """A run of today as a golden keeps it, without credentials.

    Args:
        store: The store of the run.
        run: The run.
        role: ``overlay`` for a later recording, ``fixed`` for the run that answers today's code.
    """
    return PackedRun(role, run, cleaned_today(store, run).records)


def stamp(clock: Clock) -> str:
    """Now, for a history: ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(clock.wall_us() // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
