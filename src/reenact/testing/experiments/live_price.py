"""The price of an experiment's live model calls, before the first is made, estimated from the recorded ones."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from reenact.abc.store import Recording, Store
from reenact.facts.call import Json, Kind
from reenact.facts.lazy_dataclass import dataclass
from reenact.testing.experiments.candidates import Candidate
from reenact.timetravel.cost import PriceOf, calls_around, reading_cost, reading_made


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate of the live calls.

    Attributes:
        calls: The number of model calls to send, if the candidate makes as many as were recorded.
        cost: Their cost in US dollars, if they take as many tokens; None where one has no price.
        open: Whether calls without a recorded answer go live too, so that there may be more.
        only_missing: Whether only those calls go live that turn out to have no recorded answer.
    """

    calls: int = 0
    cost: Decimal | None = Decimal(0)
    open: bool = False
    only_missing: bool = False

    def plus(self, other: Estimate) -> Estimate:
        """The sum of both estimates."""
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Estimate(self.calls + other.calls, cost, self.open or other.open, self.only_missing)

    def to_json(self) -> dict[str, Json]:
        """The estimate as JSON-able data."""
        cost = None if self.cost is None else float(self.cost)
        return {"calls": self.calls, "cost": cost, "open": self.open, "only_missing": self.only_missing}


def estimate(store: Store, runs: Iterable[str], candidate: Candidate, priced: PriceOf | None, now_us: int) -> Estimate:
    """The estimate for the model calls that a candidate sends.

    Args:
        store: The store of the recorded runs.
        runs: The ids of the runs to do, one for each cell.
        candidate: The candidate.
        priced: A price list; None for no prices.
        now_us: The time of the prices, microseconds since the epoch.

    Raises:
        StoreError: A run is damaged, or gone. Costs one pass over the exchanges of each.
    """
    if candidate.live == "none":
        return Estimate()
    found, known = Estimate(open=True, only_missing=candidate.live == "missing"), dict[str, Estimate]()
    for run in runs:
        if run not in known:
            known[run] = _of(store.open(run), candidate, priced, now_us)
        found = found.plus(known[run])
    return found


def _of(recording: Recording, candidate: Candidate, priced: PriceOf | None, now_us: int) -> Estimate:
    found, within, functions = Estimate(), set[int](), list[int]()
    for event in recording.events(kinds=(Kind.HTTP, Kind.MODEL)):
        reading = reading_made(recording, event)
        if reading is None:
            functions += [event.number] if event.kind == Kind.MODEL else []
            continue
        data = dict(reading)
        data.pop("error", None)
        if candidate.model is not None:
            data |= {"model_asked": candidate.model, "model_answered": candidate.model}
        found = found.plus(Estimate(1, None if priced is None else reading_cost(data, now_us, priced)))
        within.update(calls_around(recording, event))
    unread = sum(number not in within for number in functions)
    return found.plus(Estimate(unread, None)) if unread else found
