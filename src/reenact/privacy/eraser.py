"""Removes credentials from texts, URLs, headers, forms, command lines, environments and JSON-able values.

One ``Eraser`` holds the key of a run's stand-ins; everything it returns that equals its argument *is* its argument.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from urllib.parse import quote_from_bytes, unquote_to_bytes

from reenact.facts.call import Json
from reenact.facts.credential_search import spot
from reenact.facts.credentials import (
    COOKIES,
    HEADERS,
    MARK,
    SHORTEST,
    STANDIN,
    CredentialSort,
    bare,
    constant,
    is_stand_in,
    looks_random,
    named,
    named_in_environment,
    named_in_url,
    stand_in,
    trivial,
)
from reenact.facts.known_credentials import NONE, KnownCredentials
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.removed_digests import NOTHING
from reenact.facts.text_spans import CredentialSpan, apart, replaced
from reenact.privacy.batch_search import spelled
from reenact.privacy.commands import line_of, secrets_of
from reenact.privacy.removed_values import RemovedValues
from reenact.privacy.text_memory import Spotter, deem_harmless, digest_of, is_harmless

_SCHEME = lazy_regex(
    rb"(?i)(bearer|basic|token|digest|negotiate|apikey|bot|aws4-hmac-sha256|signature|splunk|genie-?key)\s+"
)
_PAIR = lazy_regex(rb"([^=;,\s]+)=([^;,\s\"]+)")
_COOKIE_ATTRIBUTES = frozenset({"path", "domain", "expires", "max-age", "samesite", "version", "priority"})
_SHORT = 512
_REMEMBERED = 1024
_HEAD = b"head"
_PARAMETER = lazy_regex(rb"([?&;])([\w.\-%\[\]]{1,96})=([^&#\s\"'\\<>]{1,16384})")

_NAMED = lazy_regex(r"(?<=[/>])[^/>#]+")

_Head = tuple[str, Mapping[str, Json]]


class Eraser:
    """Removes credentials.

    Args:
        secret: Key of the stand-ins' digests; None: each stand-in is the constant of its class, so that calls can be
            compared.
        known: The credentials that are known by value.
        removed: The values that were removed before; new ones are added.
    """

    __slots__ = (
        *("_headers", "_known", "_mark", "_removed", "_secret", "_spotter", "_strings", "_told"),
        *("constants", "naming"),
    )

    def __init__(
        self, secret: bytes | None, known: KnownCredentials = NONE, removed: RemovedValues | None = None
    ) -> None:
        self._secret = secret
        self._known = known
        self._removed = RemovedValues() if removed is None else removed
        self._mark = self._removed.mark
        self._told = known.told
        self._spotter = self._spotting()
        self._strings: dict[str, str] = {}
        self._headers: dict[tuple[str, str, bool], str] = {}
        self.constants: Eraser = self if secret is None else Eraser(None, known, self._removed)
        """The eraser that leaves constants, for names that a recording and its replay must have in common."""
        alone = secret is None and removed is None and not known.listed
        apart = self if alone else Eraser(None, known.with_listed(NOTHING)) if secret is None else self.constants.naming
        self.naming: Eraser = apart
        """The eraser for names, which must not depend on earlier removals."""

    def _spotting(self) -> Spotter:
        """The spotter with its memory of texts, which is valid until a further value is removed."""
        told = self._told + self._mark
        return Spotter(self._within if told else None, told)

    @property
    def remembers(self) -> bool:
        """Whether a value has been removed that later texts may hold again."""
        return bool(self._removed)

    def _within(self, data: bytes) -> list[CredentialSpan]:
        """The places of known values in a text under an encoding."""
        return [*self._known.within(data), *self._removed.spans(data)]

    def stand_in(self, sort: str, original: bytes, *, fit: bool) -> bytes:
        """The stand-in of one credential. An original that is a stand-in stays, but loses its digest if constants are
        used."""
        if is_stand_in(original):
            short = self._secret is None and not fit and original[:1] == b"~" and original[1:2] != b"r"
            return constant(sort) if short else self.bare(original)
        if self._secret is None and not fit:
            made = constant(sort)
        else:
            made = stand_in(sort, original, self._secret or b"", fit=fit)
        if not self._known.holds(original):
            self._removed.add(original, sort)
        return made

    def spans(self, data: bytes, found: list[CredentialSpan], *, fit: bool) -> bytes:
        """``data`` with the credentials at ``found`` replaced; ``fit``: each by a stand-in of the same length."""

        def change(original: bytes, span: CredentialSpan) -> bytes:
            exact = fit or (span.tight and self._secret is not None)
            if span.sort == CredentialSort.VALUE.value:
                return self._known.token(original, fit=exact)
            return b"9" * len(original) if span.digits else self.stand_in(span.sort, original, fit=exact)

        # A text that must keep its length keeps its encoded stand-ins whole. When the text is decoded, these
        # stand-ins lose their digests.
        return replaced(data, found, change, self.bare if self._secret is None and not fit else None, exact=fit)

    def bare(self, data: bytes) -> bytes:
        """``data`` in the form for comparisons with constants: stand-ins without digests."""
        return STANDIN.sub(bare, data) if self._secret is None and MARK in data else data

    def find(self, data: bytes, seams: Sequence[int] | None = None) -> list[CredentialSpan]:
        """Every credential in a text whose beginning was not seen before.

        Args:
            data: The text.
            seams: The places where the text was joined from texts that are also cleaned alone. A value that was removed
                before is returned only if it lies across a seam: elsewhere it could cut a longer credential in two.

        Raises:
            Exhausted: The text is built so that a search takes too long.
        """
        self._forget()
        found = self._known.joined(data, partial(spot, more=self._within))
        return self._removed.joined(data, found, seams)

    def known(self, data: bytes) -> list[CredentialSpan]:
        """The places of known values in bytes that are no text."""
        self._forget()
        return apart(self._within(data))

    def head(self, kind: str, name: str, head: Mapping[str, Json], clean: Callable[[], _Head]) -> _Head:
        """The cleaned name and head of a call. Clean names and heads are remembered, because an agent calls the same
        places again and again.

        Args:
            kind: The rules by which name and head are cleaned.
            name: The name of the call.
            head: The head of the call.
            clean: Cleans name and head.

        Raises:
            Exhausted: Name or head is built so that a search takes too long.
        """
        told = f"{kind} {name!r} {head!r} ".encode("utf-8", "surrogatepass")
        digest = digest_of(told + self._told + self._removed.mark, _HEAD)
        if is_harmless(digest):
            return name, head
        cleaned = clean()
        if cleaned == (name, head):
            deem_harmless(digest)
        return cleaned

    def text(self, data: bytes, *, fit: bool = False) -> bytes:
        """Clean a text of any sort.

        Raises:
            Exhausted: The text is built so that a search takes too long.
        """
        if not data:
            return data
        self._forget()
        found = self._removed.joined(data, self._known.joined(data, self._spotter.spot))
        if not found:
            return self.bare(data)
        cleaned = self.bare(self.spans(data, found, fit=fit))
        return data if cleaned == data else cleaned

    def foresee(self, texts: Sequence[bytes]) -> None:
        """Search texts that will be passed to ``text``, all in one go, which costs less."""
        self._forget()
        self._spotter.foresee(texts)

    def string(self, text: str) -> str:
        """Clean a string as ``text`` does. Short strings are remembered, because names and paths come again and
        again."""
        self._forget()
        known = self._strings.get(text)
        if known is not None:
            return known
        data = text.encode("utf-8", "surrogatepass")
        cleaned = self.text(data)
        found = text if cleaned is data else cleaned.decode("utf-8", "surrogatepass")
        if len(text) <= _SHORT:
            if len(self._strings) >= _REMEMBERED:
                self._strings.clear()
            self._strings[text] = found
        return found

    def lane(self, path: str) -> str:
        """The address of a lane, cleaned name by name: with constants in place of removed values it is still an
        address."""
        cleaned = _NAMED.sub(lambda name: self.naming.string(name[0]), path)
        return path if cleaned == path else cleaned

    def _forget(self) -> None:
        """Forget texts that were found clean before a further value was removed: they may contain this value."""
        if self._mark != self._removed.mark:
            self._mark = self._removed.mark
            self._spotter = self._spotting()
            self._strings.clear()
            self._headers.clear()

    # -- HTTP ---------------------------------------------------------------------------------------------------------

    def url(self, url: str) -> str:
        """Clean a URL: its user part, its query by name and shape, its path by shape."""
        self._forget()
        address = ("", url, False)
        known = self._headers.get(address)
        if known is None:
            known = self._cleaned_url(url)
            self._remember(address, known)
        return known

    def _remember(self, address: tuple[str, str, bool], cleaned: str) -> None:
        if len(self._headers) >= _REMEMBERED:
            self._headers.clear()
        self._headers[address] = cleaned

    def _cleaned_url(self, url: str) -> str:
        data = url.encode("utf-8", "surrogatepass")
        cleaned = self.text(_without_userinfo(data, self)) if b"@" in data else self.text(data)
        if b"=" in cleaned:
            cleaned = _PARAMETER.sub(self._parameter, cleaned)
        return url if cleaned == data else cleaned.decode("utf-8", "surrogatepass")

    def _parameter(self, match: re.Match[bytes]) -> bytes:
        value = self._pair(match[2], match[3])
        return match[0] if value is match[3] else match[1] + match[2] + b"=" + value

    def _pair(self, name: bytes, value: bytes) -> bytes:
        """Clean the value of a pair in a query or form."""
        plain = unquote_to_bytes(value.replace(b"+", b" "))
        plain_name = unquote_to_bytes(name).decode("latin-1")
        weight = 2 if self._known.field(plain_name) else named_in_url(plain_name)
        if plain and (weight == 2 or (weight == 1 and looks_random(plain))) and not is_stand_in(plain):
            return quote_from_bytes(self.stand_in(CredentialSort.NAMED, plain, fit=False)).encode()
        if plain != value:
            cleaned = self.text(plain)
            if cleaned is not plain:
                return quote_from_bytes(cleaned).encode()
        return value

    def form(self, body: bytes) -> bytes:
        """Clean a body of ``application/x-www-form-urlencoded``."""
        parts = []
        for part in body.split(b"&"):
            name, sign, value = part.partition(b"=")
            cleaned = self._pair(name, value)
            parts.append(name + sign + (cleaned if cleaned is not value else self.text(value)))
        joined = b"&".join(parts)
        return body if joined == body else joined

    def headers(self, pairs: Json, *, fit: bool = False) -> Json:
        """Clean headers, which are pairs of name and value."""
        if not isinstance(pairs, (list, tuple)):
            return pairs
        cleaned = [self._header_pair(pair, fit) for pair in pairs]
        return pairs if all(new is old for new, old in zip(cleaned, pairs, strict=True)) else cleaned

    def _header_pair(self, pair: Json, fit: bool) -> Json:
        name, value = str(pair[0]), str(pair[1])
        self._forget()
        address = (name, value, fit)
        found = self._headers.get(address)
        if found is None:
            data = value.encode("utf-8", "surrogatepass")
            found = self.header(name.lower(), data, fit=fit).decode("utf-8", "surrogatepass")
            self._remember(address, found)
        return pair if found == value else [pair[0], found, *pair[2:]]

    def header(self, name: str, value: bytes, *, fit: bool) -> bytes:
        """Clean the value of one header; its scheme (``Bearer``) stays."""
        if not value:
            return value
        if name in COOKIES:
            return _PAIR.sub(lambda match: self._cookie(match, fit), value)
        if name in HEADERS or self._known.field(name) or (named(name) == 2 and not name.startswith("access-control-")):
            scheme = _SCHEME.match(value)
            start = scheme.end() if scheme else 0
            secret = value[start:]
            if trivial(secret):
                return value
            return value[:start] + self.stand_in(
                CredentialSort.SCHEME if scheme else CredentialSort.NAMED, secret, fit=fit
            )
        if b"=" in value and (b"://" in value or value.startswith(b"/")):
            return self.url(value.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")
        return self.text(value, fit=fit)

    def _cookie(self, match: re.Match[bytes], fit: bool) -> bytes:
        if match[1].decode("latin-1").lower() in _COOKIE_ATTRIBUTES:
            return match[0]
        return match[1] + b"=" + self.stand_in(CredentialSort.COOKIE, match[2], fit=fit)

    def wire_head(self, head: bytes) -> bytes:
        """Clean the head of an HTTP/1 response as bytes; its length stays."""
        lines = head.split(b"\r\n")
        for at, line in enumerate(lines[1:], 1):
            name, sign, value = line.partition(b":")
            if sign and value.strip():
                pad = len(value) - len(value.lstrip())
                cleaned = self.header(name.strip().lower().decode("latin-1"), value[pad:], fit=True)
                lines[at] = name + sign + value[:pad] + (cleaned if len(cleaned) == len(value) - pad else value[pad:])
        return b"\r\n".join(lines)

    # -- other shapes -------------------------------------------------------------------------------------------------

    def argv(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """Clean a command line: its words by the options in front of them (``privacy.commands``), and by their
        shapes."""
        out: list[str] = []
        for word, secret in zip(arguments, secrets_of(arguments), strict=True):
            out.append(self.string(word) if secret is None else self.string(secret[0]) + self._named(secret[1]))
        return tuple(out)

    def line(self, line: str) -> str:
        """Clean a command line that is one text for a shell."""
        return line_of(line, self.argv)

    def environment(self, variables: Mapping[str, Json]) -> dict[str, Json]:
        """Clean environment variables and other facts of a process, by the names of variables and of fields."""
        out: dict[str, Json] = {}
        for name, value in variables.items():
            if isinstance(value, str) and value and (named_in_environment(name) or self._known.field(name)):
                out[name] = self._named(value)
            elif isinstance(value, Mapping):
                out[name] = self.environment(value)
            elif isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
                out[name] = list(self.argv(value))
            else:
                out[name] = self.json(value)
        return out

    def _named(self, value: str) -> str:
        data = value.encode("utf-8", "surrogatepass")
        return self.stand_in(CredentialSort.NAMED, data, fit=False).decode("utf-8", "surrogatepass")

    def json(self, value: Json, name: str = "") -> Json:
        """Clean a JSON-able value of this name; the same object where it has no credential."""
        if not name and isinstance(value, str):
            return self.string(value)
        if value is None or isinstance(value, (bool, float)):
            return value
        text, lead = spelled(value, name)
        cleaned = self.text(text)
        return value if cleaned is text else json.loads(cleaned.decode("utf-8", "surrogatepass")[lead:])


_USERINFO = lazy_regex(rb"^([A-Za-z][\w+.-]*://)([^/?#@\s]*)@")


def _without_userinfo(url: bytes, eraser: Eraser) -> bytes:
    """The URL without the password in its user part. A name without a password is removed where it looks like a
    token."""
    match = _USERINFO.match(url)
    if match is None:
        return url
    name, sign, password = match[2].partition(b":")
    if sign and password:
        password = eraser.stand_in(CredentialSort.USERINFO, password, fit=False)
    elif len(name) >= SHORTEST and looks_random(name) and STANDIN.search(name) is None:
        name = eraser.stand_in(CredentialSort.USERINFO, name, fit=False)
    return match[1] + name + sign + password + b"@" + url[match.end() :]
