"""Credentials by the name in front of them: fields of JSON, forms and headers, options, tags, assignments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reenact.facts.credentials import SHORTEST, STANDIN, CredentialSort, looks_random, named
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.needles import Find
from reenact.facts.secrecy import LONGEST_NAME, is_basic, judged, secretive
from reenact.facts.spotted_phrases import cookies, spoken, telling
from reenact.facts.text_spans import Budget, CredentialSpan, string_end

_GAP = rb"(?:\s|\\[nrt]){0,32}"
_AFTER = lazy_regex(
    rb"(\\{0,15})([\"'])?(?:\*{1,2}|`|\])?"
    + _GAP
    + rb"(:=|=>|:|={1,3}|,|\|)"
    + rb"(?:\*{2}|\s\*{1,2}(?=[^*]))?"
    + rb"(?:\s?[|>][+-]?(?:\n|\\n))?"
    + rb"(?:\s?!{1,2}\w{1,16}\s)?"
    + _GAP
)
_VALUE_FIELD = lazy_regex(
    rb"(\\{0,15})([\"'])(?i:value|(?P<loose>text|content|data|val|answer|default))\1\2\s{0,32}:\s{0,32}"
)
_VALUE_LINE = lazy_regex(
    rb"\\{0,15}[\"']?(?:\r?\n|\\{1,7}[rn])(?:\s|\\{1,7}[nt]){0,32}\\{0,15}[\"']?value\\{0,15}[\"']?:\s{0,32}"
)
_VALUE_ATTRIBUTE = lazy_regex(rb"\\{0,15}[\"']\s{1,8}(?i:value)\s{0,4}=\s{0,4}")
_ELEMENT = lazy_regex(rb"(?:\\{0,15}[\"'])?(?:\s[^<>]{0,256})?>(?:<!\[CDATA\[)?")
_PART = lazy_regex(
    rb"\\{0,15}\"?(?:\r\n|\n|(?:\\{1,7}r)?\\{1,7}n)(?:(?i:content)-[^\r\n\\]{0,128}(?:\r\n|\n|(?:\\{1,7}r)?\\{1,7}n)){0,4}"
    rb"(?:\r\n|\n|(?:\\{1,7}r)?\\{1,7}n)(?P<pw>[^\r\n\\\"]{1,4096})"
)
_OPEN = lazy_regex(_GAP + rb"(?:[bBrRuU]{1,2}(?=\\{0,15}[\"']))?(?:''(?=')|\"\"(?=\"))?(\\{0,15})([\"'])")
_BEFORE_PAIR = lazy_regex(rb"[(\[]\s{0,8}[bBuU]?\\{0,15}[\"'](?:[\w.-]{1,64}\.)?\Z")
_AFTER_PAIR = lazy_regex(rb"\\{0,15}[\"']\s{0,8},?\s{0,8}[)\]]")
_TOKEN = lazy_regex(rb"[\w.\-+/=~%:]{1,1024}+")
_BARE = lazy_regex(rb"[^\s\"'`<>\\\0-\x1f\x7f]{1,1024}")
_ERASED = lazy_regex(rb"~rx[a-z][a-z2-7]*0*~|~{1,15}(?=[\s,;&|\"'<>\\(){}\[\]]|\Z)")
"""The remains of a redacted value. The value ends there, even if text follows."""
_SEPARATOR = lazy_regex(rb"[,;&|)\]}{(\[]")
_ASSIGNMENT = lazy_regex(rb"&[A-Za-z_\[][\w.\[\]%-]{0,64}=|[,;]\s?[A-Za-z_\[][\w.\[\]% -]{1,64}=|&amp;")
_IDENTIFIER = lazy_regex(rb"[A-Za-z_][\w.]*\Z")
_SCHEME_WORD = lazy_regex(
    rb"(?i)(?:token|ssws|flyv1|sso-key|apikey|api-key|key|digest|splunk|bot|bearer|basic|negotiate)\s{1,4}"
)
_ENV_NAME = lazy_regex(rb"[A-Z][A-Z0-9_]*\Z")
_LINE_BEFORE = lazy_regex(
    rb"(?:\A|[\n\r\"']|\\[nr]|\\{1,15}[\"'])(?:\s|\\t){0,64}(?:export\s{1,8}|-\s{1,8}|set\s{1,8}|ENV\s{1,8}){0,2}\Z"
)
_LINE_AFTER = lazy_regex(rb"\s{0,64}(?:\Z|[\n\r\"',]|\\[nr\"]|\s#)")
_NUMBER = lazy_regex(rb"\d{1,20}(?![\w.])")
_DIGITS = lazy_regex(rb"\d{4,20}(?![\w.])")
_LINE_END = lazy_regex(rb"\n|\\(?<!\\\\)(?:\\\\)*+[nr]")
_LIST_GAP = lazy_regex(rb"(?:\s|\\[nrt]){0,64},?")
_LONGEST_WEAK = 8192
_LONGEST_LITERAL = 32768
_SECOND_WORDS = frozenset((b"key", b"token", b"secret", b"phrase"))
_FIRST_WORD = lazy_regex(
    rb"(?:\b|\\[nrt])(?:api|secret|access|private|auth|client|signing|bearer|pass|encryption|app|bot|refresh)[ _]\Z"
)
_OWN = lazy_regex(rb"\b(?:my|our|your|the|this|new)\s(?:[a-z]{2,12}\s){0,2}\Z")
_CALLED = lazy_regex(rb"[A-Za-z_][\w.]{0,64}\(\s{0,8}[bBuU]?(?=\\{0,15}[\"'])")
_NEXT_ELEMENT = lazy_regex(rb"</[\w:]{1,32}>(?:(?:\s|\\[nrt]){0,32}<[\w:]{1,32}>){1,3}(?P<pw>[^<]{1,4096})<")
_SETS = lazy_regex(rb"(?i)(?:\bset(?:\s-[a-z]{1,4}){1,3}|\bsetx|\bconfig\sset|\bsecret\s(?:set|put))\s\Z")
_FALLBACK = lazy_regex(rb"\s{0,4}={1}\s{0,4}[\w.\[\]\"'()]{1,128}?\s{0,4}(?:\|\||\?\?|\bor\b)\s{0,4}(?=\\{0,15}[\"'])")
_DEFAULT = lazy_regex(rb"\s{0,8}(?:\w{1,16}\s?=\s?[^,()]{1,40},\s{0,8}){0,4}default\s?=\s?(?=\\{0,15}[\"'])")
_SIGNS = (b",", b";", b"\t", b"|")
_NAME_OF_COLUMN = lazy_regex(rb"(?:#\s?)?[A-Za-z_][\w.-]{0,40}(?: [\w.-]{1,20}){0,3}")
_WIDEST = 512
_MOST_ROWS = 1024
_DOCUMENTS = (b'"""', b"'''")
_WITH = lazy_regex(rb"\b(?:with|using|use|this|my|your|following)\s(?:the\s|this\s|my\s)?\Z")
_SENTENCE = lazy_regex(
    rb"(?:\s(?:for|of|in|from)\s[^\s:]{1,40}|\shere)?(?::|\s(?:is|was|are|will\sbe|has\sbeen\sset\sto|set\sto|to|->))\s{1,2}(?::\s|now\s)?"
    rb"(?:\\{0,7}[\"'`])?(?P<pw>[^\s\"'`<>\\]{6,512})"
)
_DEAR = 4


