"""One event as the columns of its row, and back: the hot path of a replay.

``asked`` is the list ``[position, parent, issued_us, fidelity, remark, digest, size, call…]`` (``codec.pack_call``).
``came`` is ``[at_us, delivery, fidelity, remark, digest, size, form, …]`` for a value or failure
(``codec.pack_settled``), and ``[at_us, delivery, fidelity, remark, "", 0, "s", head]`` for the head of a stream.
``ended`` is ``[at_us, delivery, fidelity, remark, size, segments, end]`` for the end of one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from reenact.errors import StoreError
from reenact.facts.call import Call, End, Fidelity, Json, Outcome, Stream
from reenact.facts.event import Event, Payload
from reenact.facts.making import maker
from reenact.facts.record import CallIssued, CallSettled, HeadArrived
from reenact.store.codec import (
    EFFECTS,
    FIDELITIES,
    KINDS,
    dump,
    joined,
    pack_call,
    pack_end,
    pack_settled,
    unpack_end,
    unpack_settled,
    weaker,
)
from reenact.store.schema import LOW

_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # missing in the stubs
"""``json.loads`` without what it does for other kinds of input: 0.5 µs less."""

_make_call = maker(Call)
_make_event = maker(Event)
_make_payload = maker(Payload)
_make_stream = maker(Stream)

_FORM_AT = 6


def asked_row(record: CallIssued, digest: bytes) -> str:
    """The column ``asked``."""
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
    """The column ``came`` of a value or failure."""
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
    """The column ``came`` of a stream."""
    return dump([record.at_us, record.delivery, record.fidelity.value, record.note, "", 0, "s", dict(record.head)])


def ended_row(  # one value a column
    at_us: int, delivery: int | None, fidelity: Fidelity, remark: str, size: int, segments: int, end: End
) -> str:
    """The column ``ended`` of a stream."""
    return dump([at_us, delivery, fidelity.value, remark, size, segments, pack_end(end)])


def sum_of(address: int, text: str) -> int:
    """The check sum of a column."""
    return crc32(text.encode(), address & LOW)


def parsed(address: int, text: str, crc: int | None) -> list[Json]:
    """A column's list, checked.

    Raises:
        StoreError: It is not what was written.
    """
    if crc32(text.encode(), address & LOW) != crc:
        raise damaged(f"event {address & LOW}")
    found: list[Json] = _scan(text, 0)[0]
    return found


def damaged(what: str) -> StoreError:
    """The error for a row that is not what was written."""
    return StoreError(
        f"{what} is damaged: its row does not agree with its check sum",
        cause="the store's file was changed or cut after it was written",
        next_command="reenact ls",
    )


Columns = tuple[int, str | None, str, int, str | None, int | None, str | None, int | None, bytes | None]
"""Address and lane of an event; its three columns, each with its check sum; the digest of its stream."""


def event_of(run: str, columns: Columns, attributes: Mapping[str, Any]) -> Event:
    """The event of its columns; a stream that is still open has the size 0 here.

    One function for all of it: a replay makes each of its events here.

    Args:
        run: Id of the run.
        columns: Its columns.
        attributes: Its evidence.

    Raises:
        StoreError: A column is not what was written.
    """
    address, path, asked, asked_crc, came, came_crc, ended, ended_crc, stream_digest = columns
    (
        position, parent, issued_us, fidelity_word, remark, digest, size,
        kind, name, effect, rule, head, media, channel, ordinal, source, observed,
    ) = parsed(address, asked, asked_crc)  # fmt: skip
    call = _make_call(KINDS[kind], name, EFFECTS[effect], rule, head, b"", media, channel, ordinal, source, observed)
    fidelity = FIDELITIES[fidelity_word]
    request = _make_payload(digest, size, media) if size else None
    outcome: Outcome | None = None
    answer = first_us = ended_us = delivery = None
    if came is not None:
        settled = parsed(address, came, came_crc)
        at_us, delivery, word, said, digest, size, form, what = settled[:8]
        if word != fidelity_word or said:
            fidelity, remark = weaker(fidelity, FIDELITIES[word]), joined(remark, said)
        if form == "s":
            first_us = at_us
            outcome = _make_stream(what, None)
        else:
            ended_us = at_us
            outcome = unpack_settled(settled[_FORM_AT:])
            if size:
                answer = _make_payload(digest, size, what if form == "v" else "")
    if ended is not None and stream_digest is not None and (outcome is None or type(outcome) is Stream):
        ended_us, _, word, said, size, segments, end = parsed(address, ended, ended_crc)
        if word != fidelity_word or said:
            fidelity, remark = weaker(fidelity, FIDELITIES[word]), joined(remark, said)
        outcome = _make_stream(outcome.head if outcome is not None else {}, unpack_end(end), size, segments)
        if size:
            answer = _make_payload(stream_digest.hex(), size)
    return _make_event(
        run, address & LOW, path or f"?{address & LOW}", position, parent, call, request, outcome, answer, issued_us,
        first_us, ended_us, delivery, "", fidelity, remark, attributes,
    )  # fmt: skip
