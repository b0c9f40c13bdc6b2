"""What can be altered in a recorded run: each request and each answer, one value of it at a time."""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reenact.facts.call import Failure, Kind, Stream, Value
from reenact.facts.event import Event
from tests.withstand.editing import Edited, facts

_SAID = re.compile(
    rb'"(?:text|content|left|receipt|item|arguments|partial_json|yield)": ?("(?:[^"\\]|\\.)*"|\d+)', re.DOTALL
)
_STATUS_LINE = re.compile(rb"^HTTP/1\.1 (\d\d\d)")
_OTHER_STATUS = 418


@dataclass(frozen=True)
class Mutation:
    """One alteration.

    Attributes:
        side: ``request`` or ``answer``.
        event: The event it alters.
        request, answer: Bytes of both.
        through: The tool whose own code must run for the event to be reached.
    """

    side: str
    event: Event
    request: bytes
    answer: bytes
    through: str = ""

    def __str__(self) -> str:
        return f"{self.side} of event {self.event.number} {self.event.name}"

    def apply(self, folder: Path, chance: random.Random) -> None:
        """Make it in a store."""
        edited = Edited(folder)
        if self.side == "request":
            call = replace(self.event.call, body=self.request)
            if self.event.kind == Kind.HTTP and not self.request:
                url = str(call.head["url"])
                call = replace(call, head={**call.head, "url": _turned_last(url)})
            elif self.request:
                call = replace(call, body=_other_json(self.request, chance))
            else:
                call = replace(call, body=b'"altered"')
            edited.request(self.event, call)
            return
        outcome = self.event.outcome
        if isinstance(outcome, Value):
            edited.outcome(self.event, replace(outcome, body=_other_json(self.answer, chance)))
        elif isinstance(outcome, Failure):
            error = outcome.error
            args = _other_json(error.args, chance) if error.args else error.args
            error = replace(error, text=_turned_last(error.text), args=args)
            edited.outcome(self.event, replace(outcome, error=error))
        elif isinstance(outcome, Stream):
            _alter_stream(edited, self.event, outcome, chance)


def mutations(folder: Path) -> Iterator[Mutation]:
    """Everything that can be altered in the last run of a store."""
    events = facts(folder)
    frozen = {event.number: event.name for event, _, _ in events if _frozen_as_a_whole(event)}
    for event, request, answer in events:
        through = frozen.get(event.parent, "") if event.parent is not None else ""
        yield Mutation("request", event, request, answer, through)
        if answer or isinstance(event.outcome, Failure):
            yield Mutation("answer", event, request, answer, through)


def _frozen_as_a_whole(event: Event) -> bool:
    return event.kind in (Kind.TOOL, Kind.MODEL, Kind.RETRIEVAL) and not event.call.observed


def _alter_stream(edited: Edited, event: Event, outcome: Stream, chance: random.Random) -> None:
    status = outcome.head.get("status")
    if isinstance(status, int) and status >= 400:
        edited.head(event, {**outcome.head, "status": _OTHER_STATUS})
        edited.segments(
            event, lambda pieces: [_STATUS_LINE.sub(b"HTTP/1.1 %d" % _OTHER_STATUS, piece) for piece in pieces]
        )
        return
    squeezed = any(name.lower() == "content-encoding" for name, _ in outcome.head.get("headers") or ())
    if squeezed:
        assert outcome.head["framing"] == "payload", "this corpus asks for plain bodies where connections are kept"
        headers = [pair for pair in outcome.head["headers"] if pair[0].lower() not in _FRAMING]
        edited.head(event, {**outcome.head, "headers": headers})
    edited.segments(event, lambda pieces: _altered(_plain(pieces) if squeezed else pieces, chance))


_FRAMING = ("content-encoding", "content-length")


def _plain(pieces: list[bytes]) -> list[bytes]:
    unpack = zlib.decompressobj(wbits=47)
    return [unpack.decompress(piece) for piece in pieces]


def _altered(pieces: list[bytes], chance: random.Random) -> list[bytes]:
    """The same pieces with one character of one value that the agent uses changed."""
    whole = b"".join(pieces)
    places = [
        at
        for found in _SAID.finditer(whole)
        for at in range(*found.span(1))
        if chr(whole[at]).isalnum() and whole[at - 1 : at] != b"\\"
    ]
    at = chance.choice(places)
    whole = whole[:at] + _turned(chr(whole[at])).encode() + whole[at + 1 :]
    out, start = [], 0
    for piece in pieces:
        out.append(whole[start : start + len(piece)])
        start += len(piece)
    return out


def _other_json(body: bytes, chance: random.Random) -> bytes:
    """The same document with one leaf changed; other bytes with one letter changed."""
    try:
        value = json.loads(body)
    except ValueError:
        return _turned_last(body.decode()).encode()
    leaves = list(_leaves(value))
    if not leaves:
        return b'"altered"'
    place = chance.choice(leaves)
    return json.dumps(_with(value, place), separators=(",", ":")).encode()


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if members is not None:
        for name, member in members:
            yield from _leaves(member, (*path, name))
    elif (isinstance(value, str) and any(map(str.isalnum, value))) or type(value) in (int, float):
        yield path


def _with(value: Any, path: tuple[Any, ...]) -> Any:
    if not path:
        return _turned_last(value) if isinstance(value, str) else value + 1
    name, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {key: _with(member, rest) if key == name else member for key, member in value.items()}
    return [_with(member, rest) if at == name else member for at, member in enumerate(value)]


def _turned_last(text: str) -> str:
    at = max(at for at, letter in enumerate(text) if letter.isalnum())
    return text[:at] + _turned(text[at]) + text[at + 1 :]


def _turned(letter: str) -> str:
    """Another letter or digit of the same sort."""
    for first, last in (("a", "z"), ("A", "Z"), ("0", "9")):
        if first <= letter <= last:
            return first if letter == last else chr(ord(letter) + 1)
    return "x"
