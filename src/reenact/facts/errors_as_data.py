"""Exceptions as facts: described when they are recorded, made again when they are replayed.

Both go through the one encoding of values, so that a raised exception and an exception in a list have the same form.
"""

from __future__ import annotations

import json
from typing import Any

from reenact.errors import UnreplayableRun
from reenact.facts import exceptions
from reenact.facts.call import ErrorFact, Json
from reenact.facts.decoding import decode, restore_error_data
from reenact.facts.encoding import encode
from reenact.facts.interruptions import let_through
from reenact.facts.shapes import type_name

_CODEC = "~codec"


def describe_error(error: BaseException) -> ErrorFact:
    """An exception as data, with its cause chain, notes and group members. Never raises."""
    encoded = encode(error)
    try:
        node = json.loads(encoded.body)
        if _CODEC in node:  # a seam has registered how to write this class: that data is the state
            return ErrorFact(type_name(type(error)), exceptions.text_of(error), state=encoded.body)
        return _fact(node["~error"])
    except Exception as fault:
        let_through(fault)
        return ErrorFact(type_name(type(error)), exceptions.text_of(error))


def _fact(data: Json) -> ErrorFact:
    return ErrorFact(
        type=data["type"],
        text=_plain(data["text"]),
        args=_pack(data["args"]),
        state=_pack(data["state"]) if "state" in data else None,
        cause=_fact(data["cause"]) if "cause" in data else None,
        context=_fact(data["context"]) if "context" in data else None,
        suppress_context=bool(data.get("suppress")),
        notes=tuple(_plain(note) for note in data.get("notes", ())),
        members=tuple(_fact(member) for member in data.get("members", ())),
    )


def restore_error(fact: ErrorFact) -> BaseException:
    """The exception again: same class, arguments, attributes, cause chain, notes and members.

    Raises:
        UnreplayableRun: Its class is not loaded here, or a part of it could not be stored (``missing``).
    """
    if fact.state is not None and fact.state.startswith(b'{"~codec":'):
        made: BaseException = decode(fact.state)
        return made
    return restore_error_data(_data(fact))


def _data(fact: ErrorFact) -> dict[str, Any]:
    if fact.args is None:
        raise UnreplayableRun(
            f"a recorded {fact.type} cannot be raised again: its arguments could not be stored",
            cause="the exception holds something that is not data",
            next_command="reenact replay @ --through TOOL",
            missing=(fact.type,),
        )
    data: dict[str, Any] = {"type": fact.type, "args": json.loads(fact.args), "suppress": fact.suppress_context}
    if fact.state is not None:
        data["state"] = json.loads(fact.state)
    if fact.cause is not None:
        data["cause"] = _data(fact.cause)
    if fact.context is not None:
        data["context"] = _data(fact.context)
    data["notes"] = [json.loads(encode(note).body) for note in fact.notes]
    data["members"] = [_data(member) for member in fact.members]
    return data


def _pack(node: Json) -> bytes:
    return json.dumps(node, ensure_ascii=False, separators=(",", ":")).encode()


def _plain(node: Json) -> str:
    text: str = node if isinstance(node, str) else decode(_pack(node))
    return text
