"""Ids made from a clock (UUIDs of versions 1, 6 and 7): the moment in them, and the same id of another moment."""

from __future__ import annotations

from hashlib import shake_256
from typing import Final

_GREGORIAN: Final = 0x01B21DD213814000
"""Ticks of 100 ns from the beginning of the Gregorian calendar, from which versions 1 and 6 count, to 1970."""
_TICKS_A_US: Final = 10
_RFC: Final = 0b10
_BITS_60: Final = (1 << 60) - 1
_BITS_48: Final = (1 << 48) - 1


def moment_of(uuid: int) -> int | None:
    """Microseconds since 1970 in an id of 128 bits; None where the id is not made from a clock."""
    version = _version(uuid)
    if version == 7:
        return (uuid >> 80) * 1000
    if version in (1, 6):
        return (_ticks(uuid, version) - _GREGORIAN) // _TICKS_A_US
    return None


def counts_ticks(uuid: int) -> bool:
    """Whether an id counts ticks of 100 ns (versions 1 and 6), and not milliseconds."""
    return _version(uuid) in (1, 6)


def moved(uuid: int, by_us: int) -> int:
    """The same id, some microseconds later; unchanged if the id is not made from a clock."""
    version = _version(uuid)
    if version == 7:
        return ((((uuid >> 80) + by_us // 1000) & _BITS_48) << 80) | (uuid & ((1 << 80) - 1))
    if version in (1, 6):
        return _with_ticks(uuid, version, (_ticks(uuid, version) + by_us * _TICKS_A_US) & _BITS_60)
    return uuid


def made(moment_us: int, salt: bytes) -> int:
    """An id of version 1 as a machine could have made it at a moment, with node and sequence drawn from ``salt``."""
    drawn = int.from_bytes(shake_256(salt).digest(8), "big")
    node = drawn & _BITS_48 | 1 << 40  # this bit marks a random node, which is no network card's
    rest = (_RFC << 62) | ((drawn >> 48 & 0x3FFF) << 48) | node
    return _with_ticks((1 << 76) | rest, 1, moment_us * _TICKS_A_US + _GREGORIAN)


def _version(uuid: int) -> int:
    """The version of an id in the layout of RFC 9562; 0 for any other number."""
    return uuid >> 76 & 0xF if uuid >> 62 & 0b11 == _RFC else 0


def _ticks(uuid: int, version: int) -> int:
    if version == 6:
        return (uuid >> 80) << 12 | uuid >> 64 & 0xFFF
    return (uuid >> 64 & 0xFFF) << 48 | (uuid >> 80 & 0xFFFF) << 32 | uuid >> 96


def _with_ticks(uuid: int, version: int, ticks: int) -> int:
    kept = uuid & ((1 << 64) - 1) | version << 76
    if version == 6:
        return kept | ticks >> 12 << 80 | (ticks & 0xFFF) << 64
    return kept | (ticks & 0xFFFFFFFF) << 96 | (ticks >> 32 & 0xFFFF) << 80 | ticks >> 48 << 64
