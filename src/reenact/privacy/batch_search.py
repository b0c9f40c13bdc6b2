"""Many short texts are searched in one go, so that the gate need not search each clean text by itself.

An import has thousands of nearly equal texts, and each separate search costs more than its text. Like long texts, they
are cut into the objects of their lists (``facts.sightings``). Objects that came before are left out, and the rest is
searched as one text. Texts with a finding are left to the gate, which searches them alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final

from reenact.facts.call import Json, Value
from reenact.facts.credential_search import More, spot_whole
from reenact.facts.jsontext import writer
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.record import CallIssued, CallSettled, EvidenceNoted, Record
from reenact.facts.text_spans import CredentialSpan, SearchExhausted

_AT_ONCE: Final = 16 << 10
"""About how many bytes are searched in one go: the fixed cost of a search is then small."""
_BETWEEN: Final = lazy_regex(rb'\}\s*+(?:,\s*+)?(?=\{\s{0,16}"[\w.-]{1,64}"\s{0,4}:)')
"""The end of an object before the next one, in a list or on the next line. No string of JSON ends like this: see
``facts.sightings``."""
_OBJECT: Final = lazy_regex(rb'\{\s{0,16}"[\w.-]{1,64}"\s{0,4}:')
_NAMED: Final = lazy_regex(rb'"[\w.-]{1,64}":\s?\{')
_LONGEST_KNOWN: Final = 256
_MOST_KNOWN: Final = 4096
_KEPT: Final = 4
_KNOWN: dict[bytes, set[bytes]] = {}
"""Objects without findings, by the values that were known at that time."""


def text_of(record: Record) -> bytes:
    """The main text of a record; empty without one."""
    if type(record) is CallIssued:
        body = record.call.body
    elif type(record) is CallSettled:
        body = record.outcome.body if type(record.outcome) is Value else b""
    else:
        body = spelled(record.value, record.key)[0] if type(record) is EvidenceNoted else b""
    return body if type(body) is bytes else b""


_written: Final = writer(ascii_only=False, nan=True, spaced=True)


def spelled(value: Json, name: str) -> tuple[bytes, int]:
    """JSON as the text to search, with its name before it; and the length of the part with the name."""
    lead = json.dumps(name) + ":" if name else ""
    return (lead + _written(value)).encode("utf-8", "surrogatepass"), len(lead)


def harmless(texts: Iterable[bytes], more: More | None = None, told: bytes = b"") -> list[bool]:
    """For each text, whether it holds no credential; False where it holds one, or might.

    Args:
        texts: Any texts.
        more, told: See ``facts.credential_search.spot``.
    """
    known = _KNOWN.pop(told, set())
    while len(_KNOWN) >= _KEPT:
        del _KNOWN[next(iter(_KNOWN))]
    _KNOWN[told] = known
    found: list[bool] = []
    pieces: list[bytes] = []
    owners: list[int] = []
    size = 0
    for number, text in enumerate(texts):
        found.append(b"\0" not in text)
        for piece in _pieces(text):
            if not piece:
                found[number] = False
            elif piece not in known:
                pieces.append(piece)
                owners.append(number)
                size += len(piece)
        if size >= _AT_ONCE:
            _judge(pieces, owners, found, more, known)
            pieces, owners, size = [], [], 0
    _judge(pieces, owners, found, more, known)
    return found


def _pieces(text: bytes) -> Iterator[bytes]:
    """The objects of a text, each of which ends at a comma or at the end of the text; an empty piece for a text that is
    no object."""
    if _OBJECT.match(text) is None:
        if _NAMED.match(text) is None:  # a note, with its name before it
            yield b""
            return
        text = b"{" + text + b"}"
    start = 0
    for gap in _BETWEEN.finditer(text):
        yield text[start : gap.end()]
        start = gap.end()
    yield text[start:]


def _judge(pieces: list[bytes], owners: list[int], found: list[bool], more: More | None, known: set[bytes]) -> None:
    """Search some pieces as one text; the owners of a piece with a finding are not harmless."""
    if not pieces:
        return
    begins: list[int] = []
    size = 1
    for piece in pieces:
        begins.append(size)
        size += len(piece) + 1
    try:
        spans: list[CredentialSpan] = spot_whole(b"[" + b",".join(pieces) + b"]", more)
    except SearchExhausted:
        spans = [CredentialSpan(0, size, "")]
    left = iter(spans)
    span = next(left, None)
    for piece, owner, begin in zip(pieces, owners, begins, strict=True):
        end = begin + len(piece)
        while span is not None and span.end <= begin:
            span = next(left, None)
        if span is not None and span.start < end:
            found[owner] = False
        elif len(piece) <= _LONGEST_KNOWN:
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known.add(piece)
