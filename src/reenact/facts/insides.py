"""Insides: the calls of a run that were answered as a whole, so that the calls inside them are unknown in that run. A
replay answers a tool without running it. So the replay has no events for the exchanges and model calls of the tool.
They are not lost, because the recording has them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from reenact.facts.call import Kind
from reenact.facts.event import Event
from reenact.facts.run import Run, Totals

ANSWERED: Final = "answered_whole"
"""The note of a fork on a call that it answered from a recording, if something happened inside the recorded call, or
may have."""

RAN: Final = "ran_through"
"""The note of a kept replay on a call whose own code it ran: inside such a call, a missing event means that no call was
made."""


def holds_unseen(event: Event) -> bool:
    """Whether a replay answers a call without running what happens inside it."""
    return not event.call.observed


def is_whole(run: Run, event: Event) -> bool:
    """Whether a call of ``run`` was answered as a whole. Ask this only about a call without events inside: a call with
    such events was not answered as a whole.

    For forks that were made before ``ANSWERED`` was noted, this is known only in their frozen prefix.
    """
    if not holds_unseen(event):
        return False
    if ANSWERED in event.attributes:
        return True
    if run.relation == "replay":
        return RAN not in event.attributes
    return run.relation == "fork" and run.fork_event is not None and event.number < run.fork_event


def summed(events: Iterable[Event]) -> Totals:
    """The totals over some events, counted as the recorder counts the totals of a run."""
    count = models = tools = tokens_in = tokens_out = 0
    for event in events:
        reading = event.attributes.get("reading") if event.call.kind is Kind.HTTP else None
        usage = (reading.get("usage") or {}) if isinstance(reading, dict) else {}
        count += 1
        models += event.call.kind is Kind.MODEL or isinstance(reading, dict)
        tools += event.call.kind is Kind.TOOL
        tokens_in += usage.get("tokens_in") or 0
        tokens_out += usage.get("tokens_out") or 0
    return Totals(events=count, models=models, tools=tools, tokens_in=tokens_in, tokens_out=tokens_out)
