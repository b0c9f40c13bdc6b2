"""The wire format of Cohere's chat, version 2, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Mapping

from reenact.facts.answers import openai_chat
from reenact.facts.answers.asks import Ask, ModelAnswer
from reenact.facts.answers.seeded_choices import pieces
from reenact.facts.answers.wire_formats import (
    PreparedAnswer,
    Recall,
    Stamp,
    WireFormat,
    asked_tokens,
    named_event,
    said_tokens,
    slices,
)
from reenact.facts.call import Json


def read(body: Mapping[str, Json], call: int, day: int, recall: Recall) -> Ask:
    """The request as an ``Ask``, read as OpenAI's chat is, except for the names of a few choices."""
    choice = {"REQUIRED": "required", "NONE": "none"}.get(str(body.get("tool_choice")), "auto")
    return openai_chat.read({**body, "tool_choice": choice}, call, day, recall)


def write(ask: Ask, answer: ModelAnswer, body: Mapping[str, Json], stamp: Stamp) -> PreparedAnswer:
    """The answer in this dialect."""
    identity = stamp.kept.id or stamp.hex("", 32)
    asked, said = asked_tokens(ask), said_tokens(answer)
    counts = {"input_tokens": asked, "output_tokens": said}
    end = {
        "finish_reason": "TOOL_CALL" if answer.uses else "MAX_TOKENS" if answer.cut else "COMPLETE",
        "usage": {"billed_units": counts, "tokens": counts},
    }
    calls: list[Json] = [
        {
            "id": stamp.call(at, stamp.id(f"{use.name}_", 12)),
            "type": "function",
            "function": _function(use.name, json.dumps(use.arguments)),
        }
        for at, use in enumerate(answer.uses)
    ]
    texts: list[Json] = [{"type": "text", "text": answer.text}] if answer.text else []
    events: list[dict[str, Json]] = [
        {
            "id": identity,
            "type": "message-start",
            "delta": {
                "message": {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
            },
        }
    ]
    if texts:
        events.append(_event("content-start", 0, content={"type": "text", "text": ""}))
        events += [_event("content-delta", 0, content={"text": piece}) for piece in pieces(answer.text)]
        events.append({"type": "content-end", "index": 0})
    for at, call in enumerate(calls):
        function = call["function"]
        events.append(_event("tool-call-start", at, tool_calls={**call, "function": _function(function["name"], "")}))
        for part in slices(function["arguments"]):
            events.append(_event("tool-call-delta", at, tool_calls={"function": {"arguments": part}}))
        events.append({"type": "tool-call-end", "index": at})
    events.append({"type": "message-end", "delta": end})
    message: dict[str, Json] = {"role": "assistant"} | ({"content": texts} if texts else {})
    whole = {"id": identity, "message": message | ({"tool_calls": calls} if calls else {}), **end}
    return PreparedAnswer(identity, whole, [named_event(event) for event in events])


def _event(kind: str, index: int, **message: Json) -> dict[str, Json]:
    return {"type": kind, "index": index, "delta": {"message": message}}


def _function(name: str, arguments: str) -> Json:
    return {"name": name, "arguments": arguments}


def error(status: int, message: str, request_id: str) -> Json:
    """The provider's error body."""
    return {"id": request_id, "message": message}


def headers(stamp: Stamp) -> tuple[tuple[str, str], ...]:
    """Header lines that the provider sends with every answer."""
    return (("x-debug-trace-id", stamp.hex("", 32)), ("num_tokens", "12"))


DIALECT = WireFormat("/v2/chat", read, write, error, headers, ("authorization",), None, "text/event-stream")
