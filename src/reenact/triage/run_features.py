"""The features of a run that has ended, read from its log: for runs whose store has none yet."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any

from reenact.abc.store import Recording, Store
from reenact.errors import BlobMissing
from reenact.facts.call import Call, Failure, Fidelity, Kind, Stream, Value
from reenact.facts.event import Event, Payload
from reenact.facts.feature_collector import LARGEST, LARGEST_REQUEST, FeatureCollector
from reenact.facts.features import Features
from reenact.facts.large_values import Withheld
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Run
from reenact.facts.suspicions import RULES, suspicions
from reenact.store.courses import course_of
from reenact.triage.cold_reasons import stops
from reenact.triage.kit_of_run import kit_of

_FAILURE = "failure"
_TOO_LONG = b" " * (LARGEST + 1)
"""Stands for an answer whose form is not looked at."""


def features_of(recording: Recording) -> Features:
    """The features of a run, equal to those that its store makes when it closes: pure, except for its reads.

    Args:
        recording: The run. Costs one pass over its events and their short answers.

    Raises:
        StoreError: A part of it is damaged.
    """
    noticing = FeatureCollector()
    n = count()
    moments = sorted(
        (
            (at_us, next(n), does)
            for event in recording.events()
            for at_us, does in _moments(recording, event, noticing)
        ),
        key=lambda each: each[:2],
    )
    for _, _, does in moments:
        does()
    for key, value in recording.notes(None).items():
        noticing.noted(None, key, value)
    return noticing.features(replace(recording.run, lane=""))


def ending_of(recording: Recording) -> Features:
    """The features that tell how a run ended. The kinds of its suspicious events are among them; its kit is not looked
    at.

    Raises:
        StoreError: A part of it is damaged.
    """
    return replace(features_of(recording), suspicions=_suspicions(recording))


def looked_at(store: Store, run: Run, features: Features) -> Features:
    """Features, completed by those that need the whole run: the missing items of its kit, and its kinds of suspicious
    events.

    The rules are always those of this package, so that a group has one name everywhere. Hints and failed calls are left
    out. Costs as much as the kit and the course of the run.

    Args:
        store: The store of the run.
        run: The run.
        features: The features that were written when it closed.

    Raises:
        StoreError: A part of it is damaged.
    """
    kit = kit_of(store, run)
    lacks = tuple(sorted({item.name for item in kit.lacking if not item.name.startswith("gap: ")}))
    cold = tuple(item.name for item in kit.items if stops(item))
    kinds = () if cold else _suspicions(store.open(run))
    return replace(features, lacks=lacks, cold=cold, suspicions=kinds)


def _suspicions(recording: Recording) -> tuple[str, ...]:
    rules = [rule for rule in RULES if rule.on and not rule.hint and rule.name != _FAILURE]
    return tuple(sorted({each.rule for each in suspicions(course_of(recording), rules)}))


def _moments(recording: Recording, event: Event, noticing: FeatureCollector) -> Iterator[tuple[int, partial[None]]]:
    """The moments of an event, each with a function that notes it."""
    yield event.issued_us, partial(_issued, recording, event, noticing)
    outcome = event.outcome
    if outcome is not None and event.ended_us is not None:
        yield event.ended_us, partial(_ended, recording, event, noticing)
    for key, value in event.attributes.items():
        yield (
            event.issued_us if event.ended_us is None else event.ended_us,
            partial(noticing.noted, event.number, key, value),
        )


def _issued(recording: Recording, event: Event, noticing: FeatureCollector) -> None:
    call = event.call
    if _asks(call) and event.request is not None and event.request.size <= LARGEST_REQUEST:
        call = replace(call, body=_body(recording, event.request) or b"")
    noticing.issued(event.number, event.lane, event.parent, call)


def _ended(recording: Recording, event: Event, noticing: FeatureCollector) -> None:
    outcome, short = event.outcome, event.answer is not None and event.answer.size <= LARGEST
    if isinstance(outcome, Stream):
        if event.fidelity is Fidelity.WITHHELD:
            noticing.withheld(event.number)
        noticing.began(event.number, outcome.head)
        if short and "reading" not in event.attributes:
            body = _body(recording, event.answer)
            noticing.arrived(event.number, _TOO_LONG if body is None else body)
        if outcome.end is not None:
            noticing.ended(event.number, outcome.end.kind)
    elif isinstance(outcome, Failure):
        noticing.settled(event.number, outcome, event.fidelity)
    elif isinstance(outcome, Value):
        value: Any = _body(recording, event.answer) if short else _TOO_LONG
        if event.answer is not None and (value is None or (not value and event.fidelity is Fidelity.WITHHELD)):
            value = Withheld(event.answer.size, event.answer.digest)
        noticing.settled(event.number, replace(outcome, body=value), event.fidelity)


def _asks(call: Call) -> bool:
    return call.kind is Kind.MODEL or call.head.get("method") == "POST"


def _body(recording: Recording, payload: Payload | None) -> bytes | None:
    """The bytes of a payload; None where the run was thinned: a body that is gone has no form."""
    try:
        return recording.body(payload)
    except BlobMissing:
        return None
