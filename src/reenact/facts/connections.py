"""Calls about a connection to an MCP server itself: its beginning, its incoming messages, its error and its end."""

from __future__ import annotations

from typing import Final

from reenact.facts.call import Call, Kind

SESSION: Final = "session"
"""Name of the call with which a session begins."""

RECEIVE: Final = "receive"
"""The name of the call that waits for the server's next message."""

LOST: Final = "lost"
"""Name of the call that waits for the connection to fail."""

FAILURE: Final = "failure"
"""The name of the call that reports the connection's error."""

DISCONNECT: Final = "disconnect"
"""Name of the call that closes the connection."""

DIFFERS: Final = "mcp_server_differs"
"""The key of the evidence that a fork continued with a server that differs from the recorded one."""

_INCOMING: Final = frozenset({RECEIVE, LOST, FAILURE})
_OWN: Final = _INCOMING | {SESSION, DISCONNECT}


def is_of_connection(call: Call) -> bool:
    """Whether a call is about a connection: it asks nothing of the server, and needs no permission."""
    return call.kind is Kind.MCP and call.name in _OWN and "method" not in call.head


def is_incoming(call: Call) -> bool:
    """Whether a call waits for a message that the other side sends by itself."""
    return call.kind is Kind.MCP and call.name in _INCOMING and "method" not in call.head
