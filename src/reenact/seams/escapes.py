"""Names, in the run, what no seam answers yet: websocket connections.

The call goes through untouched, in a recording and in a replay; the gap says that it did.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from reenact.seams import patching
from reenact.seams.lanes import listening


def install() -> None:
    """Watch each client as soon as the program imports it; imports none of them itself. Idempotent."""
    patching.when_imported("websockets.sync.client", _watch_websockets)
    patching.when_imported("websockets.asyncio.client", _watch_websockets)


def _watch_websockets(module: ModuleType) -> None:
    patching.replace(module.ClientConnection, "__init__", _naming("websocket", "a connection of websockets"))


def _naming(what: str, place: str) -> Any:
    """A replacement that notes the gap and calls the original."""

    def make(original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            lane = listening()
            if lane is not None:
                try:
                    lane.session.gap(what, place)
                except Exception as fault:
                    if lane.session.fault(fault):
                        raise
            return original(*args, **kwargs)

        return call

    return make
