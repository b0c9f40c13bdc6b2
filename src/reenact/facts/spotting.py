"""Spotting: where in a text credentials stand, by the shape of a value and by the name in front of it.

It works on bytes as they are (JSON, JSON inside JSON strings, server-sent events, forms, logs, command lines), so that
whatever is not a credential stays byte-exact. A first pass of substring searches over a folded copy finds candidates;
only those meet a regular expression, each of them bounded. The work has a budget in proportion to the input.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from reenact.facts.credentials import (
    SHORTEST,
    STANDIN,
    Sort,
    bare,
    constant,
    looks_random,
    named,
    protected,
    trivial,
)


class Span(NamedTuple):
    """A credential in a text: ``text[start:end]``, its class, and whether it must keep being a number."""

    start: int
    end: int
    sort: str
    digits: bool = False


class Exhausted(Exception):
    """The text holds more candidates than its size allows for: it was made to be slow."""


_WORDS = bytes(97 if (chr(byte).isalnum() and byte < 128) or byte in b"_-" else 32 for byte in range(256))
_RUN = b"a" * SHORTEST
_LEFT = rb"(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf])|(?<=/bot)|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=\\u00[0-9a-fA-F]{2}))"
_SHAPES = re.compile(
    _LEFT
    + rb"(?:(?P<sk>sk-(?:ant-|proj-|svcacct-|admin-|or-v1-|lf-)?)(?P<skrest>[A-Za-z0-9_-]{16,512})"
    + rb"|(?P<jwt>(?<![.])eyJ[\w-]{8,8192}\.[\w-]{4,16384}\.[\w-]{4,4096}(?:\.[\w-]{4,4096}){0,2})"
    + rb"|(?P<aws>A(?:KIA|SIA|BIA|CCA|GPA|IDA|IPA|NPA|NVA|PKA|ROA|SCA))[A-Z2-7]{16}(?![A-Za-z0-9])"
    + rb"|(?P<vendor>gh[pousr]_|github_pat_|glpat-|gl(?:dt|rt|cbt|ptt)-|xox[abeoprs]-|xapp-|AIza|hf_|npm_|pypi-"
    + rb"|(?:sk|rk|pk|whsec)_(?:live|test)_|whsec_|gsk_|r8_|pplx-|xai-|nvapi-|tvly-|fc-|lsv2_[ps][tk]_|pcsk_|dop_v1_"
    + rb"|shp(?:at|ca|pa|ss)_|dapi|ya29\.|1//0|SG\.|key-(?=[0-9a-f]{32})|EAA(?=[A-Za-z0-9]{60})|sq0[a-z]{3}-"
    + rb"|sntrys_|dckr_pat_|ATATT3|figd_|secret_|ntn_|tfp_|pat-|lin_api_|phc_|fw_|csk-|esecret_|voyage-)"
    + rb"(?P<rest>[A-Za-z0-9_-]{16,512}(?:\.[A-Za-z0-9_-]{16,512})?)"
    + rb"|(?P<bot>\d{8,10}:)AA[\w-]{33}(?![\w-]))"
)
_PAIRS = frozenset(
    b"gi sk ey AK AS AB AC AG AI AN AP AR gh gl xo xa hf np py rk pk wh gs r8 pp nv tv fc ls pc do sh da ke EA sq sn"
    b" dc AT fi se nt tf pa li ph fw cs es vo".split()
)
"""How the shapes begin; those that begin outside a run of word characters are in ``_OUTSIDE``."""
_OUTSIDE = re.compile(rb"(?:ya29\.|SG\.|1//|\d{8,10}:)\Z")
_SCHEME = re.compile(_LEFT + rb"((?i:bearer|basic))(?:\s|%20|\+){1,8}([A-Za-z0-9._~+/=-]{8,16384})")
_PEM = re.compile(rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = b"-----END "
_PEM_CUT = re.compile(rb"(?:[A-Za-z0-9+/=\s:,.~-]|\\{1,15}[nrt/]){0,16384}")
_USER = re.compile(rb"([^\s/@:\"'\\<>`]{0,256}):([^\s/@\"'\\<>`]{1,512})@(?=[\w\[])")

_NAMES = (b"key", b"token", b"secret", b"pass", b"authorization", b"credential", b"cookie", b"pwd")
_AFTER = re.compile(rb"(\\{0,15})([\"'])?(?:\s|\\[nrt]){0,32}(:|=|,)(?:\s|\\[nrt]){0,32}")
_VALUE_FIELD = re.compile(rb"(\\{0,15})([\"'])value\1\2\s{0,32}:\s{0,32}")
_OPEN = re.compile(rb"(?:\s|\\[nrt]){0,32}(\\{0,15})([\"'])")
_BARE = re.compile(rb"[^\s\"'`<>&,;(){}\[\]\\|#]{1,4096}")
_NUMBER = re.compile(rb"\d{1,20}(?![\w.])")
_DIGITS = re.compile(rb"\d{4,20}(?![\w.])")
_LINE_END = re.compile(rb"\n|(?<!\\)(?:\\\\)*\\[nr]")
_JSON = re.compile(
    rb"(?:\s{1,64}|(?:event|id|retry)?:[^\n]{0,256}\n){0,16}(?:data:)?\s{0,64}(?:[\[{]\s{0,64}){0,64}(?:[\"}\]\d-]|true|false|null)"
)
"""JSON, or server-sent events of it, by how they begin."""
_STRING = re.compile(rb'"((?:[^"\\\n]|\\.)*+)"?')
_BETWEEN = re.compile(rb"(?:[\s,:\[\]{}\d.eE+-]|true|false|null)*+")
_LIST_GAP = re.compile(rb"(?:\s|\\[nrt]){0,64},?")
_DEAR = 8  # what trying a shape costs, beside looking at a candidate
_LONGEST_NAME = 96
_LONGEST_WEAK = 8192


def spot(data: bytes) -> list[Span]:
    """Every credential in ``data``, in order, never overlapping.

    A value that is a stand-in already is reported too, where a name or scheme stands in front of it.

    Raises:
        Exhausted: there are more candidates than a text of this size can have by accident.
    """
    budget = _Budget(4096 + len(data) // 16)
    found: list[Span] = []
    lower = data.lower()
    flat = data.translate(_WORDS)
    for needle in _NAMES:
        if needle in lower:
            found.extend(_by_name(data, lower, flat, needle, budget))
    if b"@" in data and b"://" in data:
        found.extend(_userinfo(data, budget))
    if b"-----BEGIN" in data:
        found.extend(_private_keys(data, budget))
    if b"bearer" in lower or b"basic" in lower:
        found.extend(_schemes(data, budget))
    if _RUN in flat:
        found.extend(_by_shape(data, flat, budget))
    if not found:
        return found
    found = _without_overlaps(found) if len(found) > 1 else found
    return _inside_strings(data, found) if _JSON.match(data) else found


def spot_named(data: bytes, names: Iterable[str]) -> list[Span]:
    """The values of fields of these very names, in order, whatever they look like; numbers keep being numbers.

    Raises:
        Exhausted: see ``spot``.
    """
    budget = _Budget(4096 + len(data) // 16)
    found: list[Span] = []
    lower = data.lower()
    flat = data.translate(_WORDS)
    for name in names:
        needle = name.lower().encode("utf-8", "surrogateescape")
        at = lower.find(needle)
        while at >= 0:
            budget.spend()
            end = at + len(needle)
            escaped = at > 1 and data[at - 2 : at - 1] == b"\\" and data[at - 1 : at] in (b"n", b"r", b"t")
            if flat[end : end + 1] in (b" ", b"") and (at == 0 or flat[at - 1 : at] == b" " or escaped):
                found.extend(_own_values(data, at, end))
            at = lower.find(needle, end)
    found = _without_overlaps(found) if len(found) > 1 else found
    return _inside_strings(data, found) if found and _JSON.match(data) else found


def _own_values(data: bytes, begin: int, end: int) -> Iterator[Span]:
    """What stands behind a name that somebody has named: quoted, a number, or bare after ``=`` or ``:``."""
    after = _AFTER.match(data, end)
    if after is None or after[3] == b",":
        yield from _after_option_or_tag(data, begin, end, 2)
        return
    opening = _OPEN.match(data, after.end())
    if opening is not None:
        stop = _closing(data, opening.end(), len(opening[1]), opening[2], 2)
        if stop > opening.end():
            yield Span(opening.end(), stop, Sort.NAMED.value)
    elif data[after.end() : after.end() + 1] == b"[":
        yield from _in_list(data, after.end() + 1, 2)
    elif digits := _NUMBER.match(data, after.end()):
        yield Span(*digits.span(), Sort.NAMED.value, True)
    elif after[2] is None and (bare := _BARE.match(data, after.end())):
        yield Span(*bare.span(), Sort.NAMED.value)


def normalise(data: bytes) -> bytes:
    """``data`` with every credential and every stand-in reduced to the constant of its class, for comparing.

    A text that exhausts the budget is returned as it is.
    """
    try:
        spans = spot(data)
    except Exhausted:
        return data
    if spans:
        data = replaced(data, spans, lambda _, span: b"9999" if span.digits else constant(span.sort))
    if b"~rx" in data:
        data = STANDIN.sub(bare, data)
    return data


def replaced(data: bytes, spans: list[Span], change: Callable[[bytes, Span], bytes]) -> bytes:
    """``data`` with each span replaced by what ``change`` makes of it."""
    parts = []
    at = 0
    for span in spans:
        parts.append(data[at : span.start])
        parts.append(change(data[span.start : span.end], span))
        at = span.end
    parts.append(data[at:])
    return b"".join(parts)


class _Budget:
    """Counts candidates."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, amount: int = 1) -> None:
        self.left -= amount
        if self.left < 0:
            raise Exhausted


