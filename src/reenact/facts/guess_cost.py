"""The number of tries to guess a value, in bits, estimated from its characters.

The number of tries for a random value follows from its alphabet and its length. Words, names, years and versions take
far fewer, so a piece that reads like one of these counts little, at any length.
"""

from __future__ import annotations

from math import log2

from reenact.facts.lazy_regex import lazy_regex

SOUGHT_BITS = 30.0
"""A value that takes fewer bits is not searched for elsewhere: a word, a mode or a version is in a text by chance."""
LISTED_BITS = 64.0
"""A value that takes fewer bits can be found from its digest by trying, so its digest is never kept."""
SHORTEST = 8

_LONGEST = 4096
_WORD_BITS, _NUMBER_BITS = 5.0, 3.0
_LONGEST_NUMBER = 8
_PIECE = lazy_regex(rb"[0-9A-Za-z\x80-\xff]+")
_READABLE = lazy_regex(rb"[A-Z]?[a-z]+|[A-Z]+")
_WORD = lazy_regex(rb"[A-Z]?[a-z]{4,}|[A-Z]{4,}")
_VOWELS = lazy_regex(rb"[aeiouyAEIOUY]")
_HEX = lazy_regex(rb"(?=[^a-fA-F]*[a-fA-F])(?=[^0-9]*[0-9])(?:[0-9a-f-]{16,}|[0-9A-F-]{16,})\Z")
_CLASSES = ((lazy_regex(rb"[a-z]"), 26), (lazy_regex(rb"[A-Z]"), 26), (lazy_regex(rb"[0-9]"), 10))


def bits(value: bytes) -> float:
    """About how many bits must be guessed to find a value; a rough, low figure.

    Args:
        value: Only its first 4 KiB count.
    """
    value = value[:_LONGEST]
    if len(set(value)) < 5:  # it repeats the same few characters
        return 0.0
    if _HEX.match(value):
        return 4.0 * (len(value) - value.count(b"-"))
    each = log2(max(10, sum(size for found, size in _CLASSES if found.search(value))))
    return sum(_bits_of(piece, each) for piece in _PIECE.findall(value))


def _bits_of(piece: bytes, each: float) -> float:
    """The bits of a piece without punctuation, if each character of its alphabet has ``each`` bits."""
    if piece.isdigit() and len(piece) <= _LONGEST_NUMBER:
        return _NUMBER_BITS
    if _READABLE.fullmatch(piece) and _reads(piece):
        return _WORD_BITS * max(1, len(piece) // 6)
    bits = len(piece) * each
    for word in _WORD.findall(piece):
        if _reads(word):
            bits -= len(word) * each - _WORD_BITS * max(1, len(word) // 6)
    return max(_WORD_BITS, bits)


def _reads(letters: bytes) -> bool:
    """Whether letters of one case have as many vowels as a word has; short ones always count."""
    return len(letters) < 4 or len(_VOWELS.findall(letters)) * 4 >= len(letters)


def is_sought(value: bytes) -> bool:
    """Whether a value that was removed once must be removed at all other places too."""
    return len(value) >= SHORTEST and bits(value) >= SOUGHT_BITS


def may_be_listed(value: bytes) -> bool:
    """Whether a keyed digest of a removed value may be stored with the data."""
    return len(value) >= SHORTEST and bits(value) >= LISTED_BITS
