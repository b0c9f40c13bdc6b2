"""Finds credentials in a text, by the shape of a value and by the name before it.

It works on bytes as they are (JSON, JSON inside JSON strings, server-sent events, forms, logs, command lines), so that
all bytes outside of credentials stay exact. A first pass of substring searches over a folded copy finds candidates;
regular expressions are tried only there, and each of them is bounded. The work has a budget in proportion to the input.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable

from reenact.facts.credentials import STANDIN, bare, constant
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.needles import Needles
from reenact.facts.sightings import LONG, parts, seen
from reenact.facts.spotted_names import by_name, own_values
from reenact.facts.spotted_phrases import WORDS, by_phrase
from reenact.facts.spotted_shapes import RUN, by_shape, marked, private_keys, schemes, userinfo
from reenact.facts.text_spans import Budget, CredentialSpan, SearchExhausted, replaced, without_overlaps
from reenact.facts.views import decoded, encoded, views
from reenact.facts.woven_text import Woven

_WORDS = bytes(97 if (chr(byte).isalnum() and byte < 128) or byte in b"_-" else 32 for byte in range(256))
_NAMES = (
    b"key",
    b"token",
    b"secret",
    b"pass",
    b"auth",
    b"credential",
    b"cookie",
    b"pw",
    b"jwt",
    b"mnemonic",
    b"sessid",
    b"sessionid",
    b"device_code",
)
_NEEDLES = Needles((*_NAMES, *WORDS, b"bearer", b"basic"))
_JSON = lazy_regex(
    rb"\s*+(?:(?:event|id|retry)?:[^\n]{0,256}+\n\s*+){0,16}+(?:data:)?\s{0,64}+(?:[\[{]\s{0,64}+){0,64}+"
    rb"(?:[\"}\]\d-]|true|false|null)"
)
"""Recognises JSON, or server-sent events that hold JSON, by its beginning. The pattern never goes back, because a text
may begin with much white space."""
_STRING = lazy_regex(rb'"([^"\\\n]*+(?:\\.[^"\\\n]*+)*+)"?')
_BEFORE = 512
"""How many bytes before a piece matter to its content: a name, and the characters between the name and its value."""
_BEHIND = 128
_SURROUNDINGS = 8
_BEGUN = lazy_regex(rb"[A-Za-z0-9/][\w.:/ -]{1,31}(~rx[a-z][a-z2-7]*0*~)")
_DEEPEST = 5
_ROOM = 1 << 20
_TIMES = 8
_BETWEEN = lazy_regex(rb"(?:[\s,:\[\]{}\d.eE+-]|true|false|null)*+")


More = Callable[[bytes], list[CredentialSpan]]
"""Finds further credentials in decoded texts."""


def spot(data: bytes, more: More | None = None, told: bytes = b"") -> list[CredentialSpan]:
    """Every credential in ``data``, in order, never overlapping. Credentials inside encodings (``facts.views``) are
    found, too. A stand-in after a name or a scheme is also reported.

    Args:
        data: Any text.
        more: A function that finds further spans in decoded text.
        told: A digest of all that ``more`` knows.

    Raises:
        Exhausted: there are more candidates than a text of this size can have by accident.
    """

    def look(text: bytes) -> list[CredentialSpan]:
        return spot_whole(text, more)

    if len(data) <= LONG or (more is not None and not told) or _JSON.match(data) is None:
        return look(data)
    found: list[CredentialSpan] = []
    for start, end in parts(data):
        for span in seen(data[start:end], told, look):
            found.append(span if not start else span._replace(start=span.start + start, end=span.end + start))
    return found


def spot_whole(data: bytes, more: More | None = None) -> list[CredentialSpan]:
    """``spot`` for a text of which no part was seen before: it is searched in one go.

    Raises:
        Exhausted: see ``spot``.
    """
    return _spot(data, more, Budget(4096 + len(data) // 8, _ROOM + _TIMES * len(data)), 0)


def _spot(data: bytes, more: More | None, budget: Budget, depth: int) -> list[CredentialSpan]:
    in_json = _JSON.match(data) is not None
    found = _plain(data, budget, in_json)
    for start, end in encoded(data) if b'"~' in data else ():
        found = [span for span in found if span.end <= start or span.start >= end]  # in base64 a shape is chance
        if more is not None and (value := decoded(data, start, end)) is not None:
            budget.read(len(value.text))
            found.extend(value.back(more(value.text)))
    if depth and more is not None:
        found.extend(more(data))
    if depth < _DEEPEST:
        for view in views(data, in_json=in_json):
            budget.spend()
            budget.read(len(view.text))
            found.extend(view.back(_spot(view.text, more, budget, depth + 1)))
    return without_overlaps(found) if len(found) > 1 else found


def _plain(data: bytes, budget: Budget, in_json: bool) -> list[CredentialSpan]:
    """The findings in a text, without those inside encodings."""
    found: list[CredentialSpan] = []
    lower = data.lower()
    flat = data.translate(_WORDS)
    words, find = _NEEDLES.within(lower)
    for needle in _NAMES:
        if needle in words:
            found.extend(by_name(data, lower, flat, needle, find, budget, in_json=in_json))
    found.extend(by_phrase(data, lower, words, find, budget))
    if b"@" in data and b"://" in data:
        found.extend(userinfo(data, budget))
    if b"-----BEGIN" in data:
        found.extend(private_keys(data, budget, in_json=in_json))
    if b"bearer" in words or b"basic" in words:
        found.extend(schemes(data, lower, budget))
    if RUN in flat:
        found.extend(by_shape(data, flat, budget))
        found.extend(marked(data, lower, budget))
    if not found:
        return found
    found = without_overlaps(found) if len(found) > 1 else found
    if b"~rx" in data:
        found = [_rest(data, span) for span in found]
    return _inside_strings(data, found) if in_json else found


def _rest(data: bytes, span: CredentialSpan) -> CredentialSpan:
    """The span without a vendor's prefix, where the value is only such a prefix and a stand-in."""
    begun = _BEGUN.fullmatch(data, span.start, span.end)
    return span if begun is None else span._replace(start=begun.start(1))