def _without_overlaps(spans: list[Span]) -> list[Span]:
    """The first of overlapping spans; where they begin together, the longer one (a name outranks a shape in it)."""
    kept: list[Span] = []
    end = -1
    for span in sorted(spans, key=lambda one: (one.start, -one.end)):
        if span.start >= end:
            kept.append(span)
            end = span.end
    return kept


def _inside_strings(data: bytes, spans: list[Span]) -> list[Span]:
    """In JSON, the spans up to where the string ends that they begin in; one between strings is none but a number.

    A quote that a name seems to open (``"the password:", "next"``) may be the end of the string that holds the name.
    """
    kept = []
    strings = _STRING.finditer(data)
    string = next(strings, None)
    for span in spans:
        while string is not None and string.end() <= span.start:
            string = next(strings, None)
        if string is not None and string.start() < span.start:
            end = min(span.end, string.end(1))
            if end < string.end(1) and _escaped(data, end, span.start):  # half an escape
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


def _by_shape(data: bytes, flat: bytes, budget: _Budget) -> Iterator[Span]:
    at = flat.find(_RUN)
    while at >= 0:
        budget.spend()
        end = flat.find(b" ", at + SHORTEST)
        end = len(flat) if end < 0 else end
        resume = end
        before = data[at - 1 : at]
        if before != b"+":  # inside base64: whatever stands there is chance
            for start in _starts(data, at, end, before):
                budget.spend(_DEAR)
                span = _shape_at(data, start) if start >= 0 else None
                if span is not None:
                    resume = max(resume, span.end)
                    yield span
        at = flat.find(_RUN, resume)


