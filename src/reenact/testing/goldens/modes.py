"""Modes in which goldens are run, and recording the answers that one lacks: each is asked once, and kept beside."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from reenact.abc.sources import CLOCK
from reenact.errors import UsageError
from reenact.replaying.options import Options
from reenact.store import open_store
from reenact.testing.goldens.history import Change
from reenact.testing.goldens.launch import Asked, launch
from reenact.testing.goldens.opened import open_golden
from reenact.testing.goldens.outcome import Outcome
from reenact.testing.goldens.running import outcome_of
from reenact.testing.goldens.shelf import Shelf
from reenact.testing.goldens.writing import packed_today, stamp, with_golden

FROZEN: Final = "frozen"
"""Only what is recorded."""
MISSING: Final = "missing"
"""Record the answers that are missing; tools stay frozen."""
RERECORD: Final = "rerecord"
"""Record those anew that were recorded later; tools stay frozen."""
REVIEW: Final = "review"
"""Show each difference between a golden and what today's code does, and accept it with a reason."""
MODES: Final = (FROZEN, MISSING, RERECORD, REVIEW)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What recording the missing answers has come to.

    Attributes:
        outcome: What the golden came to with them.
        kept: How many answers were recorded, and are kept from now on.
    """

    outcome: Outcome
    kept: int


def record_missing(shelf: Shelf, name: str, *, anew: bool = False) -> Recorded:
    """Run a golden, and ask models for what has no answer yet. Tools are not asked: what they lack stays missing.

    The answers are kept beside the incident's own recording, which stays as it is; nothing is written where the run
    was stopped before its end.

    Args:
        shelf: Where it lies.
        name: Its name.
        anew: Forget what was recorded later before, and ask it again.

    Raises:
        UsageError: It is one that must stay the same, and nothing is missing in it.
        ReenactError: It cannot be read, started or written.
    """
    started_us = CLOCK.mono_us()
    opened = open_golden(shelf.path(name))
    golden = opened.golden
    earlier = () if anew else opened.overlays
    gone = set(opened.overlays) - set(earlier)
    beside = tuple(each for each in opened.beside(opened.answering) if each not in gone)
    with tempfile.TemporaryDirectory(prefix="reenact-") as scratch:
        into = f"sqlite:///{Path(scratch).absolute() / 'today.db'}"
        asked = Asked(str(opened.path), opened.answering, golden, beside, misses="models")
        told = launch(asked, Options(divert_output=True), into=into, project=str(shelf.root))
        kept = int(told.used.get("live", 0))
        with open_store(into) as store:
            outcome = outcome_of(shelf, opened, told, store.open(told.run))
            whole = outcome.status in ("passed", "failed")
            if whole and not kept and not golden.judged:
                raise _nothing_missing(name)
            if whole and (kept or anew):
                overlays = [each for each in opened.store.bundle.runs if each.run.id in earlier]
                if kept:
                    overlays.append(packed_today(store, store.run(told.run), "overlay"))
                changed = golden.noted(Change(stamp(CLOCK), "rerecorded", reason=f"{kept} answers"))
                with_golden(opened.path, changed, overlays=overlays)
            elif not whole:
                kept = 0
    if whole and not golden.judged:
        outcome = replace(outcome, status="failed", message=_otherwise(name))
    return Recorded(replace(outcome, duration_us=CLOCK.mono_us() - started_us), kept)


def _nothing_missing(name: str) -> UsageError:
    return UsageError(
        f"golden {name} must stay the same: nothing is missing in it",
        cause="today's code asks nothing that was not asked then; what else it does otherwise is for a review",
        next_command=f"reenact golden run {name} --mode review",
    )


def _otherwise(name: str) -> str:
    return (
        "it must stay the same, and today's code asks something else\n"
        "  likely cause: the code has changed on purpose: its answers are there now, and wait to be accepted\n"
        f"  next: reenact golden run {name} --mode review"
    )
