"""Crossings: a call, its outcome, and the state of a step, without credentials.

The gate cleans stored data with them, and a replay both sides of a comparison.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar, cast

from reenact.facts.call import Call, End, ErrorFact, Failure, Json, Kind, Stream, Value
from reenact.facts.compression import undo
from reenact.facts.framing import header
from reenact.facts.growth import NewEntries, is_grown
from reenact.facts.large_values import is_large, is_withheld
from reenact.facts.lazy_dataclass import replace
from reenact.facts.served_requests import is_exchange
from reenact.facts.text_spans import SearchExhausted
from reenact.facts.woven_text import Woven
from reenact.privacy.eraser import Eraser
from reenact.privacy.partial_withholding import cleaned_in_parts
from reenact.privacy.record_cleaning import cleaned
from reenact.privacy.tails import changed_parts, cleaned_in_pieces

Came = TypeVar("Came", bound=Value | Failure | Stream)

_PIECEWISE = 4 << 20
_DECODED = 32 << 20
_PLAIN = frozenset((int, bool, float, type(None)))


def clean_text(eraser: Eraser, body: bytes) -> bytes:
    """Clean a text of any length; a very long text is cleaned in pieces. If a text holds too many candidates, the parts
    with candidates are removed."""
    if is_withheld(body):
        return cast(bytes, body)
    if is_large(body):
        changed = changed_parts(eraser, body)
        if changed is None:
            return clean_text(eraser, body.whole())
        return cast(bytes, body.patched(changed) if changed else body)
    try:
        if len(body) <= _PIECEWISE or type(body) is Woven:
            return eraser.text(body)
        found, withheld = cleaned_in_pieces(eraser, body)
    except SearchExhausted:
        withheld = True
    return eraser.bare(cleaned_in_parts(eraser, body) if withheld else found)


def clean_call(eraser: Eraser, call: Call) -> Call:
    """A call without credentials; the same object where it had none."""
    if call.kind in (Kind.HTTP, Kind.WEBSOCKET) or is_exchange(call.rule):
        sort = "request"
    else:
        sort = "process" if call.kind in (Kind.PROCESS, Kind.ENV) else "value"
    clean = partial(_cleaned_head, eraser, call, sort)
    name, head = eraser.head(sort, call.name, call.head, clean)
    if sort == "request":
        head, body = _cleaned_content(eraser, call, head)
    elif call.kind is Kind.PROCESS:
        body = clean_text(eraser, _cleaned_command(eraser, call.body))
    else:
        body = clean_text(eraser, call.body)
    string, channel, media, source, ordinal = eraser.string, call.channel, call.media, call.source, call.ordinal
    if channel and (channel is not call.name or name != call.name):
        channel = string(channel)
    if media:
        media = string(media)
    if source is not None:
        source = string(source)
    if ordinal is not None:
        ordinal = eraser.constants.string(ordinal)
    if (
        body == call.body
        and name == call.name
        and head == call.head
        and (channel, media, source, ordinal) == (call.channel, call.media, call.source, call.ordinal)
    ):
        return call
    return replace(call, head=head, body=body, name=name, channel=channel, media=media, source=source, ordinal=ordinal)


def _cleaned_command(eraser: Eraser, body: bytes) -> bytes:
    """Clean the start of a process: its command line by the names of options."""
    if b'"command":' not in body:
        return body
    try:
        asked = json.loads(body)
    except ValueError:
        return body
    command = asked.get("command") if isinstance(asked, dict) else None
    if isinstance(command, str):
        found: Json = eraser.line(command)
    elif isinstance(command, list) and all(isinstance(word, str) for word in command):
        found = list(eraser.argv(command))
    else:
        return body
    return body if found == command else json.dumps({**asked, "command": found}, separators=(",", ":")).encode()


def clean_outcome(eraser: Eraser, outcome: Came) -> Came:
    """The cleaned outcome of a call; the same object where it held no credential."""
    text = partial(clean_text, eraser)
    if isinstance(outcome, Value) and not outcome.changes and not outcome.head:  # nearly all outcomes
        return _plain_value(eraser, outcome)  # type: ignore[return-value]  # a Value has no subtypes: Came is Value here
    by_hand: dict[str, Callable[[Any], Any]] = {"body": text, "changes": text, "error": partial(clean_error, eraser)}
    if isinstance(outcome, Stream):
        by_hand |= {"head": partial(clean_head, eraser), "end": partial(clean_end, eraser)}
    return cleaned(outcome, eraser, by_hand)


def _plain_value(eraser: Eraser, value: Value) -> Value:
    body, media = clean_text(eraser, value.body), eraser.string(value.media)
    return value if body == value.body and media == value.media else replace(value, body=body, media=media)


def clean_error(eraser: Eraser, error: ErrorFact) -> ErrorFact:
    """Clean an exception with its causes and members."""
    text, inner = partial(clean_text, eraser), partial(clean_error, eraser)
    by_hand: dict[str, Callable[[Any], Any]] = {"args": text, "state": text, "cause": inner, "context": inner}
    by_hand["members"] = lambda members: tuple(map(inner, members))
    return cleaned(error, eraser, by_hand)


def clean_end(eraser: Eraser, end: End) -> End:
    """Clean the end of a stream."""
    return cleaned(end, eraser, {"error": partial(clean_error, eraser)})


def clean_head(eraser: Eraser, head: Mapping[str, Json]) -> Mapping[str, Json]:
    """Clean the head of a stream: headers by their names, everything else as JSON. The same object where it held no
    credential."""
    found = dict(head)
    for name, value in head.items():
        if name == "headers":
            found[name] = eraser.headers(value, fit=True)
        elif type(value) not in _PLAIN:
            found[name] = eraser.json(value)
    return head if found == head else found


def clean_slots(eraser: Eraser, slots: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """Clean a state by the names of its parts; the same object where it held no credential."""
    found: dict[str, bytes] = {}
    for name, given in slots.items():
        entries = given if is_grown(given) else None
        # The entries of a growing list before the new ones have been cleaned already.
        value = given if entries is None else b"[" + entries + b"]"
        lead = b'"' + name.encode("utf-8", "replace").replace(b'"', b"") + b'":'
        named = value.behind(lead) if isinstance(value, Woven) else lead + value
        after = clean_text(eraser, named)
        called = eraser.constants.string(name)
        place = called
        while place in found:  # two parts whose names were credentials
            place = f"{called}{len(found)}"
        # A name that is a credential itself has been removed, and cannot be cut off.
        clean = value if after == named else after[len(lead) :] if after.startswith(lead) else clean_text(eraser, value)
        found[place] = clean if entries is None else entries if clean == value else _entries(entries, clean)
    return slots if found == slots else found


def _entries(entries: NewEntries, clean: bytes) -> NewEntries:
    """The new entries of a growing list, with the entries taken from ``clean``, the same list after cleaning.

    Raises:
        Exhausted: The cleaned value is no list.
    """
    if clean[:1] != b"[" or clean[-1:] != b"]":
        raise SearchExhausted
    return entries.holding(clean[1:-1])


def _cleaned_head(eraser: Eraser, call: Call, sort: str) -> tuple[str, Mapping[str, Json]]:
    name = eraser.constants.string(call.name)
    if sort == "request":
        return name, _cleaned_request(eraser, call)
    return name, eraser.environment(call.head) if sort == "process" else eraser.json(dict(call.head))


def _cleaned_request(eraser: Eraser, call: Call) -> Mapping[str, Json]:
    head = dict(call.head)
    if "url" in head:
        head["url"] = eraser.url(str(head["url"]))
    if "headers" in head:
        head["headers"] = eraser.headers(head["headers"])
    for name, value in call.head.items():
        if name not in ("url", "headers", "method"):
            head[name] = eraser.json(value, "" if isinstance(value, str) else name)
    return head


def _cleaned_content(eraser: Eraser, call: Call, head: Mapping[str, Json]) -> tuple[Mapping[str, Json], bytes]:
    """The cleaned body of a request, and its head, which says how the body is stored."""
    body = call.body
    if not body:
        return head, body
    encoding = header(call.head, "content-encoding")
    undone = undo(encoding, body, _DECODED) if encoding and body else None
    plain = body if undone is None else undone.data
    form = header(call.head, "content-type").strip().lower().startswith("application/x-www-form-urlencoded")
    found = eraser.form(plain) if form and len(plain) <= _PIECEWISE else clean_text(eraser, plain)
    if found == plain:
        if undone is not None and not undone.whole and len(undone.data) >= _DECODED:
            raise SearchExhausted
        return head, body
    if undone is not None:  # the body is stored decoded, and the head says so
        left = [pair for pair in head.get("headers") or () if str(pair[0]).lower() != "content-encoding"]
        head = {**head, "headers": left}
    return head, found
