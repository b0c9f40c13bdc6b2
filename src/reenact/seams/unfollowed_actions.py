"""Actions that no seam follows, of other libraries or of an interpreter without its lock: a recording goes on without
them, and a replay refuses them."""

from __future__ import annotations

import sys

from reenact.errors import UnreplayableRun
from reenact.seams.lanes import Lane


def refuse(lane: Lane | None, what: str, cause: str) -> None:
    """Report that an action of another library is not followed, if a session listens to the lane.

    Args:
        lane: The lane of the action.
        what: The thing that is not recorded, in words.
        cause: Why not.

    Raises:
        UnreplayableRun: In a replay.
    """
    if lane is None or lane.below:
        return
    refusal = UnreplayableRun(what, cause=cause, next_command="reenact show @", missing=("trio",))
    if lane.session.fault(refusal):
        raise refusal


def require_lock(lane: Lane | None) -> None:
    """Report an interpreter that runs threads at the same time: a recording there is degraded, and a replay stops.

    Args:
        lane: The root of the run.
    """
    locked = getattr(sys, "_is_gil_enabled", None)
    if lane is None or locked is None or locked():
        return
    cause = "this interpreter runs without its global lock, under which the strands of a run are counted"
    told = "the order of threads is not followed"
    lane.session.fault(UnreplayableRun(told, cause=cause, next_command="reenact show @", missing=("global lock",)))
