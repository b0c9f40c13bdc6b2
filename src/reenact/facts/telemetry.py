"""Forms of telemetry: whether a body is that of an exporter of some protocol."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reenact.facts.call import Json
from reenact.facts.compression import undo

_LARGEST = 16 << 20
_VARINT_BYTES = 10
_LENGTH_DELIMITED = 2
_OF_RESOURCE = (1, 2, 3, 1000)
_SCOPES = 2
_OF_SCOPE = (1, 2, 3)
_MSGPACK_ARRAYS = (0xDC, 0xDD)


def has_form(form: str, head: Mapping[str, Json], body: bytes, media: str) -> bool:
    """Whether a request's body has a form.

    Args:
        form: ``protobuf`` (an OTLP export), ``json KEY+KEY|KEY`` (an object that has all keys of one alternative),
            ``items KEY+KEY|KEY`` (a list of such objects), ``multipart PREFIX|PREFIX`` (parts whose names begin with
            one of the prefixes), ``lines KEY|KEY`` (two JSON lines or more, of which the first has one of the keys) or
            ``msgpack`` (a list). A key may be a path: ``batch/*/event`` is the key of every item of a list.
        head: The head of the request.
        body: The body on the wire.
        media: The media type of the body.
    """
    decoded = _decoded(head, body)
    kind, _, names = form.partition(" ")
    test = _TESTS.get(kind)
    return decoded is not None and test is not None and test(decoded, names.split("|"), media)


def _decoded(head: Mapping[str, Json], body: bytes) -> bytes | None:
    """The body without its content encodings; None where they cannot be undone."""
    encodings = ",".join(str(value) for name, value in head.get("headers") or () if name.lower() == "content-encoding")
    if not encodings:
        return body
    undone = undo(encodings, body, _LARGEST)
    return undone.data if undone is not None and undone.whole else None


def is_export(body: bytes) -> bool:
    """Whether bytes are an OTLP export request as protobuf: one or more resources, each with its measurements."""
    resources = _fields(body)
    return bool(resources) and all(
        number == 1 and _is_resource(body[start:end]) for number, start, end in resources or ()
    )


def _is_resource(data: bytes) -> bool:
    """Whether a message has the fields of a resource: resource (1), scopes (2), schema URL (3), and in older versions a
    deprecated field (1000)."""
    fields = _fields(data)
    return (
        bool(fields)
        and all(number in _OF_RESOURCE for number, _, _ in fields or ())
        and all(_is_scope(data[start:end]) for number, start, end in fields or () if number == _SCOPES)
    )


def _is_scope(data: bytes) -> bool:
    """Whether a message has the fields of a scope: scope (1), its measurements (2), schema URL (3)."""
    fields = _fields(data)
    return fields is not None and all(number in _OF_SCOPE for number, _, _ in fields)


def _fields(data: bytes) -> list[tuple[int, int, int]] | None:
    """Number, start and end of each field of a message whose fields all have a length; None for any other message."""
    found, at = [], 0
    while at < len(data):
        tag, at = _varint(data, at)
        size, start = _varint(data, at)
        at = start + size
        if tag < 0 or size < 0 or tag & 7 != _LENGTH_DELIMITED or at > len(data):
            return None
        found.append((tag >> 3, start, at))
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The value and the end of a variable-length integer; the value is -1 where there is none."""
    value = 0
    for n in range(_VARINT_BYTES):
        if at + n >= len(data):
            return -1, at
        byte = data[at + n]
        value |= (byte & 0x7F) << (7 * n)
        if byte < 0x80:
            return value, at + n + 1
    return -1, at


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _has_keys(value: Any, wanted: Sequence[str]) -> bool:
    """Whether a value is an object that has all keys of one alternative."""
    return isinstance(value, dict) and any(
        all(_has(value, key.split("/")) for key in keys.split("+")) for keys in wanted
    )


def _has(value: Any, path: Sequence[str]) -> bool:
    """Whether a value has something at a path. With ``*``, every item of a list must have it, and the list must not be
    empty."""
    if not path:
        return True
    if path[0] == "*":
        return isinstance(value, list) and bool(value) and all(_has(each, path[1:]) for each in value)
    return isinstance(value, dict) and path[0] in value and _has(value[path[0]], path[1:])


def _are_items(value: Any, wanted: Sequence[str]) -> bool:
    return isinstance(value, list) and bool(value) and all(_has_keys(each, wanted) for each in value)


def _begins_lines(body: bytes, wanted: Sequence[str]) -> bool:
    """Whether the first line is an object with one of the wanted keys, and the second line is an object too."""
    lines = body.split(b"\n", 2)
    return len(lines) > 1 and _has_keys(_parsed(lines[0]), wanted) and isinstance(_parsed(lines[1]), dict)


def _is_list(body: bytes) -> bool:
    """Whether bytes begin like a list in MessagePack."""
    return bool(body) and (0x90 <= body[0] < 0xA0 or body[0] in _MSGPACK_ARRAYS)


def _names_parts(body: bytes, prefixes: Sequence[str], media: str) -> bool:
    """Whether a body is a multipart form in which the name of each part begins with one of the prefixes."""
    if not media.lower().startswith("multipart/form-data"):
        return False
    names = [part.partition(b'"')[0] for part in body.split(b' name="')[1:]]
    known = tuple(prefix.encode() for prefix in prefixes)
    return bool(names) and all(name.startswith(known) for name in names)


_TESTS: Mapping[str, Callable[[bytes, Sequence[str], str], bool]] = {
    "protobuf": lambda body, names, media: is_export(body),
    "json": lambda body, names, media: _has_keys(_parsed(body), names),
    "items": lambda body, names, media: _are_items(_parsed(body), names),
    "lines": lambda body, names, media: _begins_lines(body, names),
    "multipart": _names_parts,
    "msgpack": lambda body, names, media: _is_list(body),
}
