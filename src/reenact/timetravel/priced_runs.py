"""Runs and events as JSON-able data, with their cost."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from reenact.facts.late import late
from reenact.timetravel.json_views import run_data
from reenact.timetravel.model_readings import is_model

if TYPE_CHECKING:
    from reenact.abc.store import Recording
    from reenact.facts.call import Json
    from reenact.facts.event import Event
    from reenact.timetravel.cost import event_cost, prices, run_cost
    from reenact.timetravel.json_views import event_data
else:
    event_cost = late("reenact.timetravel.cost", "event_cost")
    prices = late("reenact.timetravel.cost", "prices")
    run_cost = late("reenact.timetravel.cost", "run_cost")
    event_data = late("reenact.timetravel.json_views", "event_data")


def priced_run(recording: Recording) -> dict[str, Json]:
    """One run as ``run_data``, and its ``cost`` in US dollars where it is known."""
    return run_data(recording.run) | _money(run_cost(recording, prices() if recording.run.totals.models else None))


def priced_event(recording: Recording, event: Event) -> dict[str, Json]:
    """One event as ``event_data``, and its ``cost`` in US dollars where it is known."""
    return event_data(event) | _money(event_cost(recording, event, prices() if is_model(event) else None))


def _money(amount: Decimal | None) -> dict[str, Json]:
    return {} if amount is None else {"cost": float(amount)}
