"""Websocket connections at the level of messages: both clients of the ``websockets`` library, and that of ``aiohttp``.

Opening a connection is a call (kind ``websocket``). So are each message in either direction, the close, and each check
whether the connection is still open. Keepalive pings and their answers are not recorded. In a replay the connection is
the library's own object without a network, which raises its own errors when it is closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reenact.facts.late import late
from reenact.seams.patching import when_imported

if TYPE_CHECKING:
    from reenact.seams.websockets.aiohttp_client import patch as patch_aiohttp
    from reenact.seams.websockets.websocket_clients import patch as patch_clients
else:
    patch_aiohttp = late("reenact.seams.websockets.aiohttp_client", "patch")
    patch_clients = late("reenact.seams.websockets.websocket_clients", "patch")


def install() -> None:
    """Hook each client as soon as the program imports it; imports none. Idempotent."""
    when_imported("websockets.asyncio.client", patch_clients)
    when_imported("websockets.sync.client", patch_clients)
    when_imported("aiohttp.client", patch_aiohttp)
