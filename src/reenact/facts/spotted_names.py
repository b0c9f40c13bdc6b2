"""Credentials by the name in front of them: fields of JSON, forms and headers, options, tags, assignments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reenact.facts.credentials import STANDIN, Sort, looks_random, named, trivial
from reenact.facts.spans import Budget, Span, string_end

_AFTER = re.compile(rb"(\\{0,15})([\"'])?(?:\s|\\[nrt]){0,32}(:|=|,)(?:\s|\\[nrt]){0,32}")
_VALUE_FIELD = re.compile(rb"(\\{0,15})([\"'])value\1\2\s{0,32}:\s{0,32}")
_OPEN = re.compile(rb"(?:\s|\\[nrt]){0,32}(\\{0,15})([\"'])")
_BARE = re.compile(rb"[^\s\"'`<>&,;(){}\[\]\\|#]{1,4096}")
_NUMBER = re.compile(rb"\d{1,20}(?![\w.])")
_DIGITS = re.compile(rb"\d{4,20}(?![\w.])")
_LINE_END = re.compile(rb"\n|(?<!\\)(?:\\\\)*\\[nr]")
_LIST_GAP = re.compile(rb"(?:\s|\\[nrt]){0,64},?")
_LONGEST_NAME = 96
_LONGEST_WEAK = 8192


def own_values(data: bytes, begin: int, end: int, *, in_json: bool) -> Iterator[Span]:
    """What stands behind a name from the settings: quoted, a number, or bare after ``=`` or ``:``.

    ``in_json``: no value goes on behind the string of JSON that it begins in.
    """
    after = _AFTER.match(data, end)
    if after is None or after[3] == b",":
        yield from _after_option_or_tag(data, begin, end, 2, in_json=in_json)
        return
    opening = _OPEN.match(data, after.end())
    if opening is not None:
        stop = _closing(data, opening, 2, in_json=in_json)
        if stop > opening.end():
            yield Span(opening.end(), stop, Sort.NAMED.value)
    elif data[after.end() : after.end() + 1] == b"[":
        yield from _in_list(data, after.end() + 1, 2, in_json=in_json)
    elif digits := _NUMBER.match(data, after.end()):
        yield Span(*digits.span(), Sort.NAMED.value, True)
    elif after[2] is None and (bare := _BARE.match(data, after.end())):
        yield Span(*bare.span(), Sort.NAMED.value)


def by_name(data: bytes, lower: bytes, flat: bytes, needle: bytes, budget: Budget, *, in_json: bool) -> Iterator[Span]:
    """Values of fields whose name holds ``needle``; ``in_json`` as above."""
    at = lower.find(needle)
    size = len(data)
    while at >= 0:
        budget.spend()
        end = flat.find(b" ", at + len(needle))
        end = size if end < 0 else end
        resume = end
        if end < size and end - at <= _LONGEST_NAME:
            begin = flat.rfind(b" ", max(0, at - _LONGEST_NAME), at) + 1 or max(0, at - _LONGEST_NAME)
            if data[begin - 1 : begin] == b"\\" and data[begin : begin + 1] in (b"n", b"r", b"t"):
                begin += 1  # the letter of an escape, not of the name
            weight = named(lower[begin:end].decode("latin-1"))
            if weight:
                for span in _values_after(data, begin, end, weight, in_json=in_json):
                    resume = max(resume, span.end)
                    yield span
        at = lower.find(needle, resume)


def _values_after(data: bytes, begin: int, end: int, weight: int, *, in_json: bool) -> Iterator[Span]:
    """Credentials that a name at ``data[begin:end]`` announces."""
    after = _AFTER.match(data, end)
    if after is None:
        yield from _after_option_or_tag(data, begin, end, weight, in_json=in_json)
        return
    quoted, sign, at = after[2] is not None, after[3], after.end()
    if sign == b",":  # {"name": "DB_PASSWORD", "value": "…"}
        field = _VALUE_FIELD.match(data, at) if quoted else None
        if field is None:
            return
        at = field.end()
    opening = _OPEN.match(data, at)
    if opening is not None:
        stop = _closing(data, opening, weight, in_json=in_json)
        span = _judged(data, opening.end(), stop, weight, loose=quoted)
        if span is not None:
            yield span
    elif data[at : at + 1] == b"[":
        yield from _in_list(data, at + 1, weight, in_json=in_json)
    elif quoted:
        digits = _DIGITS.match(data, at)
        if digits is not None and b"pass" in data[begin:end].lower():
            yield Span(at, digits.end(), Sort.NAMED.value, True)
    elif sign in (b"=", b":"):
        bare = _BARE.match(data, at)
        path = bare is not None and bare[0].startswith(b"/") and data[begin:end].lower().endswith(b"pwd")
        if bare is not None and not path and _secretive(bare[0], data[bare.end() : bare.end() + 1], sign):
            yield Span(at, bare.end(), Sort.NAMED.value)


def _after_option_or_tag(data: bytes, begin: int, end: int, weight: int, *, in_json: bool) -> Iterator[Span]:
    """``--password VALUE`` and ``<password>VALUE</password>``."""
    if data[end : end + 1] == b">" and data[begin - 1 : begin] == b"<":
        limit = min(len(data), end + 4096)
        stop = data.find(b"<", end, string_end(data, end, limit) if in_json else limit)
        span = _judged(data, end + 1, stop, weight, loose=True) if stop > 0 else None
        if span is not None:
            yield span
    elif data[end : end + 1] == b" " and data[begin : begin + 2] == b"--":
        bare = _BARE.match(data, end + 1)
        if bare is not None and _secretive(bare[0], b"", b"="):
            yield Span(end + 1, bare.end(), Sort.NAMED.value)


def _judged(data: bytes, start: int, stop: int, weight: int, *, loose: bool) -> Span | None:
    """The span of a quoted value, if it is a credential. ``loose``: the name was quoted as well (a JSON field)."""
    if stop <= start:
        return None
    value = data[start:stop]
    if STANDIN.fullmatch(value) is None:
        if trivial(value[:80]) and len(value) <= 80:
            return None
        if weight == 1 and (not looks_random(value) or _beside_logprob(data, stop)):
            return None
        if not loose and weight == 2 and not _secretive(value, b"", b"="):
            return None
    return Span(start, stop, Sort.NAMED.value)


def _beside_logprob(data: bytes, stop: int) -> bool:
    return b"logprob" in data[stop : stop + 64]


def _secretive(value: bytes, following: bytes, sign: bytes) -> bool:
    """Whether an unquoted value is more likely a secret than a word of prose or a name in code."""
    if STANDIN.fullmatch(value) is not None or not value.strip(b"~"):
        return True
    if len(value) < 6 or following in (b"(", b"[") or value.startswith((b"$", b"%", b"os.", b"self.")):
        return False
    if trivial(value):
        return False
    has_digit = any(48 <= byte <= 57 for byte in value)
    if sign == b":":
        return has_digit and value.rstrip(b".,") != b"" and not value.rstrip(b".,").isdigit() and len(value) >= 8
    return has_digit or (any(byte in b"!@#$%^*+=/" for byte in value) and not value.startswith((b"/", b"=")))


def _in_list(data: bytes, at: int, weight: int, *, in_json: bool) -> Iterator[Span]:
    """Strings of a list under a name in the plural."""
    for _ in range(64):
        gap = _LIST_GAP.match(data, at)
        opening = _OPEN.match(data, gap.end() if gap else at)
        if opening is None:
            return
        stop = _closing(data, opening, weight, in_json=in_json)
        if stop < 0:
            return
        span = _judged(data, opening.end(), stop, weight, loose=True)
        if span is not None:
            yield span
        at = stop + len(opening[1]) + 1


def _closing(data: bytes, opening: re.Match[bytes], weight: int, *, in_json: bool) -> int:
    """Where a string ends that ``opening`` has begun with backslashes and a quote; the end of data if it is cut off.

    A string nested k levels deep opens with 2**k - 1 backslashes. Taking one level of escaping off turns r
    backslashes before a quote into (r - 1) / 2; the quote closes the string when an even number is left.
    """
    start, escapes, quote = opening.end(), len(opening[1]), opening[2]
    levels = (escapes + 1).bit_length() - 1
    whole = limit = len(data) if weight == 2 else min(len(data), start + _LONGEST_WEAK)
    cut_off = len(data)
    if quote == b"'":  # a literal of a programming language, which ends in its line or was none
        if in_json:  # and is cut off where the string of JSON ends that it stands in
            limit = string_end(data, start, limit)
            cut_off = limit if limit < whole else cut_off
        line = _LINE_END.search(data, start, limit)
        if line is not None:
            closed = data.find(quote, start, line.start())
            limit = line.start() if closed >= 0 else start
    at = data.find(quote, start, limit)
    while at >= 0:
        first = at
        while first > start and data[first - 1] == 92:
            first -= 1
        left = at - first
        for _ in range(levels):
            if left % 2 == 0:
                return first  # an outer string ends here, and this one with it
            left //= 2
        if left % 2 == 0:
            return at - escapes if at - escapes >= start else at
        at = data.find(quote, at + 1, limit)
    return limit if limit == cut_off else -1
