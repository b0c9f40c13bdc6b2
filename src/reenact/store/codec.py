"""Facts as compact JSON for a store's rows, and back.

The columns that are read most (the request, the outcome, the end of a stream) each hold one flat JSON list, which is
parsed once. JSON is written in ASCII, so that any string survives, lone surrogates included. Bytes inside a document
are a string where they are UTF-8, and a list of one base64 string where they are not.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from reenact.facts.call import Call, Effect, End, EndKind, ErrorFact, Failure, Fidelity, Json, Kind, Outcome, Value
from reenact.facts.jsontext import writer
from reenact.facts.lazy_dataclass import fields, replace
from reenact.facts.run import Entry, Run, Status, Totals

dump = writer(ascii_only=True, nan=True)
"""Data as one line of ASCII JSON. Raises TypeError or ValueError for data that is not JSON-able."""

load = json.loads

KINDS = {str(each): each for each in Kind}
EFFECTS = {str(each): each for each in Effect}
FIDELITIES = {str(each): each for each in Fidelity}
_NO_RUN = Run("")
_EOF = End(EndKind.EOF)
_STRENGTH = {each: rank for rank, each in enumerate(Fidelity)}
_RUN_ORDER, _ENTRY_ORDER, _TOTAL_ORDER = (tuple(each.name for each in fields(kind)) for kind in (Run, Entry, Totals))
_RUN_FIELDS, _ENTRY_FIELDS, _TOTAL_FIELDS = (frozenset(names) for names in (_RUN_ORDER, _ENTRY_ORDER, _TOTAL_ORDER))


def weaker(left: Fidelity, right: Fidelity) -> Fidelity:
    """The weaker of two fidelities."""
    return left if _STRENGTH[left] >= _STRENGTH[right] else right


def joined(left: str, right: str) -> str:
    """Two remarks about fidelity as one, without repetition."""
    if not right or right in left.split("; "):
        return left
    return f"{left}; {right}" if left else right


def pack_bytes(data: bytes | None) -> Json:
    """The JSON value for some bytes inside a document."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return [b64encode(data).decode()]


def unpack_bytes(data: Json) -> bytes | None:
    """The bytes from the data that ``pack_bytes`` made."""
    if data is None:
        return None
    return data.encode() if isinstance(data, str) else b64decode(data[0])


def pack_error(error: ErrorFact | None) -> Json:
    """An exception as JSON-able data."""
    if error is None:
        return None
    return {
        "type": error.type,
        "text": error.text,
        "args": pack_bytes(error.args),
        "state": pack_bytes(error.state),
        "cause": pack_error(error.cause),
        "context": pack_error(error.context),
        "suppress_context": error.suppress_context,
        "notes": list(error.notes),
        "members": [pack_error(each) for each in error.members],
    }


def unpack_error(data: Json) -> ErrorFact | None:
    """The exception from the data that ``pack_error`` made."""
    return None if data is None else _error(data)


def _error(data: Mapping[str, Json]) -> ErrorFact:
    return ErrorFact(
        type=data["type"],
        text=data["text"],
        args=unpack_bytes(data["args"]),
        state=unpack_bytes(data["state"]),
        cause=unpack_error(data["cause"]),
        context=unpack_error(data["context"]),
        suppress_context=data["suppress_context"],
        notes=tuple(data["notes"]),
        members=tuple(_error(each) for each in data["members"]),
    )


def pack_end(end: End) -> Json:
    """How a stream ended, as JSON-able data."""
    return [end.kind.value, pack_error(end.error)]


def unpack_end(data: Json) -> End:
    """The end of a stream from the data that ``pack_end`` made."""
    return _EOF if data == ["eof", None] else End(EndKind(data[0]), unpack_error(data[1]))


def pack_call(call: Call) -> list[Json]:
    """The request of a call, without its body."""
    return [
        call.kind.value,
        call.name,
        call.effect.value,
        call.rule,
        call.head if type(call.head) is dict else dict(call.head),
        call.media,
        call.channel,
        call.ordinal,
        call.source,
        call.observed,
    ]


def unpack_call(data: list[Json]) -> Call:
    """The call from the data that ``pack_call`` made; its body is empty."""
    kind, name, effect, rule, head, media, channel, ordinal, source, observed = data
    return Call(KINDS[kind], name, EFFECTS[effect], rule, head, b"", media, channel, ordinal, source, observed)


def pack_settled(outcome: Outcome) -> list[Json]:
    """The outcome of a call, which is a value (without its body) or a failure: ``["v", media, changes, head]`` or
    ``["f", error, changes, head]``."""
    if isinstance(outcome, Value):
        return ["v", outcome.media, pack_bytes(outcome.changes), dict(outcome.head)]
    if isinstance(outcome, Failure):
        return ["f", pack_error(outcome.error), pack_bytes(outcome.changes), dict(outcome.head)]
    raise TypeError("a stream is not settled: it has a head, segments and an end")


def unpack_settled(data: list[Json]) -> Value | Failure:
    """The outcome from the data that ``pack_settled`` made; the body of a value is empty."""
    form, what, changes, head = data
    altered = changes.encode() if type(changes) is str else b64decode(changes[0])
    if form == "v":
        return Value(b"", what, altered, head)
    return Failure(_error(what), altered, head)


def pack_run(run: Run) -> str:
    """A run as one JSON document."""
    return dump(run_data(run))


def unpack_run(text: str) -> Run:
    """The run from the text that ``pack_run`` made. Fields that this version does not know are left out."""
    return run_of_data(load(text))


def run_data(run: Run) -> dict[str, Json]:
    """A run as JSON-able data, its fields in order."""
    data = {name: getattr(run, name) for name in _RUN_ORDER}
    data["entry"] = {name: getattr(run.entry, name) for name in _ENTRY_ORDER}
    data["totals"] = {name: getattr(run.totals, name) for name in _TOTAL_ORDER}
    return data


def run_of_data(known: Mapping[str, Json]) -> Run:
    """The run from the data that ``run_data`` made. Fields that this version does not know are left out."""
    data: dict[str, Any] = {key: value for key, value in known.items() if key in _RUN_FIELDS}
    entry = {key: value for key, value in data["entry"].items() if key in _ENTRY_FIELDS}
    entry |= {name: tuple(entry.get(name, ())) for name in ("argv", "own")}
    totals = {key: value for key, value in data["totals"].items() if key in _TOTAL_FIELDS}
    data["entry"] = Entry(**entry)
    data["totals"] = Totals(**totals)
    data["status"] = Status(data["status"])
    data["fidelity"] = Fidelity(data["fidelity"])
    data["degraded"] = tuple(data["degraded"])
    return replace(_NO_RUN, **data)
