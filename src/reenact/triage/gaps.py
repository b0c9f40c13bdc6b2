"""Gaps: escapes from a recording, and their consequences for its replay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reenact.facts.kit import Bucket, Item, ItemState, Stops

_CONTACT = ("socket", "connection", "datagram", "look-up", "process", "native", "library", "database", "import")
"""Words in a gap's name that mean contact with the world: a replay refuses it, so the code cannot run there."""
_HARMLESS = ("declared to grow only", "standard stream", "task", "thread", "upgraded")

_CAPTURE: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        ("upgraded", "websocket"),
        (
            "the client of websockets or of aiohttp, which are recorded message by message",
            "@reenact.tool on the function that holds the conversation",
        ),
    ),
    (
        ("child process",),
        (
            "@reenact.tool on the function that starts it: a replay then answers it without the child",
            "threads in the place of processes: what they ask is recorded",
        ),
    ),
    (
        ("inherited",),
        (
            "give it a pipe: capture_output=True, or stdout= and stderr=subprocess.PIPE",
            "@reenact.tool on the function that starts it",
        ),
    ),
    (
        ("process",),
        ("@reenact.tool on the function that starts it", "reenact record -- on the child's own command line"),
    ),
    (
        ("native", "library"),
        ("@reenact.tool on the function that calls it", "a client in Python in its place: reenact doctor"),
    ),
    (
        ("socket", "connection", "datagram", "look-up"),
        ("@reenact.tool on the function that connects", "a client that is captured: reenact doctor"),
    ),
    (("database",), ("@reenact.tool on the function that queries",)),
    (("file", "listing"), ("@reenact.tool on the function that reads", "files = [pattern] in the settings")),
    (("task", "thread"), ("start it inside the recorded block",)),
    (("standard stream",), ("let the program print to sys.stdout and sys.stderr",)),
)


def gap_items(gaps: Iterable[tuple[str, str, int]]) -> Iterator[Item]:
    """One item for each gap.

    Args:
        gaps: The escapes: what, where, how often.
    """
    for what, place, count in gaps:
        often = f", {count} times" if count > 1 else ""
        yield Item(
            Bucket.EFFECTS,
            f"gap: {what} at {place}",
            ItemState.MISSING,
            f"{what} at {place}{often} is not in the recording",
            value={"what": what, "place": place, "count": count},
            capture=_capture(what),
            stops=Stops.CODE if is_contact(what) else Stops.NOTHING,
        )


def is_contact(what: str) -> bool:
    """Whether a gap is contact with the world, which a replay refuses."""
    lowered = what.lower()
    return any(word in lowered for word in _CONTACT) and not any(word in lowered for word in _HARMLESS)


def _capture(what: str) -> tuple[str, ...]:
    lowered = what.lower()
    for words, advice in _CAPTURE:
        if any(word in lowered for word in words):
            return advice
    return ("@reenact.tool on the function that does it",)
