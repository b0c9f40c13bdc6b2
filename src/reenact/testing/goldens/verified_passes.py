"""A golden keeps in its history that it passed on the code of a deploy, which a mark names."""

from __future__ import annotations

from collections.abc import Iterable

from reenact.abc.sources import Clock
from reenact.errors import UsageError
from reenact.facts.ids import tail
from reenact.facts.marks import Mark
from reenact.testing.goldens.golden_dir import GoldenDir
from reenact.testing.goldens.golden_history import HistoryEntry
from reenact.testing.goldens.golden_outcome import Outcome
from reenact.testing.goldens.golden_trace import Golden
from reenact.testing.goldens.golden_writer import stamp, with_golden
from reenact.testing.goldens.opened_golden import open_golden

VERIFIED = "verified"


def revision_of(mark: Mark) -> str:
    """The commit of a mark.

    Raises:
        UsageError: The mark has no commit, so it is not known which code was deployed.
    """
    if not mark.revision:
        raise UsageError(
            f"the mark {mark.text!r} ({tail(mark.id)}) has no revision",
            cause="it was set without --rev, so it does not say which code was deployed",
            next_command="reenact mark --help",
        )
    return mark.revision


def keep_verified(golden_dir: GoldenDir, outcomes: Iterable[Outcome], mark: Mark, clock: Clock) -> list[str]:
    """Note in each golden that passed that it did so on the code of a mark, unless that is noted already.

    Args:
        golden_dir: The folder of the goldens.
        outcomes: The outcomes of goldens on the code of the mark's revision.
        mark: The mark.
        clock: Gives the time.

    Returns:
        The names of the goldens that were written.

    Raises:
        RedactionLeak, UsageError, StoreError: A golden could not be written; the goldens before it were.
    """
    written = []
    for outcome in outcomes:
        if outcome.status != "passed":
            continue
        path = golden_dir.path(outcome.name)
        golden = open_golden(path).golden
        change = HistoryEntry(stamp(clock), VERIFIED, reason=mark.text, revision=revision_of(mark))
        last = verified(golden)
        if last is None or (last.reason, last.revision) != (change.reason, change.revision):
            with_golden(path, golden.noted(change))
            written.append(outcome.name)
    return written


def verified(golden: Golden) -> HistoryEntry | None:
    """When a golden was last verified against a deploy; None where it never was, or was changed since."""
    last = golden.history[-1] if golden.history else None
    return last if last is not None and last.what == VERIFIED else None
