"""Fields: how each text, payload and JSON value of each record is cleaned, and what remains if that fails.

The gate follows this table. A test fails while a field is missing from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

from reenact.facts.call import Call, End, ErrorFact, Failure, Fidelity, Json, Stream, Value
from reenact.facts.credentials import constant
from reenact.facts.interruptions import let_through
from reenact.facts.lazy_dataclass import replace
from reenact.facts.order import Delivery, Tag
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
    RunClosed,
    RunOpened,
    SegmentArrived,
    StreamEnded,
    TurnsDelivered,
)
from reenact.facts.run import Entry, Run
from reenact.privacy.eraser import Eraser

T = TypeVar("T")


class Way(StrEnum):
    """The way in which a field is cleaned."""

    OURS = "ours"
    """Not cleaned: a word, a number, a digest or an id that this program makes, and nothing of the agent's."""
    TEXT = "text"
    """Cleaned as a text; a removed value leaves a keyed digest."""
    NAME = "name"
    """Cleaned as a text by which calls are matched or lanes found: a removed value leaves the constant of its class, so
    that a recording and its replay have the same name."""
    PATH = "path"
    """Cleaned as the address of a lane: each name in the address as ``NAME``."""
    TEXTS = "texts"
    """Several texts, each cleaned as a text."""
    ARGV = "argv"
    """Cleaned as a command line."""
    LABELS = "labels"
    """Cleaned as texts with names."""
    LEAVES = "leaves"
    """Each text in the JSON is cleaned by itself: the names are those of settings, and say nothing about the values."""
    JSON = "json"
    """Cleaned as JSON, by names and shapes."""
    SURROUNDINGS = "surroundings"
    """Cleaned as the facts of a process, environment variables among them."""
    PAYLOAD = "payload"
    """Bytes of any length that may be a text: the gate itself cleans them, because it knows their encoding."""
    RECORD = "record"
    """A record with fields of its own."""


_ID: Final = Way.OURS

FIELDS: Final[Mapping[type, Mapping[str, Way]]] = {
    RunOpened: {"run": Way.RECORD},
    RunClosed: {"run": Way.RECORD, "extra": Way.JSON},
    LaneOpened: {"path": Way.PATH},
    CallIssued: {"call": Way.RECORD, "fidelity": Way.OURS, "note": Way.OURS},
    CallSettled: {"outcome": Way.RECORD, "fidelity": Way.OURS, "note": Way.OURS},
    HeadArrived: {"head": Way.PAYLOAD, "fidelity": Way.OURS, "note": Way.OURS},
    SegmentArrived: {"data": Way.PAYLOAD, "fidelity": Way.OURS, "note": Way.OURS},
    StreamEnded: {"end": Way.RECORD},
    EvidenceNoted: {"key": Way.NAME, "value": Way.JSON, "fidelity": Way.OURS},
    AmbientRead: {"source": Way.NAME, "data": Way.PAYLOAD},
    TurnsDelivered: {"deliveries": Way.RECORD},
    Delivery: {"tag": Way.RECORD, "times": Way.OURS},
    Tag: {"kind": Way.OURS, "lane": Way.PATH},
    OutputPrinted: {"data": Way.PAYLOAD, "fidelity": Way.OURS, "note": Way.OURS},
    CheckpointTaken: {"phase": Way.OURS, "slots": Way.PAYLOAD, "fidelity": Way.OURS, "note": Way.OURS},
    GapNoted: {"what": Way.NAME, "place": Way.TEXT},
    Call: {
        "kind": Way.OURS,
        "name": Way.NAME,
        "effect": Way.OURS,
        "rule": Way.OURS,
        "head": Way.PAYLOAD,
        "body": Way.PAYLOAD,
        "media": Way.TEXT,
        "channel": Way.TEXT,
        "ordinal": Way.NAME,
        "source": Way.TEXT,
    },
    Value: {"body": Way.PAYLOAD, "media": Way.TEXT, "changes": Way.PAYLOAD, "head": Way.JSON},
    Failure: {"error": Way.RECORD, "changes": Way.PAYLOAD, "head": Way.JSON},
    Stream: {"head": Way.PAYLOAD, "end": Way.RECORD},
    End: {"kind": Way.OURS, "error": Way.RECORD},
    ErrorFact: {
        "type": Way.NAME,
        "text": Way.TEXT,
        "args": Way.PAYLOAD,
        "state": Way.PAYLOAD,
        "cause": Way.RECORD,
        "context": Way.RECORD,
        "notes": Way.TEXTS,
        "members": Way.RECORD,
    },
    Run: {
        "id": _ID,
        "agent": Way.TEXT,
        "version": Way.TEXT,
        "status": Way.OURS,
        "entry": Way.RECORD,
        "user": Way.TEXT,
        "tenant": Way.TEXT,
        "session": Way.TEXT,
        "tags": Way.LABELS,
        "flag": Way.TEXT,
        "parent": _ID,
        "relation": Way.OURS,
        "lane": Way.PATH,
        "retention": Way.TEXT,
        "fidelity": Way.OURS,
        "files": Way.LEAVES,
        "result": Way.OURS,
        "error": Way.NAME,
        "stdout": Way.OURS,
        "stderr": Way.OURS,
        "environment": Way.SURROUNDINGS,
        "capture": Way.LEAVES,
        "degraded": Way.TEXTS,
    },
    Entry: {
        "kind": Way.OURS,
        "argv": Way.ARGV,
        "target": Way.TEXT,
        "file": Way.TEXT,
        "cwd": Way.TEXT,
        "python": Way.TEXT,
        "hash_seed": Way.OURS,
        "project": Way.TEXT,
        "own": Way.ARGV,
    },
}
"""Every field of every record, and of the facts in it, that can hold a text, bytes or JSON."""

