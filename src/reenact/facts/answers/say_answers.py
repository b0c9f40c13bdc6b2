"""A given answer of a model (``{"say": TEXT, "uses": [TOOL CALL…]}``), in the protocol of the request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from reenact.facts.answers import (
    anthropic_messages,
    bedrock_converse,
    cohere_chat,
    google_gemini,
    ollama_chat,
    openai_chat,
    openai_completions,
    openai_responses,
)
from reenact.facts.answers.asks import Ask, BadAsk, ModelAnswer, ToolUse
from reenact.facts.answers.seeded_choices import Draw
from reenact.facts.answers.wire_formats import InheritedParts, Stamp, WireFormat, encoded
from reenact.facts.call import Json
from reenact.facts.dialects import recognise
from reenact.facts.dialects.recognition import request_body
from reenact.facts.lazy_dataclass import dataclass, replace

_CHAT: Final = replace(openai_chat.DIALECT, write=openai_chat.write_at_once)
_WRITTEN: Final[Mapping[str, WireFormat]] = {
    "openai.chat": _CHAT,
    "openai.responses": openai_responses.DIALECT,
    "openai.completions": replace(openai_chat.DIALECT, write=openai_completions.write),
    "anthropic.messages": anthropic_messages.DIALECT,
    "google.gemini": google_gemini.DIALECT,
    "bedrock.converse": bedrock_converse.DIALECT,
    "ollama.chat": ollama_chat.DIALECT,
    "cohere.chat": cohere_chat.DIALECT,
}
"""The wire format of each recognised protocol, by the protocol's name."""
_NOVA: Final = replace(bedrock_converse.DIALECT, write=bedrock_converse.write_invoked)
_AMAZON: Final = bedrock_converse.DIALECT.media
_BY_PATH: Final = ("streamGenerateContent", "converse-stream", "invoke-with-response-stream", "streamRawPredict")
"""Ends of paths that ask for a stream."""
_WHOLE_BY_PATH: Final = ("generateContent", "converse", "invoke", "rawPredict")
_CREATED_S: Final = 1_760_000_000
_MEMBERS: Final = ("say", "uses")
_CALL: Final = ("name", "args", "arguments")


class NotSaid(ValueError):
    """A model cannot give such an answer, in this protocol or in any; the text says why."""


@dataclass(frozen=True, slots=True)
class WireAnswer:
    """An answer on the wire.

    Attributes:
        media: Its content type.
        body: Its bytes.
        headers: Further header lines, as the provider sends them.
    """

    media: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


def is_said(value: Json) -> bool:
    """Whether a value is words and tool calls of a model, and not the body of a response."""
    return isinstance(value, Mapping) and bool(value) and set(_MEMBERS).issuperset(value)


def answer_of(value: Json) -> ModelAnswer:
    """The answer of a model, as a person writes it.

    Args:
        value: ``say`` is the text, ``uses`` the tool calls: ``name``, and ``args`` (or ``arguments``) each.

    Raises:
        NotSaid: The value has another shape.
    """
    if not is_said(value):
        raise NotSaid('a model says {"say": TEXT, "uses": [{"name": TOOL, "args": {…}}]}')
    text, uses = value.get("say"), value.get("uses")
    if not (text is None or isinstance(text, str)):
        raise NotSaid(f"say is a text, not {json.dumps(text)[:40]}")
    if not (uses is None or isinstance(uses, list)):
        raise NotSaid("uses is a list of tool calls")
    return ModelAnswer(text or "", tuple(_use(each) for each in uses or ()))


def _use(each: Json) -> ToolUse:
    shape = 'a tool call is {"name": TOOL, "args": {…}}'
    if not isinstance(each, Mapping) or not set(_CALL).issuperset(each):
        raise NotSaid(f"{shape}, not {json.dumps(each)[:60]}")
    name, arguments = each.get("name"), each.get("args", each.get("arguments"))
    if not (isinstance(name, str) and name) or not (arguments is None or isinstance(arguments, Mapping)):
        raise NotSaid(f"{shape}, not {json.dumps(each)[:60]}")
    return ToolUse(name, dict(arguments or {}))