def _starts(data: bytes, at: int, end: int, before: bytes) -> Iterator[int]:
    """Where in or just before a run of word characters a shape may begin."""
    if data[at : at + 2] in _PAIRS:
        yield at
    if before == b"\\":  # the letter of an escape stands before it
        yield at + (5 if data[at : at + 1] == b"u" else 1)
    elif before == b"%":
        yield at + 2
    elif before in (b".", b"/", b":"):
        outside = _OUTSIDE.search(data, max(0, at - 11), at)
        if outside is not None:
            yield outside.start()
    dash = data.find(b"-", at, end)
    while dash >= 0:
        if data[dash + 1 : dash + 3] in _PAIRS:
            yield dash + 1
        dash = data.find(b"-", dash + 1, end)


def _shape_at(data: bytes, start: int) -> Span | None:
    match = _SHAPES.match(data, start)
    if match is None:
        return None
    if match["sk"] is not None:
        if not _like_a_key(match["skrest"], 12):
            return None
        span = Span(match.end("sk"), match.end(), Sort.KEY.value)
    elif match["jwt"] is not None:
        span = Span(match.start(), match.end(), Sort.TOKEN.value)
    elif match["aws"] is not None:
        span = Span(match.end("aws"), match.end(), Sort.KEY.value)
    elif match["bot"] is not None:
        span = Span(match.end("bot"), match.end(), Sort.KEY.value)
    else:
        if not _like_a_key(match["rest"], 8):
            return None
        span = Span(match.end("vendor"), match.end(), Sort.KEY.value)
    return None if _is_protected(data, match.start()) else span


def _like_a_key(rest: bytes, run: int) -> bool:
    """Whether random characters, not words joined by dashes: one unbroken part is long and mixes letters and digits."""
    return any(
        len(part) >= run and not part.isalpha() and not part.isdigit() for part in rest.replace(b"-", b"_").split(b"_")
    ) or (len(rest) >= 32 and b"-" not in rest and rest.lower() != rest and rest.upper() != rest)


def _is_protected(data: bytes, at: int) -> bool:
    """Whether the JSON string around ``at`` is a protocol id or was signed by a provider."""
    quote = data.rfind(b'"', max(0, at - 65536), at)
    if quote < 0:
        return False
    before = data[max(0, quote - 64) : quote].rstrip(b"\\ \t")
    if not before.endswith(b":"):
        return False
    before = before[:-1].rstrip()
    if not before.endswith(b'"'):
        return False
    name = before[:-1].rstrip(b"\\").rpartition(b'"')[2]
    return protected(name.decode("latin-1"))


