"""Writing a golden again: what it says of itself changes, and recordings made later come beside the incident's own."""

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
from reenact.testing.goldens.golden import Golden
from reenact.testing.goldens.judges import question_of
from reenact.timetravel.bundling.cleaning import Cleaned, clean, known_here
from reenact.timetravel.bundling.gathering import gather_alone, records
from reenact.timetravel.bundling.packing import require_no_secret


def with_golden(
    path: Path, golden: Golden, *, overlays: Sequence[PackedRun] | None = None, opinions: Sequence[PackedRun] = ()
) -> None:
    """Write a bundle with something else said of it, in one step.

    Args:
        path: The bundle.
        golden: What it says of itself from now on.
        overlays: The recordings made later that it holds from now on; None keeps those that it has.
        opinions: What models that judge have said since; each takes the place of an earlier one on the same question.

    Raises:
        RedactionLeak: A credential would be left in it; nothing was written.
        UsageError, StoreError: It cannot be read or written.
    """
    runs = list(read_bundle(path).runs)
    if overlays is not None:
        runs = [each for each in runs if each.role != "overlay"] + list(overlays)
    anew = {question_of(each) for each in opinions}
    runs = [each for each in runs if not question_of(each) or question_of(each) not in anew]
    belonging = [each for each in runs if each.role in BELONGING]
    runs = [each for each in runs if each.role not in BELONGING] + list(opinions) + belonging
    with_runs(path, runs, golden)


def with_runs(path: Path, runs: Sequence[PackedRun], golden: Golden) -> None:
    """Write the bundle of a golden, in one step.

    Args:
        path: The file; one that is there is replaced.
        runs: What it holds, the incident first.
        golden: What it says of itself.

    Raises:
        RedactionLeak: A credential would be left in it; nothing was written.
        UsageError, StoreError: It cannot be written.
    """
    known = [(each.run.id, known_here(each.run, os.environ).spans) for each in runs]
    require_no_secret(members_of(runs, golden.to_json()), known)
    write_bundle(path, runs, golden.to_json())


def require_unchanged(path: Path, digest: str) -> None:
    """A bundle is still what was read.

    Args:
        path: It.
        digest: Its ``Bundle.digest`` then.

    Raises:
        UsageError: It is another one now.
        StoreError: It is damaged now.
    """
    if read_bundle(path).digest != digest:
        raise UsageError(
            f"{path.name} has changed meanwhile, and was left as it is",
            cause="somebody else, or another test of the same session, has written it",
            next_command="reenact golden ls --history",
        )


def cleaned_today(store: Store, run: Run) -> Cleaned:
    """A run of today as it may be kept in a golden: without credentials.

    Args:
        store: Where it is.
        run: It.
    """
    gathered = gather_alone(store, run)
    return clean(run, records(gathered, store), known_here(run, os.environ))


def packed_today(store: Store, run: Run, role: str) -> PackedRun:
    """A run of today as a golden keeps it, without credentials.

    Args:
        store: Where it is.
        run: It.
        role: ``overlay`` for what was recorded later, ``fixed`` for the run that today's code is answered from.
    """
    return PackedRun(role, run, cleaned_today(store, run).records)


def stamp(clock: Clock) -> str:
    """Now, for a history: ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(clock.wall_us() // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
