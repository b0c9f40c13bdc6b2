"""Memory of searched texts: an agent sends its conversation again at each step, and only the end of it is new."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from reenact.abc.sources import ENTROPY
from reenact.facts.common_bytes import shared_length
from reenact.facts.credential_search import More, spot, spot_woven
from reenact.facts.text_spans import CredentialSpan
from reenact.facts.woven_text import Woven
from reenact.privacy.batch_search import harmless

_SHORT = 4096
"""The longest text without findings that the process remembers, by a digest that no other process can compute."""
_HARMLESS: set[bytes] = set()
_MOST_HARMLESS = 4096
_KEY = ENTROPY.bytes(16)
_MOST = 2 << 20
_KEPT = 8
_HEAD = 256
_SETTLED = 128
"""The most bytes after a span that can still change it."""
_LONGEST_CHAIN = 16 << 10
CONTEXT = 256
"""The bytes before a value in which its name must be."""


class Spotter:
    """Finds credentials (``facts.credential_search.spot``); a known beginning of a text is not searched again.

    It keeps the last few long texts of a run in memory, never longer than the run.

    Args:
        more: Finds further credentials under an encoding.
        told: All values that ``more`` knows.
    """

    __slots__ = ("_foreseen", "_known", "_more", "_told")

    def __init__(self, more: More | None = None, told: bytes = b"") -> None:
        self._more = more
        self._told = blake2b(told, digest_size=16, key=_KEY).digest() if told else b""
        self._known: dict[bytes, tuple[bytes, list[CredentialSpan]]] = {}
        self._foreseen: set[bytes] = set()

    def foresee(self, texts: Sequence[bytes]) -> None:
        """Search texts that are about to be spotted, in one go: those without a candidate are not searched again."""
        digests = [digest_of(text + self._told if self._told else text) for text in texts]
        unknown = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in _HARMLESS}
        found = harmless(unknown.values(), self._more, self._told)
        self._foreseen = {digest for digest, nothing in zip(unknown, found, strict=True) if nothing}

    def spot(self, data: bytes) -> list[CredentialSpan]:
        """Every credential in ``data``.

        Raises:
            Exhausted: As ``facts.credential_search.spot``.
        """
        if type(data) is Woven:
            return spot_woven(data, self._more, self._told)
        if self._foreseen and digest_of(data + self._told if self._told else data) in self._foreseen:
            return []
        size = len(data)
        if size < _SHORT:
            return _short(data, self._more, self._told)
        if size > _MOST:
            return spot(data, self._more, self._told)
        head = data[:_HEAD]
        known = self._known.pop(head, None)
        if known is None:
            found = spot(data, self._more, self._told)
            while len(self._known) >= _KEPT:
                del self._known[next(iter(self._known))]
        else:
            found = _continued(data, *known, self._more, self._told)
        self._known[head] = (data, found)
        return found


def _short(data: bytes, more: More | None, told: bytes) -> list[CredentialSpan]:
    """The spans of a short text. Each run of a process has the same surroundings (variables, packages, commands): one
    that holds no credential is searched once."""
    digest = digest_of(data + told if told else data)
    if is_harmless(digest):
        return []
    found = spot(data, more, told)
    if not found:
        deem_harmless(digest)
    return found


def digest_of(data: bytes, sort: bytes = b"") -> bytes:
    """The digest under which data without findings is remembered; ``sort``: the sort of the data, up to 16 bytes; a
    text by default."""
    return blake2b(data, digest_size=16, key=_KEY, person=sort).digest()


def is_harmless(digest: bytes) -> bool:
    """Whether data with this digest had no findings."""
    return digest in _HARMLESS


def deem_harmless(digest: bytes) -> None:
    """Remember that the data with this digest has no findings."""
    if len(_HARMLESS) >= _MOST_HARMLESS:
        _HARMLESS.clear()
    _HARMLESS.add(digest)


def _continued(
    data: bytes, before: bytes, spans: list[CredentialSpan], more: More | None, told: bytes
) -> list[CredentialSpan]:
    """The spans of ``data``, which begins like the text ``before`` with the known ``spans``."""
    shared = shared_length(data, before)
    limit = shared - _SETTLED
    if shared < len(data) // 4 or limit <= 0:
        return spot(data, more, told)
    cut = max(data.rfind(b"}", 0, limit), data.rfind(b"\n", 0, limit)) + 1
    for span in spans:
        if span.start < cut < span.end:
            cut = span.start
    settled = [span for span in spans if span.end <= cut]
    start = context_before(settled, cut)
    rest = [
        span._replace(start=span.start + start, end=span.end + start)
        for span in spot(data[start:], more, told)
        if span.start + start >= cut
    ]
    return settled + rest


def context_before(spans: list[CredentialSpan], cut: int) -> int:
    """The beginning of the context for text after ``cut``: the name that makes a value a credential comes before the
    value, or before the list that holds the value."""
    start = cut - CONTEXT
    for span in reversed(spans):
        if span.end < start or cut - span.start > _LONGEST_CHAIN:
            break
        start = min(start, span.start - CONTEXT)
    return max(0, start)
