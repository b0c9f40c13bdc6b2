"""Cohere's chat, version 2, at once and streamed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from reenact.facts.call import Json
from reenact.facts.dialects.dialect import (
    UNUSUAL,
    RequestContent,
    ResponseContent,
    conversation,
    failure,
    listing,
    mapping,
    neutral,
    parameters,
    shaped,
    text,
    usage,
)
from reenact.facts.dialects.openai_chat import called, message, tool
from reenact.facts.repeated_bytes import PatternSearch

_ACTS = PatternSearch(UNUSUAL)
_KNOWN = frozenset((
    "stream", "model", "messages", "tools", "strict_tools", "documents", "citation_options", "response_format",
    "safety_mode", "max_tokens", "stop_sequences", "temperature", "seed", "frequency_penalty", "presence_penalty",
    "k", "p", "logprobs", "tool_choice", "thinking", "priority", "raw_prompting",
))  # fmt: skip
_EVIDENCE = ("citation_options", "safety_mode", "strict_tools")
_ROLES = ("system", "user", "assistant", "tool")
_MESSAGE = frozenset(("role", "content", "tool_calls", "tool_plan", "tool_call_id", "citations"))
_SPELLINGS = {"top_p": ("p",), "top_k": ("k",)}


class CohereChat:
    """``POST …/v2/chat``: other services may use this path, so the body must have Cohere's shape."""

    name = "cohere.chat"
    sort = ""

    def speaks(self, path: str, body: bytes) -> bool:
        """Recognised by the end of the path, a model, and messages in Cohere's shape without unknown keys beside
        them."""
        if not path.endswith("/v2/chat") or b'"model"' not in body:
            return False
        request = shaped(body, _KNOWN, _EVIDENCE)
        return isinstance(request.get("model"), str) and conversation(request.get("messages"), _ROLES, _MESSAGE)

    def stateless(self, body: bytes) -> bool:
        """True if every tool is the caller's own: version 2 stores nothing."""
        if not _ACTS.finds(body):
            return True
        tools = listing(json.loads(body).get("tools"))
        return all(mapping(one).get("type", "function") == "function" for one in tools)

    def asked(self, path: str, request: Mapping[str, Json]) -> RequestContent:
        """Read a request."""
        messages = [_message(mapping(one)) for one in listing(request.get("messages"))]
        system = []
        while messages and messages[0]["role"] == "system":
            system.append(messages.pop(0)["text"])
        return RequestContent(
            text(request.get("model")),
            neutral(parameters(request, ("model", "messages", "tools")), _SPELLINGS),
            "\n\n".join(system),
            messages,
            [tool(mapping(one)) for one in listing(request.get("tools"))],
        )

    def answered(self, response: Mapping[str, Json]) -> ResponseContent:
        """Read a response."""
        said = mapping(response.get("message"))
        out = ResponseContent(
            thinking=text(said.get("tool_plan")),
            tool_calls=[called(mapping(one)) for one in listing(said.get("tool_calls"))],
            finish=text(response.get("finish_reason")),
            usage=counted(response.get("usage")),
            response_id=text(response.get("id")),
            error=failure(response) if response.get("error") else None,
        )
        for part in map(mapping, listing(said.get("content"))):
            out.text += text(part.get("text"))
            out.thinking += text(part.get("thinking"))
        out.ended = bool(out.finish or out.error)
        return out

    def streamed(self, events: Iterable[tuple[str, Json]]) -> ResponseContent:
        """Join the deltas of its parts and of each tool call."""
        out = ResponseContent(ended=False)
        calls: dict[Json, dict[str, Json]] = {}
        for name, event in events:
            kind = text(event.get("type")) or name
            delta = mapping(event.get("delta"))
            said = mapping(delta.get("message"))
            out.response_id = text(event.get("id")) or out.response_id
            part = mapping(said.get("content"))
            out.text += text(part.get("text"))
            out.thinking += text(part.get("thinking")) + text(said.get("tool_plan"))
            piece = mapping(said.get("tool_calls"))
            if kind == "tool-call-start":
                calls[event.get("index")] = called(piece)
            elif kind == "tool-call-delta" and event.get("index") in calls:
                calls[event["index"]]["arguments"] += text(mapping(piece.get("function")).get("arguments"))
            elif kind == "message-end":
                out.finish = text(delta.get("finish_reason"))
                out.usage = counted(delta.get("usage"))
                out.error = failure({"error": delta["error"]}) if delta.get("error") else None
        out.tool_calls = [calls[index] for index in sorted(calls, key=lambda index: index or 0)]
        out.ended = bool(out.finish)
        return out


def _message(one: Mapping[str, Json]) -> dict[str, Json]:
    out = message(one)
    return out | ({"thinking": one["tool_plan"]} if one.get("tool_plan") else {})


def counted(counts: Json) -> dict[str, int]:
    """The tokens of a response: those that the model read and wrote, and the billed ones if the response has them."""
    counts = mapping(counts)
    through, billed = mapping(counts.get("tokens")), mapping(counts.get("billed_units"))
    out = usage(
        _whole(through.get("input_tokens", billed.get("input_tokens"))),
        _whole(through.get("output_tokens", billed.get("output_tokens"))),
        _whole(counts.get("cached_tokens")),
    )
    named = (("billed_in", billed.get("input_tokens")), ("billed_out", billed.get("output_tokens")))
    return out | {name: int(value) for name, value in named if isinstance(value, int | float)}


def _whole(count: Json) -> int | None:
    """A count as an integer, because a response may give it as a float."""
    return int(count) if isinstance(count, int | float) else None
