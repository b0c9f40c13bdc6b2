"""The wire format of Bedrock's converse, whole and as a stream of binary frames."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Mapping

from reenact.facts.answers import openai_chat
from reenact.facts.answers.asks import Answer, Ask, BadAsk
from reenact.facts.answers.drawing import pieces
from reenact.facts.answers.formats import (
    Dialect,
    Prepared,
    Recall,
    Stamp,
    asked_tokens,
    encoded,
    said_tokens,
    slices,
)
from reenact.facts.call import Json

_PLACE = re.compile(r"/model/(?P<model>[^/]+)/converse(?P<stream>-stream)?")
_TEXT = 7


def read(body: Mapping[str, Json], call: int, day: int, recall: Recall) -> Ask:
    """The request as an ``Ask``; raises ``BadAsk`` for one that the provider would refuse."""
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
    """The messages in one of theirs: tool results stand each alone."""
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


def write(ask: Ask, answer: Answer, body: Mapping[str, Json], stamp: Stamp) -> Prepared:
    """The answer in this dialect."""
    asked, said = asked_tokens(ask), said_tokens(answer)
    usage = {"inputTokens": asked, "outputTokens": said, "totalTokens": asked + said}
    ids = [stamp.id("tooluse_", 22) for _ in answer.uses]
    reason = "tool_use" if answer.uses else "max_tokens" if answer.cut else "end_turn"
    content: list[Json] = [{"text": answer.text}] if answer.text else []
    frames = [frame("messageStart", {"role": "assistant"})]
    for piece in pieces(answer.text):
        frames.append(frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}}))
    if content:
        frames.append(frame("contentBlockStop", {"contentBlockIndex": 0}))
    for identity, use in zip(ids, answer.uses, strict=True):
        place = {"contentBlockIndex": len(content)}
        content.append({"toolUse": {"toolUseId": identity, "name": use.name, "input": dict(use.arguments)}})
        frames.append(
            frame("contentBlockStart", {**place, "start": {"toolUse": {"toolUseId": identity, "name": use.name}}})
        )
        for part in slices(json.dumps(use.arguments)):
            frames.append(frame("contentBlockDelta", {**place, "delta": {"toolUse": {"input": part}}}))
        frames.append(frame("contentBlockStop", place))
    frames.append(frame("messageStop", {"stopReason": reason}))
    frames.append(frame("metadata", {"usage": usage, "metrics": {"latencyMs": 12}}))
    message = {"role": "assistant", "content": content}
    whole = {"output": {"message": message}, "stopReason": reason, "usage": usage, "metrics": {"latencyMs": 12}}
    return Prepared(stamp.hex("", 32), whole, frames)


def frame(kind: str, data: Json) -> bytes:
    """One event of ``application/vnd.amazon.eventstream``."""
    headers = b""
    for name, value in ((":event-type", kind), (":content-type", "application/json"), (":message-type", "event")):
        headers += struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", _TEXT, len(value)) + value.encode()
    payload = encoded(data)
    start = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    start += struct.pack(">I", zlib.crc32(start))
    return start + headers + payload + struct.pack(">I", zlib.crc32(start + headers + payload))


def error(status: int, message: str, request_id: str) -> Json:
    """The provider's error body."""
    kinds = {400: "ValidationException", 401: "AccessDeniedException", 429: "ThrottlingException"}
    return {"__type": kinds.get(status, "InternalServerException"), "message": message}


def headers(stamp: Stamp) -> tuple[tuple[str, str], ...]:
    """Header lines that the provider sends with every answer."""
    return (("x-amzn-requestid", stamp.hex("", 32)),)


DIALECT = Dialect(
    "/model/", read, write, error, headers, ("authorization",), _PLACE, "application/vnd.amazon.eventstream"
)
