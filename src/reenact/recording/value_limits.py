"""A value that is too long for a recording is replaced by its size and digest, and a remark says why."""

from __future__ import annotations

import sys
from typing import Any, cast

from reenact.facts.call import Fidelity, Value
from reenact.facts.large_values import Withheld, is_large, is_withheld
from reenact.facts.lazy_dataclass import replace
from reenact.facts.record import CallSettled, Record, SegmentArrived

MB = 1_000_000
ANY = sys.maxsize


class Limits:
    """The limits of one run for values that come back to it.

    Args:
        value: The longest value that is kept, in bytes as data.
        run: The bytes of values and streams after which the run keeps no further value.
    """

    def __init__(self, value: int = ANY, run: int = ANY) -> None:
        self._value = value
        self._run = run
        self._kept = 0

    def limited(self, record: Record) -> Record:
        """The record with its value, or without it where the value is too long. Only the value's length is looked
        at."""
        if type(record) is SegmentArrived:
            self._kept += len(record.data)
        if type(record) is not CallSettled or type(record.outcome) is not Value:
            return record
        body: Any = record.outcome.body
        if is_withheld(body):
            return record
        size = body.least if is_large(body) and body.least > self._value else len(body)
        if size > self._value:
            return _without(record, record.outcome, f"larger than largest_value_mb = {self._value / MB:g}")
        if self._kept + size > self._run:
            return _without(record, record.outcome, f"more than largest_run_mb = {self._run / MB:g} of its run")
        self._kept += size
        return record


def _without(record: CallSettled, outcome: Value, why: str) -> CallSettled:
    left = cast(bytes, Withheld(len(outcome.body), source=outcome.body))
    note = f"{why}, so only size and digest are kept"
    return replace(record, outcome=replace(outcome, body=left), fidelity=Fidelity.WITHHELD, note=note)