def _schemes(data: bytes, budget: _Budget) -> Iterator[Span]:
    for match in _SCHEME.finditer(data):
        budget.spend()
        value = match[2]
        if match[1].lower() == b"basic":
            if not _is_basic(value) and STANDIN.fullmatch(value) is None:
                continue
        elif len(value) < SHORTEST or not (looks_random(value) or STANDIN.fullmatch(value)):
            continue
        yield Span(match.start(2), match.end(2), Sort.SCHEME.value)


def _is_basic(value: bytes) -> bool:
    try:
        plain = binascii.a2b_base64(value, strict_mode=True)
    except ValueError:
        return False
    return b":" in plain and plain.isascii()


def _private_keys(data: bytes, budget: _Budget) -> Iterator[Span]:
    end = 0
    for match in _PEM.finditer(data):
        budget.spend()
        if match.start() < end:
            continue
        end = data.find(_PEM_END, match.end(), match.end() + 65536)
        if end < 0:
            # Cut off: everything that could belong to it.
            tail = _PEM_CUT.match(data, match.end())
            end = tail.end() if tail else match.end()
        if end > match.end():
            yield Span(match.end(), end, Sort.PEM.value)


def _userinfo(data: bytes, budget: _Budget) -> Iterator[Span]:
    at = data.find(b"://")
    while at >= 0:
        budget.spend()
        match = _USER.match(data, at + 3)
        if match is not None and not trivial(match[2]):
            yield Span(match.start(2), match.end(2), Sort.USERINFO.value)
        at = data.find(b"://", at + 3)


def _by_name(data: bytes, lower: bytes, flat: bytes, needle: bytes, budget: _Budget) -> Iterator[Span]:
    """Values of fields whose name holds ``needle``."""
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
                for span in _values_after(data, begin, end, weight):
                    resume = max(resume, span.end)
                    yield span
        at = lower.find(needle, resume)


def _values_after(data: bytes, begin: int, end: int, weight: int) -> Iterator[Span]:
    """Credentials that a name at ``data[begin:end]`` announces."""
    after = _AFTER.match(data, end)
    if after is None:
        yield from _after_option_or_tag(data, begin, end, weight)
        return
    quoted, sign, at = after[2] is not None, after[3], after.end()
    if sign == b",":  # {"name": "DB_PASSWORD", "value": "…"}
        field = _VALUE_FIELD.match(data, at) if quoted else None
        if field is None:
            return
        at = field.end()
    opening = _OPEN.match(data, at)
    if opening is not None:
        stop = _closing(data, opening.end(), len(opening[1]), opening[2], weight)
        span = _judged(data, opening.end(), stop, weight, loose=quoted)
        if span is not None:
            yield span
    elif data[at : at + 1] == b"[":
        yield from _in_list(data, at + 1, weight)
    elif quoted:
        digits = _DIGITS.match(data, at)
        if digits is not None and b"pass" in data[begin:end].lower():
            yield Span(at, digits.end(), Sort.NAMED.value, True)
    elif sign in (b"=", b":"):
        bare = _BARE.match(data, at)
        path = bare is not None and bare[0].startswith(b"/") and data[begin:end].lower().endswith(b"pwd")
        if bare is not None and not path and _secretive(bare[0], data[bare.end() : bare.end() + 1], sign):
            yield Span(at, bare.end(), Sort.NAMED.value)


def _after_option_or_tag(data: bytes, begin: int, end: int, weight: int) -> Iterator[Span]:
    """``--password VALUE`` and ``<password>VALUE</password>``."""
    if data[end : end + 1] == b">" and data[begin - 1 : begin] == b"<":
        stop = data.find(b"<", end, end + 4096)
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


def _in_list(data: bytes, at: int, weight: int) -> Iterator[Span]:
    """Strings of a list under a name in the plural."""
    for _ in range(64):
        gap = _LIST_GAP.match(data, at)
        opening = _OPEN.match(data, gap.end() if gap else at)
        if opening is None:
            return
        stop = _closing(data, opening.end(), len(opening[1]), opening[2], weight)
        if stop < 0:
            return
        span = _judged(data, opening.end(), stop, weight, loose=True)
        if span is not None:
            yield span
        at = stop + len(opening[1]) + 1


def _closing(data: bytes, start: int, escapes: int, quote: bytes, weight: int) -> int:
    """Where a string ends that began with ``escapes`` backslashes and a quote; the end of data if it is cut off.

    A string nested k levels deep opens with 2**k - 1 backslashes. Taking one level of escaping off turns r
    backslashes before a quote into (r - 1) / 2; the quote closes the string when an even number is left.
    """
    levels = (escapes + 1).bit_length() - 1
    limit = len(data) if weight == 2 else min(len(data), start + _LONGEST_WEAK)
    if quote == b"'":  # a literal of a programming language, which ends in its line or was none
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
    return limit if limit == len(data) else -1