WITHHELD: Final = constant("w").decode()
"""The stand-in for a name that could not be cleaned: the same in a recording and its replay."""


def labels(eraser: Eraser, found: Mapping[str, str]) -> dict[str, str]:
    """Free labels, cleaned: credentials are known in a value by its name and its shape, in a name by its shape."""
    return {eraser.constants.string(name): str(eraser.json(value, name)) for name, value in found.items()}


def leaves(eraser: Eraser, value: Json) -> Json:
    """JSON in which each text was cleaned by itself; the same object where it held no credential."""
    if isinstance(value, str):
        return eraser.string(value)
    if isinstance(value, Mapping):
        cleaned = {eraser.constants.string(name): leaves(eraser, each) for name, each in value.items()}
        return value if cleaned == value else cleaned
    if isinstance(value, (list, tuple)):
        items = [leaves(eraser, each) for each in value]
        return value if items == list(value) else items
    return value


_CLEAN: Final[Mapping[Way, Callable[[Eraser, Any], Any]]] = {
    Way.TEXT: Eraser.string,
    Way.NAME: lambda eraser, text: eraser.constants.string(text),
    Way.PATH: lambda eraser, path: eraser.lane(path),
    Way.TEXTS: lambda eraser, found: tuple(eraser.string(each) for each in found),
    Way.ARGV: lambda eraser, words: eraser.argv(words),
    Way.LABELS: labels,
    Way.LEAVES: leaves,
    Way.JSON: lambda eraser, value: eraser.json(value),
}
"""The function that cleans a value; the other ways are the gate's own."""

_BLANK: Final[Mapping[Way, Any]] = {
    Way.TEXT: "",
    Way.NAME: WITHHELD,
    Way.TEXTS: (),
    Way.ARGV: (),
    Way.LABELS: {},
    Way.LEAVES: {},
    Way.JSON: None,
    Way.SURROUNDINGS: {},
}
_EMPTY: Final[Mapping[tuple[type, str], Any]] = {
    (Value, "body"): b"null",
    (Value, "head"): {},
    (Failure, "head"): {},
    (ErrorFact, "args"): None,
    (ErrorFact, "state"): None,
    (RunClosed, "extra"): {},
}


