"""The wire format of Bedrock's converse, whole and as a stream of binary frames."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping

from reenact.facts.answers import openai_chat
from reenact.facts.answers.asks import Ask, BadAsk, ModelAnswer
from reenact.facts.answers.seeded_choices import pieces
from reenact.facts.answers.wire_formats import (
    PreparedAnswer,
    Recall,
    Stamp,
    WireFormat,
    asked_tokens,
    encoded,
    said_tokens,
    slices,
)
from reenact.facts.call import Json
from reenact.facts.lazy_regex import lazy_regex

_PLACE = lazy_regex(r"/model/(?P<model>[^/]+)/converse(?P<stream>-stream)?")
_TEXT = 7


def read(body: Mapping[str, Json], call: int, day: int, recall: Recall) -> Ask:
    """The request as an ``Ask``; raises ``BadAsk`` if the provider would refuse it."""
    if not body.get("messages"):
        raise BadAsk("A conversation must start with a user message")
    settings = body.get("inferenceConfig") or {}
    system = "\n".join(block.get("text", "") for block in body.get("system") or ())
    messages: list[Json] = [{"role": "system", "content": system}] if system else []
    for message in body["messages"]:
        messages += _messages(message)
    specs = [tool["toolSpec"] for tool in (body.get("toolConfig") or {}).get("tools") or () if "toolSpec" in tool]
    chat = {
        "model": body["model"],
        "stream": body["stream"],
        "messages": messages,
        "temperature": settings.get("temperature"),
        "max_tokens": settings.get("maxTokens"),
        "tools": [
            {"type": "function", "function": {"name": spec["name"], "parameters": spec["inputSchema"]["json"]}}
            for spec in specs
        ],
    }
    return openai_chat.read(chat, call, day, recall)


def _messages(message: Mapping[str, Json]) -> list[Json]:
    """The messages in one message of the provider: each tool result is a message of its own."""
    blocks = message["content"]
    results = [block["toolResult"] for block in blocks if "toolResult" in block]
    out: list[Json] = [
        {"role": "tool", "tool_call_id": one["toolUseId"], "content": _plain(one["content"])} for one in results
    ]
    uses = [block["toolUse"] for block in blocks if "toolUse" in block]
    made = [
        {"id": use["toolUseId"], "function": {"name": use["name"], "arguments": json.dumps(use["input"])}}
        for use in uses
    ]
    text = "\n".join(block["text"] for block in blocks if "text" in block)
    return [*out, {"role": message["role"], "content": text, "tool_calls": made}] if text or made else out


def _plain(content: list[Mapping[str, Json]]) -> str:
    return "\n".join(block["text"] if "text" in block else json.dumps(block.get("json")) for block in content)


def write(ask: Ask, answer: ModelAnswer, body: Mapping[str, Json], stamp: Stamp) -> PreparedAnswer:
    """The answer in this dialect."""
    whole, events = told(ask, answer, stamp)
    return PreparedAnswer(stamp.hex("", 32), whole, [frame(kind, data) for kind, data in events])


def write_invoked(ask: Ask, answer: ModelAnswer, body: Mapping[str, Json], stamp: Stamp) -> PreparedAnswer:
    """The answer of Nova behind ``invoke``: the documents of converse, each in the bytes of a chunk."""
    whole, events = told(ask, answer, stamp)
    return PreparedAnswer(stamp.hex("", 32), whole, [chunk(encoded({kind: data})) for kind, data in events])


def told(ask: Ask, answer: ModelAnswer, stamp: Stamp) -> tuple[Json, list[tuple[str, Json]]]:
    """The answer in both forms: whole, and as the events of a stream, each with its kind and data."""
    asked, said = asked_tokens(ask), said_tokens(answer)
    usage = {"inputTokens": asked, "outputTokens": said, "totalTokens": asked + said}
    ids = [stamp.call(at, stamp.id("tooluse_", 22)) for at, _ in enumerate(answer.uses)]
    reason = "tool_use" if answer.uses else "max_tokens" if answer.cut else "end_turn"
    content: list[Json] = list(answer.reasoning)
    events: list[tuple[str, Json]] = [("messageStart", {"role": "assistant"})]
    for at, block in enumerate(content):
        events += _block(at, [{"reasoningContent": delta} for delta in _thought(block["reasoningContent"])])
    if answer.text:
        events += _block(len(content), [{"text": piece} for piece in pieces(answer.text)])
        content.append({"text": answer.text})
    for identity, use in zip(ids, answer.uses, strict=True):
        start = {"contentBlockIndex": len(content), "start": {"toolUse": {"toolUseId": identity, "name": use.name}}}
        parts: list[Json] = [{"toolUse": {"input": part}} for part in slices(json.dumps(use.arguments))]
        events += [("contentBlockStart", start), *_block(len(content), parts)]
        content.append({"toolUse": {"toolUseId": identity, "name": use.name, "input": dict(use.arguments)}})
    events.append(("messageStop", {"stopReason": reason}))
    events.append(("metadata", {"usage": usage, "metrics": {"latencyMs": 12}}))
    message = {"role": "assistant", "content": content}
    whole = {"output": {"message": message}, "stopReason": reason, "usage": usage, "metrics": {"latencyMs": 12}}
    return whole, events


def _block(at: int, deltas: list[Json]) -> list[tuple[str, Json]]:
    place: dict[str, Json] = {"contentBlockIndex": at}
    sent: list[tuple[str, Json]] = [("contentBlockDelta", {**place, "delta": delta}) for delta in deltas]
    return [*sent, ("contentBlockStop", place)]


def _thought(reasoning: Mapping[str, Json]) -> list[Json]:
    """A block of reasoning as deltas: its text, its signature, its hidden part."""
    told = reasoning.get("reasoningText")
    return [{name: value} for name, value in (told if told is not None else reasoning).items()]


def frame(kind: str, data: Json) -> bytes:
    """One event of ``application/vnd.amazon.eventstream``."""
    headers = b""
    for name, value in ((":event-type", kind), (":content-type", "application/json"), (":message-type", "event")):
        headers += struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", _TEXT, len(value)) + value.encode()
    payload = encoded(data)
    start = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    start += struct.pack(">I", zlib.crc32(start))
    return start + headers + payload + struct.pack(">I", zlib.crc32(start + headers + payload))


def chunk(data: bytes) -> bytes:
    """One piece of a model's own stream behind ``invoke``."""
    return frame("chunk", {"bytes": base64.b64encode(data).decode()})


def error(status: int, message: str, request_id: str) -> Json:
    """The provider's error body."""
    kinds = {400: "ValidationException", 401: "AccessDeniedException", 429: "ThrottlingException"}
    return {"__type": kinds.get(status, "InternalServerException"), "message": message}


def headers(stamp: Stamp) -> tuple[tuple[str, str], ...]:
    """Header lines that the provider sends with every answer."""
    return (("x-amzn-requestid", stamp.hex("", 32)),)


DIALECT = WireFormat(
    "/model/", read, write, error, headers, ("authorization",), _PLACE, "application/vnd.amazon.eventstream"
)
