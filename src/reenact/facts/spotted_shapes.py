"""Credentials by the shape of their value: keys of vendors, tokens, schemes, private keys, passwords in a URL.

A first pass of substring searches finds candidates; regular expressions are tried only there, and each of them is
bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reenact.facts.credentials import SHORTEST, STANDIN, CredentialSort, is_coded, looks_random, protected, trivial
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.secrecy import is_basic
from reenact.facts.text_spans import Budget, CredentialSpan, string_end

RUN = b"a" * SHORTEST
"""The shortest run of word characters, as in the folded text. Without it no part of a text is long enough."""
_LEFT = rb"(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf])|(?<=/bot)|(?<=%[0-9A-Fa-f][0-9A-Fa-f])|(?<=\\u00[0-9a-fA-F]{2}))"
_SHAPES = lazy_regex(
    _LEFT
    + rb"(?:(?P<sk>sk-(?:ant-|proj-|svcacct-|admin-|or-v1-|lf-)?)(?P<skrest>[A-Za-z0-9_-]{16,512})"
    + rb"|(?P<jwt>(?<![.])eyJ[\w-]{8,8192}\.[\w-]{4,16384}\.[\w-]{4,4096}(?:\.[\w-]{4,4096}){0,2})"
    + rb"|(?P<aws>A(?:KIA|SIA|BIA|CCA|GPA|IDA|IPA|NPA|NVA|PKA|ROA|SCA))[A-Z2-7]{16}(?![A-Za-z0-9])"
    + rb"|(?P<vendor>gh[pousr]_|github_pat_|glpat-|gl(?:dt|rt|cbt|ptt)-|xox[abdeoprs]-|xapp-|AIza|hf_|npm_|pypi-"
    + rb"|(?:sk|rk|pk|whsec)_(?:live|test)_|whsec_|gsk_|r8_|pplx-|xai-|nvapi-|tvly-|fc-|lsv2_[ps][tk]_|pcsk_|dop_v1_"
    + rb"|shp(?:at|ca|pa|ss)_|dapi|ya29\.|1//0|SG\.|key-(?=[0-9a-f]{32})|EAA(?=[A-Za-z0-9_-]{60})|sq0[a-z]{3}-"
    + rb"|sntry[su]_|xkeysib-|xsmtpsib-|ABSK(?=[A-Za-z0-9+/]{40})"
    + rb"|dckr_pat_|ATATT3|figd_|secret_|ntn_|tfp_|pat-|lin_api_|phc_|fw_|csk-|esecret_|voyage-"
    + rb"|GOCSPX-|hvs\.|hvb\.|glsa_|glc_"
    + rb"|pul-|rubygems_|dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{1,32}\.)?|sbp_|LTAI|AKCp|PMAK-|EZ[AT]K|NRAK-"
    + rb"|sgp_|tskey-|rdme_|ops_eyJ|CFPAT-|dt0c01\.|HRKU-|shippo_|vercel_|AGE-SECRET-KEY-1|cohere_|nvapi-|LLM-)"
    + rb"(?P<rest>[A-Za-z0-9_-]{16,512}(?:\.[A-Za-z0-9_-]{16,512}|(?:\.[a-z0-9]{2,16}){2})?)"
    + rb"|(?P<discord>[MNO][A-Za-z0-9]{22,27}\.[\w-]{6}\.[\w-]{27,40})(?![\w-])"
    + rb"|(?P<bot>\d{8,10}:)AA[\w-]{33}(?![\w-]))"
)
_PAIRS = frozenset(
    b"gi sk ey AK AS AB AC AG AI AN AP AR gh gl xo xa hf np py rk pk wh gs r8 pp nv tv fc ls pc do sh da ke EA sq sn"
    b" dc AT fi se nt tf pa li ph fw cs es vo GO hv pu ru dp sb LT PM EZ NR sg ts rd op CF dt HR ve co LL"
    b" xk xs MT Mj Mz ND NT Nj Nz OD OT".split()
)
"""The beginnings of the shapes. Shapes that begin outside a run of word characters are in ``_OUTSIDE``."""
_OUTSIDE = lazy_regex(
    rb"(?:ya29\.|SG\.|hv[sb]\.|dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{1,32}\.)?|dt0c01\.|1//|\d{8,10}:)\Z"
)
_SCHEME = lazy_regex(_LEFT + rb"((?i:bearer|basic))(?:\s|%20|\+){1,8}([A-Za-z0-9._~+/=-]{8,16384})")
_PEM = lazy_regex(rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = b"-----END "
_PEM_CUT = lazy_regex(rb"(?:[A-Za-z0-9+/=\s:,.~-]|\\{1,15}[nrt/]){0,16384}")
_MARKED = (
    (b"q~", 4, lazy_regex(rb"(?<![\w.~-])[\w.~-]{3}\dQ~[\w.~-]{31,36}(?![\w.~-])")),
    (b".atlasv1.", 14, lazy_regex(rb"(?<![\w.])[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,200}")),
    *((mark, 0, lazy_regex(mark + rb"[A-Za-z0-9+/=,_-]{32,2048}")) for mark in (b"fm1_", b"fm2_")),
    (b"-us", 32, lazy_regex(rb"(?<![\w-])[0-9a-f]{32}-us\d{1,2}(?![\w-])")),
)
"""Keys that are known by a text inside them: the text, its distance from the key's beginning, and the pattern of the
whole key."""
_USER = lazy_regex(rb"([^\s/@:\"'\\<>`]{0,256}):([^\s/@\"'\\<>`]{1,512})@(?=[\w\[])")
_USER_ALONE = lazy_regex(rb"([^\s/@:\"'\\<>`]{16,256})@(?=[\w\[])")
_SURE = frozenset((b"glpat-", b"GOCSPX-", b"AIza", b"ya29.", b"hvs.", b"pypi-", b"SG.", b"xoxb-", b"xoxp-", b"dapi"))
_DEAR = 8  # trying a shape costs this many times more than finding a candidate


def by_shape(data: bytes, flat: bytes, budget: Budget) -> Iterator[CredentialSpan]:
    """Keys and tokens of known shapes; ``flat`` has an ``a`` for each word character of ``data``, and a space for any
    other."""
    at = flat.find(RUN)
    while at >= 0:
        budget.spend()
        end = flat.find(b" ", at + SHORTEST)
        end = len(flat) if end < 0 else end
        resume = end
        before = data[at - 1 : at]
        if before != b"+":  # inside base64 any shape is random
            for start in _starts(data, at, end, before):
                budget.spend(_DEAR)
                span = _shape_at(data, start) if start >= 0 else None
                if span is not None:
                    resume = max(resume, span.end)
                    yield span
        at = flat.find(RUN, resume)


def _starts(data: bytes, at: int, end: int, before: bytes) -> Iterator[int]:
    """Where in or just before a run of word characters a shape may begin."""
    if data[at : at + 2] in _PAIRS:
        yield at
    if before == b"\\":  # the run begins with the letter of an escape
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


def _shape_at(data: bytes, start: int) -> CredentialSpan | None:
    match = _SHAPES.match(data, start)
    if match is None:
        return None
    if match["sk"] is not None:
        if not _like_a_key(match["skrest"], 12) and (match["sk"] == b"sk-" or not looks_random(match["skrest"])):
            return None
        span = CredentialSpan(match.end("sk"), match.end(), CredentialSort.KEY.value)
    elif match["jwt"] is not None:
        span = CredentialSpan(match.start(), match.end(), CredentialSort.TOKEN.value)
    elif match["aws"] is not None:
        span = CredentialSpan(match.end("aws"), match.end(), CredentialSort.KEY.value)
    elif match["discord"] is not None:
        span = CredentialSpan(match.start(), match.end(), CredentialSort.TOKEN.value)
    elif match["bot"] is not None:
        span = CredentialSpan(match.end("bot"), match.end(), CredentialSort.KEY.value)
    else:
        if not _like_a_key(match["rest"], 8) and (match["vendor"] not in _SURE or not looks_random(match["rest"])):
            return None
        span = CredentialSpan(match.end("vendor"), match.end(), CredentialSort.KEY.value)
    return None if is_coded(data, *match.span()) or _is_protected(data, match.start()) else span


def _like_a_key(rest: bytes, run: int) -> bool:
    """Whether a text is random characters and not words joined by dashes. One of its parts must be long, and mix
    letters and digits."""
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


def _schemes(data: bytes, lower: bytes) -> Iterator[re.Match[bytes]]:
    """The places of schemes. A search for the name first is twenty times as fast as a search for the whole pattern."""
    for name in (b"bearer", b"basic"):
        at = lower.find(name)
        while at >= 0:
            match = _SCHEME.match(data, at)
            if match is not None:
                yield match
            at = lower.find(name, at + len(name))


def schemes(data: bytes, lower: bytes, budget: Budget) -> Iterator[CredentialSpan]:
    """The values after ``Bearer`` or ``Basic``; ``lower`` is the text in small letters."""
    for match in _schemes(data, lower):
        budget.spend()
        value = match[2]
        if match[1].lower() == b"basic":
            if not is_basic(value) and STANDIN.fullmatch(value) is None:
                continue
        elif not _is_bearer(value):
            continue
        yield CredentialSpan(match.start(2), match.end(2), CredentialSort.SCHEME.value)


def _is_bearer(value: bytes) -> bool:
    """Whether a value is a token, or was one before redaction. A stand-in inside it looks random, although the replaced
    value did not."""
    rest = STANDIN.sub(b"", value)
    return len(value) >= SHORTEST if not rest else len(rest) >= SHORTEST and looks_random(rest)


def private_keys(data: bytes, budget: Budget, *, in_json: bool) -> Iterator[CredentialSpan]:
    """The bodies of private keys in PEM, truncated ones too. With ``in_json``, a body ends at the latest with its JSON
    string."""
    end = 0
    for match in _PEM.finditer(data):
        budget.spend()
        if match.start() < end:
            continue
        limit = min(len(data), match.end() + 65536)
        if in_json:
            limit = string_end(data, match.end(), limit)
        end = data.find(_PEM_END, match.end(), limit)
        if end < 0:
            # The key is cut off: its body is all that could belong to it.
            tail = _PEM_CUT.match(data, match.end(), limit)
            end = tail.end() if tail else match.end()
        if end > match.end():
            yield CredentialSpan(match.end(), end, CredentialSort.PEM.value)


def marked(data: bytes, lower: bytes, budget: Budget) -> Iterator[CredentialSpan]:
    """Keys that are known by a text inside them; ``lower`` has the text in small letters."""
    for mark, before, pattern in _MARKED:
        at = lower.find(mark)
        while at >= 0:
            budget.spend()
            match = pattern.match(data, at - before) if at >= before else None
            if match is not None and not is_coded(data, *match.span()):
                yield CredentialSpan(*match.span(), CredentialSort.KEY.value)
            at = lower.find(mark, at + len(mark))


def userinfo(data: bytes, budget: Budget) -> Iterator[CredentialSpan]:
    """Passwords in front of the host of a URL."""
    at = data.find(b"://")
    while at >= 0:
        budget.spend()
        match = _USER.match(data, at + 3)
        if match is not None and not trivial(match[2]):
            yield CredentialSpan(match.start(2), match.end(2), CredentialSort.USERINFO.value)
        elif match is None and (alone := _USER_ALONE.match(data, at + 3)) is not None and looks_random(alone[1]):
            yield CredentialSpan(*alone.span(1), CredentialSort.USERINFO.value)
        at = data.find(b"://", at + 3)
