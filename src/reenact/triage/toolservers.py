"""The tools that MCP servers offered: each server's list, as the agent saw it, with its hash."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reenact.facts.call import Json, Kind, Value
from reenact.facts.event import Event
from reenact.facts.kit import Bucket, Item, ItemState
from reenact.triage.scene import Scene

_SHORT = 12
_FEW = 4


def offered(scene: Scene) -> Iterator[Item]:
    """One item for all lists of tools; none without an MCP server."""
    sessions = [event for event in scene.of_kind(Kind.MCP) if event.name == "session"]
    if not sessions:
        return
    value: list[Json] = []
    lists: dict[tuple[str, str], list[Event]] = {}
    for event in scene.of_kind(Kind.MCP):
        digest = event.outcome.head.get("tools_hash") if isinstance(event.outcome, Value) else None
        if isinstance(digest, str):
            lists.setdefault((str(event.call.head.get("server") or "?"), digest), []).append(event)
    words = []
    for (server, digest), events in lists.items():
        names = _names(events[0])
        shown = ", ".join(names[:_FEW]) + (" …" if len(names) > _FEW else "")
        words.append(f"{server}: {shown or 'none'} (hash {digest[:_SHORT]})")
        value.append({"server": server, "hash": digest, "tools": names, "events": [event.number for event in events]})
    if not lists:
        about = "a session with an MCP server, which was not asked for its tools"
        capture = ("await session.list_tools() after session.initialize()",)
        yield Item(
            Bucket.ENVIRONMENT,
            "mcp_tools",
            ItemState.PARTIAL,
            about,
            (sessions[0].number,),
            capture=capture,
            expected=False,
        )
        return
    numbers = tuple(sorted(event.number for events in lists.values() for event in events))
    yield Item(Bucket.ENVIRONMENT, "mcp_tools", ItemState.CAPTURED, "; ".join(words), numbers, value)


def _names(event: Event) -> list[str]:
    head: Mapping[str, Json] = event.outcome.head if isinstance(event.outcome, Value) else {}
    names = head.get("tools")
    return [str(name) for name in names] if isinstance(names, Sequence) and not isinstance(names, str) else []
