"""Limiting: of a value that is longer than a recording keeps, its size and digest go on, and a remark says why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from reenact.facts.call import Fidelity, Value
from reenact.facts.large import Withheld, is_large, is_withheld
from reenact.facts.record import CallSettled

MB = 1_000_000


def limited(record: CallSettled, limit: int) -> CallSettled:
    """A record with its value, or without it. Costs a look at how long it is.

    Args:
        record: What came of a call.
        limit: Longest value that is kept, in bytes as data.
    """
    outcome = record.outcome
    if type(outcome) is not Value:
        return record
    body: Any = outcome.body
    if is_large(body):
        if body.least <= limit and len(body) <= limit:
            return record
    elif is_withheld(body) or len(body) <= limit:
        return record
    left = cast(bytes, Withheld(len(body), source=body))
    note = f"larger than largest_value_mb = {limit / MB:g}, so that size and digest are kept alone"
    return replace(record, outcome=replace(outcome, body=left), fidelity=Fidelity.WITHHELD, note=note)
