"""One record as one line of JSON with readable names, and back. Only fields at their defaults are left out.

The lines come from an untrusted file, so each value is checked before it becomes a fact: its type, and whether a
recording can have such a number. Bytes are a text where they are UTF-8, a list of one base64 text where they are not,
``{"blob": SHA-256, "size": n}`` where they lie in a member of their own, and ``{"withheld": digest, "size": n}`` where
a value is not kept: the digest was made by the store of its origin.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from reenact.facts.call import Call, Fidelity, Json, Value
from reenact.facts.large_values import Withheld, is_large, is_withheld
from reenact.facts.order import Delivery, Tag, TimerSpan
from reenact.facts.record import (
    AmbientRead,
    CallIssued,
    CallSettled,
    CheckpointTaken,
    EvidenceNoted,
    GapNoted,
    HeadArrived,
    LaneOpened,
    OutputPrinted,
    Record,
    RunClosed,
    RunOpened,
    SegmentArrived,
    StreamEnded,
    TurnsDelivered,
)
from reenact.store.bundles import limits
from reenact.store.bundles.runs import run_in, run_out
from reenact.store.codec import (
    EFFECTS,
    FIDELITIES,
    KINDS,
    pack_end,
    pack_settled,
    unpack_bytes,
    unpack_end,
    unpack_settled,
)

Store = Callable[[bytes], str]
"""Stores a content in a member of its own, and returns the SHA-256 of the content."""

Fetch = Callable[[str, int], bytes]
"""Takes the SHA-256 and the size of a content that has a member of its own, and returns the content."""

_TAGS: Final = frozenset("etwpjsi")


def line_of(record: Record, store: Store) -> dict[str, Json]:
    """A record as JSON-able data; the field ``is`` names the kind of record."""
    name, write = _WRITE[type(record)]
    return {"is": name, **write(record, lambda data: _bytes_out(data, store))}


def record_of(data: Any, fetch: Fetch) -> Record:
    """The record of which ``line_of`` made the data.

    Raises:
        ValueError, KeyError, TypeError: The data is no record.
    """
    if type(data) is not dict:
        raise TypeError("a record is an object")
    read = _READ.get(data["is"])
    if read is None:
        raise ValueError(f"there is no record called {str(data['is'])[:40]!r}")
    return read(data, fetch)


# --- bytes and single values ------------------------------------------------------------------------------------------


def _bytes_out(data: bytes, store: Store) -> Json:
    if is_withheld(data):
        return {"withheld": data.digest, "size": data.size}
    if is_large(data):
        data = data.whole()
    if len(data) <= limits.INLINE:
        try:
            return data.decode()
        except UnicodeDecodeError:
            if len(data) <= limits.INLINE_BINARY:
                return [b64encode(data).decode()]
    return {"blob": store(data), "size": len(data)}


def _bytes_in(value: Json, fetch: Fetch) -> bytes:
    if type(value) is str:
        return value.encode()
    if type(value) is list and len(value) == 1 and type(value[0]) is str:
        return b64decode(value[0], validate=True)
    if type(value) is dict:
        if "withheld" in value:
            return cast(bytes, Withheld(_count(value, "size"), bytes.fromhex(_text(value, "withheld")).hex()))
        return fetch(_text(value, "blob"), _count(value, "size", limits.CONTENT))
    raise TypeError("bytes are a text, a list of one base64 text, or the name of a blob")


def _count(data: Mapping[str, Json], name: str, most: int = limits.NUMBER) -> int:
    value = data[name]
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{name} is not a count that a recording can have")
    return value


def _maybe(data: Mapping[str, Json], name: str, most: int = limits.NUMBER) -> int | None:
    return None if data.get(name) is None else _count(data, name, most)


def _time(data: Mapping[str, Json]) -> int:
    value = data["at_us"]
    if type(value) is not int or not -limits.TIME <= value <= limits.TIME:
        raise ValueError("at_us is not a time that a recording can have")
    return value


def _text(data: Mapping[str, Json], name: str, default: str | None = None) -> str:
    value = data[name] if default is None else data.get(name, default)
    if type(value) is not str:
        raise TypeError(f"{name} is no text")
    return value


def _object(data: Mapping[str, Json], name: str) -> dict[str, Json]:
    value = data.get(name, {})
    if type(value) is not dict:
        raise TypeError(f"{name} is no object")
    return value


def _without(data: dict[str, Json], *empty: str) -> dict[str, Json]:
    """The data without the fields ``empty`` where these are at their defaults."""
    for name in empty:
        if not data[name]:
            del data[name]
    return data


def _said(fidelity: Fidelity, note: str = "") -> dict[str, Json]:
    return ({} if fidelity is Fidelity.EXACT else {"fidelity": fidelity.value}) | ({"note": note} if note else {})


def _fidelity(data: Mapping[str, Json]) -> Fidelity:
    return FIDELITIES[_text(data, "fidelity")] if "fidelity" in data else Fidelity.EXACT


def _altered(value: Json) -> None:
    """Refuse a value that ``pack_bytes`` cannot have made, which is any value except null, a text, and a list of one
    base64 text."""
    if type(value) is list and len(value) == 1 and type(value[0]) is str:
        b64decode(value[0], validate=True)
    elif value is not None and type(value) is not str:
        raise TypeError("bytes are a text, or a list of one base64 text")


def _error(data: Json) -> Json:
    """The data of an exception, checked.

    Raises:
        ValueError, KeyError, TypeError: The data is no exception.
    """
    waiting = [data]
    while waiting:
        fact = waiting.pop()
        if fact is None:
            continue
        notes, members, hidden = fact["notes"], fact["members"], fact["suppress_context"]
        _text(fact, "type")
        _text(fact, "text")
        _altered(fact["args"])
        _altered(fact["state"])
        if type(hidden) is not bool or type(members) is not list or type(notes) is not list:
            raise TypeError("an exception has notes and members")
        if not all(type(note) is str for note in notes) or None in members:
            raise TypeError("a note is a text, and a member an exception")
        waiting += [fact["cause"], fact["context"], *members]
    return data


# --- runs and lanes ---------------------------------------------------------------------------------------------------


def _lane_in(data: Mapping[str, Json], _: Any) -> Record:
    scope = data.get("scope", False)
    if type(scope) is not bool:
        raise TypeError("scope is yes or no")
    return LaneOpened(_count(data, "lane"), _text(data, "path"), _maybe(data, "parent"), scope)


def _lane_out(record: LaneOpened, _: Any) -> dict[str, Json]:
    return _without(
        {"lane": record.number, "path": record.path, "parent": record.parent, "scope": record.scope}, "scope"
    )


def _closed_in(data: Mapping[str, Json], _: Any) -> Record:
    return RunClosed(run_in(data["run"]), _object(data, "notes"))


def _closed_out(record: RunClosed, _: Any) -> dict[str, Json]:
    return _without({"run": run_out(record.run), "notes": dict(record.extra)}, "notes")


# --- calls ------------------------------------------------------------------------------------------------------------


def _call_out(record: CallIssued, body: Callable[[bytes], Json]) -> dict[str, Json]:
    call = record.call
    data = {
        "event": record.event, "lane": record.lane, "position": record.position, "parent": record.parent,
        "at_us": record.at_us, "kind": call.kind.value, "name": call.name, "effect": call.effect.value,
        "rule": call.rule, "head": dict(call.head), "body": body(call.body), "media": call.media,
        "channel": call.channel, "ordinal": call.ordinal, "source": call.source, "observed": call.observed,
    }  # fmt: skip
    return _without(data, "body", "media", "channel", "ordinal", "source", "observed") | _said(
        record.fidelity, record.note
    )


def _call_in(data: Mapping[str, Json], fetch: Fetch) -> Record:
    # Most records of a bundle are the two records of a call, so these two check their texts and counts together.
    get = data.get
    event, lane, position, parent = data["event"], data["lane"], data["position"], get("parent")
    name, rule, media, channel, note = data["name"], data["rule"], get("media", ""), get("channel", ""), get("note", "")
    ordinal, source, observed = get("ordinal"), get("source"), get("observed", False)
    if not (type(name) is type(rule) is type(media) is type(channel) is type(note) is str):
        raise TypeError("name, rule, media, channel and note are texts")
    if not (ordinal is None or type(ordinal) is str) or not (source is None or type(source) is str):
        raise TypeError("ordinal and source are texts")
    if type(observed) is not bool:
        raise TypeError("observed is yes or no")
    if not (type(event) is type(lane) is type(position) is int):
        raise ValueError("event, lane and position are counts")
    if min(event, lane, position) < 0 or max(event, lane, position) > limits.NUMBER:
        raise ValueError("event, lane or position is not a count that a recording can have")
    if parent is not None:
        _count(data, "parent")
    call = Call(
        KINDS[data["kind"]], name, EFFECTS[data["effect"]], rule, _object(data, "head"),
        _bytes_in(get("body", ""), fetch), media, channel, ordinal, source, observed,
    )  # fmt: skip
    return CallIssued(event, lane, position, parent, _time(data), call, _fidelity(data), note)


def _answer_out(record: CallSettled, body: Callable[[bytes], Json]) -> dict[str, Json]:
    data: dict[str, Json] = {"event": record.event, "at_us": record.at_us, "delivery": record.delivery}
    form, what, changes, head = pack_settled(record.outcome)
    if form == "v":
        data |= {"body": body(record.outcome.body), "media": what}  # type: ignore[union-attr]  # form v is a Value
    else:
        data["error"] = what
    data |= _without({"changes": changes, "head": head}, "changes", "head")
    return data | _said(record.fidelity, record.note)


def _answer_in(data: Mapping[str, Json], fetch: Fetch) -> Record:
    get = data.get
    changes, head, delivery, note = get("changes", ""), _object(data, "head"), get("delivery"), get("note", "")
    _altered(changes)
    if type(note) is not str:
        raise TypeError("note is no text")
    outcome: Any
    if get("error") is not None:
        outcome = unpack_settled(["f", _error(data["error"]), changes or "", head])
    else:
        media, altered = _text(data, "media"), unpack_bytes(changes or "") or b""
        outcome = Value(_bytes_in(data["body"], fetch), media, altered, head)
    if delivery is not None:
        _count(data, "delivery")
    return CallSettled(_count(data, "event"), _time(data), outcome, delivery, _fidelity(data), note)


def _head_out(record: HeadArrived, _: Any) -> dict[str, Json]:
    data = {"event": record.event, "at_us": record.at_us, "delivery": record.delivery, "head": dict(record.head)}
    return data | _said(record.fidelity, record.note)


def _head_in(data: Mapping[str, Json], _: Any) -> Record:
    return HeadArrived(
        _count(data, "event"), _time(data), _object(data, "head"), _maybe(data, "delivery"), _fidelity(data),
        _text(data, "note", ""),
    )  # fmt: skip


def _segment_out(record: SegmentArrived, body: Callable[[bytes], Json]) -> dict[str, Json]:
    data = {"event": record.event, "at_us": record.at_us, "delivery": record.delivery, "data": body(record.data)}
    return data | _said(record.fidelity, record.note)


def _segment_in(data: Mapping[str, Json], fetch: Fetch) -> Record:
    return SegmentArrived(
        _count(data, "event"), _time(data), _bytes_in(data["data"], fetch), _maybe(data, "delivery"), _fidelity(data),
        _text(data, "note", ""),
    )  # fmt: skip


def _end_out(record: StreamEnded, _: Any) -> dict[str, Json]:
    return {"event": record.event, "at_us": record.at_us, "delivery": record.delivery, "end": pack_end(record.end)}


def _end_in(data: Mapping[str, Json], _: Any) -> Record:
    how, error = data["end"]
    return StreamEnded(_count(data, "event"), _time(data), unpack_end([how, _error(error)]), _maybe(data, "delivery"))


# --- the rest ---------------------------------------------------------------------------------------------------------


def _note_out(record: EvidenceNoted, _: Any) -> dict[str, Json]:
    return {"event": record.event, "key": record.key, "value": record.value} | _said(record.fidelity)


def _note_in(data: Mapping[str, Json], _: Any) -> Record:
    return EvidenceNoted(_maybe(data, "event"), _text(data, "key"), data["value"], _fidelity(data))


def _reads_out(record: AmbientRead, body: Callable[[bytes], Json]) -> dict[str, Json]:
    return {"lane": record.lane, "position": record.position, "source": record.source, "data": body(record.data)}


def _reads_in(data: Mapping[str, Json], fetch: Fetch) -> Record:
    return AmbientRead(
        _count(data, "lane"), _count(data, "position"), _text(data, "source"), _bytes_in(data["data"], fetch)
    )


def _turns_out(record: TurnsDelivered, _: Any) -> dict[str, Json]:
    turns = [[number, *tag, at_us, proven] for number, tag, at_us, proven, _ in record.deliveries]
    timers = [[each.number, *each.times] for each in record.deliveries if each.times is not None]
    return {"turns": turns} | ({"timers": timers} if timers else {})


def _turns_in(data: Mapping[str, Json], _: Any) -> Record:
    found = []
    timers = _timers_in(data)
    for number, kind, lane, event, n, at_us, proven in data["turns"]:
        numbers = type(number) is type(event) is type(n) is type(at_us) is int
        if not numbers or type(proven) is not bool or type(lane) is not str or kind not in _TAGS:
            raise TypeError("a turn is a number, a letter, a lane, two counts, a time, and whether it is proven")
        most = limits.PLACE if kind == "i" else limits.NUMBER
        if not (0 <= number <= limits.NUMBER >= abs(event) and abs(n) <= most and abs(at_us) < limits.TIME):
            raise ValueError("a turn has a number that no recording has")
        found.append(Delivery(number, Tag(kind, lane, event, n), at_us, proven, timers.pop(number, None)))
    if not found:
        raise ValueError("there are no turns")
    if timers:
        raise ValueError("a timer has no turn")
    return TurnsDelivered(tuple(found))


def _timers_in(data: Mapping[str, Json]) -> dict[int, TimerSpan]:
    """The times at which the timers among turns were set and due. Older files do not have these times."""
    found = {}
    for number, set_us, due_us in data.get("timers", ()):
        if not type(number) is type(set_us) is type(due_us) is int:
            raise TypeError("a timer is the number of its turn and two times")
        if not (abs(set_us) < limits.TIME and abs(due_us) < limits.TIME):
            raise ValueError("a timer has a time that no recording has")
        found[number] = TimerSpan(set_us, due_us)
    return found


def _printed_out(record: OutputPrinted, body: Callable[[bytes], Json]) -> dict[str, Json]:
    data = {"stream": record.stream, "at_us": record.at_us, "data": body(record.data)}
    return data | _said(record.fidelity, record.note)


def _printed_in(data: Mapping[str, Json], fetch: Fetch) -> Record:
    return OutputPrinted(
        _count(data, "stream", 2), _time(data), _bytes_in(data["data"], fetch), _fidelity(data), _text(data, "note", "")
    )


def _state_out(record: CheckpointTaken, body: Callable[[bytes], Json]) -> dict[str, Json]:
    slots = {name: body(data) for name, data in record.slots.items()}
    return {"event": record.event, "phase": record.phase, "slots": slots} | _said(record.fidelity, record.note)


def _state_in(data: Mapping[str, Json], fetch: Fetch) -> Record:
    slots = {name: _bytes_in(value, fetch) for name, value in _object(data, "slots").items()}
    phase = _text(data, "phase")
    return CheckpointTaken(_count(data, "event"), phase, slots, _fidelity(data), _text(data, "note", ""))


def _gap_out(record: GapNoted, _: Any) -> dict[str, Json]:
    return {"what": record.what, "place": record.place, "count": record.count}


def _gap_in(data: Mapping[str, Json], _: Any) -> Record:
    return GapNoted(_text(data, "what"), _text(data, "place"), _count(data, "count"))


_SORTS: tuple[tuple[type, str, Any, Any], ...] = (
    (RunOpened, "run", lambda record, _: {"run": run_out(record.run)}, lambda data, _: RunOpened(run_in(data["run"]))),
    (RunClosed, "run-end", _closed_out, _closed_in),
    (LaneOpened, "lane", _lane_out, _lane_in),
    (CallIssued, "call", _call_out, _call_in),
    (CallSettled, "answer", _answer_out, _answer_in),
    (HeadArrived, "head", _head_out, _head_in),
    (SegmentArrived, "segment", _segment_out, _segment_in),
    (StreamEnded, "stream-end", _end_out, _end_in),
    (EvidenceNoted, "note", _note_out, _note_in),
    (AmbientRead, "reads", _reads_out, _reads_in),
    (TurnsDelivered, "order", _turns_out, _turns_in),
    (OutputPrinted, "printed", _printed_out, _printed_in),
    (CheckpointTaken, "state", _state_out, _state_in),
    (GapNoted, "gap", _gap_out, _gap_in),
)
_WRITE: dict[type, tuple[str, Callable[[Any, Callable[[bytes], Json]], dict[str, Json]]]] = {
    kind: (name, write) for kind, name, write, _ in _SORTS
}
_READ: dict[Any, Callable[[Mapping[str, Json], Fetch], Record]] = {name: read for _, name, _, read in _SORTS}
