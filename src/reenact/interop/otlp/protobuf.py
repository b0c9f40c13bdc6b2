"""Protobuf as OTLP needs it: fields and values, written here, so that no package is needed to send."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from reenact.facts.call import Json

LARGEST_INTEGER: Final = 1 << 63


def attributes(field_number: int, found: Mapping[str, Json]) -> bytes:
    """Attributes, each a ``KeyValue`` in a field of this number."""
    return b"".join(
        message(field_number, text(1, name) + message(2, any_value(value))) for name, value in found.items()
    )


def any_value(value: Json) -> bytes:
    """An ``AnyValue``."""
    if isinstance(value, bool):
        return key(2, 0) + varint(int(value))
    if isinstance(value, int) and -LARGEST_INTEGER <= value < LARGEST_INTEGER:
        return key(3, 0) + varint(value & 0xFFFF_FFFF_FFFF_FFFF)
    if isinstance(value, float) and value - value == 0:
        return key(4, 1) + struct.pack("<d", value)
    if isinstance(value, (list, tuple)):
        return message(5, b"".join(message(1, any_value(each)) for each in value))
    if isinstance(value, Mapping):
        return message(6, attributes(1, value))
    return message(1, ("" if value is None else str(value)).encode("utf-8", "replace"))


def text(field_number: int, words: str) -> bytes:
    """A field of text; nothing for an empty one."""
    return message(field_number, words.encode("utf-8", "replace")) if words else b""


def number(field_number: int, value: int) -> bytes:
    """A field of a number that takes as many bytes as it needs."""
    return key(field_number, 0) + varint(value)


def fixed(field_number: int, value: int) -> bytes:
    """A field of eight bytes: a number that is not negative."""
    return key(field_number, 1) + struct.pack("<Q", max(0, value))


def double(field_number: int, value: float) -> bytes:
    """A field of eight bytes: a number with a fraction."""
    return key(field_number, 1) + struct.pack("<d", value)


def message(field_number: int, data: bytes) -> bytes:
    """A field of bytes: text, or a message of its own."""
    return key(field_number, 2) + varint(len(data)) + data


def key(field_number: int, wire: int) -> bytes:
    """The beginning of a field: its number, and the encoding of its value."""
    return varint(field_number << 3 | wire)


def varint(value: int) -> bytes:
    """A number that is not negative, seven bits a byte."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
