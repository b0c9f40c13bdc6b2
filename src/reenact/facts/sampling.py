"""Sampling: whether a run that has ended well is among those that are kept."""

from __future__ import annotations

from hashlib import blake2b

from reenact.facts.run import Status

_BITS = 64


def leaves_out(run_id: str, status: Status, share: float) -> bool:
    """Whether a run is left out. One that has not ended well never is.

    The id decides, which was made from our own entropy: the same run is left out wherever that is asked, and the
    agent's own random numbers stay as they are.

    Args:
        run_id: Its id.
        status: How it has ended.
        share: Share of the runs that ended well that are kept, 0 to 1.
    """
    if status is not Status.OK or share >= 1:
        return False
    digest = blake2b(run_id.encode(), digest_size=_BITS // 8, person=b"reenact sample").digest()
    return int.from_bytes(digest, "big") >= share * (1 << _BITS)
