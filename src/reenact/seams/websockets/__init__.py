"""Websocket connections at the level of messages: both clients of the ``websockets`` library, and that of ``aiohttp``.

Opening one is a call (kind ``websocket``), and so is each message in either direction, closing, and each look at
whether the connection is still open. Keepalive pings and their answers are nobody's business. In a replay the
connection is the library's own object without a network: what it raises when it is closed, it raises by itself.
"""

from __future__ import annotations

from reenact.seams.patching import when_imported
from reenact.seams.websockets import aiohttp_client, coroutines, threads


def install() -> None:
    """Hook each client as soon as the program imports it; imports none. Idempotent."""
    when_imported("websockets.asyncio.client", coroutines.patch)
    when_imported("websockets.sync.client", threads.patch)
    when_imported("aiohttp.client", aiohttp_client.patch)
