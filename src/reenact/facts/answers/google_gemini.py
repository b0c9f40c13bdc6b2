"""The wire format of Gemini's generateContent, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Mapping

from reenact.facts.answers import openai_chat
from reenact.facts.answers.asks import Ask, BadAsk, ModelAnswer, ToolUse
from reenact.facts.answers.seeded_choices import pieces
from reenact.facts.answers.wire_formats import (
    PreparedAnswer,
    Recall,
    Stamp,
    WireFormat,
    asked_tokens,
    encoded,
    said_tokens,
)
from reenact.facts.call import Json
from reenact.facts.lazy_regex import lazy_regex

_PLACE = lazy_regex(
    r"/v1(?:alpha|beta)?(?:1)?/(?:.*/)?models/(?P<model>[^/:]+):(?:generate|(?P<stream>streamGenerate))Content"
)


def read(body: Mapping[str, Json], call: int, day: int, recall: Recall) -> Ask:
    """The request as an ``Ask``; raises ``BadAsk`` if the provider would refuse it."""
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        raise BadAsk("contents is not specified")
    settings = body.get("generationConfig") or {}
    system = "\n".join(part.get("text", "") for part in (body.get("systemInstruction") or {}).get("parts") or ())
    messages: list[Json] = [{"role": "system", "content": system}] if system else []
    for content in contents:
        messages += _messages(content)
    declared = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations") or ()]
    chat = {
        "model": body["model"],
        "stream": body["stream"],
        "messages": messages,
        "temperature": settings.get("temperature"),
        "seed": settings.get("seed"),
        "max_tokens": settings.get("maxOutputTokens"),
        "tools": [{"type": "function", "function": _function(one)} for one in declared],
    }
    return openai_chat.read(chat, call, day, recall)


def _function(declared: Mapping[str, Json]) -> Json:
    return {"name": declared["name"], "parameters": declared.get("parametersJsonSchema") or declared.get("parameters")}


def _messages(content: Mapping[str, Json]) -> list[Json]:
    """The messages in one content: each result is a message of its own, under the name of its function."""
    parts = content.get("parts") or []
    results = [part["functionResponse"] for part in parts if "functionResponse" in part]
    if results:
        return [
            {"role": "tool", "tool_call_id": one["name"], "content": json.dumps(one.get("response"))} for one in results
        ]
    text = "\n".join(part["text"] for part in parts if "text" in part)
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    made = [
        {"id": one["name"], "function": {"name": one["name"], "arguments": json.dumps(one.get("args") or {})}}
        for one in calls
    ]
    return [{"role": "assistant" if content.get("role") == "model" else "user", "content": text, "tool_calls": made}]


def write(ask: Ask, answer: ModelAnswer, body: Mapping[str, Json], stamp: Stamp) -> PreparedAnswer:
    """The answer in this dialect."""
    asked, said = asked_tokens(ask), said_tokens(answer)
    counts = {"promptTokenCount": asked, "candidatesTokenCount": said, "totalTokenCount": asked + said}
    kept = stamp.kept
    identity, model = kept.id or stamp.id("", 22), kept.model or ask.model

    def chunk(parts: list[Json], finish: str | None) -> Json:
        candidate: dict[str, Json] = {"content": {"parts": parts, "role": "model"}, "index": 0}
        candidate |= {"finishReason": finish} if finish else {}
        return {"candidates": [candidate], "usageMetadata": counts, "modelVersion": model, "responseId": identity}

    calls: list[Json] = [_call(at, use, stamp) for at, use in enumerate(answer.uses)]
    finish = "MAX_TOKENS" if answer.cut else "STOP"
    sign: dict[str, Json] = {"thoughtSignature": kept.signature} if kept.signature else {}
    texts: list[Json] = [{"text": answer.text, **sign}] if answer.text else []
    thought = list(answer.reasoning)
    chunks = [chunk([part], None) for part in thought]
    chunks += [chunk([{"text": piece}], None) for piece in pieces(answer.text)]
    chunks.append(chunk(calls or [{"text": "", **sign}], finish))
    frames = [b"data: " + encoded(one) + b"\r\n\r\n" for one in chunks]
    return PreparedAnswer(identity, chunk(thought + texts + calls, finish), frames)


def _call(at: int, use: ToolUse, stamp: Stamp) -> Json:
    identity, signatures = stamp.call(at, ""), stamp.kept.signatures
    called = {"name": use.name, "args": dict(use.arguments)} | ({"id": identity} if identity else {})
    sign = signatures[at] if at < len(signatures) else ""
    return {"functionCall": called} | ({"thoughtSignature": sign} if sign else {})


def error(status: int, message: str, request_id: str) -> Json:
    """The provider's error body."""
    kinds = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}
    return {"error": {"code": status, "message": message, "status": kinds.get(status, "INTERNAL")}}


def headers(stamp: Stamp) -> tuple[tuple[str, str], ...]:
    """Header lines that the provider sends with every answer."""
    return (("x-gemini-service-tier", "standard"), ("server-timing", "gfet4t7; dur=12"))


DIALECT = WireFormat(
    "/v1beta/models/", read, write, error, headers, ("x-goog-api-key", "authorization"), _PLACE, "text/event-stream"
)
