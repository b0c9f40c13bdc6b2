"""Amazon Bedrock's converse, at once and streamed."""

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
    neutral,
    parameters,
    text,
    usage,
)
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.repeated_bytes import PatternSearch

_PATH = lazy_regex(r"/model/([^/]+)/converse(?:-stream)?$")
_NOT_PARAMETERS = ("messages", "system", "toolConfig", "inferenceConfig", "modelId", "schemaVersion")
_ACTS = PatternSearch(UNUSUAL, lazy_regex(rb'"(?:systemTool|mcp_servers|container)"'))
_OWN = lazy_regex(r"(?:function|custom|bash|text_editor|computer|memory)(?:_\d+)?\Z")


class BedrockConverse:
    """``POST …/model/MODEL/converse`` and ``converse-stream``."""

    name = "bedrock.converse"
    sort = ""

    def speaks(self, path: str, body: bytes) -> bool:
        """Recognised by the end of the path. The body holds messages, unless the model is a stored prompt."""
        return _PATH.search(path) is not None and (b'"messages"' in body or b'"promptVariables"' in body)

    def stateless(self, body: bytes) -> bool:
        """True unless a hosted tool acts for the request: one of its own tools, or one in the fields that it passes on
        to the model."""
        if not _ACTS.finds(body):
            return True
        request = json.loads(body)
        if any("systemTool" in mapping(one) for one in listing(mapping(request.get("toolConfig")).get("tools"))):
            return False
        passed = mapping(request.get("additionalModelRequestFields"))
        if passed.get("mcp_servers") or passed.get("container"):
            return False
        return all(_OWN.match(text(mapping(one).get("type")) or "custom") for one in listing(passed.get("tools")))

    def asked(self, path: str, request: Mapping[str, Json]) -> RequestContent:
        """Read a request."""
        named = _PATH.search(path)
        return conversed(unquote(named[1]) if named else "", request)

    def answered(self, response: Mapping[str, Json]) -> ResponseContent:
        """Read a response."""
        message = mapping(mapping(response.get("output")).get("message"))
        router = mapping(mapping(response.get("trace")).get("promptRouter"))
        out = ResponseContent(
            text(router.get("invokedModelId")),
            finish=text(response.get("stopReason")),
            usage=counted(response.get("usage")),
            error=failure(response) if response.get("error") else None,
        )
        for block in map(mapping, listing(message.get("content"))):
            out.text += text(block.get("text"))
            out.thinking += _thought(block)
            if mapping(block.get("toolUse")):
                out.tool_calls.append(_called(mapping(block["toolUse"])))
        out.ended = bool(out.finish or out.error)
        return out

    def streamed(self, events: Iterable[tuple[str, Json]]) -> ResponseContent:
        """Join the deltas of each block."""
        blocks: dict[Json, dict[str, Json]] = {}
        whole: dict[str, Json] = {}
        for name, data in events:
            kind, event = _named(name, data)
            block = blocks.setdefault(event.get("contentBlockIndex"), {}) if "contentBlockIndex" in event else {}
            if kind == "contentBlockStart":
                block.update(mapping(event.get("start")))
            elif kind == "contentBlockDelta":
                _join(block, mapping(event.get("delta")))
            elif kind in ("messageStop", "metadata"):
                whole.update({key: event[key] for key in ("stopReason", "usage", "trace") if key in event})
            elif event.get("error"):
                whole["error"] = event["error"]
        content = [blocks[index] for index in sorted(blocks, key=lambda index: index or 0)]
        out = self.answered({**whole, "output": {"message": {"content": content}}})
        out.ended = bool(out.finish)
        return out


def conversed(model: str, request: Mapping[str, Json]) -> RequestContent:
    """Read a request in the shape of converse. Some models take the same shape by ``invoke``."""
    tools = listing(mapping(request.get("toolConfig")).get("tools"))
    choice = mapping(request.get("toolConfig")).get("toolChoice")
    params = {**parameters(request, _NOT_PARAMETERS), **mapping(request.get("inferenceConfig"))}
    return RequestContent(
        model,
        neutral(params | ({"toolChoice": choice} if choice else {})),
        "\n".join(said for said in (text(mapping(one).get("text")) for one in listing(request.get("system"))) if said),
        [_message(mapping(one)) for one in listing(request.get("messages"))],
        [_tool(mapping(one)) for one in tools if "cachePoint" not in mapping(one)],
    )


