"""Actions of other libraries that no seam follows: a recording goes on without them, and a replay refuses them."""

from __future__ import annotations

from reenact.errors import UnreplayableRun
from reenact.seams.lanes import Lane


def refuse(lane: Lane | None, what: str, cause: str) -> None:
    """Say that something of another library is not followed, if it would have been listened to.

    Args:
        lane: The lane that comes upon it.
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
