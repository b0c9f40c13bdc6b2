"""Sightings: the credentials found in parts of a long JSON text, remembered so that no part is searched twice.

An agent sends its conversation again at each step, perhaps without its oldest messages. A text is cut between the
objects of its lists. No name there belongs to a value on the other side, so that each part can be searched separately,
in a recording and in its replay alike. The findings of a part are remembered under its digest, in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from zlib import crc32

from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.text_spans import CredentialSpan

LONG = 8 << 10
"""Texts up to this many bytes are one part."""

_LARGE = 1 << 10
_LARGEST = 16 << 10
_USUAL = 8
_TELLING = 512
_SHORTEST = 256
_MOST = 8192
_BETWEEN = lazy_regex(rb'\}\s{0,16},\s{0,16}(?=\{\s{0,16}"[\w.-]{1,64}"\s{0,4}:)')
"""The text between two objects of a list. A string of JSON does not match at its end, because no name follows there."""
_HARMLESS: set[bytes] = set()
_FOUND: dict[bytes, list[CredentialSpan]] = {}


def parts(data: bytes) -> Iterator[tuple[int, int]]:
    """Where the parts of a JSON text begin and end. Only an object itself decides whether a part ends after it, so the
    same objects make the same parts in any text."""
    start = before = 0
    for gap in _BETWEEN.finditer(data):
        end = gap.end()
        large = end - before >= _LARGE
        if large or end - start >= _LARGEST or crc32(data[max(before, end - _TELLING) : end]) % _USUAL == 0:
            yield start, end
            start = end
        before = end
    yield start, len(data)


def seen(part: bytes, told: bytes, look: Callable[[bytes], list[CredentialSpan]]) -> list[CredentialSpan]:
    """The findings in a part: remembered, or found by ``look``.

    Args:
        part: The text.
        told: A digest of the values that ``look`` knows beside its rules, up to 64 bytes.
        look: Searches the text.
    """
    if len(part) < _SHORTEST:
        return look(part)
    digest = blake2b(part, digest_size=16, key=told).digest()
    if digest in _HARMLESS:
        return []
    known = _FOUND.get(digest)
    if known is not None:
        return known
    found = look(part)
    if found:
        if len(_FOUND) >= _MOST // 16:
            _FOUND.clear()
        _FOUND[digest] = found
    else:
        if len(_HARMLESS) >= _MOST:
            _HARMLESS.clear()
        _HARMLESS.add(digest)
    return found