def cleaned(record: T, eraser: Eraser, by_hand: Mapping[str, Callable[[Any], Any]] | None = None) -> T:
    """A record, or a fact in one, with its fields cleaned by the table; the same object where they held no credential.

    Args:
        record: A record whose payloads are ``by_hand``.
        eraser: The eraser.
        by_hand: Functions that clean fields in a way of their own.
    """
    different: dict[str, Any] = {}
    for name, way in FIELDS[type(record)].items():
        value = getattr(record, name)
        clean = by_hand.get(name) if by_hand else None
        if not value or (clean is None and way not in _CLEAN):
            continue
        found = _CLEAN[way](eraser, value) if clean is None else clean(value)
        if found is not value and found != value:
            different[name] = found
    return _with(record, different) if different else record


def _with(record: T, different: dict[str, Any]) -> T:
    change: Callable[..., T] = replace
    return change(record, **different)


_OF_HEADS: Final[Mapping[type, tuple[str, ...]]] = {
    Call: ("method", "tool", "opaque"),
    HeadArrived: ("status", "version", "framing"),
}
"""The parts of a withheld call's head that are kept: a replay needs them."""


def withheld(record: T, why: str, eraser: Eraser) -> T:
    """A record, or a fact in one, without the parts that cannot be cleaned, such as its payloads.

    Args:
        record: The record.
        why: The reason for the fidelity label, if there is one.
        eraser: Cleans the other parts.
    """
    different = _each(record, why, eraser)
    if "note" in FIELDS[type(record)]:
        different |= {"fidelity": Fidelity.WITHHELD, "note": why}
    elif isinstance(record, EvidenceNoted):
        different["fidelity"] = Fidelity.WITHHELD
    elif isinstance(record, Run):
        different["degraded"] = (why,)
    return _with(record, different)


def _each(record: Any, why: str, eraser: Eraser) -> dict[str, Any]:
    return {
        name: _left(record, name, way, why, eraser)
        for name, way in FIELDS[type(record)].items()
        if way is not Way.OURS and getattr(record, name) is not None
    }


def _left(record: Any, name: str, way: Way, why: str, eraser: Eraser) -> Any:
    """The rest of one field: its cleaned parts, or an empty value."""
    value = getattr(record, name)
    if way is Way.RECORD:
        return _of_record(record, name, why, eraser)
    if way is Way.PAYLOAD:
        return _of_payload(record, name, eraser)
    if way is Way.PATH:
        return lane_of(eraser, value)
    return _tried(way, value, eraser, (type(record), name))


def _of_record(record: Any, name: str, why: str, eraser: Eraser) -> Any:
    value = getattr(record, name)
    if isinstance(value, tuple):
        return ()
    around = isinstance(record, ErrorFact) or (isinstance(value, ErrorFact) and isinstance(record, End))
    return None if around else withheld(value, why, eraser)


def _of_payload(record: Any, name: str, eraser: Eraser) -> Any:
    value = getattr(record, name)
    if isinstance(record, (OutputPrinted, SegmentArrived)):
        return b"~" * len(value)
    if not isinstance(value, Mapping):
        return _EMPTY.get((type(record), name), b"")
    kept = {word: value[word] for word in _OF_HEADS.get(type(record), ()) if word in value}
    kept = _tried(Way.LEAVES, kept, eraser, (Call, "head"))
    return {**kept, **({"headers": []} if isinstance(record, HeadArrived) else {})}


def _tried(way: Way, value: Any, eraser: Eraser, place: tuple[type, str]) -> Any:
    if way in _CLEAN and way is not Way.JSON:  # a value in JSON may be a credential by a name outside of the JSON
        try:
            return _CLEAN[way](eraser, value)
        except Exception as error:  # any failure to clean: the field is emptied, which is safe
            let_through(error)
    return _EMPTY.get(place, _BLANK[way])


def lane_of(eraser: Eraser, path: str) -> str:
    """The address of a lane, cleaned; where that fails, a stand-in for the whole address, unique to the lane."""
    try:
        return eraser.lane(path)
    except Exception as error:  # any failure to clean: the address as it came could hold a credential
        let_through(error)
        return eraser.stand_in("w", path.encode("utf-8", "surrogatepass"), fit=False).decode()
