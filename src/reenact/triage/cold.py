"""Cold cases: runs that cannot be replayed, each with what it lacks and how the next one is not cold."""

from __future__ import annotations

from collections.abc import Iterator

from reenact.facts.call import Json
from reenact.facts.kit import Item, Kit, Stops, Verdict
from reenact.facts.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing without which a run cannot be replayed.

    Attributes:
        item: Name of the item of the kit that it lacks.
        about: The evidence in words.
        capture: How to capture it next time, cheapest first; empty where nothing is to be done.
    """

    item: str
    about: str
    capture: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        """As JSON-able data."""
        return {"item": self.item, "about": self.about, "capture": list(self.capture)}


def reasons(kit: Kit) -> tuple[Reason, ...]:
    """Why a run is cold: pure.

    Args:
        kit: Its kit.

    Returns:
        What keeps its events from being replayed, in the order of the kit; empty where the run is not cold.
    """
    return tuple(_stopping(kit)) if kit.verdict is Verdict.COLD else ()


def _stopping(kit: Kit) -> Iterator[Reason]:
    for item in kit.items:
        if stops(item):
            yield Reason(item.name, item.about, item.capture)


def stops(item: Item) -> bool:
    """Whether an item alone makes its run a cold case."""
    return not item.there and item.stops is Stops.EVENTS
