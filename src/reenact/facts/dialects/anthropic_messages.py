"""Anthropic's messages, at their own host and inside Bedrock and Vertex."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from reenact.facts.call import Json
from reenact.facts.dialects.dialect import (
    UNUSUAL,
    RequestContent,
    ResponseContent,
    compact,
    failure,
    listing,
    mapping,
    parameters,
    text,
    usage,
)
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.repeated_bytes import PatternSearch

_ELSEWHERE = lazy_regex(
    r"/publishers/anthropic/models/([^/:]+):(?:stream)?[rR]awPredict$|/model/([^/]+)/invoke(?:-with-response-stream)?$"
)
_NOT_PARAMETERS = ("model", "messages", "system", "tools")
_ACTS = PatternSearch(UNUSUAL, lazy_regex(rb'"(?:mcp_servers|container)"'))
_OWN = lazy_regex(r"(?:custom|bash|text_editor|computer|memory)(?:_\d+)?\Z")


class AnthropicMessages:
    """``POST …/messages``."""

    name = "anthropic.messages"
    sort = ""

    def speaks(self, path: str, body: bytes) -> bool:
        """Recognised by the end of the path and the messages in the body."""
        if b'"messages"' not in body:
            return False
        return path.endswith("/messages") or (b'"anthropic_version"' in body and _ELSEWHERE.search(path) is not None)

    def stateless(self, body: bytes) -> bool:
        """True unless a hosted tool or server acts for the request, or a container keeps its state."""
        if not _ACTS.finds(body):
            return True
        request = json.loads(body)
        if request.get("mcp_servers") or request.get("container"):
            return False
        return all(_OWN.match(text(mapping(one).get("type")) or "custom") for one in listing(request.get("tools")))

    def asked(self, path: str, request: Mapping[str, Json]) -> RequestContent:
        """Read a request."""
        elsewhere = _ELSEWHERE.search(path)
        return RequestContent(
            text(request.get("model")) or (unquote(elsewhere[1] or elsewhere[2]) if elsewhere else ""),
            parameters(request, _NOT_PARAMETERS),
            _plain(request.get("system")),
            [message(mapping(one)) for one in listing(request.get("messages"))],
            [_tool(mapping(one)) for one in listing(request.get("tools"))],
        )

    def answered(self, response: Mapping[str, Json]) -> ResponseContent:
        """Read a message."""
        out = ResponseContent(text(response.get("model")), response_id=text(response.get("id")))
        for block in map(mapping, listing(response.get("content"))):
            _add(out, block)
        out.finish = text(response.get("stop_reason"))
        out.usage = counted(response.get("usage"))
        out.error = failure(response) if response.get("error") else None
        out.ended = bool(out.finish or response.get("error"))
        return out

    def streamed(self, events: Iterable[tuple[str, Json]]) -> ResponseContent:
        """Join the deltas of each block."""
        begun: dict[str, Json] = {}
        counts: dict[str, Json] = {}
        blocks: dict[int, dict[str, Json]] = {}
        error = None
        ended = False
        for _, event in events:
            kind = event.get("type")
            if kind == "message_start":
                begun = dict(mapping(event.get("message")))
                counts.update(mapping(begun.get("usage")))
            elif kind == "content_block_start":
                blocks[event["index"]] = {**mapping(event.get("content_block")), "partial": ""}
            elif kind == "content_block_delta":
                _join(blocks.setdefault(event["index"], {"partial": ""}), mapping(event.get("delta")))
            elif kind == "message_delta":
                begun.update(mapping(event.get("delta")))
                counts.update({name: value for name, value in mapping(event.get("usage")).items() if value is not None})
            elif kind == "message_stop":
                ended = True
            elif kind == "error":
                error = failure(event)
        for block in blocks.values():
            partial = block.pop("partial")
            if partial:
                block["input"] = partial
        content = [blocks[index] for index in sorted(blocks)]
        out = self.answered({**begun, "content": content, "usage": counts})
        out.error, out.ended = error, ended
        return out


def _join(block: dict[str, Json], delta: Mapping[str, Json]) -> None:
    for name in ("text", "thinking"):
        if isinstance(delta.get(name), str):
            block.setdefault("type", name)
            block[name] = text(block.get(name)) + delta[name]
    block["partial"] += text(delta.get("partial_json"))


def _add(out: ResponseContent, block: Mapping[str, Json]) -> None:
    kind = block.get("type")
    if kind == "text":
        out.text += text(block.get("text"))
    elif kind == "thinking":
        out.thinking += text(block.get("thinking"))
    elif kind == "tool_use":
        out.tool_calls.append(_called(block))


def _called(block: Mapping[str, Json]) -> dict[str, Json]:
    return {"id": text(block.get("id")), "name": text(block.get("name")), "arguments": block.get("input")}


def _tool(one: Mapping[str, Json]) -> dict[str, Json]:
    if "input_schema" not in one:
        return dict(one)
    schema = one["input_schema"]
    return {"name": text(one.get("name")), "description": text(one.get("description")), "schema": schema}


def _plain(content: Json) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text(mapping(block).get("text")) for block in listing(content) if mapping(block).get("text"))


def message(one: Mapping[str, Json]) -> dict[str, Json]:
    """A message of the conversation."""
    out: dict[str, Json] = {"role": text(one.get("role")), "text": _plain(one.get("content"))}
    calls, results, thinking, other = [], [], [], []
    for block in map(mapping, listing(one.get("content"))):
        kind = text(block.get("type"))
        if kind == "tool_use":
            calls.append(_called(block))
        elif kind == "tool_result":
            content = block.get("content")
            said = _plain(content) or ("" if not content else compact(content))
            result: dict[str, Json] = {"id": text(block.get("tool_use_id")), "text": said}
            results.append(result | ({"error": True} if block.get("is_error") else {}))
        elif kind == "thinking":
            thinking.append(text(block.get("thinking")))
        elif kind != "text":
            other.append(kind)
    named = (("tool_calls", calls), ("tool_results", results), ("thinking", "\n".join(thinking)), ("other", other))
    out.update({name: value for name, value in named if value})
    return out


def counted(counts: Json) -> dict[str, int]:
    """Tokens of a message. Tokens that were read from or written to the cache count as input."""
    counts = mapping(counts)
    if not isinstance(counts.get("input_tokens"), int):
        return usage(None, counts.get("output_tokens"))
    cached, written = counts.get("cache_read_input_tokens") or 0, counts.get("cache_creation_input_tokens") or 0
    return usage(counts["input_tokens"] + cached + written, counts.get("output_tokens"), cached, None, written)
