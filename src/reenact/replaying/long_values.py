"""Long values in a replay: they are read piece by piece. Of some, only size and digest were kept."""

from __future__ import annotations

import shlex
from typing import cast

from reenact.abc.store import Recording
from reenact.errors import BlobMissing, Divergence, UnreplayableRun
from reenact.facts.call import Effect, Failure, Kind, Value
from reenact.facts.event import Event
from reenact.facts.ids import tail
from reenact.facts.large_values import LARGE
from reenact.replaying.long_reading import read_pieces

_FUNCTIONS = frozenset({Kind.TOOL, Kind.MODEL, Kind.RETRIEVAL})


def read_value(recording: Recording, event: Event) -> bytes:
    """The value of an event as data; a long one as the text or bytes that it holds (``facts.large_values``).

    Raises:
        BlobMissing, BlobCorrupt: The value is gone, or is not the stored one.
    """
    answer = event.answer
    if answer is None or answer.size < LARGE or event.call.kind not in _FUNCTIONS or event.call.observed:
        return recording.body(answer)
    try:
        return cast(bytes, read_pieces(recording.pieces(answer)))
    except ValueError:  # another encoding that begins like those of text and bytes
        return recording.body(answer)


def needed(event: Event, error: BlobMissing) -> UnreplayableRun:
    """The error that ends a replay which has to hand out a value that was not kept."""
    size = event.answer.size if event.answer is not None else 0
    ref = tail(event.run)
    runs_again = event.call.effect is Effect.READ and "tool" in event.call.head
    return UnreplayableRun(
        f"what {event.name} gave at event {event.number} is withheld: of its {size:,} bytes only the digest is kept",
        cause=event.fidelity_note or error.cause,
        next_command=f"reenact replay {ref} --through {shlex.quote(event.name)}"
        if runs_again
        else f"reenact show {ref}",
        missing=(f"value of event {event.number}",),
    )


def differs(event: Event, now: Value | Failure, next_command: str) -> Divergence:
    """The divergence of a body that returned another value than the recorded one, of which only size and digest are
    known."""
    digest = event.answer.digest if event.answer is not None else ""
    came = {"bytes": len(now.body)} if isinstance(now, Value) else {"raised": now.error.type, "text": now.error.text}
    was = {"bytes": event.answer.size if event.answer is not None else 0, "digest": digest}
    return Divergence(
        f"diverged at event {event.number}: {event.kind} {event.name} ended differently: "
        f"its value is not the recorded one, of which only size and digest are kept",
        event=event.number,
        source=event.call.source,
        recorded=was,
        now=came,
        reason="result",
        cause="the agent's own code computes something else from the same answers",
        next_command=next_command,
    )
