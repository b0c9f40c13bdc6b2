"""Removed values: the keyed digests of values that redaction has destroyed in a run, and their places in a text.

The values themselves are kept nowhere. A later process (a child, a fork, a replay, ``pack``) computes digests of whole
tokens of a text, and compares them with the kept ones. Tokens are the parts between white space, quotes and brackets,
and their parts between punctuation; the length of a value is known, so few tokens need a digest. A value that is cut,
or joined to letters, is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any
from urllib.parse import unquote_to_bytes

from reenact.facts.credentials import CredentialSort, constant
from reenact.facts.guess_cost import may_be_listed
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.text_spans import CredentialSpan, replaced

REMOVED = "removed"
"""The key of the list in the capture of a run that has ended. With ``#`` and a number, it is the key of evidence of a
run that has not ended."""

_DIGEST = 8
_RUN = lazy_regex(rb"[!#$%*+\-./:=?@^_`~0-9A-Za-z]+")
_FLAT = bytes(97 if _RUN.fullmatch(bytes([byte])) else 32 for byte in range(256))
_CUTS = lazy_regex(rb"[!#$%*+./:=?@^`~]|[-_]{2,}")
_ESCAPE = lazy_regex(rb"(?:[nrtbf]|u[0-9a-fA-F]{4})")
_COLOUR = lazy_regex(rb"[0-9;]{0,8}m")
_MOST_CUTS = 64
_LONGEST = 8192
_ENTRY = lazy_regex(r"([a-z])([0-9]{1,5})\.([0-9a-f]{16})")
_SORTS = {each.value for each in CredentialSort}


def is_token(value: bytes) -> bool:
    """Whether a value can be found by its digest: it has none of the characters that end a token."""
    return len(value) <= _LONGEST and _RUN.fullmatch(value) is not None


def entry(key: bytes, sort: str, value: bytes) -> str:
    """The entry for a value: its class, its length and its keyed digest; empty where no digest may be kept.

    Args:
        key: The key of the run's list.
        sort: Class of the credential.
        value: The value.
    """
    if not is_token(value) or not may_be_listed(value):
        return ""
    return f"{sort}{len(value)}.{_digest(key, value).hex()}"


def _digest(key: bytes, value: bytes) -> bytes:
    return blake2b(value, digest_size=_DIGEST, key=key, person=b"reenact-removed").digest()


class RemovedDigests:
    """The removed values of one run, or of several runs that each continue another run, by digest.

    Args:
        key: The key of the digests.
        entries: The results of ``entry``; other texts are left out.
        others: Lists of other runs, whose values are found as well.
    """

    __slots__ = ("_others", "_sizes", "_sorts", "entries", "key")

    def __init__(self, key: bytes, entries: Iterable[str], others: Iterable[RemovedDigests] = ()) -> None:
        self._others = tuple(each for each in others if each)
        self.key = key
        self.entries = tuple(dict.fromkeys(entries))
        self._sorts: dict[bytes, str] = {}
        sizes = set()
        for each in self.entries:
            read = _ENTRY.fullmatch(each)
            if read is not None and read[1] in _SORTS:
                self._sorts.setdefault(bytes.fromhex(read[3]), read[1])
                sizes.add(int(read[2]))
        self._sizes: frozenset[int] = frozenset(sizes).union(*(each._sizes for each in self._others))

    def __bool__(self) -> bool:
        return bool(self._sizes)

    @property
    def told(self) -> tuple[object, ...]:
        """The key and the entries of all lists, by which equal objects are recognised."""
        return (self.key, self.entries, *(each.told for each in self._others))

    def spans(self, data: bytes) -> list[CredentialSpan]:
        """Where the values stand as whole tokens, in order, never overlapping."""
        return [CredentialSpan(start, end, sort) for start, end, sort in tokens(data, self._sizes, self._sort)]

    def _sort(self, token: bytes) -> str | None:
        own = self._sorts.get(_digest(self.key, token)) if self._sorts else None
        return own or next((sort for each in self._others if (sort := each._sort(token)) is not None), None)

    def erased(self, data: bytes) -> bytes:
        """``data`` with each value reduced to the constant of its class, for comparing."""
        found = self.spans(data)
        return replaced(data, found, lambda _, span: constant(span.sort)) if found else data

    def to_json(self) -> dict[str, Any]:
        """The list as a store keeps it."""
        return {"key": self.key.hex(), "values": list(self.entries)}


NOTHING = RemovedDigests(b"", ())
"""No value was removed."""


def listed(found: object) -> RemovedDigests:
    """The list that a store keeps (``RemovedDigests.to_json``); empty where a store keeps no list, or other data."""
    if not isinstance(found, Mapping):
        return NOTHING
    try:
        key = bytes.fromhex(str(found.get("key")))
    except ValueError:
        return NOTHING
    values = found.get("values")
    if not isinstance(values, (list, tuple)) or not 0 < len(key) <= blake2b.MAX_KEY_SIZE:
        return NOTHING
    return RemovedDigests(key, [each for each in values if isinstance(each, str)])


def noted(notes: Mapping[str, object]) -> RemovedDigests:
    """The list from the evidence of a run that has not ended, or was cut short."""
    parts = [listed(value) for name, value in notes.items() if name.startswith(f"{REMOVED}#")]
    parts = [part for part in parts if part]
    return RemovedDigests(parts[0].key, [each for part in parts for each in part.entries]) if parts else NOTHING


def runs(data: bytes, smallest: int) -> Iterator[tuple[int, int]]:
    """The start and end of each range with at least ``smallest`` characters of tokens in a row. About 3 ms a MiB."""
    flat = data.translate(_FLAT)
    needle = b"a" * smallest
    at = flat.find(needle)
    while at >= 0:
        end = flat.find(b" ", at + smallest)
        end = len(flat) if end < 0 else end
        yield at, end
        at = flat.find(needle, end)


def tokens(
    data: bytes, sizes: frozenset[int], sort_of: Callable[[bytes], str | None]
) -> Iterator[tuple[int, int, str]]:
    """The wanted tokens of a text: start, end and sort of each.

    Args:
        data: The text.
        sizes: The lengths that wanted tokens may have.
        sort_of: Gives the sort of a token; None if the token is not wanted.
    """
    if not sizes or len(data) < min(sizes):
        return
    for start, end in runs(data, min(sizes)):
        if end - start in sizes:
            sort = sort_of(data[start:end])
            if sort is not None:
                yield start, end, sort
                continue
        yield from _inside(data, start, end, sizes, sort_of)


def _inside(
    data: bytes, start: int, end: int, sizes: frozenset[int], sort_of: Callable[[bytes], str | None]
) -> Iterator[tuple[int, int, str]]:
    """The wanted tokens inside a run of characters, which begin or end at punctuation or after an escape."""
    if data.find(b"%", start, end) >= 0 and end - start <= _LONGEST:
        plain = unquote_to_bytes(data[start:end])
        if len(plain) in sizes and (sort := sort_of(plain)) is not None:
            yield start, end, sort
            return
    begins, ends = [start], list[int]()
    lead = _ESCAPE if data[start - 1 : start] == b"\\" else _COLOUR if data[start - 1 : start] == b"[" else None
    glued = lead.match(data, start, end) if lead is not None else None
    if glued is not None:
        begins.append(glued.end())
    for cut in _CUTS.finditer(data, start, end):
        if len(begins) > _MOST_CUTS:
            break
        begins += (cut.start(), cut.end())
        ends += (cut.start(), cut.end())
    if len(begins) == 1:
        return
    stops = {*ends, end}
    after = start
    for begin in begins:
        if begin < after:
            continue
        for size in sizes:
            if begin + size in stops and (begin, begin + size) != (start, end):
                sort = sort_of(data[begin : begin + size])
                if sort is not None:
                    yield begin, begin + size, sort
                    after = begin + size
                    break