def spot_woven(data: Woven, more: More | None = None, told: bytes = b"") -> list[CredentialSpan]:
    """``spot`` for a woven text: each piece is searched once.

    A piece ends where an entry ends, so that no text and no list of texts is cut. The meaning of a text depends only on
    the bytes close to it.

    Args:
        data: The text.
        more: See ``spot``.
        told: All that ``more`` knows.

    Raises:
        Exhausted: see ``spot``.
    """
    if not data.places:  # a text without pieces has only names with empty values
        return spot(data, more, told)
    found: list[CredentialSpan] = []
    begins = [at for at, _ in data.places]
    ends = [at + len(piece.text) for at, piece in data.places]
    ends[-1] = len(data)
    for n, (at, piece) in enumerate(data.places):
        before, end = ends[n - 1] if n else 0, ends[n]
        first = max(0, bisect_right(begins, before - _BEFORE) - 1) if n else 0
        start = begins[first] if n else 0
        # The key under which the result of a search is kept: the numbers of the pieces before, and the bytes between
        # them.
        between = b"\0".join([data[ends[m] : begins[m + 1]] for m in range(first, n)]) if n else data[:at]
        numbers = tuple([earlier.number for _, earlier in data.places[first:n]])
        near = (numbers, between, data[at + len(piece.text) : end], data[end : end + _BEHIND], told)
        known: dict[tuple[tuple[int, ...], bytes, bytes, bytes, bytes], list[CredentialSpan]] = piece.known.setdefault(
            "spans", {}
        )
        spans = known.get(near)
        if spans is None:
            spans = [
                span._replace(start=span.start + start - at, end=span.end + start - at)
                for span in spot(data[start : end + _BEHIND], more, told)
                if before <= span.start + start < end  # spans between the last piece and this one count, too
            ]
            if len(known) >= _SURROUNDINGS:
                known.clear()
            known[near] = spans
        found.extend(span._replace(start=span.start + at, end=span.end + at) for span in spans)
    return found


def spot_named(data: bytes, names: Iterable[str]) -> list[CredentialSpan]:
    """The values of fields with exactly these names, in order, in any form; numbers stay numbers.

    Raises:
        Exhausted: see ``spot``.
    """
    budget = Budget(4096 + len(data) // 16)
    found: list[CredentialSpan] = []
    lower = data.lower()
    flat = data.translate(_WORDS)
    in_json = _JSON.match(data) is not None
    for name in names:
        needle = name.lower().encode("utf-8", "surrogateescape")
        at = lower.find(needle)
        while at >= 0:
            budget.spend()
            end = at + len(needle)
            escaped = at > 1 and data[at - 2 : at - 1] == b"\\" and data[at - 1 : at] in (b"n", b"r", b"t")
            if flat[end : end + 1] in (b" ", b"") and (at == 0 or flat[at - 1 : at] == b" " or escaped):
                found.extend(own_values(data, at, end, in_json=in_json))
            at = lower.find(needle, end)
    found = without_overlaps(found) if len(found) > 1 else found
    return _inside_strings(data, found) if found and in_json else found


def normalise(data: bytes) -> bytes:
    """``data`` with every credential and every stand-in reduced to the constant of its class, for comparing.

    If a text exhausts the budget, only its stand-ins are reduced: the recorded text has stand-ins for all values that
    were found, perhaps piece by piece with a larger budget.
    """
    try:
        spans = spot_woven(data) if type(data) is Woven else spot(data)
    except SearchExhausted:
        spans = []
    return reduced(data, spans)


def reduced(data: bytes, spans: list[CredentialSpan]) -> bytes:
    """``data`` with the credentials at ``spans``, and every stand-in, reduced to the constants of their classes."""
    if spans:
        data = replaced(data, spans, _constant, _bare)
    return _bare(data)


def _constant(_: bytes, span: CredentialSpan) -> bytes:
    return b"9999" if span.digits else constant(span.sort)


def _bare(data: bytes) -> bytes:
    return STANDIN.sub(bare, data) if b"~rx" in data else data


def _inside_strings(data: bytes, spans: list[CredentialSpan]) -> list[CredentialSpan]:
    """In JSON, each span is cut where the string ends in which it begins. A span between strings counts only for a
    number.

    A quote after a name (``"the password:", "next"``) may end the string with the name, and not begin a value.
    """
    kept = []
    strings = _STRING.finditer(data)
    string = next(strings, None)
    for span in spans:
        while string is not None and string.end() <= span.start:
            string = next(strings, None)
        if string is not None and string.start() < span.start:
            end = min(span.end, string.end(1))
            if end < string.end(1) and _escaped(data, end, span.start):  # the span would end inside an escape
                end -= 1
        else:
            quote = data.find(b'"', span.start, span.end)
            end = span.end if quote < 0 else quote
            if not span.digits and _BETWEEN.fullmatch(data, span.start, end):
                continue
        if end > span.start:
            kept.append(span if end == span.end else span._replace(end=end))
    return kept


def _escaped(data: bytes, at: int, start: int) -> bool:
    """Whether an odd number of backslashes stands before ``at``, none of them before ``start``."""
    first = at
    while first > start and data[first - 1] == 92:
        first -= 1
    return (at - first) % 2 == 1
