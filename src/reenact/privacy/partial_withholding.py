"""Only the affected parts of a text with too many candidates are withheld.

Parts of JSON end between its entries, and in a part that cannot be cleaned only the contents of strings are withheld:
JSON stays JSON. Other text is cut where possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.text_spans import SearchExhausted
from reenact.privacy.eraser import Eraser
from reenact.privacy.tails import cleaned_in_pieces

PART = 64 << 10
"""The least bytes of a part, unless it is the last."""

_STRING = lazy_regex(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"(\s{0,64}:)?')


def cleaned_in_parts(eraser: Eraser, body: bytes) -> bytes:
    """A text without credentials, and without parts that could not be searched.

    Args:
        eraser: The eraser.
        body: The text.
    """
    if body.lstrip()[:1] not in (b"{", b"["):
        return cleaned_in_pieces(eraser, body, PART)[0]
    return b"".join(_cleaned(eraser, part) for part in _parts(body))


def _cleaned(eraser: Eraser, part: bytes) -> bytes:
    try:
        return eraser.text(part)
    except SearchExhausted:
        return _STRING.sub(_blank, part)


def _blank(found: re.Match[bytes]) -> bytes:
    if found[2] is not None:  # a name
        return found[0]
    return b'"' + b"~" * len(found[1]) + b'"'


def _parts(body: bytes) -> Iterator[bytes]:
    """Parts that end after a comma between entries, as soon as they are long enough."""
    start = before = 0
    for found in _STRING.finditer(body):
        comma = body.find(b",", before, found.start())
        if comma >= 0 and found.start() - start >= PART:
            yield body[start : comma + 1]
            start = comma + 1
        before = found.end()
    yield body[start:]
