"""The common part of the protocols: the description of a dialect, and the making of ids and streams."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Protocol
from urllib.parse import unquote

from reenact.facts.answers.asks import Ask, ModelAnswer, Turn, tokens
from reenact.facts.answers.seeded_choices import Draw, pieces
from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

Recall = Callable[[str], tuple[Turn, ...] | None]
"""Finds the conversation behind the id of an earlier response; None when there is none."""


@dataclass(frozen=True, slots=True)
class InheritedParts:
    """The parts that an answer takes from the answer that it replaces. Empty parts are new.

    Attributes:
        id: Id of the answer.
        model: Name of the model that answered.
        calls: Ids of its tool calls, by their place.
        items: Ids of the items that hold the tool calls, and under ``message`` the id of the item that holds the text,
            for formats with items.
        signatures: Signatures of its tool calls, by their place.
        signature: The signature of its text.
        reasoning: The disclosed part of its reasoning, in the format's own parts.
    """

    id: str = ""
    model: str = ""
    calls: tuple[str, ...] = ()
    items: Mapping[int | str, str] = field(default_factory=dict)
    signatures: tuple[str, ...] = ()
    signature: str = ""
    reasoning: tuple[Json, ...] = ()


class Stamp:
    """The new parts of each answer (ids and time), and the inherited ones.

    Args:
        draw: The source of the ids.
        created_s: Time of the answer, in seconds since the epoch.
        kept: The parts that are taken over from another answer.
    """

    __slots__ = ("_draw", "created_s", "kept")

    def __init__(self, draw: Draw, created_s: int, kept: InheritedParts | None = None) -> None:
        self._draw = draw
        self.created_s = created_s
        self.kept = kept or InheritedParts()

    def call(self, at: int, new: str) -> str:
        """The id of the tool call at a place: the inherited id, or a new one."""
        kept = self.kept.calls[at] if at < len(self.kept.calls) else ""
        return kept or new

    def id(self, prefix: str, length: int) -> str:
        """A new id: ``prefix`` and ``length`` letters and digits."""
        return prefix + self._draw.token(length, _LETTERS)

    def hex(self, prefix: str, length: int) -> str:
        """A new id in hexadecimal digits."""
        return prefix + self._draw.token(length, "0123456789abcdef")


class BodyReader(Protocol):
    """Reads a request body of a dialect."""

    def __call__(self, body: Mapping[str, Json], call: int, day: int, recall: Recall) -> Ask:
        """The request as an ``Ask``; raises ``BadAsk`` if a real provider would refuse it."""
        ...


class WrittenAnswer(Protocol):
    """An answer in a dialect, made once, so that ids are the same however it is sent."""

    @property
    def id(self) -> str:
        """Id of the answer."""
        ...

    def whole(self) -> Json:
        """The body of the answer when it is not streamed."""
        ...

    def frames(self) -> list[bytes]:
        """The events of the stream, each as it goes over the wire."""
        ...


@dataclass(frozen=True, slots=True)
class WireFormat:
    """One wire format.

    Attributes:
        path: The path of its endpoint, or the start and end of the path if the model's name is in it.
        read: Reads its requests.
        write: Writes its answers, from the request, the answer, the request's body and the new parts.
        error: Makes its error body from HTTP status and message.
        headers: Makes the header lines that its provider sends, from the new parts.
        key_headers: Headers of which one must have a key; empty for a server that needs no key.
        place: An expression that finds its endpoint where ``path`` is not enough. Its named groups are added to the
            request's body; a group ``stream`` is added as true or false.
        media: Content type of its streams.
    """

    path: str
    read: BodyReader
    write: Callable[[Ask, ModelAnswer, Mapping[str, Json], Stamp], WrittenAnswer]
    error: Callable[[int, str, str], Json]
    headers: Callable[[Stamp], tuple[tuple[str, str], ...]]
    key_headers: tuple[str, ...]
    place: re.Pattern[str] | None = None
    media: str = "text/event-stream; charset=utf-8"

    def said_by(self, path: str) -> dict[str, Json] | None:
        """The fields that a path adds to the request's body; None for a path of another protocol."""
        if self.place is None:
            return {} if path == self.path else None
        found = self.place.fullmatch(path)
        if found is None:
            return None
        named = {name: unquote(value or "") for name, value in found.groupdict().items() if name != "stream"}
        return named | ({"stream": bool(found["stream"])} if "stream" in found.groupdict() else {})


@dataclass(frozen=True, slots=True)
class PreparedAnswer:
    """An answer in a dialect that is made in both forms at once.

    Attributes:
        id: Id of the answer.
        body: The body of the answer when it is not streamed.
        stream: The events of the stream.
    """

    id: str
    body: Json
    stream: list[bytes]

    def whole(self) -> Json:
        """The body of the answer when it is not streamed."""
        return self.body

    def frames(self) -> list[bytes]:
        """The events of the stream, each as it goes over the wire."""
        return self.stream


def encoded(data: Json) -> bytes:
    """JSON as providers write it: compact, text as it is."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()


def named_event(data: Mapping[str, Json]) -> bytes:
    """One server-sent event whose name is the type in its data."""
    return b"event: " + str(data["type"]).encode() + b"\ndata: " + encoded(data) + b"\n\n"


def slices(text: str, size: int = 6) -> list[str]:
    """A text in pieces of ``size`` characters, as the arguments of tool calls are streamed."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def asked_tokens(ask: Ask) -> int:
    """The tokens of a request, counted in the same way for every dialect; 0 where they do not count."""
    if not ask.counted:
        return 0
    count = 3 + tokens(ask.system)
    for turn in ask.turns:
        count += 4 + tokens(turn.text) + sum(tokens(result.text) for result in turn.results)
        count += sum(tokens(use.name) + tokens(json.dumps(use.arguments)) for use in turn.uses)
    return count + sum(tokens(tool.name) + tokens(json.dumps(tool.schema)) for tool in ask.tools)


def said_tokens(answer: ModelAnswer) -> int:
    """The tokens of an answer, counted in the same way for every dialect; 0 where they do not count."""
    if not answer.counted:
        return 0
    return len(pieces(answer.text)) + sum(
        4 + tokens(use.name) + tokens(json.dumps(use.arguments)) for use in answer.uses
    )