def own_values(data: bytes, begin: int, end: int, *, in_json: bool) -> Iterator[CredentialSpan]:
    """The values after a name from the settings: quoted, a number, or bare after ``=`` or ``:``. With ``in_json``, no
    value goes on after the end of the JSON string in which it begins.
    """
    after = _AFTER.match(data, end)
    if after is None or after[3] in (b",", b"|"):
        yield from _beside(data, begin, end, 2, in_json=in_json)
        return
    opening = _OPEN.match(data, after.end())
    if opening is not None:
        stop = _closing(data, opening, 2, in_json=in_json)
        if stop > opening.end():
            yield CredentialSpan(opening.end(), stop, CredentialSort.NAMED.value)
    elif data[after.end() : after.end() + 1] == b"[":
        yield from _in_list(data, after.end() + 1, 2, in_json=in_json)
    elif digits := _NUMBER.match(data, after.end()):
        yield CredentialSpan(*digits.span(), CredentialSort.NAMED.value, True)
    elif after[2] is None and (stop := _bare_end(data, after.end(), loose=False)) > after.end():
        yield CredentialSpan(after.end(), stop, CredentialSort.NAMED.value)


def by_name(
    data: bytes, lower: bytes, flat: bytes, needle: bytes, find: Find, budget: Budget, *, in_json: bool
) -> Iterator[CredentialSpan]:
    """Values of fields whose name contains ``needle``, which ``find`` finds in ``lower``; ``in_json`` as in
    ``own_values``."""
    at = find(needle, 0)
    size = len(data)
    while at >= 0:
        budget.spend()
        end = flat.find(b" ", at + len(needle))
        end = size if end < 0 else end
        resume = end
        if end < size and end - at <= LONGEST_NAME:
            begin = flat.rfind(b" ", max(0, at - LONGEST_NAME), at) + 1 or max(0, at - LONGEST_NAME)
            if data[begin - 1 : begin] == b"\\" and data[begin : begin + 1] in (b"n", b"r", b"t"):
                begin += 1  # this letter belongs to an escape, not to the name
            weight = named(lower[begin:end].decode("latin-1"))
            if not weight and lower[begin:end] in _SECOND_WORDS:
                first = _FIRST_WORD.search(lower, max(0, begin - 16), begin)
                weight = 2 if first is not None else int(_OWN.search(lower, max(0, begin - 40), begin) is not None)
            if weight:
                budget.spend(_DEAR)
                for span in _column(data, begin, end, weight, budget):
                    yield span
                for span in _values_after(data, begin, end, weight, in_json=in_json):
                    resume = max(resume, span.end)
                    yield span
        at = find(needle, resume)


