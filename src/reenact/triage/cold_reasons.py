"""Cold cases: runs that cannot be replayed, each with its missing items, and how to avoid that next time."""

from __future__ import annotations

from collections.abc import Iterator

from reenact.facts.call import Json
from reenact.facts.kit import Item, Kit, ReplayUse, Stops
from reenact.facts.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """One missing item without which a run cannot be replayed.

    Attributes:
        item: The name of the missing item of the kit.
        about: The evidence in words.
        capture: How to capture it next time, cheapest first; empty where there is no way.
    """

    item: str
    about: str
    capture: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        """As JSON-able data."""
        return {"item": self.item, "about": self.about, "capture": list(self.capture)}


def reasons(kit: Kit) -> tuple[Reason, ...]:
    """Why a run is cold. Pure.

    Args:
        kit: The kit of the run.

    Returns:
        The reasons why its events cannot be replayed, in the order of the kit; empty where the run is not cold.
    """
    return tuple(_stopping(kit)) if kit.verdict is ReplayUse.COLD else ()


def _stopping(kit: Kit) -> Iterator[Reason]:
    for item in kit.items:
        if stops(item):
            yield Reason(item.name, item.about, item.capture)


def stops(item: Item) -> bool:
    """Whether an item alone makes its run a cold case."""
    return not item.there and item.stops is Stops.EVENTS
