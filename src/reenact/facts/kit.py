"""The replay kit: the things that a replay of one run needs, item by item, and the possible uses of the run.

This module has only the values and the verdict over them. ``triage`` makes the kits from a run's own events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass

UNDECORATED: Final = "undecorated_tools"
"""The name of the item for the tools that a model used and that run again in each replay."""


class Bucket(StrEnum):
    """The group of an item in the kit."""

    INPUT = "input"
    ENVIRONMENT = "environment"
    EFFECTS = "side effects"


class ItemState(StrEnum):
    """The state of an item. ``CAPTURED``: it is in the recording. ``PINNED``: it is fixed by a name or value that is in
    the recording (a dated model, a run that holds it). ``PARTIAL``: a part of it is in the recording. ``MISSING``: it
    is not.
    """

    CAPTURED = "captured"
    PINNED = "pinned"
    PARTIAL = "partial"
    MISSING = "missing"


class ReplayUse(StrEnum):
    """The possible uses of a run."""

    CODE = "replays as code"
    EVENTS = "replays as events"
    COLD = "cold case"


class Stops(StrEnum):
    """The uses that a missing item prevents."""

    NOTHING = ""
    CODE = "code"
    EVENTS = "events"


@dataclass(frozen=True, slots=True)
class Item:
    """One item that a replay needs, or that explains the run.

    Attributes:
        bucket: Its bucket.
        name: Its name, unique in the kit.
        standing: Its state.
        about: The evidence in words.
        events: Numbers of the events in which it was seen, or from which it is missing.
        value: The evidence itself, JSON-able; None where words say it all.
        capture: How to capture it, cheapest first; empty where there is no way.
        expected: False if no library offers it, or the program did not use it. Such an item does not count.
        stops: The uses that its absence prevents.
        fidelity: ``exact``, ``semantic`` or ``absent``, for a run that was made of a trace; empty for others.
    """

    bucket: Bucket
    name: str
    standing: ItemState
    about: str
    events: tuple[int, ...] = ()
    value: Json = None
    capture: tuple[str, ...] = ()
    expected: bool = True
    stops: Stops = Stops.NOTHING
    fidelity: str = ""

    @property
    def there(self) -> bool:
        """Whether no part of the item is lacking."""
        return self.standing in (ItemState.CAPTURED, ItemState.PINNED)


@dataclass(frozen=True, slots=True)
class Kit:
    """The kit of one run.

    Attributes:
        run: Id of the run.
        items: All items, bucket by bucket.
    """

    run: str
    items: tuple[Item, ...]

    @property
    def verdict(self) -> ReplayUse:
        """The use that the kit leaves possible for the run."""
        return verdict(self.items)

    @property
    def counted(self) -> tuple[Item, ...]:
        """The items that count: all except those that no library offers, or that the program did not use."""
        return tuple(item for item in self.items if item.expected)

    @property
    def lacking(self) -> tuple[Item, ...]:
        """The items that count and are missing or partial."""
        return tuple(item for item in self.counted if not item.there)

    @property
    def score(self) -> tuple[int, int]:
        """How many of the items that count are complete, and how many count."""
        return sum(item.there for item in self.counted), len(self.counted)

    def item(self, name: str) -> Item | None:
        """The item with a name; None where the kit has none."""
        return next((item for item in self.items if item.name == name), None)


def verdict(items: Iterable[Item]) -> ReplayUse:
    """The use that the items leave possible. An absence that prevents replaying events prevents replaying code too."""
    stopped = {item.stops for item in items if not item.there}
    if Stops.EVENTS in stopped:
        return ReplayUse.COLD
    return ReplayUse.EVENTS if Stops.CODE in stopped else ReplayUse.CODE


class Hold(StrEnum):
    """The means by which a source of chance is held fixed.

    ``FROZEN``: a replay answers reads of the source from the recording. ``PINNED``: the run fixed the source by a value
    that a live run would use again. ``ACCEPTED``: nothing holds the source fixed.
    """

    FROZEN = "frozen"
    PINNED = "pinned"
    ACCEPTED = "accepted"


@dataclass(frozen=True, slots=True)
class Allowance:
    """One line of the non-determinism budget.

    Attributes:
        name: The source of chance.
        replay: The state of the item in a replay: ``FROZEN``, or ``ACCEPTED`` where a part of it escaped the recording.
        live: Its state when the run is repeated live: ``PINNED`` or ``ACCEPTED``; None where the run does not use the
            source.
        about: The evidence in words.
        events: Numbers of the events that show it.
    """

    name: str
    replay: Hold
    live: Hold | None
    about: str
    events: tuple[int, ...] = ()


def kit_data(kit: Kit) -> dict[str, Json]:
    """The kit without its items as JSON-able data: verdict, score, names of missing items."""
    there, counted = kit.score
    return {
        "run": kit.run,
        "verdict": kit.verdict.value,
        "there": there,
        "counted": counted,
        "missing": [item.name for item in kit.lacking if item.standing is ItemState.MISSING],
        "partial": [item.name for item in kit.lacking if item.standing is ItemState.PARTIAL],
        "not_offered": [item.name for item in kit.items if not item.expected and not item.there],
    }


def item_data(item: Item, run: str) -> dict[str, Json]:
    """One item as JSON-able data; events as references."""
    return {
        "run": run,
        "bucket": item.bucket.value,
        "item": item.name,
        "standing": item.standing.value,
        "expected": item.expected,
        "about": item.about,
        "events": [f"{run}:{number}" for number in item.events],
        "value": dict(item.value) if isinstance(item.value, Mapping) else item.value,
        "capture": list(item.capture),
        "stops": item.stops.value,
        **({"fidelity": item.fidelity} if item.fidelity else {}),
    }


def allowance_data(allowance: Allowance, run: str) -> dict[str, Json]:
    """One line of the budget as JSON-able data; events as references."""
    return {
        "run": run,
        "source": allowance.name,
        "replay": allowance.replay.value,
        "live": None if allowance.live is None else allowance.live.value,
        "about": allowance.about,
        "events": [f"{run}:{number}" for number in allowance.events],
    }