def _column(data: bytes, begin: int, end: int, weight: int, budget: Budget) -> Iterator[CredentialSpan]:
    """The cells below a name in the first line of a table (CSV and its kind)."""
    sign = data[end : end + 1] if data[end : end + 1] in _SIGNS else data[begin - 1 : begin]
    if sign not in _SIGNS:
        return
    for line_end in (b"\n", b"\\n"):
        stop = data.find(line_end, end, end + _WIDEST)
        before = data.rfind(line_end, max(0, begin - _WIDEST), begin)
        quote = data.rfind(b'"', max(0, begin - _WIDEST), begin)
        first = max(before + len(line_end) if before >= 0 else 0, quote + 1)  # of the line, or of the string around
        names = data[first:stop].removesuffix(b"\r").removesuffix(b"\\r").split(sign) if stop >= 0 else []
        if len(names) < 2 or not all(_NAME_OF_COLUMN.fullmatch(name) for name in names):
            continue
        above = data.rfind(line_end, max(0, first - _WIDEST), max(0, first - len(line_end))) + 1
        if before > quote and data.count(sign, above, first) == len(names) - 1:
            continue  # this line is a row of values, because the line above has as many
        column = data.count(sign, first, begin)
        cell = re.compile(rb'"((?:[^"\r\n\\]|"")*+)"|([^"\r\n\\' + re.escape(sign) + rb"]*+)")
        at = stop + len(line_end)
        for _ in range(_MOST_ROWS):
            count, value = 0, None
            while (found := cell.match(data, at)) is not None:
                value = found.span(1 if found[1] is not None else 2) if count == column else value
                count, at = count + 1, found.end() + 1
                if data[found.end() : at] != sign:
                    break
            budget.spend(1 + count // 4)
            if count != len(names) or value is None:
                break
            span = judged(data, *value, weight, loose=True)
            yield from () if span is None else (span,)
            behind = data.find(line_end, at - 1, at + 2)
            if behind < 0:
                break
            at = behind + len(line_end)


def _values_after(data: bytes, begin: int, end: int, weight: int, *, in_json: bool) -> Iterator[CredentialSpan]:
    """The credentials that follow the name at ``data[begin:end]``."""
    after = _AFTER.match(data, end)
    if after is None:
        yield from _beside(data, begin, end, weight, in_json=in_json)
        return
    quoted, sign, at = after[2] is not None, after[3], after.end()
    if sign.startswith(b"=="):
        sign, weight = b"=", 1  # a value in a comparison is a credential only if it looks like one
    fallback = None if quoted or sign != b"=" else _FALLBACK.match(data, end)
    at = at if fallback is None else fallback.end()
    if sign == b",":
        yield from _next_in_list(data, begin, end, after, weight, in_json=in_json)
        return
    called = None if quoted else _CALLED.match(data, at)  # SecretStr('…')
    opening = _OPEN.match(data, at if called is None else called.end())
    if opening is not None:
        if (quoted and len(opening[1]) < len(after[1])) or (sign != b"=" and opening[0].endswith(_DOCUMENTS)):
            return  # either the string with the name ends here, or a description of the named thing follows
        stop = _closing(data, opening, weight, in_json=in_json)
        span = judged(data, opening.end(), stop, weight, loose=quoted)
        if called is not None and span is not None and any(each in b"/. " for each in data[span.start : span.end]):
            return  # the value is the name of a file or of a setting
        if span is None and stop > 0 and data[begin:end].lower() == b"auth" and is_basic(data[opening.end() : stop]):
            span = CredentialSpan(opening.end(), stop, CredentialSort.NAMED.value)
        yield from () if span is None else (span,)
    elif data[at : at + 1] == b"[":
        yield from _in_list(data, at + 1, weight, in_json=in_json)
    elif quoted and sign == b":":
        digits = _DIGITS.match(data, at)
        name = data[begin:end].lower()
        if digits is not None and b"pass" in name and name != b"pass":
            yield CredentialSpan(at, digits.end(), CredentialSort.NAMED.value, True)
        elif digits is None and not in_json and data[at : at + 1] not in (b"{", b"]", b"}"):
            yield from _bare(data, begin, at, b"|", weight)
    else:
        yield from _bare(data, begin, at, sign, weight)


def _spoken_after(data: bytes, begin: int, end: int) -> Iterator[CredentialSpan]:
    """The values in ``the password is VALUE`` and ``with password VALUE``."""
    sentence = _SENTENCE.match(data, end)
    if sentence is not None and spoken(sentence["pw"]):
        yield CredentialSpan(*sentence.span("pw"), CredentialSort.NAMED.value)
    elif _WITH.search(data, max(0, begin - 16), begin) is not None:
        stop = _bare_end(data, end + 1, loose=True)
        value = data[end + 1 : stop]
        if spoken(value) and (b"pass" in data[begin:end].lower() or looks_random(value)):
            yield CredentialSpan(end + 1, stop, CredentialSort.NAMED.value)


def _bare(data: bytes, begin: int, at: int, sign: bytes, weight: int) -> Iterator[CredentialSpan]:
    """The span of a value without quotes, if it is a credential."""
    name_end = data[begin:at].lower()
    scheme = None
    if b"authorization" in name_end or name_end.startswith(b"auth"):
        scheme = _SCHEME_WORD.match(data, at)
        at = scheme.end() if scheme is not None else at
    elif data[begin - 3 : begin] == b"://":
        return  # the name is the user of a URL, where a password and a host follow
    if data[at : at + 1] == b"`":
        at += 1
    alone = _LINE_BEFORE.search(data, max(0, begin - 80), begin) is not None
    stop = _bare_end(
        data, at, loose=alone and sign == b"=" and _ENV_NAME.match(data[begin:at].rstrip(b"= ")) is not None
    )
    if stop <= at:
        return
    if weight == 1 and (token := _TOKEN.match(data, at, stop)) is not None and token.end() - at >= SHORTEST:
        stop = token.end()
    value = data[at:stop]
    if value.startswith(b"/") and b"pwd" in name_end and weight < 2:
        return
    alone = alone and sign in (b":", b"=>", b"=") and _LINE_AFTER.match(data, stop) is not None
    if weight == 1 and not (looks_random(value) or STANDIN.fullmatch(value) or not value.strip(b"~")):
        return
    if secretive(value, b"" if scheme is not None else data[stop : stop + 1], sign, alone=alone):
        yield CredentialSpan(at, stop, CredentialSort.NAMED.value)


def _bare_end(data: bytes, at: int, *, loose: bool) -> int:
    """The end of a value without quotes: a separator before another assignment, white space or the end of the text.
    With ``loose``, it is the end of the word."""
    erased = _ERASED.match(data, at)
    word = erased or _BARE.match(data, at)
    end = at if word is None else word.end()
    if loose or word is None or erased is not None:
        return end
    for found in _SEPARATOR.finditer(data, at, end):
        place = found.start()
        sign = found[0]
        if sign in (b"(", b"[", b"{"):
            if place == at or _IDENTIFIER.match(data[at:place]) is not None:
                return place
            continue
        if sign in (b")", b"]", b"}"):
            ends = data[place + 1 : place + 2] in b" ,;.:)]}" or place + 1 >= end
            if ends and not _opened(data[at:place], sign):
                return place
            continue
        if place + 1 >= end or _ASSIGNMENT.match(data, place) is not None:
            return place
    return end


def _opened(value: bytes, sign: bytes) -> bool:
    opens = {b")": b"(", b"]": b"[", b"}": b"{"}[sign]
    return value.count(opens) > value.count(sign)


def _next_in_list(
    data: bytes, begin: int, end: int, after: re.Match[bytes], weight: int, *, in_json: bool
) -> Iterator[CredentialSpan]:
    """The value that follows a name and a comma: ``{"name": NAME, "value": VALUE}``, ``(NAME, VALUE)``,
    ``["--NAME", VALUE]``."""
    if after[2] is None:
        return
    default = _DEFAULT.match(data, after.end())
    if default is not None:
        yield from _plain_or_quoted(data, default.end(), weight, in_json=in_json)
        return
    field = _VALUE_FIELD.match(data, after.end())
    opening = _OPEN.match(data, after.end() if field is None else field.end())
    if opening is None or opening[2] != after[2]:
        return
    stop = _closing(data, opening, weight, in_json=in_json)
    if stop <= opening.end():
        return
    value = data[opening.end() : stop]
    if b"cookie" in data[begin:end].lower():
        yield from cookies(data, opening.end(), stop)
    elif field is not None:
        sure = field["loose"] is None or looks_random(value)
        span = judged(data, opening.end(), stop, weight, loose=True) if sure else None
        if span is not None:
            yield span
    elif telling(value) and _announces_next(data, begin, stop, value):
        span = judged(data, opening.end(), stop, weight, loose=True)
        if span is not None:
            yield span


def _announces_next(data: bytes, begin: int, stop: int, value: bytes) -> bool:
    """Whether the next entry of a list is the value of a name, because the name is an option or the first of two
    entries."""
    if data[begin : begin + 1] == b"-" or data[begin - 2 : begin] == b"--":
        return not value.startswith(b"-")
    return (
        _BEFORE_PAIR.search(data, max(0, begin - 100), begin) is not None and _AFTER_PAIR.match(data, stop) is not None
    )


def _beside(data: bytes, begin: int, end: int, weight: int, *, in_json: bool) -> Iterator[CredentialSpan]:
    """The value of a name without a sign between them: of an option, an element, a part of a form, a pair in attributes
    or lines."""
    named_so = data[max(0, begin - 24) : begin].lower().rstrip(b"\\\"' ")
    before = data[begin - 1 : begin]
    if (data[end : end + 1] == b" " and data[begin : begin + 1] == b"-") or data[begin - 1 : begin + 1] == b"--":
        yield from _option(data, end, weight, in_json=in_json)
    elif (line := _VALUE_LINE.match(data, end)) is not None:
        yield from _plain_or_quoted(data, line.end(), weight, in_json=in_json)
    elif named_so.endswith((b"name=", b"key=", b"id=")):
        attribute = _VALUE_ATTRIBUTE.match(data, end)
        part = _PART.match(data, end)
        if attribute is not None:
            yield from _plain_or_quoted(data, attribute.end(), weight, in_json=in_json)
        elif part is not None:
            span = judged(data, *part.span("pw"), weight, loose=True)
            if span is not None:
                yield span
        else:
            yield from _in_element(data, end, weight, in_json=in_json)
    elif before == b">" and (value := _NEXT_ELEMENT.match(data, end)) is not None:
        span = judged(data, *value.span("pw"), weight, loose=True)
        if span is not None:
            yield span
    elif _SETS.search(data, max(0, begin - 24), begin) is not None and data[end : end + 1] == b" ":
        yield from _option(data, end, weight, in_json=in_json)
    elif before in (b"<", b":") and data[end : end + 1] in (b">", b" ", b"\n", b"\t"):
        yield from _in_element(data, end, weight, in_json=in_json)
    elif data[end : end + 1] == b" ":
        yield from _spoken_after(data, begin, end)


def _option(data: bytes, end: int, weight: int, *, in_json: bool) -> Iterator[CredentialSpan]:
    """``--password VALUE``."""
    opening = _OPEN.match(data, end + 1)
    if opening is not None:
        stop = _closing(data, opening, weight, in_json=in_json)
        span = judged(data, opening.end(), stop, weight, loose=False)
        if span is not None:
            yield span
        return
    stop = _bare_end(data, end + 1, loose=True)
    if stop > end + 1 and telling(data[end + 1 : stop]):
        yield CredentialSpan(end + 1, stop, CredentialSort.NAMED.value)


def _plain_or_quoted(data: bytes, at: int, weight: int, *, in_json: bool) -> Iterator[CredentialSpan]:
    opening = _OPEN.match(data, at)
    if opening is not None:
        span = judged(data, opening.end(), _closing(data, opening, weight, in_json=in_json), weight, loose=True)
        if span is not None:
            yield span
        return
    stop = _bare_end(data, at, loose=True)
    span = judged(data, at, stop, weight, loose=True) if stop > at else None
    if span is not None:
        yield span


def _in_element(data: bytes, end: int, weight: int, *, in_json: bool) -> Iterator[CredentialSpan]:
    """The value in ``<password>VALUE</password>``, with attributes or without."""
    opened = _ELEMENT.match(data, end)
    if opened is None:
        return
    start = opened.end()
    limit = min(len(data), start + 4096)
    stop = data.find(b"<", start, string_end(data, start, limit) if in_json else limit)
    if data[start - 9 : start] == b"<![CDATA[":
        stop = data.find(b"]]>", start, limit)
    span = judged(data, start, stop, weight, loose=True) if stop > 0 and data[start:stop].strip() else None
    if span is not None:
        yield span


def _in_list(data: bytes, at: int, weight: int, *, in_json: bool) -> Iterator[CredentialSpan]:
    """The strings of a list under a name in the plural."""
    for _ in range(64):
        gap = _LIST_GAP.match(data, at)
        opening = _OPEN.match(data, gap.end() if gap else at)
        if opening is None:
            return
        stop = _closing(data, opening, weight, in_json=in_json)
        if stop < 0:
            return
        span = judged(data, opening.end(), stop, weight, loose=True)
        if span is not None:
            yield span
        at = stop + len(opening[1]) + 1


def _closing(data: bytes, opening: re.Match[bytes], weight: int, *, in_json: bool) -> int:
    """The end of the string that ``opening`` has begun with backslashes and a quote; the end of the data if the string
    is cut off.

    A string nested k levels deep opens with 2**k - 1 backslashes. Removing one level of escapes turns r backslashes
    before a quote into (r - 1) / 2. The quote closes the string when an even number is left.
    """
    start, escapes, quote = opening.end(), len(opening[1]), opening[2]
    levels = (escapes + 1).bit_length() - 1
    whole = limit = len(data) if weight == 2 else min(len(data), start + _LONGEST_WEAK)
    cut_off = len(data)
    if quote == b"'":  # a literal of a programming language must end in its line
        limit = min(limit, start + _LONGEST_LITERAL)
        if in_json:  # and it cannot go on after the JSON string around it
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
                return first  # an outer string ends here, so this one ends too
            left //= 2
        if left % 2 == 0:
            return at - escapes if at - escapes >= start else at
        at = data.find(quote, at + 1, limit)
    return limit if limit == cut_off else -1
