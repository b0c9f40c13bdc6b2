"""The error for a resource that a live fork or resumption cannot begin: it stops, even if the agent catches it."""

from __future__ import annotations

from reenact.errors import UnreplayableRun
from reenact.seams.lanes import Lane


def unbegun(lane: Lane, what: str, error: Exception, *, cause: str, missing: str) -> UnreplayableRun:
    """The error, which the session has noted.

    Args:
        lane: The calling lane.
        what: The action, worded so that *because* can follow.
        error: The error.
        cause: The likely cause.
        missing: The word for the missing part.
    """
    fault = UnreplayableRun(
        f"{what}, because the run goes on live with it, and was not: {type(error).__name__}: {error}",
        cause=cause,
        next_command="reenact show @",
        missing=missing,
    )
    lane.session.fault(fault)
    return fault
