"""Tails: cleans a text that arrives in segments; only its undecided end is held back.

Stand-ins have the length of the values, so every segment keeps its length, and the framing of the text (a length
header, chunk sizes, offsets) stays true.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from reenact.facts.finer_spans import finer
from reenact.facts.large_values import Large
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.text_spans import CredentialSpan, SearchExhausted
from reenact.facts.views import begins_as_text
from reenact.privacy.eraser import Eraser
from reenact.privacy.text_memory import context_before

T = TypeVar("T")

LONGEST = 64 << 10
"""The most bytes that are held back. A credential that is still open after this many bytes is erased, and all later
data is withheld."""
_OVERLAP = 4096
_ENDS = lazy_regex(rb"[\s\"'}\]]")
_DELIMITERS = (b"\n", b"}", b"]")


class TailPart(NamedTuple, Generic[T]):
    """A segment that may be kept: its record, its bytes, and whether they were changed."""

    item: T
    data: bytes
    changed: bool


class Tail(Generic[T]):
    """Cleans one text.

    Args:
        eraser: The eraser.
        find: Finds the credentials; by default all kinds.

    Attributes:
        withheld: Whether a part of the text could not be cleaned, and was replaced by tildes.
    """

    __slots__ = ("_clean", "_context", "_eraser", "_find", "_items", "_lost", "_open", "_over", "withheld")

    def __init__(self, eraser: Eraser, find: Callable[[bytes], list[CredentialSpan]] | None = None) -> None:
        self._eraser = eraser
        self._find = eraser.find if find is None else find
        self._items: deque[tuple[T, bytes]] = deque()
        self._context = b""
        self._clean = b""  # decided bytes of segments that are held because their end is undecided
        self._open = b""  # undecided bytes
        self._lost = False  # the text goes on with a word that could not be cleaned
        self._over = False  # all later text is withheld
        self.withheld = False

    def feed(self, item: T, data: bytes) -> list[TailPart[T]]:
        """Take a segment, and return the segments that are decided now, perhaps including this one."""
        self._items.append((item, data))
        self._open += data
        return self._advance(final=False)

    def rest(self) -> list[TailPart[T]]:
        """The segments that are still held back."""
        return self._advance(final=True) if self._items else []

    def items(self) -> list[T]:
        """The records of the segments that are held back."""
        return [item for item, _ in self._items]

    def _advance(self, *, final: bool) -> list[TailPart[T]]:
        if self._lost:
            self._pass_over(_ENDS.search(self._open))
        if not self._over and not self._lost:
            try:
                self._decide(final)
            except SearchExhausted:
                self.withheld = self._lost = True
                self._pass_over(None)
            except Exception:  # any failure to clean: the bytes as they came could hold a credential
                self.withheld = self._over = True
        if self._over:
            self._pass_over(None)
        given = []
        at = 0
        while self._items and at + len(self._items[0][1]) <= len(self._clean):
            item, original = self._items.popleft()
            data = self._clean[at : at + len(original)]
            at += len(original)
            given.append(TailPart(item, original if data == original else data, data != original))
        self._clean = self._clean[at:]
        return given

    def _pass_over(self, until: re.Match[bytes] | None) -> None:
        """Withhold the undecided text, up to the next word."""
        size = len(self._open) if until is None else until.start()
        self._clean += b"~" * size
        self._open = self._open[size:]
        self._context = b""
        self._lost = until is None

    def _decide(self, final: bool) -> None:
        """Move bytes from undecided to clean."""
        context = len(self._context)
        text = self._context + self._open
        cut = len(text) if final else self._cut(text)
        if cut <= context:
            return
        spans = finer(self._find(text))
        if not final:
            for span in spans:
                if span.end >= len(text) or span.start < cut < span.end:
                    cut = min(cut, max(span.start, context))
            if len(text) - cut > LONGEST:
                # A credential is open for longer than can be held: erase its bytes so far, and all that follow.
                cut = len(text)
                self.withheld = self._over = True
        inside = [span for span in spans if span.start >= context and span.end <= cut]
        across = [span for span in spans if span.start < context < span.end]
        cleaned = self._eraser.spans(text[:cut], inside, fit=True)
        if across:
            end = min(across[-1].end, cut)
            cleaned = cleaned[:context] + b"~" * (end - context) + cleaned[end:]
        self._clean += cleaned[context:]
        self._open = text[cut:]
        self._context = cleaned[context_before([span for span in spans if span.end <= cut], len(cleaned)) :]

    def _cut(self, text: bytes) -> int:
        """The position that lies before the beginning of every incomplete credential."""
        cut = max(text.rfind(delimiter) for delimiter in _DELIMITERS) + 1
        return cut if len(text) - cut <= LONGEST else len(text) - _OVERLAP


def cleaned_in_pieces(eraser: Eraser, data: bytes, piece: int = 1 << 20) -> tuple[bytes, bool]:
    """A long text, cleaned piece by piece with little additional memory; and whether a part had to be withheld."""
    tail: Tail[None] = Tail(eraser)
    parts: list[TailPart[None]] = []
    for at in range(0, len(data), piece):
        parts += tail.feed(None, data[at : at + piece])
    parts += tail.rest()
    if not any(part.changed for part in parts):
        return data, tail.withheld
    return b"".join(part.data for part in parts), tail.withheld


def changed_parts(eraser: Eraser, value: Large) -> dict[int, bytes] | None:
    """The parts of a long value that held credentials, cleaned, by number; each keeps its length. None where a part
    must be withheld. Takes the memory of a few parts. In bytes that are no text only known values are found, because
    any shape occurs in them by chance."""
    text = not isinstance(value.value, bytes) or begins_as_text(value.value)
    tail: Tail[int] = Tail(eraser, None if text else eraser.known)
    found: dict[int, bytes] = {}
    for number, piece in enumerate(value.parts()):
        found.update({part.item: part.data for part in tail.feed(number, piece) if part.changed})
    found.update({part.item: part.data for part in tail.rest() if part.changed})
    return None if tail.withheld else found
