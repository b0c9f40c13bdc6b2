"""Names, in the run, what no seam answers yet: websocket connections, MCP servers started over stdio, and whatever else
connects a socket by itself (a database's client, requests that a program assembles by hand).

The call goes through untouched, in a recording and in a replay; the gap says that it did.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from reenact.seams import patching
from reenact.seams.lanes import Lane, listening


def install() -> None:
    """Watch each client as soon as the program imports it; imports none of them itself. Idempotent."""
    patching.when_imported("websockets.sync.client", _watch_websockets)
    patching.when_imported("websockets.asyncio.client", _watch_websockets)
    patching.when_imported("mcp.client.stdio", _watch_stdio_servers)
    patching.when_imported("socket", _watch_sockets)


def _watch_sockets(module: ModuleType) -> None:
    for name in ("connect", "connect_ex"):
        patching.replace(module.socket, name, _connecting)


def _connecting(original: Any) -> Any:
    """A connection that the agent's own lane makes; below a transport nobody listens."""

    def connect(self: Any, address: Any, /) -> Any:
        lane = listening()
        if lane is not None:
            _name(lane, "connection", _place(address))
        return original(self, address)

    return connect


def _place(address: Any) -> str:
    if isinstance(address, tuple) and len(address) > 1:
        return f"{address[0]}:{address[1]}"
    return "a socket of this machine"


def _watch_websockets(module: ModuleType) -> None:
    patching.replace(module.ClientConnection, "__init__", _naming("websocket", "a connection of websockets"))


def _watch_stdio_servers(module: ModuleType) -> None:
    name = "_create_platform_compatible_process"
    if hasattr(module, name):
        patching.replace(module, name, _naming("MCP server process", "a server over stdio"))


def _naming(what: str, place: str) -> Any:
    """A replacement that notes the gap and calls the original."""

    def make(original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            lane = listening()
            if lane is not None:
                _name(lane, what, place)
            return original(*args, **kwargs)

        return call

    return make


def _name(lane: Lane, what: str, place: str) -> None:
    """Note the gap; a fault of ours is no fault of the connection."""
    try:
        lane.session.gap(what, place)
    except Exception as fault:
        if lane.session.fault(fault):
            raise
