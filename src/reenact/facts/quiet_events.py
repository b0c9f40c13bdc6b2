"""The quiet events of a run: ambient reads, telemetry, database statements, and the upkeep of MCP sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from reenact.facts.call import Kind, calls_a_tool
from reenact.facts.event import Event
from reenact.facts.phrases import counted
from reenact.facts.plumbing import MARK as PLUMBING
from reenact.facts.plumbing import is_plumbing

AMBIENT = frozenset(("clock", "random", "env", "flag"))
"""Kinds of reads that a story shows as one line."""

SESSION = "session"
"""The word for the upkeep of an MCP session, in contrast to the agent's own calls in it."""

_ASKS = ("tools/call", "resources/read", "prompts/get", "completion/complete")
_NAMED = 8


def group_of(event: Event) -> str:
    """The sort of a quiet event: ``ambient``, ``plumbing``, ``db`` or ``mcp``; empty for the agent's own calls."""
    if event.kind in AMBIENT:
        return "ambient"
    if is_plumbing(event.call):
        return PLUMBING
    if event.kind == Kind.DB:
        return "db"
    return "mcp" if is_housekeeping(event) else ""


def is_housekeeping(event: Event) -> bool:
    """Whether an MCP event only begins, describes, watches or ends a session."""
    if event.call.kind is not Kind.MCP or calls_a_tool(event.call):
        return False
    said = (event.call.head.get("method"), event.name)
    return not any(isinstance(word, str) and each in word for word in said for each in _ASKS)


def summary(events: Sequence[Event]) -> tuple[str, str, str]:
    """Several quiet events as one line: its kind, name and text."""
    groups = Counter(group_of(event) for event in events)
    if len(groups) > 1:
        text = ", ".join(counted(count, _COUNTED[group]) for group, count in groups.items())
        return "quiet", f"{len(events)} events:", text
    (group,) = groups
    words = Counter(_word(event, group) for event in events)
    parts = [f"{count} {word}" if count > 1 else word for word, count in words.most_common(_NAMED) if word]
    if len(words) > _NAMED:
        parts.append("…")
    return group, f"{counted(len(events), _COUNTED[group])}:", ", ".join(parts)


_COUNTED = {"ambient": "read", PLUMBING: "export", "db": "statement", "mcp": "session event"}
_INTERNAL = ("lost", "session", "receive")
"""Events of an MCP session that are no messages of the protocol."""


def _word(event: Event, group: str) -> str:
    if group == PLUMBING:
        return str(event.call.head[PLUMBING])
    if group == "ambient":
        return event.kind
    return "" if event.name in _INTERNAL and group == "mcp" else event.name
