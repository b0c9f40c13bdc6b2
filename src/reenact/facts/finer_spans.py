"""Finer spans: of an encoded text, only the few characters around each credential in it.

A stream in pieces cannot wait for the end of a long encoded text. If a few characters of the encoded text represent a
few of the decoded text (base64, hexadecimal, UTF-16 of plain letters), one span over the whole becomes a span for each
credential.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reenact.facts import wraps
from reenact.facts.text_spans import CredentialSpan, EncodedText

_GROUPS = {wraps.BASE64: (4, 3), wraps.HEX: (2, 1), wraps.UTF16_LE: (2, 1), wraps.UTF16_BE: (2, 1)}
"""The group of each encoding: how many encoded bytes it has, and how many bytes of the decoded text they represent."""


def finer(spans: Iterable[CredentialSpan]) -> list[CredentialSpan]:
    """The spans in order. A span of an encoded text is cut down where the encoding allows that."""
    return [each for span in spans for each in _cut_down(span)]


def _cut_down(span: CredentialSpan) -> Iterator[CredentialSpan]:
    wrapped = span.wrapped
    groups = None if wrapped is None else _GROUPS.get(wrapped.codec)
    if wrapped is None or groups is None or wrapped.quoted or len(wrapped.raw) != span.end - span.start:
        yield span
        return
    many, few = groups
    wide = wrapped.codec in (wraps.UTF16_LE, wraps.UTF16_BE)
    if wide and len(wrapped.raw) // 2 != len(wrapped.text):
        yield span
        return
    breaks = wraps.breaks(wrapped.raw) if wrapped.codec == wraps.BASE64 else []
    for part in _apart(wrapped.spans, few):
        first, last = part[0].start // few, -(-part[-1].end // few)
        inside = tuple(each._replace(start=each.start - first * few, end=each.end - first * few) for each in part)
        start = _behind_breaks(first * many, breaks)
        end = min(_behind_breaks(last * many - 1, breaks) + 1, len(wrapped.raw))
        text = wrapped.text[first * few : last * few]
        raw = wrapped.raw[start:end]
        yield CredentialSpan(
            span.start + start, span.start + end, "", wrapped=EncodedText(wrapped.codec, raw, text, inside)
        )


def _apart(spans: tuple[CredentialSpan, ...], few: int) -> Iterator[list[CredentialSpan]]:
    """Spans that share no group."""
    together: list[CredentialSpan] = []
    for span in spans:
        if together and span.start // few >= -(-together[-1].end // few):
            yield together
            together = []
        together.append(span)
    if together:
        yield together


def _behind_breaks(place: int, breaks: list[tuple[int, bytes]]) -> int:
    """The place of a character of an encoded text, with the line breaks before it counted."""
    for at, each in breaks:
        if at > place:
            break
        place += len(each)
    return place
