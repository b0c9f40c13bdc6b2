"""One event as the columns of its row, and back. A replay spends much of its time here.

``asked`` is the list ``[position, parent, issued_us, fidelity, remark, digest, size, call…]`` (``codec.pack_call``).
``came`` is ``[at_us, delivery, fidelity, remark, digest, size, form, …]`` for a value or failure
(``codec.pack_settled``), and ``[at_us, delivery, fidelity, remark, "", 0, "s", head]`` for the head of a stream.
``ended`` is ``[at_us, delivery, fidelity, remark, size, segments, end]`` for the end of a stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from zlib import crc32

from reenact.facts.call import Call, End, Failure, Fidelity, Json, Outcome, Stream, Value
from reenact.facts.event import Event, Payload
from reenact.facts.jsontext import scan
from reenact.facts.record import CallIssued, CallSettled, HeadArrived
from reenact.store.check_sums import damaged
from reenact.store.codec import (
    FIDELITIES,
    dump,
    joined,
    pack_call,
    pack_end,
    pack_settled,
    unpack_call,
    unpack_end,
    unpack_settled,
    weaker,
)
from reenact.store.keyed_hash import DIGEST_SIZE
from reenact.store.schema import LOW

F = TypeVar("F", Call, Value)

_make = tuple.__new__
"""Makes a named tuple without a call of Python code."""

_CALL_AT, _FORM_AT = 7, 6
"""The positions of the call in the list ``asked``, and of the outcome in the list ``came``."""
_REMARK_AT = 4
"""The position of the remark in the list ``asked``; its position in ``came`` is one less."""
_NO_REMARK = '"","'
"""The text of an empty remark, up to the digest that follows."""
_PAST_DIGEST = len(_NO_REMARK) + 2 * DIGEST_SIZE + len('",')
"""The number of characters from an empty remark to the size, which follows the digest; then comes the call or the
outcome."""
_RECURRING = 128
"""The most parsed facts of each kind that are remembered."""


def asked_row(record: CallIssued, digest: bytes) -> str:
    """The text of the column ``asked`` for a call."""
    return dump(
        [
            record.position,
            record.parent,
            record.at_us,
            record.fidelity.value,
            record.note,
            digest.hex(),
            len(record.call.body),
            *pack_call(record.call),
        ]
    )


def settled_row(record: CallSettled, digest: bytes, size: int) -> str:
    """The text of the column ``came`` for a value or a failure."""
    return dump(
        [
            record.at_us,
            record.delivery,
            record.fidelity.value,
            record.note,
            digest.hex(),
            size,
            *pack_settled(record.outcome),
        ]
    )


def head_row(record: HeadArrived) -> str:
    """The text of the column ``came`` for a stream."""
    return dump([record.at_us, record.delivery, record.fidelity.value, record.note, "", 0, "s", dict(record.head)])


def ended_row(  # each argument is an item of the list
    at_us: int, delivery: int | None, fidelity: Fidelity, remark: str, size: int, segments: int, end: End
) -> str:
    """The text of the column ``ended`` for a stream."""
    return dump([at_us, delivery, fidelity.value, remark, size, segments, pack_end(end)])


def parsed(address: int, text: str, crc: int | None) -> list[Json]:
    """The list in a column, checked and parsed.

    Raises:
        StoreError: The text is not the stored one.
    """
    if crc32(text.encode(), address & LOW) != crc:
        raise damaged(f"event {address & LOW}")
    found: list[Json] = scan(text, 0)[0]
    return found


Columns = tuple[int, str | None, str, int, str | None, int | None, str | None, int | None, bytes | None]
"""The values from which an event is made: its address, its lane, its three columns (each with its check sum), and the
digest of its stream."""


class RecurringFacts:
    """Facts that recur from row to row, each made once for all events of a run. Facts never change, so events can share
    them.

    Attributes:
        calls: Parsed requests, by their part of the column ``asked``. All calls of one tool at one line of the agent's
            code share a part.
        values: The answers without their bytes, by their part of the column ``came``.
    """

    __slots__ = ("calls", "values")

    def __init__(self) -> None:
        self.calls: dict[str, Call] = {}
        self.values: dict[str, Value] = {}


def _remember(known: dict[str, F], text: str, fact: F) -> None:
    """Remember a fact that may recur; a fact that does not recur is soon dropped."""
    if len(known) >= _RECURRING:
        known.clear()
    known[text] = fact


def _call_of(asked: str, at: int, recurring: RecurringFacts) -> tuple[list[Json], Call]:
    """The column ``asked``, parsed: the items before the call, and the call, whose text begins ``at``."""
    found: list[Json] = scan(asked, 0)[0]
    call = unpack_call(found[_CALL_AT:])
    if not found[_REMARK_AT] and found[_CALL_AT - 1]:
        _remember(recurring.calls, asked[at:], call)
    return found[:_CALL_AT], call


def _came_of(came: str, at: int, recurring: RecurringFacts) -> tuple[list[Json], Value | Failure | Stream]:
    """The column ``came``, parsed: the items before the outcome, and the outcome, whose text begins ``at``."""
    found: list[Json] = scan(came, 0)[0]
    if found[_FORM_AT] == "s":
        return found[:_FORM_AT], Stream(found[_FORM_AT + 1], None)
    outcome = unpack_settled(found[_FORM_AT:])
    if type(outcome) is Value and not outcome.head and not found[_REMARK_AT - 1] and found[_FORM_AT - 1]:
        _remember(recurring.values, came[at:], outcome)
    return found[:_FORM_AT], outcome


def _end_of(ended: list[Json], begun: Stream | None) -> tuple[int, str, str, Stream]:
    """The items of the list ``ended``: the time, the fidelity, the remark, and the whole stream with its known head."""
    at_us, _, word, said, size, segments, end = ended
    return at_us, word, said, Stream(begun.head if begun is not None else {}, unpack_end(end), size, segments)


def event_of(run: str, columns: Columns, attributes: Mapping[str, Any], recurring: RecurringFacts) -> Event:
    """The event from its columns. A stream that is still open has the size 0 here.

    The function makes nearly every event without calling others, because a replay makes each of its events here. Only
    the part of each column that is the event's own is parsed; the rest of the text is looked up among parts that were
    parsed before.

    Args:
        run: Id of the run.
        columns: Its columns.
        attributes: Its evidence.
        recurring: Facts that the events of the run share.

    Raises:
        StoreError: A column is damaged.
    """
    address, path, asked, asked_crc, came, came_crc, ended, ended_crc, stream_digest = columns
    low = address & LOW
    if crc32(asked.encode(), low) != asked_crc:
        raise damaged(f"event {low}")
    at = asked.find(",", asked.find(_NO_REMARK) + _PAST_DIGEST)
    call = recurring.calls.get(asked[at:])
    own: list[Json]
    if call is not None:
        own = scan(asked[:at] + "]", 0)[0]
    else:
        own, call = _call_of(asked, at, recurring)
    position, parent, issued_us, fidelity_word, remark, digest, size = own
    fidelity = FIDELITIES[fidelity_word]
    request = _make(Payload, (digest, size, call.media)) if size else None
    outcome: Outcome | None = None
    answer = first_us = ended_us = delivery = None
    if came is not None:
        if crc32(came.encode(), low) != came_crc:
            raise damaged(f"event {low}")
        at = came.find(",", came.find(_NO_REMARK) + _PAST_DIGEST)
        outcome = recurring.values.get(came[at:])
        if outcome is not None:
            own = scan(came[:at] + "]", 0)[0]
        else:
            own, outcome = _came_of(came, at, recurring)
        at_us, delivery, word, said, digest, size = own
        if word != fidelity_word or said:
            fidelity, remark = weaker(fidelity, FIDELITIES[word]), joined(remark, said)
        if type(outcome) is Stream:
            first_us = at_us
        else:
            ended_us = at_us
            answer = _make(Payload, (digest, size, getattr(outcome, "media", ""))) if size else None
    if ended is not None and stream_digest is not None and (outcome is None or type(outcome) is Stream):
        ended_us, word, said, outcome = _end_of(parsed(address, ended, ended_crc), outcome)
        if word != fidelity_word or said:
            fidelity, remark = weaker(fidelity, FIDELITIES[word]), joined(remark, said)
        answer = Payload(stream_digest.hex(), outcome.size) if outcome.size else None
    return Event(
        run, low, path or f"?{low}", position, parent, call, request, outcome, answer, issued_us,
        first_us, ended_us, delivery, "", fidelity, remark, attributes,
    )  # fmt: skip
