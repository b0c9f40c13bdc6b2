"""Websocket connections of the ``websockets`` library, at the level of messages: its asyncio and its threading client.

Opening one is a call (kind ``websocket``), and so is each message in either direction, closing, and each look at
whether the connection is still open. Keepalive pings and their answers are nobody's business. In a replay the
connection is the library's own object without a network: what it raises when it is closed, it raises by itself.
"""

from __future__ import annotations

from reenact.seams.patching import when_imported
from reenact.seams.websockets import coroutines, threads


def install() -> None:
    """Hook both clients as soon as the program imports them; imports neither. Idempotent."""
    when_imported("websockets.asyncio.client", coroutines.patch)
    when_imported("websockets.sync.client", threads.patch)