def said(
    head: Mapping[str, Json], body: bytes, value: Json, kept: InheritedParts | None = None, *, cut: bool = False
) -> WireAnswer:
    """The response to a model request with a given answer, streamed if the request asks for a stream. It counts no
    tokens, because no model was asked. It names the requested model, unless it replaces another answer.

    Args:
        head: The request's head: ``method``, ``url``, ``headers``.
        body: Its body.
        value: See ``answer_of``.
        kept: The parts that are taken over from the replaced answer.
        cut: Whether a limit of tokens has cut the answer off.

    Raises:
        NotSaid: The protocol has no place for the answer.
    """
    answer = replace(answer_of(value), cut=cut, counted=False)
    plain = request_body(head, body)
    request = json.loads(plain)
    parts = urlsplit(str(head.get("url")))
    dialect = _dialect(recognise(head, body) or "", parts.path, request)
    asked = {**request, **_of_path(parts.path, request)}
    ask = replace(_read(dialect, asked), counted=False)
    kept = kept or InheritedParts()
    kept = replace(kept, model=kept.model or ask.model)
    stamp = Stamp(Draw(hashlib.sha512(plain).digest()), _CREATED_S, kept)
    answer = replace(answer, reasoning=kept.reasoning)
    try:
        written = dialect.write(ask, answer, asked, stamp)
    except BadAsk as error:
        raise NotSaid(str(error)) from None
    own = dialect.headers(stamp)
    if not ask.stream:
        return WireAnswer("application/json", encoded(written.whole()), own)
    frames = written.frames()
    if parts.path.endswith("/invoke-with-response-stream") and dialect is not _NOVA:
        chunks = [bedrock_converse.chunk(_data(frame)) for frame in frames]
        return WireAnswer(_AMAZON, b"".join(chunks), own)
    if dialect is google_gemini.DIALECT and parse_qs(parts.query).get("alt") != ["sse"]:
        return WireAnswer("application/json", b"[" + b",".join(map(_data, frames)) + b"]", own)
    return WireAnswer(dialect.media, b"".join(frames), own)


def streams(head: Mapping[str, Json], body: bytes) -> bool | None:
    """Whether a model request wants a stream; None for a protocol that this module cannot write."""
    name = recognise(head, body) or ""
    try:
        request = json.loads(request_body(head, body))
        path = urlsplit(str(head.get("url"))).path
        return _read(_dialect(name, path, request), {**request, **_of_path(path, request)}).stream
    except (NotSaid, ValueError):
        return None


def _dialect(name: str, path: str, request: Mapping[str, Json]) -> WireFormat:
    if name == "openai.completions" and path.endswith("/fim/completions"):
        return _CHAT
    if name == "bedrock.invoke" and "messages" in request and "inferenceConfig" in request:
        return _NOVA
    found = _WRITTEN.get(name)
    if found is None:
        raise NotSaid(f"what {name or 'this request'} asks for is no text that can be written here")
    return found


def _of_path(path: str, request: Mapping[str, Json]) -> dict[str, Json]:
    """The facts in the path: whether the answer is streamed, and the model."""
    method = path.replace("%3A", ":").rpartition("/")[2].rpartition(":")[2]
    found: dict[str, Json] = {}
    if method in (*_BY_PATH, *_WHOLE_BY_PATH):
        found["stream"] = method in _BY_PATH
        place = path.replace("%3A", ":").split("/")
        named = place[-1].rpartition(":")[0] if ":" in place[-1] else unquote(place[-2])
        found["model"] = request.get("model") or named
    if path.endswith(("/api/chat", "/api/generate")):
        found["stream"] = request.get("stream", True)
    return found


def _read(dialect: WireFormat, request: Mapping[str, Json]) -> Ask:
    """The request. Of an unusual request, only the parts that an answer needs are read."""
    try:
        return dialect.read(request, 1, 1, lambda _: ())
    except (ValueError, KeyError, TypeError, AttributeError):
        return Ask(str(request.get("model") or ""), "", (), stream=bool(request.get("stream")))


def _data(frame: bytes) -> bytes:
    """The data of a server-sent event."""
    return next(line[6:] for line in frame.splitlines() if line.startswith(b"data: "))
