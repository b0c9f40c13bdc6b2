"""What a fork or a resumption that goes on live could not begin: it stops, whatever the agent does with that."""

from __future__ import annotations

from reenact.errors import UnreplayableRun
from reenact.seams.lanes import Lane


def unbegun(lane: Lane, what: str, error: Exception, *, cause: str, missing: str) -> UnreplayableRun:
    """The error, which the session has been told of.

    Args:
        lane: Who asked for it.
        what: What was to be done, as a sentence goes on with *because*.
        error: Why it was not.
        cause: What is likely behind that.
        missing: What a replay lacks, in a word.
    """
    fault = UnreplayableRun(
        f"{what}, because the run goes on live with it, and was not: {type(error).__name__}: {error}",
        cause=cause,
        next_command="reenact show @",
        missing=missing,
    )
    lane.session.fault(fault)
    return fault
