"""Writing a golden anew: what it says of itself changes, and recordings made later come beside the incident's own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from reenact.abc.sources import Clock
from reenact.abc.store import Store
from reenact.facts.run import Run
from reenact.store.bundles import BELONGING, PackedRun, members_of, read_bundle, write_bundle
from reenact.testing.goldens.court import question_of
from reenact.testing.goldens.golden import Golden
from reenact.timetravel.bundling.cleaning import clean, known_here
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
    known = [(each.run.id, known_here(each.run, os.environ)) for each in runs]
    require_no_secret(members_of(runs, golden.to_json()), known)
    write_bundle(path, runs, golden.to_json())


def overlay_of(store: Store, run: Run) -> PackedRun:
    """A run of today as what was recorded later, without credentials."""
    gathered = gather_alone(store, run)
    return PackedRun("overlay", run, clean(run, records(gathered, store), known_here(run, os.environ)).records)


def stamp(clock: Clock) -> str:
    """Now, for a history: ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(clock.wall_us() // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
