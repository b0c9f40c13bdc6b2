"""Run ids: sortable by time, short to type by their tail.

An id is ten characters of milliseconds since the epoch and eight of entropy, both in lower-case Crockford base 32 (no
i, l, o, u), without a separator. Ids sort by time. People see and type the *tail* of an id, its last eight characters.
A reference may be a prefix of the whole id or of the tail.
"""

from __future__ import annotations

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_LETTERS = frozenset(ALPHABET)
TIME_LENGTH = 10
TAIL_LENGTH = 8


def _base32(value: int, length: int) -> str:
    out = []
    for _ in range(length):
        out.append(ALPHABET[value & 31])
        value >>= 5
    return "".join(reversed(out))


def make_run_id(now_us: int, entropy: bytes) -> str:
    """Make an id from microseconds since the epoch and at least five bytes of entropy."""
    return _base32(now_us // 1000, TIME_LENGTH) + _base32(int.from_bytes(entropy[:5], "big"), TAIL_LENGTH)


def made_us(run_id: str) -> int:
    """When an id was made, microseconds since the epoch, exact to the millisecond."""
    value = 0
    for letter in run_id[:TIME_LENGTH]:
        value = value << 5 | ALPHABET.index(letter)
    return value * 1000


def tail(run_id: str) -> str:
    """The part of an id that people see and type."""
    return run_id[TIME_LENGTH:]


def is_run_id(text: str) -> bool:
    """Whether ``text`` has the strict grammar of a whole id."""
    return len(text) == TIME_LENGTH + TAIL_LENGTH and _LETTERS.issuperset(text)
