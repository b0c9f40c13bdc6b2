"""Actions of other libraries that no seam follows: a recording goes on without them, and a replay refuses them."""

from __future__ import annotations

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
    refusal = UnreplayableRun(what, cause=cause, next_command="reenact show @", missing="trio")
    if lane.session.fault(refusal):
        raise refusal
