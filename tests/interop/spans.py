"""Traces as files: spans in the OTLP of each dialect, made from a few words."""

from __future__ import annotations

import json
from typing import Any

TRACE = "6a49ec1f5f842b88d446138b91f418eb"
START = 1_795_220_537_000_000_000
"""When the first span of a trace begins, nanoseconds since the epoch."""


def value(data: Any) -> dict[str, Any]:
    """A value as OTLP's JSON writes it."""
    if isinstance(data, bool):
        return {"boolValue": data}
    if isinstance(data, int):
        return {"intValue": str(data)}
    if isinstance(data, float):
        return {"doubleValue": data}
    if isinstance(data, list):
        return {"arrayValue": {"values": [value(each) for each in data]}}
    if isinstance(data, dict):
        return {"kvlistValue": {"values": pairs(data)}}
    return {"stringValue": data}


def pairs(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Attributes as OTLP's JSON writes them."""
    return [{"key": key, "value": value(each)} for key, each in data.items()]


def span(number: int, name: str, parent: int = 0, **more: Any) -> dict[str, Any]:
    """One span: ``number`` makes its id and when it begins (ms); ``says`` holds its attributes.

    Others: ``trace``, ``took`` (ms), ``error``, ``events`` (name to attributes), ``at`` (ms).
    """
    at = START + more.get("at", number) * 1_000_000
    made: dict[str, Any] = {
        "traceId": more.get("trace", TRACE),
        "spanId": f"{number:016x}",
        "name": name,
        "kind": more.get("kind", 1),
        "startTimeUnixNano": str(at),
        "endTimeUnixNano": str(at + more.get("took", 1) * 1_000_000),
        "attributes": pairs(more.get("says", {})),
        "status": {"code": 2, "message": more["error"]} if "error" in more else {},
    }
    if parent:
        made["parentSpanId"] = f"{parent:016x}"
    if "events" in more:
        made["events"] = [
            {"timeUnixNano": str(at), "name": each, "attributes": pairs(said)} for each, said in more["events"]
        ]
    return made


def document(*spans: dict[str, Any], scope: str = "an.agent", **resource: Any) -> dict[str, Any]:
    """Spans of one service, as an exporter sends them."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": pairs({"service.name": "desk", **resource})},
                "scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}],
            }
        ]
    }


def text(*spans: dict[str, Any], **more: Any) -> str:
    """The same as the text of a file."""
    return json.dumps(document(*spans, **more))


def lines(*spans: dict[str, Any], **more: Any) -> str:
    """The same as the Collector's file exporter writes it: one document a line, one span in each."""
    return "".join(text(each, **more) + "\n" for each in spans)


def asked(*words: str) -> list[dict[str, Any]]:
    """Messages in parts: the first is the system's where there are several, the last the user's."""
    roles = ["system"] * (len(words) - 1) + ["user"]
    return [
        {"role": role, "parts": [{"type": "text", "content": word}]} for role, word in zip(roles, words, strict=True)
    ]


def chat(number: int, parent: int = 0, **more: Any) -> dict[str, Any]:
    """A model call by today's conventions."""
    says = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.response.model": "gpt-4o-mini-2024-07-18",
        "gen_ai.response.id": f"chatcmpl-{number}",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.request.temperature": 0.5,
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.input.messages": json.dumps(asked("Be brief.", "Where is order 7?")),
        "gen_ai.output.messages": json.dumps(
            [
                {
                    "role": "assistant",
                    "parts": [{"type": "text", "content": "It is lost."}],
                    "finish_reason": "stop",
                }
            ]
        ),
        **more.pop("says", {}),
    }
    says = {name: each for name, each in says.items() if each is not None}
    return span(number, "chat gpt-4o-mini", parent, kind=3, says=says, **more)


def tool(number: int, parent: int = 0, **more: Any) -> dict[str, Any]:
    """A tool call by today's conventions."""
    says = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "find_order",
        "gen_ai.tool.call.id": f"call_{number}",
        "gen_ai.tool.call.arguments": json.dumps({"order": 7}),
        "gen_ai.tool.call.result": json.dumps({"state": "lost"}),
        **more.pop("says", {}),
    }
    says = {name: each for name, each in says.items() if each is not None}
    return span(number, "execute_tool find_order", parent, says=says, **more)
