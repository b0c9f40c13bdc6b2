"""Keys: what makes two calls the same call, by named and versioned rules.

A rule turns the head and body of a call into canonical bytes. Two calls are the same when these bytes are. For HTTP the
bytes come from method, URL and body, never from headers. For all other calls they come from all that the seam put into
head and body. Canonical means: JSON parsed and sorted with the text of its numbers kept, forms sorted, multipart
boundaries made equal, request compression undone, declared volatile paths dropped. Every credential, and every stand-in
that redaction left of one, becomes the constant of its class, so that neither redaction nor a placeholder at replay
changes a key.

A key is a keyed digest of these bytes: an index only, never the truth.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

from reenact.errors import UnreplayableRun
from reenact.facts.call import Json
from reenact.facts.compression import undo
from reenact.facts.credential_search import normalise
from reenact.facts.credentials import CredentialSort, constant, looks_random, named_in_url
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.removed_digests import NOTHING, REMOVED, RemovedDigests, listed
from reenact.facts.woven_keys import canonical_woven
from reenact.facts.woven_text import Woven

Ignore = Mapping[str, str]
"""Ignore rules: name to a JSON pointer with dots (``body.metadata.trace_id``, ``body.items.*.at``, ``query.nonce``)."""

VERSIONS: Mapping[str, str] = {"http": "1", "tool": "1"}
"""The newest version of each special rule. Any other name at version 1 is the general rule."""

LARGEST = 16 << 20
"""Bodies of more bytes are compared unparsed, because parsing them would take memory of several times their size."""

_DEAR = 256 << 10
_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_ESCAPE = lazy_regex(r"%[0-9a-fA-F]{2}")
_BOUNDARY = lazy_regex(r"boundary=(?:\"([^\"]+)\"|([^\s;,]+))", re.IGNORECASE)
_MINUS_ZERO = lazy_regex(rb"[:,\[\s]-0(?![\d.eE])")
_NUMBER = lazy_regex(rb'"\\u0000([^"]*)"')
_NOTHING: Ignore = {}


def canonical(
    rule: str, head: Mapping[str, Json], body: bytes, ignore: Ignore = _NOTHING, ignored: Counter[str] | None = None
) -> bytes:
    """The canonical bytes of a call.

    Args:
        rule: Named, versioned rule (``http/1``).
        head: The call's head (``facts.call.Call.head``).
        body: The call's body.
        ignore: Ignore rules in force.
        ignored: Counts each application of an ignore rule, by its name.

    Raises:
        UnreplayableRun: The rule has a version that this program does not know.

    Cost: about 10 µs a KB of JSON.
    """
    name, _, version = rule.partition("/")
    if version != VERSIONS.get(name, "1"):
        raise UnreplayableRun(
            f"the recording compares calls by the rule {rule!r}, which this version does not know",
            cause="the run was recorded by a newer version of reenact",
            next_command="pip install --upgrade reenact",
            missing=(rule,),
        )
    counter: Counter[str] = Counter() if ignored is None else ignored
    if name == "http":
        lead, body = _http(head, body, ignore, counter)
    elif name == "tool":
        lead = _compact({"tool": head.get("tool"), "opaque": head.get("opaque") or []})
        lead = normalise(lead) if b"~rx" in lead else lead
    elif name == "mcp":  # the connection is no part of the request: the caller chooses it
        lead = normalise(_compact({field: said for field, said in head.items() if field != "over"}))
    else:
        lead = normalise(_compact(dict(head)))
    text = canonical_body(body, _content_type(head) if name == "http" else "", ignore, counter)
    return b"\n".join((rule.encode(), lead, text))


def canonical_body(
    body: bytes, media: str = "", ignore: Ignore = _NOTHING, ignored: Counter[str] | None = None
) -> bytes:
    """The canonical bytes of a decoded body. Applied to its own result, the function changes nothing.

    Args:
        body: The body, its content encoding undone.
        media: Its media type with parameters; JSON is recognised without one.
        ignore: Ignore rules; those whose path begins with ``body.`` apply.
        ignored: Counts each application of an ignore rule, by its name.
    """
    if not body or len(body) > LARGEST:
        return body
    if type(body) is Woven and not any(path.startswith("body.") for path in ignore.values()):
        woven = canonical_woven(body, _canonical_piece)
        if woven is not None:
            return woven
    kind = media.partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        return _sorted_pairs(body.decode("latin-1"), (), Counter()).encode("latin-1")
    if kind.startswith("multipart/"):
        body = _common_boundary(body, media)
    body = normalise(body)
    if body.lstrip()[:1] in (b"{", b"[", b'"') or kind.endswith("json"):
        paths = {rule: path[5:].split(".") for rule, path in ignore.items() if path.startswith("body.")}
        return _canonical_json(body, paths, Counter() if ignored is None else ignored)
    return body


def key(rule: str, head: Mapping[str, Json], body: bytes, secret: bytes = b"", ignore: Ignore = _NOTHING) -> str:
    """The key of a call: a digest of its canonical bytes under ``secret``, as 32 hexadecimal digits."""
    return blake2b(canonical(rule, head, body, ignore), key=secret[:64], digest_size=16).hexdigest()


class Rules:
    """The comparison of one session: a secret, the run's ignore rules, and how often each was applied.

    Args:
        ignore: Ignore rules in force.
        secret: Key of the digests.
        removed: The values that redaction has removed in the recording. Such a value never makes two calls differ, even
            where it was recorded before redaction knew it.
    """

    __slots__ = ("_memo", "_removed", "_secret", "ignore", "ignored")

    def __init__(self, ignore: Ignore = _NOTHING, secret: bytes = b"", removed: RemovedDigests = NOTHING) -> None:
        self._removed = removed
        self.ignore = dict(ignore)
        self.ignored: Counter[str] = Counter()
        self._secret = secret
        self._memo: dict[tuple[str, int, bytes], tuple[Mapping[str, Json], bytes]] = {}

    def same(
        self, rule: str, head: Mapping[str, Json], body: bytes, other_head: Mapping[str, Json], other_body: bytes
    ) -> bool:
        """Whether two calls under one rule are the same. Equal bytes are not parsed."""
        if body == other_body and (head == other_head or plain(rule, head) == plain(rule, other_head)):
            return True
        if rule.startswith("tool/") and min(len(body), len(other_body)) > _DEAR:
            # Most of them differ only by stand-ins of credentials. Parsing them would cost several times more.
            leads = [canonical(rule, each, b"") for each in (head, other_head)]
            if leads[0] == leads[1] and normalise(body) == normalise(other_body):
                return True
        return self.canonical(rule, head, body) == self.canonical(rule, other_head, other_body)

    def canonical(self, rule: str, head: Mapping[str, Json], body: bytes) -> bytes:
        """The canonical bytes of a call; those of recent calls are remembered, because a search compares one call
        with many."""
        address = (rule, id(head), body)
        known = self._memo.get(address)
        if known is not None and known[0] is head:
            return known[1]
        if self._removed:
            told, asked = _erased(head, self._removed), self._removed.erased(body)
            found = canonical(rule, told, asked, self.ignore, self.ignored)
        else:
            found = canonical(rule, head, body, self.ignore, self.ignored)
        if len(body) <= 1 << 20:
            while len(self._memo) >= 64:
                del self._memo[next(iter(self._memo))]
            self._memo[address] = (head, found)
        return found

    def one_name(self, recorded: str, now: str) -> bool:
        """Whether two names, or ids, are the same. A name of today has constants in the place of credentials. Older
        recordings have stand-ins there, or the credential itself if they were made before it was removed."""
        if recorded == now:
            return True
        return ("~rx" in now or "~rx" in recorded) and self._name(recorded) == self._name(now)

    def _name(self, name: str) -> bytes:
        data = name.encode("utf-8", "surrogatepass")
        return normalise(self._removed.erased(data) if self._removed else data)

    def key(self, rule: str, head: Mapping[str, Json], body: bytes) -> str:
        """The key of a call."""
        return blake2b(self.canonical(rule, head, body), key=self._secret[:64], digest_size=16).hexdigest()


def rules_of(capture: Mapping[str, Json], more: Ignore = _NOTHING) -> Rules:
    """The rules by which a run's calls are compared: those of its recording (``Run.capture``), and ``more`` ignore
    rules."""
    return Rules({**(capture.get("ignore") or {}), **more}, removed=listed(capture.get(REMOVED)))


def _erased(value: object, removed: RemovedDigests) -> Any:
    if isinstance(value, str):
        data = value.encode("utf-8", "surrogatepass")
        return removed.erased(data).decode("utf-8", "surrogatepass")
    if isinstance(value, Mapping):
        return {name: _erased(part, removed) for name, part in value.items()}
    return [_erased(part, removed) for part in value] if isinstance(value, (list, tuple)) else value


def plain(rule: str, head: Mapping[str, Json]) -> object:
    """The part of a head that counts, as it is: with equal parts and equal bodies, two calls are the same."""
    if rule.startswith("http/"):
        return head.get("method"), head.get("url"), _content_type(head), _header(head, "content-encoding")
    return head


def _header(head: Mapping[str, Json], name: str) -> str:
    for pair in head.get("headers") or ():
        if pair[0].lower() == name:
            return str(pair[1])
    return ""


def _content_type(head: Mapping[str, Json]) -> str:
    return _header(head, "content-type")


def _http(head: Mapping[str, Json], body: bytes, ignore: Ignore, ignored: Counter[str]) -> tuple[bytes, bytes]:
    encoding = _header(head, "content-encoding")
    if encoding:
        undone = undo(encoding, body, LARGEST)
        if undone is not None and undone.whole:
            body = undone.data
    paths = [(rule, path[6:]) for rule, path in ignore.items() if path.startswith("query.")]
    url = canonical_url(str(head.get("url", "")), paths, ignored)
    return f"{str(head.get('method', '')).upper()} {url}".encode("utf-8", "surrogateescape"), body


def canonical_url(url: str, ignore: Sequence[tuple[str, str]] = (), ignored: Counter[str] | None = None) -> str:
    """A URL with scheme, host and port folded, its query sorted by name, and neither user part nor fragment."""
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme.lower())
        host = (parts.hostname or "").lower()
    except ValueError:
        return url
    path = normalise((parts.path or "/").encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
    path = _ESCAPE.sub(lambda match: match[0].upper(), path)
    query = _sorted_pairs(parts.query, ignore, Counter() if ignored is None else ignored)
    lead = f"{parts.scheme.lower()}://[{host}]:{port}" if ":" in host else f"{parts.scheme.lower()}://{host}:{port}"
    return f"{lead}{path}?{query}" if query else lead + path


def _sorted_pairs(query: str, ignore: Sequence[tuple[str, str]], ignored: Counter[str]) -> str:
    """The pairs of a query sorted by name; pairs of one name keep their order. Each escaped character has one
    spelling."""
    if not query:
        return ""
    dropped = {path: rule for rule, path in ignore}
    pairs = []
    for part in query.split("&"):
        name, sign, value = part.partition("=")
        name = _respelled(name)
        if unquote_to_bytes(name).decode("latin-1") in dropped:
            ignored[dropped[unquote_to_bytes(name).decode("latin-1")]] += 1
            continue
        pairs.append((name, sign, _pair_value(name, value)))
    return "&".join(name + sign + value for name, sign, value in sorted(pairs, key=lambda pair: pair[0]))


def _pair_value(name: str, value: str) -> str:
    plain = unquote_to_bytes(value.replace("+", " "))
    weight = named_in_url(unquote_to_bytes(name).decode("latin-1")) if plain else 0
    if weight == 2 or (weight == 1 and (looks_random(plain) or plain.startswith(b"~"))):
        return constant(CredentialSort.NAMED.value).decode()
    return quote_from_bytes(normalise(plain), safe="")


def _respelled(text: str) -> str:
    return quote_from_bytes(unquote_to_bytes(text.replace("+", " ")), safe="")


def _common_boundary(body: bytes, media: str) -> bytes:
    found = _BOUNDARY.search(media)
    if found is None:
        return body
    boundary = (found[1] or found[2]).encode("latin-1", "replace")
    return body.replace(b"--" + boundary, b"--reenact-boundary")


# -- JSON --------------------------------------------------------------------------------------------------------------


class _Number(str):
    """The text of a number."""

    __slots__ = ()


class _Pairs(list[Any]):
    """The pairs of an object, in order."""


class _Irregular(Exception):
    """The fast path cannot distinguish this text from another."""


def _compact(value: Json) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr).encode()


def _canonical_piece(text: bytes) -> bytes | None:
    """The canonical JSON of a text; None where the fast path is not enough."""
    try:
        return _fast_json(text, {}, Counter())
    except (_Irregular, ValueError, RecursionError):
        return None


def _canonical_json(body: bytes, paths: Mapping[str, Sequence[str]], ignored: Counter[str]) -> bytes:
    """Sorted, compact JSON with the text of each number kept; a body that is not JSON is returned as it is."""
    try:
        return _fast_json(body, paths, ignored)
    except RecursionError:
        return body
    except (_Irregular, ValueError):  # also for an integer with more digits than Python reads by default
        pass
    try:
        value = json.loads(
            body, object_pairs_hook=_Pairs, parse_float=_Number, parse_int=_Number, parse_constant=_Number
        )
        for rule, path in paths.items():
            ignored[rule] += _drop(value, path)
        return _spelled(value).encode()
    except (ValueError, RecursionError):
        return body


def _fast_json(body: bytes, paths: Mapping[str, Sequence[str]], ignored: Counter[str]) -> bytes:
    """Canonical JSON by the C scanner and encoder alone. Fractions pass through them as strings marked by a NUL."""
    if b"\\u0000" in body or (b"-0" in body and _MINUS_ZERO.search(body)):
        raise _Irregular
    value = json.loads(body, object_pairs_hook=_unique, parse_float="\0".__add__)
    for rule, path in paths.items():
        ignored[rule] += _drop(value, path)
    text = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    return _NUMBER.sub(rb"\1", text) if b'"\\u0000' in text else text


def _unique(pairs: list[tuple[str, object]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Irregular
    return found


def _spelled(value: object) -> str:
    """A value spelled as the fast path spells it, also objects that repeat a name, and numbers that no integer can
    keep."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, _Pairs):
        pairs = sorted(value, key=lambda pair: str(pair[0]))
        return "{" + ",".join(f"{json.dumps(name)}:{_spelled(item)}" for name, item in pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_spelled, value)) + "]"
    return json.dumps(value)


def _drop(value: Any, path: Sequence[str]) -> int:
    """Remove the members that a path names (``*`` is every member). Returns how many were removed."""
    chosen: list[Any]
    if isinstance(value, _Pairs):
        chosen = [at for at, (name, _) in enumerate(value) if path[0] in (name, "*")]
        members = [value[at][1] for at in chosen]
    elif isinstance(value, list):
        every = range(len(value)) if path[0] == "*" else [int(path[0])] if path[0].isdigit() else []
        chosen = [at for at in every if at < len(value)]
        members = [value[at] for at in chosen]
    elif isinstance(value, dict):
        chosen = [name for name in value if path[0] in (name, "*")]
        members = [value[name] for name in chosen]
    else:
        return 0
    if len(path) > 1:
        return sum(_drop(member, path[1:]) for member in members)
    for name in reversed(chosen):
        del value[name]
    return len(chosen)
