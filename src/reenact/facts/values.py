"""Values as data, the one module for all callers: write them, read them back, show them, compare them.

The encoding is JSON with tagged standard types; ``facts.encoding`` describes the form. Nothing here imports or
calls what data names, and writing never raises.
"""

from __future__ import annotations

import json
from typing import Any

from reenact.facts.call import Failure, Json, Value
from reenact.facts.decoding import decode
from reenact.facts.encoding import EncodedValue, encode, encode_flat, encode_in_pieces, leads_of
from reenact.facts.errors_as_data import describe_error, restore_error
from reenact.facts.jsontext import parsed
from reenact.facts.value_writer import Codec, register_codec

__all__ = [
    "Codec",
    "EncodedValue",
    "canonical",
    "decode",
    "describe_error",
    "encode",
    "encode_flat",
    "encode_in_pieces",
    "jsonable",
    "leads_of",
    "register_codec",
    "restore_error",
    "revealed",
    "sealed",
]

_SETS = ("~set", "~frozenset")
_PAIRS = ("~dict", "~counter")
_LISTED = ("~tuple", "~set", "~frozenset")
_PAIRED = ("~dict", "~ordered", "~counter")


def sealed(result: object, error: BaseException | None) -> Value | Failure:
    """The result or the exception of a call, as an outcome."""
    return Failure(describe_error(error)) if error is not None else Value(encode(result).body)


def revealed(outcome: Value | Failure) -> Any:
    """The value of a recorded outcome. If the outcome is an exception, it is raised."""
    if isinstance(outcome, Failure):
        raise restore_error(outcome.error)
    return decode(outcome.body)


def canonical(body: bytes) -> bytes:
    """The encoding of the same value in a form that is the same for equal values: keys and members of sets are in
    order. It is used for keys and comparisons. Bytes that are not JSON are returned as they are.
    """
    try:
        node = json.loads(body)
    except (ValueError, RecursionError):
        return body
    return _text(_sorted(node)).encode()


def _text(node: Json) -> str:
    return json.dumps(node, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _sorted(node: Json) -> Json:
    if isinstance(node, list):
        return [_sorted(item) for item in node]
    if not isinstance(node, dict):
        return node
    if len(node) == 1:
        ((tag, data),) = node.items()
        if tag in (*_SETS, *_PAIRS) and isinstance(data, list):
            return {tag: sorted((_sorted(item) for item in data), key=_text)}
    return {key: _sorted(item) for key, item in node.items()}


def jsonable(body: bytes) -> Json:
    """An encoded value as plain JSON-able data for people: tags dissolved, records as their fields.

    Never raises: bytes that are not JSON come back as text. An opaque value becomes ``<opaque module.Type>``.
    """
    try:
        node = _loaded(body)
    except (ValueError, RecursionError):
        return body.decode("utf-8", "backslashreplace")
    # Most bodies have no tilde, so they have no tag. Walking over them would cost more than reading them.
    return _shown(node) if b"~" in body or b"\\u007" in body else node


def _loaded(body: bytes) -> Json:
    """The same result as ``json.loads``, but faster for UTF-8 without leading spaces, which is nearly all input."""
    try:
        return parsed(body.decode())
    except ValueError:
        return json.loads(body)


def _shown(node: Json) -> Json:
    if isinstance(node, list):
        return [_shown(item) for item in node]
    if not isinstance(node, dict):
        return node
    if len(node) == 1:
        ((tag, data),) = node.items()
        if tag.startswith("~"):
            try:
                return _untagged(tag, data)
            except (TypeError, ValueError, IndexError, KeyError, AttributeError):
                return data
    return {key: _shown(item) for key, item in node.items()}


def _untagged(tag: str, data: Json) -> Json:  # noqa: PLR0911 - one line a sort
    if tag in _LISTED:
        return [_shown(item) for item in data]
    if tag in _PAIRED:
        return _mapping(data)
    if tag in ("~defaultdict", "~deque"):
        return _mapping(data[1]) if tag == "~defaultdict" else [_shown(item) for item in data[1]]
    if tag == "~data":
        return _shown(data[2])
    if tag == "~enum":
        return _shown(data[2])
    if tag == "~codec":
        return _shown(data[1])
    if tag == "~opaque":
        return f"<opaque {data}>"
    if tag == "~error":
        return {"error": data["type"], "text": _shown(data["text"])}
    if tag == "~int":
        return int(data, 16)
    if tag in ("~datetime", "~time", "~path") and isinstance(data, list):
        return _listed(tag, data)
    return data


def _listed(tag: str, data: list[Any]) -> Json:
    if tag == "~path":
        return data[1]
    zone = data[1]
    return data[0] if zone is None else f"{data[0]} {zone if isinstance(zone, str) else _offset(zone)}"


def _offset(zone: Json) -> str:
    seconds = zone[0] if isinstance(zone, list) else next(iter(zone.values()))
    sign = "-" if seconds < 0 else "+"
    return f"{sign}{abs(seconds) // 3600:02d}:{abs(seconds) % 3600 // 60:02d}"


def _mapping(pairs: Json) -> Json:
    shown = {}
    for key, item in pairs:
        name = _shown(key)
        shown[name if isinstance(name, str) else json.dumps(name, ensure_ascii=False)] = _shown(item)
    return shown
