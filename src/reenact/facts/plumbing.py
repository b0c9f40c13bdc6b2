"""Plumbing: which HTTP exchanges and RPCs only hand telemetry over, so that nothing the agent does depends on them.

An endpoint is recognised by its method, its path, and its host. Where the host is not known (a collector of the user's
own, loopback), the body must have the form of the endpoint's protocol too. Endpoints from which a program reads are
never plumbing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from reenact.facts.call import Call, Json, Kind
from reenact.facts.lazy_dataclass import replace
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.telemetry import has_form
from reenact.facts.telemetry_endpoints import CATALOGUE, LIST, NAMES, Endpoint, Success

MARK: Final = "plumbing"
"""In the head of a call, the key for the name of the rule by which the call is plumbing. In the capture of a run, the
key for the rules in force."""

OFF: Final = "off"
"""The value with which a project turns a rule off."""
EVERY: Final = "all"
"""The name that stands for every rule of the list."""

_WRITTEN = "off, or METHOD HOST/PATH [STATUS [BODY]]"
_KNOWN_PATHS = 256
_PORT = lazy_regex(r":\d+$")


class PlumbingRules:
    """The rules that hold for one run.

    Args:
        endpoints: The endpoints, in the order in which they are tried.
    """

    __slots__ = ("_endpoints", "_found", "_methods")

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._endpoints = tuple(endpoints)
        self._methods = frozenset(method for each in self._endpoints for method in each.methods)
        self._found: dict[tuple[str, str], tuple[tuple[Endpoint, bool], ...]] = {}

    def endpoint(self, call: Call) -> Endpoint | None:
        """The telemetry endpoint of a call; None for other calls. It takes about 1 µs for a call that is no
        telemetry."""
        if call.kind is not Kind.HTTP:
            return None
        head = call.head
        method = head.get("method")
        if head.get("transport") == "grpc":
            method = "GRPC" if head.get("shape") == "unary_unary" else None
        if method not in self._methods:
            return None
        place = place_in(str(head["url"]))
        candidates = self._found.get((method, place))
        if candidates is None:
            candidates = self._candidates(method, place)
            while len(self._found) >= _KNOWN_PATHS:
                self._found.pop(next(iter(self._found)), None)
            self._found[(method, place)] = candidates
        for endpoint, is_known in candidates:
            if is_known or (endpoint.form and has_form(endpoint.form, call.head, call.body, call.media)):
                return endpoint
        return None

    def _candidates(self, method: str, place: str) -> tuple[tuple[Endpoint, bool], ...]:
        """The endpoints with this method and path, each with whether the host is one of its known hosts."""
        authority, _, path = place.partition("/")
        host = _PORT.sub("", authority)
        fitting = (each for each in self._endpoints if method in each.methods and pattern(each.path).fullmatch(path))
        return tuple((each, any(pattern(name).fullmatch(host) for name in each.hosts)) for each in fitting)


NO_PLUMBING: Final = PlumbingRules(())


def place_in(url: str) -> str:
    """Host, port and path of a URL."""
    rest = (url.partition("://")[2] or url).partition("?")[0].partition("#")[0]
    authority, slash, path = rest.partition("/")
    return f"{authority.rpartition('@')[2].lower()}{slash}{path.strip('/')}"


@lru_cache(512)
def pattern(text: str) -> re.Pattern[str]:
    """The expression for a pattern of a host or a path: ``*`` is any text within a part, ``**/`` any number of parts in
    front."""
    parts = re.split(r"(\*\*/|\*)", text.strip("/"))
    known = {"**/": "(?:[^?]*/)?", "*": "[^/]+"}
    return re.compile("".join(known.get(part, re.escape(part)) for part in parts), re.IGNORECASE)


def marked(call: Call, endpoint: Endpoint) -> Call:
    """The call, marked as plumbing."""
    return replace(call, head={**call.head, MARK: endpoint.name})


def is_plumbing(call: Call) -> bool:
    """Whether a call was recorded as plumbing."""
    return MARK in call.head


def captured(own: Mapping[str, str]) -> dict[str, Json]:
    """The rules by which a run is recorded, as its capture keeps them: the version of the list, and the project's own
    rules."""
    return {"list": LIST, "own": dict(own)}


def plumbing_of(capture: Mapping[str, Json]) -> PlumbingRules:
    """The rules with which a run was recorded; none for a run without rules."""
    kept = capture.get(MARK)
    return ruled(kept.get("own") or {}, int(kept["list"])) if kept else NO_PLUMBING


def ruled(own: Mapping[str, str], version: int = LIST) -> PlumbingRules:
    """The list with a project's own rules.

    Args:
        own: Name to ``off``, or to a rule (``rule``).
        version: The version of the list; rows of later versions are left out.

    Raises:
        ValueError: A rule cannot be read, or the name that is turned off is the name of no rule.
    """
    off = {name for name, text in own.items() if text == OFF}
    unknown = next((name for name in off if name != EVERY and name not in NAMES), None)
    if unknown is not None:
        from difflib import get_close_matches  # imported late, because only a mistake needs it

        near = get_close_matches(unknown, (*NAMES, EVERY), 1)
        raise ValueError(f"{unknown} is no rule" + (f"; did you mean {near[0]}?" if near else ""))
    added = [rule(name, text) for name, text in own.items() if text != OFF]
    rows = () if EVERY in off else (each for each in CATALOGUE if each.since <= version and each.name not in off)
    return PlumbingRules([*added, *rows])


def rule(name: str, text: str) -> Endpoint:
    """A project's own rule: ``METHOD HOST/PATH [STATUS [BODY]]``, several methods joined by ``|``.

    Raises:
        ValueError: The text is not in that form.
    """
    words = text.split(None, 3)
    host, slash, path = words[1].partition("/") if len(words) > 1 else ("", "", "")
    status = words[2] if len(words) > 2 else "200"
    if not (host and slash) or "://" in text.partition(" ")[2] or not (status.isdigit() and 200 <= int(status) < 300):
        raise ValueError(f"{name} = {text!r} is not written {_WRITTEN}")
    body = words[3].encode() if len(words) > 3 else b""
    methods = tuple(words[0].upper().split("|"))
    media = "application/json" if body[:1] in (b"{", b"[") else ""
    return Endpoint(name, methods, path, (_PORT.sub("", host),), "", Success(int(status), media, body))
