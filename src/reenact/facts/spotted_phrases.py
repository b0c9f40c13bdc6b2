"""Credentials by the phrase in which they appear: options of commands, cookies, sentences, pairs with the value before
the name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

from reenact.facts.credentials import CredentialSort, is_coded, like_text, looks_random, named, trivial
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.needles import Find
from reenact.facts.text_spans import Budget, CredentialSpan

_GAP = rb"(?:\s{1,8}+|\\{0,7}[\"'],\s{0,8}\\{0,7}[\"'])"
"""White space between the words of a command, or the end of one string of a list and the beginning of the next."""
_QUOTED = rb"(?:\\{0,7}'[^'\n]{1,512}+'|\\{0,7}\"[^\"\n]{1,512}+\"|[^\s\"'\\]{1,512}+)"
_VALUE = (
    rb"(?:\\{0,7}'(?P<single>[^'\n\"]{1,512}+)'"
    rb"|\\{1,7}\"(?P<double>[^\"'\n\\]{1,512}+)\\{1,7}\"|(?P<bare>[^\s\"'\\]{1,512}+))"
)
_LEFT = rb"(?:(?<![\w-])|(?<=\\[nrt]))"
_WORDS = rb"(?:" + _GAP + _QUOTED + rb"){0,8}?" + _GAP
"""Further words of a command, up to the option that follows."""
_LOGIN = lazy_regex(
    _LEFT
    + rb"(?i:-u|--user|--proxy-user)(?:"
    + _GAP
    + rb"|=)\\{0,7}[\"']?[^\s:\"'\\\0-\x1f]{1,64}+:(?P<pw>[^\s\"'\\\0-\x1f]{1,512}+)"
)
_COMMAND = lazy_regex(
    rb"(?:sshpass" + _GAP + rb"-p(?:" + _GAP + rb")?|redis-cli" + _WORDS + rb"-a" + _GAP
    + rb"|(?:mysql(?:dump|admin)?|mariadb)" + _WORDS + rb"-p|(?:docker|az)" + _GAP + rb"login" + _WORDS + rb"-p" + _GAP
    + rb"|wandb" + _GAP + rb"login" + _GAP + rb"(?:--relogin" + _GAP + rb")?)"
    + _VALUE
)  # fmt: skip
_LDAP = lazy_regex(rb"ldap[a-z]{1,16}\s[^\n|;]{0,256}?\s-w\s{1,4}(?P<pw>[^\s\"'\\]{1,256})")
_NL = rb"(?:\r?\n|(?:\\{1,7}r)?\\{1,7}n)"
_TAB = rb"(?:\t|\\{1,7}t)"
_SENT = _NL + rb"\$\d{1,4}" + _NL
_REDIS = lazy_regex(
    rb"AUTH(?:(?: [^\s\"'\\]{1,64})? (?P<pw>[^\s\"'\\]{4,256})"
    rb"|(?:" + _SENT + rb"[^\r\n\\\"]{1,64})?" + _SENT + rb"(?P<bare>[^\r\n\\\"]{4,1024}))"
)
_PUTTY = lazy_regex(rb"(?i)private-lines:\s\d{1,4}" + _NL + rb"(?P<pw>(?:[A-Za-z0-9+/=]{1,80}" + _NL + rb"){1,200})")
_HASHED = lazy_regex(
    rb"\$(?:[1-9y]|gy|2[abxy]|argon2(?:id|i|d)|scrypt|pbkdf2[\w-]{0,16})\$(?:[\w=,.+/]{1,64}\$){0,3}(?P<pw>[\w./+=-]{22,128})"
)
_JAR = lazy_regex(
    _TAB + rb"/[^\s\\]{0,256}" + _TAB + rb"(?:TRUE|FALSE)" + _TAB + rb"\d{1,20}" + _TAB
    + rb"[^\s\\]{1,128}" + _TAB + rb"(?P<pw>[^\s\\\"]{5,4096})"
)  # fmt: skip
_STORED = lazy_regex(  # a cookie in the form in which a browser exports it
    rb"value(?P<e>\\{0,7})\"\s{0,8}:\s{0,8}(?P=e)\"(?P<pw>[^\"\\\n]{8,4096})(?P=e)\"\s{0,8},(?:\s|\\[nrt]){0,64}(?P=e)\""
    rb"(?:domain|path|expires|httpOnly|sameSite|hostOnly)"
)
_PGPASS = lazy_regex(rb":(?:\d{2,5}|\*):[\w*.-]{1,64}:[\w*@.-]{1,64}:(?P<pw>[^\s:\"'\\]{4,256})(?=[\s\"'\\]|\Z)")
_NUMBER = lazy_regex(rb"[\"'](?:d|p|q|dp|dq|qi|k)\\{0,7}[\"']\s{0,8}:\s{0,8}\\{0,7}[\"'](?P<pw>[\w-]{16,2048})")
_LONGEST_KEY = 8192
_ORACLE = lazy_regex(rb"(?i)jdbc:oracle:\w{1,8}:[\w.$-]{1,64}/(?P<pw>[^@\s\"'\\/]{1,256})@")
_ILLEGAL = lazy_regex(rb"(?i)header value:?\s{1,4}b?\\{0,7}[\"'](?:\w{1,16}\s)?(?P<pw>[^\"'\\\s]{8,4096})")
_IS_THE = lazy_regex(rb"\sis\s(?:the|my|our|your)\s(?:\w{1,16}\s){0,2}(?:key|token|password|secret)\b")
_NO_WORD = lazy_regex(rb"[\s\"'`<>\\]")
_INSERTED = lazy_regex(
    rb"(?i)insert\sinto\s[^\s(]{1,128}\s{0,4}\((?P<names>[^()]{1,2048})\)\s{0,4}values\s{0,4}\((?P<row>[^()]{1,8192})\)"
)
_CELL = lazy_regex(rb"\s{0,8}(?:'(?P<text>(?:[^'\\]|'')*+)'|[^',]*+)\s{0,8}(?:,|\Z)")
_SECURED = lazy_regex(rb"(?i)convertto-securestring\s(?:-string\s)?\\{0,7}[\"'](?P<pw>[^\"'\\\n]{4,256})")
_SQL = lazy_regex(rb"(?i)(?:identified\s(?:with\s\S{1,64}\s)?by|password)\s{1,4}(?:=\s{0,4})?'(?P<pw>[^'\n\"]{4,256})'")
_COOKIE = lazy_regex(rb"(?i)cookie2?\\{0,7}[\"']?\s{0,4}[:=,]\s{0,4}\\{0,7}b?[\"']?(?P<pairs>[^\"'\r\n\\]{8,8192})")
_PAIR = lazy_regex(rb"([^=;,\s]{1,128})=([^;,\s]{6,4096})")
_ATTRIBUTES = frozenset((b"path", b"domain", b"expires", b"max-age", b"samesite", b"version", b"priority"))
_BACKWARDS = lazy_regex(
    rb"value(?P<e>\\{0,7})(?P<q>[\"'])\s{0,8}:\s{0,8}(?P=e)(?P=q)(?P<pw>[^\"'\\\n]{1,4096}+)(?P=e)(?P=q)\s{0,8},"
    rb"\s{0,64}(?P=e)(?P=q)(?:name|key)(?P=e)(?P=q)\s{0,8}:\s{0,8}(?P=e)(?P=q)(?P<name>[\w.-]{1,96})(?P=e)(?P=q)"
)
_SIGNED = lazy_regex(
    rb"[?&](?:sig|signature|x-amz-signature|x-goog-signature|x-amz-security-token|x-amz-credential|client_assertion"
    rb"|code|key|token|ticket|appid|session|session_?id|sid)=(?P<pw>[^&\s\"'\\#<>]{16,4096})"
)
_HOOK = lazy_regex(
    rb"(?i)hooks?(?:\.slack\.com/(?:services|workflows)/(?P<pw>[\w/-]{16,200})|/(?:\d{5,24}/)?(?P<bare>[\w-]{16,200}))"
)
_SERVICE = lazy_regex(rb"(?i)/services/T[A-Z0-9]{6,14}/B[A-Z0-9]{6,14}/(?P<pw>\w{16,200})")
_PIPED = lazy_regex(rb"echo\s{1,4}(?:-n\s)?" + _VALUE + rb"\s{0,4}\|[^|\n]{0,96}\Z")
_NETRC = lazy_regex(
    _LEFT + rb"(?:machine(?:\s|\\{1,7}[nrt]){1,8}[^\s\\\"']{1,128}|default)(?:\s|\\{1,7}[nrt]){1,16}"
    rb"(?:(?:login|account)(?:\s|\\{1,7}[nrt]){1,8}[^\s\\\"']{1,128}(?:\s|\\{1,7}[nrt]){1,16}){0,2}"
    rb"password(?:\s|\\{1,7}[nrt]){1,8}(?P<pw>[^\s\\\"']{1,256})"
)
_HARMLESS = lazy_regex(
    rb"(?i).*(?:base-?64|sha-?\d|md5|utf-?\d|oauth2|ipv[46]|x509|\d-digit|characters?|s3://|https?://).*"
)

_Judge = Callable[[bytes], bool]


def by_phrase(
    data: bytes, lower: bytes, words: AbstractSet[bytes], find: Find, budget: Budget
) -> Iterator[CredentialSpan]:
    """Credentials in the phrases of this module. ``lower`` has the text in small letters, ``words`` are those of
    ``WORDS`` that are in it, and ``find`` finds their places."""
    for needle, pattern, judge in _PHRASES:
        at = find(needle, 0) if needle in words else -1
        while at >= 0:
            budget.spend()
            end = at + len(needle)
            match = pattern.match(data, at)
            if match is not None:
                for group in _GROUPS:
                    if group in pattern.groupindex and match[group] is not None and judge(match[group]):
                        end = match.end()
                        if pattern is not _HOOK or not is_coded(data, *match.span()):
                            yield CredentialSpan(*match.span(group), CredentialSort.NAMED.value)
            at = find(needle, end)
    yield from _said(data, budget)
    yield from _web_keys(data, budget)
    if b"=" in data:
        yield from _in_queries(data, lower, budget)
    for needle, search in _LONGER:
        if needle in words:
            yield from search(data, lower, needle, find, budget)


def _in_queries(data: bytes, lower: bytes, budget: Budget) -> Iterator[CredentialSpan]:
    """The values of parameters in the query of a URL."""
    for match in _SIGNED.finditer(lower):
        budget.spend()
        start, end = match.span("pw")
        if _random(data[start:end]):
            yield CredentialSpan(start, end, CredentialSort.NAMED.value)


def _called(name: bytes, value: bytes) -> bool:
    """Whether a value is a credential under this name."""
    weight = named(name.decode("latin-1"))
    return (weight == 2 and not trivial(value)) or (weight == 1 and _random(value))


def _web_keys(data: bytes, budget: Budget) -> Iterator[CredentialSpan]:
    """The private numbers of a JSON web key."""
    at = data.find(b"kty")
    while at >= 0:
        budget.spend(8)
        begin = data.rfind(b"{", max(0, at - _LONGEST_KEY), at)
        end = data.find(b"}", at, at + _LONGEST_KEY)
        for match in _NUMBER.finditer(data, begin, end) if 0 <= begin < end else ():
            yield CredentialSpan(*match.span("pw"), CredentialSort.KEY.value)
        at = data.find(b"kty", at + 3 if end < 0 else end)


def _backwards(data: bytes, lower: bytes, needle: bytes, find: Find, budget: Budget) -> Iterator[CredentialSpan]:
    """The value of a pair that has its name behind the value."""
    for match in _BACKWARDS.finditer(lower):
        budget.spend()
        if _called(match["name"], data[match.start("pw") : match.end("pw")]):
            yield CredentialSpan(*match.span("pw"), CredentialSort.NAMED.value)


def _piped(data: bytes, lower: bytes, reader: bytes, find: Find, budget: Budget) -> Iterator[CredentialSpan]:
    """The value in ``echo VALUE | sudo -S``, whose last command, the ``reader``, reads a password."""
    at = find(reader, 0)
    while at >= 0:
        budget.spend(8)
        match = _PIPED.search(data, max(0, at - 640), at + 1)
        for group in () if match is None else _GROUPS[1:]:
            if match is not None and match[group] is not None and telling(match[group]):
                yield CredentialSpan(*match.span(group), CredentialSort.NAMED.value)
        at = find(reader, at + len(reader))


def _said(data: bytes, budget: Budget) -> Iterator[CredentialSpan]:
    """``VALUE is the key``."""
    at = data.find(b" is ")
    while at >= 0:
        budget.spend()
        if _IS_THE.match(data, at) is not None:
            word = _NO_WORD.split(data[max(0, at - 512) : at])[-1]
            if 0 < len(word) < 512 and spoken(word):
                yield CredentialSpan(at - len(word), at, CredentialSort.NAMED.value)
        at = data.find(b" is ", at + 4)


def _inserted(data: bytes, lower: bytes, needle: bytes, find: Find, budget: Budget) -> Iterator[CredentialSpan]:
    """The values of a row in SQL, by the names of their columns."""
    at = find(needle, 0)
    while at >= 0:
        budget.spend()
        match = _INSERTED.match(data, at)
        place = 0 if match is None else match.start("row")
        for name in () if match is None else match["names"].split(b","):
            cell = _CELL.match(data, place, match.end("row")) if match is not None else None
            if cell is None:
                break
            if cell["text"] and _called(name.strip(b' \t\r\n`"[]\\'), cell["text"]):
                yield CredentialSpan(*cell.span("text"), CredentialSort.NAMED.value)
            place = cell.end()
        at = find(needle, at + len(needle))


def _cookies(data: bytes, lower: bytes, needle: bytes, find: Find, budget: Budget) -> Iterator[CredentialSpan]:
    at = find(needle, 0)
    while at >= 0:
        budget.spend()
        match = _COOKIE.match(data, at)
        if match is not None:
            yield from cookies(data, *match.span("pairs"))
        at = find(needle, at + len(needle) if match is None else match.end())


def cookies(data: bytes, start: int, end: int) -> Iterator[CredentialSpan]:
    """The values of cookies in ``data[start:end]``, without values that can only be settings."""
    for pair in _PAIR.finditer(data, start, end):
        if pair[1].lower() not in _ATTRIBUTES and telling(pair[2]):
            yield CredentialSpan(*pair.span(2), CredentialSort.COOKIE.value)


def telling(value: bytes) -> bool:
    """Whether a value is more likely a secret than a word or a number: it has a digit or a mark beside its letters, or
    is a stand-in."""
    if not value.strip(b"~") or value.startswith(b"~rx"):
        return True
    if len(value) < 5 or trivial(value) or value.isdigit() or value[:1] in b"$<{%" or not like_text(value):
        return False
    return any(48 <= byte <= 57 for byte in value) or any(byte in b"!@#$%^*+=?" for byte in value)


def spoken(value: bytes) -> bool:
    """Whether a word of a sentence is more likely a secret than an ordinary word. A secret must have letters and
    digits."""
    bare = value.rstrip(b".,;:!?)")
    if not bare.strip(b"~") or bare.startswith(b"~rx"):
        return True
    digits = sum(48 <= byte <= 57 for byte in bare)
    return telling(bare) and 0 < digits < len(bare) - 1 and len(bare) >= 7 and _HARMLESS.fullmatch(bare) is None


def _always(value: bytes) -> bool:
    return not trivial(value)


def _random(value: bytes) -> bool:
    return looks_random(value) or value.startswith(b"~rx")


_GROUPS = ("pw", "single", "double", "bare")
_PHRASES: tuple[tuple[bytes, re.Pattern[bytes], _Judge], ...] = (
    *((option, _LOGIN, telling) for option in (b"-u", b"--user", b"--proxy-user")),
    *(
        (command, _COMMAND, telling)
        for command in (b"sshpass", b"mysql", b"mariadb", b"redis-cli", b"docker", b"az login", b"wandb login")
    ),
    *((word, _SQL, telling) for word in (b"identified", b"password")),
    *((word, _NETRC, _always) for word in (b"machine", b"default")),
    (b"hook", _HOOK, _random),
    (b"/services/t", _SERVICE, _random),
    *((path, _JAR, telling) for path in (b"\t/", b"\\t/")),
    *((salt, _HASHED, _always) for salt in (b"$6$", b"$y$", b"$2", b"$argon2")),
    *((port, _PGPASS, telling) for port in (b":5432:", b":*:")),
    (b"value", _STORED, telling),
    (b"private-lines:", _PUTTY, _always),
    (b"jdbc:oracle:", _ORACLE, _always),
    (b"header value", _ILLEGAL, _random),
    *((end, _REDIS, telling) for end in (b"auth ", b"auth\r\n$", b"auth\\r\\n$")),
    (b"ldap", _LDAP, telling),
    (b"convertto-securestring", _SECURED, _always),
)
"""For each phrase: its beginning in small letters, its pattern, and a test whether its value is a credential."""
_LONGER = (
    *((reader, _piped) for reader in (b"| sudo -s", b"--password-stdin")),
    (b"insert into ", _inserted),
    (b"cookie", _cookies),
    (b"value", _backwards),
)
"""For each phrase that no single pattern describes: a word of it in small letters, and the search."""
WORDS = (*(needle for needle, _, _ in _PHRASES), *(needle for needle, _ in _LONGER))
"""All words of this module that are searched for in small letters."""
