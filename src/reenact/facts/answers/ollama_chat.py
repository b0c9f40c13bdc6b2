"""The wire format of Ollama's own chat, whole and as a stream of one JSON document per line."""

from __future__ import annotations

import json
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
)
from reenact.facts.call import Json


def read(body: Mapping[str, Json], call: int, day: int, recall: Recall) -> Ask:
    """The request as an ``Ask``; raises ``BadAsk`` if the server would refuse it."""
    options = body.get("options") or {}
    chat = {
        **body,
        "messages": [_message(one) for one in body.get("messages") or ()],
        "stream": body.get("stream", True),
        "temperature": options.get("temperature"),
        "seed": options.get("seed"),
        "max_tokens": options.get("num_predict"),
    }
    return openai_chat.read(chat, call, day, recall)


def _message(one: Mapping[str, Json]) -> Json:
    """A message in the form of OpenAI's chat. Ollama's calls have no ids, so a result is paired by the name of its
    tool."""
    calls = [call["function"] for call in one.get("tool_calls") or ()]
    made = [{"id": call["name"], "function": {**call, "arguments": json.dumps(call["arguments"])}} for call in calls]
    return {**one, "tool_calls": made, "tool_call_id": one.get("tool_name")}


def write(ask: Ask, answer: ModelAnswer, body: Mapping[str, Json], stamp: Stamp) -> PreparedAnswer:
    """The answer in this dialect."""
    top: dict[str, Json] = {"model": stamp.kept.model or ask.model, "created_at": "2026-01-01T00:00:00Z"}
    calls: list[Json] = [{"function": {"name": use.name, "arguments": dict(use.arguments)}} for use in answer.uses]
    end: dict[str, Json] = {
        "done": True,
        "done_reason": "length" if answer.cut else "stop",
        "total_duration": 12_000_000,
    }
    end |= {"prompt_eval_count": asked_tokens(ask), "eval_count": said_tokens(answer)}
    more: dict[str, Json] = {"tool_calls": calls} if calls else {}
    if "prompt" in body:
        return _generated(top, answer, end)
    lines = [
        {**top, "message": {"role": "assistant", "content": piece}, "done": False} for piece in pieces(answer.text)
    ]
    lines.append({**top, "message": {"role": "assistant", "content": "", **more}, **end})
    whole = {**top, "message": {"role": "assistant", "content": answer.text, **more}, **end}
    return PreparedAnswer("", whole, [encoded(line) + b"\n" for line in lines])


def _generated(top: Mapping[str, Json], answer: ModelAnswer, end: Mapping[str, Json]) -> PreparedAnswer:
    """The answer of ``generate``."""
    if answer.uses:
        raise BadAsk("a prompt that is completed is answered in words, without tool calls")
    lines: list[Json] = [{**top, "response": piece, "done": False} for piece in pieces(answer.text)]
    lines.append({**top, "response": "", **end})
    return PreparedAnswer("", {**top, "response": answer.text, **end}, [encoded(line) + b"\n" for line in lines])


def error(status: int, message: str, request_id: str) -> Json:
    """The server's error body."""
    return {"error": message}


def headers(stamp: Stamp) -> tuple[tuple[str, str], ...]:
    """Header lines that the server sends with every answer."""
    return (("vary", "origin"),)


DIALECT = WireFormat("/api/chat", read, write, error, headers, (), None, "application/x-ndjson")
