"""Calls on a lasting resource that another call began: a process, a websocket, an RPC under way.

Such a call names its resource by the number of the event that began it. (MCP sessions have their own way, see
``connections``.)
"""

from __future__ import annotations

from typing import Final

from reenact.facts.call import Call, Kind

_KINDS: Final = frozenset({Kind.PROCESS, Kind.WEBSOCKET})
_RPC: Final = "grpc"
_LOOKS: Final = ("state", "information")


def handle_of(call: Call) -> int | None:
    """The event that began the resource of a call; None for a call on no resource."""
    if call.observed or not (call.kind in _KINDS or call.rule.partition("/")[0] == _RPC):
        return None
    of = call.head.get("of")
    return of if isinstance(of, int) and of >= 0 else None


def begins_rpc(call: Call) -> bool:
    """Whether a call begins an RPC. The answers of the RPC belong to this call."""
    return call.kind is Kind.HTTP and call.head.get("transport") == _RPC and call.rule.partition("/")[0] != _RPC


def waits_for_message(call: Call) -> bool:
    """Whether a call waits for a message that the other side of a websocket sends by itself."""
    return call.kind is Kind.WEBSOCKET and call.name.partition(" ")[0] in ("receive", "pong", "wait")


def only_looks(call: Call) -> bool:
    """Whether a call only checks whether a websocket is open."""
    return call.kind is Kind.WEBSOCKET and call.name.partition(" ")[0] in _LOOKS


def says_something(call: Call) -> bool:
    """Whether a call on a handle sends something at once, or learns more than that the handle exists.
    Waiting for a message of a websocket learns nothing before the message is there."""
    return not (waits_for_message(call) or only_looks(call))