def _named(name: str, data: Json) -> tuple[str, Mapping[str, Json]]:
    """The kind and data of an event. In a model's own stream, the kind is the only key inside the event beside its
    metrics."""
    if name not in ("", "chunk"):
        return name, mapping(data)
    for kind in ("messageStart", "contentBlockStart", "contentBlockDelta", "messageStop", "metadata"):
        if isinstance(data.get(kind), Mapping):
            return kind, data[kind]
    return "", mapping(data)


def _join(block: dict[str, Json], delta: Mapping[str, Json]) -> None:
    if isinstance(delta.get("text"), str):
        block["text"] = text(block.get("text")) + delta["text"]
    thought = text(mapping(delta.get("reasoningContent")).get("text"))
    if thought:
        block["reasoningContent"] = {"reasoningText": {"text": _thought(block) + thought}}
    used = mapping(delta.get("toolUse"))
    if isinstance(used.get("input"), str):
        call = mapping(block.get("toolUse"))
        block["toolUse"] = {**call, "input": text(call.get("input")) + used["input"]}


def _thought(block: Mapping[str, Json]) -> str:
    return text(mapping(mapping(block.get("reasoningContent")).get("reasoningText")).get("text"))


def _called(use: Mapping[str, Json]) -> dict[str, Json]:
    return {"id": text(use.get("toolUseId")), "name": text(use.get("name")), "arguments": use.get("input")}


def _tool(one: Mapping[str, Json]) -> dict[str, Json]:
    spec = mapping(one.get("toolSpec"))
    if not spec:
        return {"type": next(iter(one), ""), **mapping(next(iter(one.values()), {}))}
    schema = mapping(spec.get("inputSchema")).get("json")
    return {"name": text(spec.get("name")), "description": text(spec.get("description")), "schema": schema}


def _result(result: Mapping[str, Json]) -> dict[str, Json]:
    pieces = []
    for block in map(mapping, listing(result.get("content"))):
        pieces.append(block["text"] if isinstance(block.get("text"), str) else compact(block.get("json", block)))
    out: dict[str, Json] = {"id": text(result.get("toolUseId")), "text": "\n".join(pieces)}
    return out | ({"error": True} if result.get("status") == "error" else {})


def _message(one: Mapping[str, Json]) -> dict[str, Json]:
    said, thinking, calls, results, other = [], [], [], [], []
    content = one.get("content")
    if isinstance(content, str):
        return {"role": text(one.get("role")), "text": content}
    for block in map(mapping, listing(content)):
        if isinstance(block.get("text"), str):
            said.append(block["text"])
        elif "toolUse" in block:
            calls.append(_called(mapping(block["toolUse"])))
        elif "toolResult" in block:
            results.append(_result(mapping(block["toolResult"])))
        elif _thought(block):
            thinking.append(_thought(block))
        elif "cachePoint" not in block:
            other += list(block)[:1]
    out: dict[str, Json] = {"role": text(one.get("role")), "text": "\n".join(said)}
    named = (("tool_calls", calls), ("tool_results", results), ("thinking", "\n".join(thinking)), ("other", other))
    out.update({name: value for name, value in named if value})
    return out


def counted(counts: Json) -> dict[str, int]:
    """Tokens of a response. Tokens that were read from or written to the cache count as input."""
    counts = mapping(counts)
    asked, said = counts.get("inputTokens"), counts.get("outputTokens")
    cached, written = counts.get("cacheReadInputTokens"), counts.get("cacheWriteInputTokens")
    cached = counts.get("cacheReadInputTokenCount") if cached is None else cached
    written = counts.get("cacheWriteInputTokenCount") if written is None else written
    if isinstance(asked, int):
        asked += sum(part for part in (cached, written) if isinstance(part, int))
    return usage(asked, said, cached, None, written)
