"""The totals of a run whose end was not written, because its process died or it is still being recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reenact.facts.run import Totals


def totalled(events: int, tools: int, models: int, readings: Sequence[Mapping[str, Any]]) -> Totals:
    """The totals of a run whose end was never written.

    Args:
        events: The number of its events.
        tools: The number of tool calls among them.
        models: The number of calls of models that run in the process.
        readings: The noted readings of HTTP exchanges that were recognised as model calls.
    """
    usages = [reading.get("usage") or {} for reading in readings]
    tokens_in, tokens_out = (sum(int(each.get(name) or 0) for each in usages) for name in ("tokens_in", "tokens_out"))
    return Totals(events, models + len(readings), tools, tokens_in, tokens_out)
