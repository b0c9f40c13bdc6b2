"""The request to a tool, as data: its arguments, or the parts of its exchange."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import parse_qsl, unquote

from reenact.abc.store import Recording
from reenact.facts.call import Json, Kind, Stream
from reenact.facts.compression import undo
from reenact.facts.conventions import is_traceparent
from reenact.facts.event import Event
from reenact.facts.framing import unframed
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.reading import Reading
from reenact.facts.values import jsonable

LARGEST = 1 << 20
"""A request above this many bytes is judged by its head alone."""
_LARGEST_ANSWER = 16 << 20
_FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """The request to a tool.

    Attributes:
        arguments: Decoded arguments of a function, or the decoded body of an exchange.
        query: Parameters of an address.
        headers: Headers of an exchange, lower case.
        method, path: Method and path of an exchange; empty for a function.
        opaque: Types of arguments that could not be stored.
    """

    arguments: Json = None
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = ""
    path: str = ""
    opaque: tuple[str, ...] = ()

    def pairs(self) -> Iterator[tuple[str, Json]]:
        """Every name with its value, at any depth; a value of a list has the name of the list, a segment of a path has
        no name."""
        yield from self.query.items()
        yield from self.headers.items()
        for segment in self.path.split("/"):
            yield "", unquote(segment)
        yield from _walked("", self.arguments)

    def embedding(self, recording: Recording, event: Event) -> dict[str, Json]:
        """Model and dimensions of a request for embeddings."""
        asked = self.arguments if isinstance(self.arguments, Mapping) else {}
        found: dict[str, Json] = {"model": asked.get("model") or "", "dimensions": asked.get("dimensions")}
        if found["dimensions"] is None:
            found["dimensions"] = _dimensions(recording, event)
        return found


_DEPTH = 40


def _walked(name: str, value: Json, depth: int = 0) -> Iterator[tuple[str, Json]]:
    if depth > _DEPTH:
        return
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _walked(str(key), part, depth + 1)
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for part in value:
            yield from _walked(name, part, depth + 1)
    else:
        yield name, value


def request_of(recording: Recording, event: Event) -> ToolRequest:
    """The request of an event. Reads its body, if that is not too long."""
    call = event.call
    body = recording.body(event.request) if event.request is not None and event.request.size <= LARGEST else b""
    if call.kind is not Kind.HTTP:
        return ToolRequest(arguments=_data(body), opaque=_opaque(call.head))
    address, _, query = str(call.head.get("url", "")).partition("#")[0].partition("?")
    headers = _headers(call.head)
    return ToolRequest(
        arguments=_content(headers, body),
        query=dict(parse_qsl(query, keep_blank_values=True)),
        headers=headers,
        method=str(call.head.get("method", "")),
        path="/" + address.partition("://")[2].partition("/")[2],
    )


def _headers(head: Mapping[str, Json]) -> dict[str, str]:
    """The headers of a message's head, by lower-case name."""
    pairs = head.get("headers")
    if not isinstance(pairs, (list, tuple)):
        return {}
    return {str(pair[0]).lower(): str(pair[1]) for pair in pairs if isinstance(pair, (list, tuple)) and len(pair) >= 2}


def _opaque(head: Mapping[str, Json]) -> tuple[str, ...]:
    opaque = head.get("opaque")
    if isinstance(opaque, Mapping):
        return tuple(f"{name}: {types}" for name, types in opaque.items())
    return tuple(map(str, opaque)) if isinstance(opaque, (list, tuple)) else ()


def _data(body: bytes) -> Json:
    if not body:
        return None
    try:
        return jsonable(body)
    except ValueError:
        return None


def _content(headers: Mapping[str, str], body: bytes, largest: int = LARGEST) -> Json:
    """The body of an exchange, its encoding undone: JSON, or a form."""
    encoding = headers.get("content-encoding", "")
    undone = undo(encoding, body, largest) if encoding and body else None
    plain = body if undone is None else undone.data
    if headers.get("content-type", "").lower().startswith("application/x-www-form-urlencoded"):
        return dict(parse_qsl(plain.decode("utf-8", "replace"), keep_blank_values=True))
    try:
        return json.loads(plain) if plain else None
    except (ValueError, RecursionError):
        return None


def is_embedding(request: ToolRequest) -> bool:
    """Whether an exchange asks for embeddings."""
    return request.method == "POST" and request.path.rstrip("/").endswith(("/embeddings", "/embed"))


def _dimensions(recording: Recording, event: Event) -> int | None:
    """The length of the first vector of an answer."""
    outcome = event.outcome
    if not isinstance(outcome, Stream) or event.answer is None or event.answer.size > _LARGEST_ANSWER:
        return None
    headers = _headers(outcome.head)
    head = {**outcome.head, "headers": list(headers.items())}
    answer = _content(headers, unframed(head, recording.body(event.answer)), _LARGEST_ANSWER)
    vectors = (answer.get("data") or answer.get("embeddings")) if isinstance(answer, Mapping) else None
    first = vectors[0] if isinstance(vectors, list) and vectors else None
    vector = first.get("embedding") if isinstance(first, Mapping) else first
    if isinstance(vector, list):
        return len(vector)
    if isinstance(vector, str):
        try:
            return len(base64.b64decode(vector, validate=True)) // _FLOAT_BYTES
        except (binascii.Error, ValueError):
            return None
    return None


def traceparent_in(request: ToolRequest) -> str:
    """The ``traceparent`` in the inputs: a field of that name, or the item after that name in a list of pairs."""
    before: Json = None
    for name, value in request.pairs():
        if is_traceparent(value) and "traceparent" in (name.lower(), str(before).lower()):
            return str(value)
        before = value
    return ""


def model_tools(reading: Reading) -> list[str]:
    """Names of the tools that a model wanted called, in order."""
    return [str(call.get("name", "")) for call in reading.tool_calls if isinstance(call, Mapping) and call.get("name")]
