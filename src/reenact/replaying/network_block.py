"""While a test of a frozen golden runs, this process can open no connection.

The guard of a replay refuses contacts of the replayed agent, processes included. This block is for the test around that
agent: the test may start programs, but not connect.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from reenact.seams import audit_hook, lanes
from reenact.seams.contacts import CONTACTS, DATABASE, NATIVE, ours, place_of, target_of

_NETWORK = frozenset(event for event in CONTACTS if event.startswith("socket.")) | {NATIVE, DATABASE}


class NetworkBlock:
    """Refuses the network while the block is in force."""

    def __init__(self) -> None:
        self._refused: list[str] | None = None

    @contextmanager
    def up(self) -> Iterator[list[str]]:
        """Refuse contact for the length of the block. Yields the list of refusals so far, in words, with the place in
        the code.

        An attempt raises ``PermissionError`` where it is made. Blocks may be nested.
        """
        before, self._refused = self._refused, []
        audit_hook.subscribe(_NETWORK, self._heard)
        try:
            yield self._refused
        finally:
            self._refused = before
            if before is None:
                audit_hook.unsubscribe(_NETWORK, self._heard)

    def _heard(self, event: str, args: tuple[object, ...], frame: FrameType | None) -> None:
        if self._refused is None or lanes.listening() is not None or ours(event, args, frame):
            return  # a session that listens refuses by itself
        words = f"{CONTACTS[event]} to {target_of(event, args)} at {place_of()}"
        self._refused.append(words)
        raise PermissionError(f"refused while a golden is frozen: {words}")


BLOCK = NetworkBlock()
