"""Proofs of growing lists, as readers use them: a state with an unproven list counts as unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reenact.abc.body_access import UNPROVEN
from reenact.errors import BlobMissing
from reenact.facts.growth import unproven
from reenact.facts.ids import tail


def require_proven(run: str, event: int, names: Sequence[str], note: str, proofs: Mapping[str, Any]) -> None:
    """Require that a state is proven.

    Args:
        run: The id of the run.
        event: The number of the event.
        names: The names of the state's slots, in order.
        note: The note on the state.
        proofs: The notes of the run on its proofs, by name.

    Raises:
        BlobMissing: The state is not proven.
    """
    places = unproven(note, proofs)
    if places:
        raise not_proven(run, event, ", ".join(names[place] for place in places if place < len(names)))


def not_proven(run: str, event: int, lists: str) -> BlobMissing:
    """The error for an unproven state.

    Args:
        run: The id of the run.
        event: The number of the event.
        lists: The names of the lists that are not proven.
    """
    return BlobMissing(
        f"the state of event {tail(run)}:{event} is not proven: {lists} was declared to grow only",
        cause="the run ended before the whole list was looked at again, or an entry of it had changed by then",
        next_command=f"reenact show {tail(run)}",
        digest="",
        run=run,
        event=event,
        reason=UNPROVEN,
        exit_code=3,
    )
