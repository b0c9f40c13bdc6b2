"""The properties of a ``websockets`` connection, in both clients."""

from __future__ import annotations

from functools import partial
from typing import Any

from reenact.seams.lanes import listening
from reenact.seams.patching import replace
from reenact.seams.switchboard import cross, guarded
from reenact.seams.websockets.websocket_messages import ConnectionOutcomes, WebSocketLine, about


def patch(connection: Any) -> None:
    """Make each look at the state of a connection a crossing: the other side may close it at any time."""
    for name in ("state", "close_code", "close_reason"):
        replace(connection, name, lambda original: property(_looking(original.fget)))
    replace(connection, "local_address", lambda original: property(_addressed(original.fget, 0)))
    replace(connection, "remote_address", lambda original: property(_addressed(original.fget, 1)))


def _looking(original: Any) -> Any:
    def look(self: Any) -> Any:
        lane, line = listening(), self.__dict__.get("_reenact_line")
        if lane is None or line is None:
            return original(self)
        known: WebSocketLine = line
        sealing = ConnectionOutcomes(self)

        def reveal(outcome: Any) -> Any:
            sealing.reveal(outcome)
            return original(self)

        return cross(
            lane,
            lambda: about(known, "state"),
            lambda: sealing.stable(lambda: original(self)),
            lambda _value, error: sealing.seal(None, error),
            reveal,
        )

    return look


def _addressed(original: Any, at: int) -> Any:
    def address(self: Any) -> Any:
        line = self.__dict__.get("_reenact_line")
        return line.addresses[at] if line is not None and line.addresses is not None else original(self)

    return address


def name_as_gap(connection: Any) -> None:
    """Report each connection as an escape."""

    def make(original: Any) -> Any:
        def init(self: Any, *args: Any, **options: Any) -> None:
            lane = listening()
            if lane is not None:
                guarded(lane, partial(lane.session.gap, "websocket", "a connection of websockets"))
            original(self, *args, **options)

        return init

    replace(connection, "__init__", make)
