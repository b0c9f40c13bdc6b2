"""OpenAI's chat completions, and every server that is wire-compatible with them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

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

_DEPLOYMENT = lazy_regex(r"/deployments/([^/]+)/")
_ACTS = PatternSearch(
    UNUSUAL,
    lazy_regex(
        rb'"(?:store|web_search_options|background|conversation|plugins|mcp_servers|deferred|agent_id|search_parameters'
        rb'|search_settings|compound_custom|enable_search)"'
    ),
    lazy_regex(rb"compound"),
    lazy_regex(rb':online"'),
)
"""Signs that a request does more than ask for an answer. Patterns that begin with a letter of their own are found
faster."""
_KEPT = ("store", "background", "conversation", "plugins", "mcp_servers", "deferred", "agent_id", "enable_search")
_SEARCHES = ("web_search_options", "search_parameters", "search_settings", "compound_custom")
_HOSTED = lazy_regex(r"(?:\A|/)compound(?:\Z|-)|:online\Z")
_OWN = ("function", "custom")
_NOT_PARAMETERS = ("model", "messages", "tools", "functions")


class OpenAIChat:
    """``POST …/chat/completions``, and Mistral's ``…/agents/completions``."""

    name = "openai.chat"
    sort = ""

    def speaks(self, path: str, body: bytes) -> bool:
        """Recognised by the end of the path and the messages in the body."""
        if b'"messages"' not in body:
            return False
        return path.endswith("/chat/completions") or (path.endswith("/agents/completions") and b'"agent_id"' in body)

    def stateless(self, body: bytes) -> bool:
        """True unless the request is stored, or a hosted tool, an agent, or a model that uses tools by itself acts for
        it."""
        if not _ACTS.finds(body):
            return True
        request = json.loads(body)
        if any(request.get(name) for name in _KEPT) or any(request.get(name) is not None for name in _SEARCHES):
            return False
        if _HOSTED.search(text(request.get("model"))) is not None:
            return False
        return all(mapping(tool).get("type", "function") in _OWN for tool in listing(request.get("tools")))

    def asked(self, path: str, request: Mapping[str, Json]) -> RequestContent:
        """Read a request."""
        deployment = _DEPLOYMENT.search(path)
        messages = [message(one) for one in listing(request.get("messages"))]
        system = []
        while messages and messages[0]["role"] in ("system", "developer"):
            system.append(messages.pop(0)["text"])
        return RequestContent(
            text(request.get("model")) or (deployment[1] if deployment else ""),
            neutral(parameters(request, _NOT_PARAMETERS, ("max_completion_tokens", "max_tokens"))),
            "\n\n".join(system),
            messages,
            [tool(one) for one in [*listing(request.get("tools")), *listing(request.get("functions"))]],
        )

    def answered(self, response: Mapping[str, Json]) -> ResponseContent:
        """Read a completion: its first choice."""
        choice = mapping((listing(response.get("choices")) or [{}])[0])
        said = mapping(choice.get("message"))
        calls = [called(one) for one in listing(said.get("tool_calls"))]
        if mapping(said.get("function_call")):
            calls.append(called({"function": said["function_call"]}))
        words, thoughts = _words(said)
        return ResponseContent(
            text(response.get("model")),
            words,
            thoughts,
            calls,
            text(choice.get("finish_reason")),
            counted(response.get("usage")),
            text(response.get("system_fingerprint")),
            text(response.get("id")),
            failure(response) if response.get("error") else None,
            bool(choice) or bool(response.get("error")),
        )

    def streamed(self, events: Iterable[tuple[str, Json]]) -> ResponseContent:
        """Join the deltas of the first choice."""
        out = ResponseContent(ended=False)
        calls: dict[int, dict[str, Json]] = {}
        for _, chunk in events:
            if chunk.get("error"):
                out.error = failure(chunk)
                continue
            out.model = text(chunk.get("model")) or out.model
            out.response_id = text(chunk.get("id")) or out.response_id
            out.fingerprint = text(chunk.get("system_fingerprint")) or out.fingerprint
            out.usage = counted(chunk.get("usage")) or counted(mapping(chunk.get("x_groq")).get("usage")) or out.usage
            for choice in listing(chunk.get("choices")):
                if choice.get("index", 0) == 0:
                    _add(out, calls, mapping(choice.get("delta")))
                    out.finish = text(choice.get("finish_reason")) or out.finish
        out.tool_calls = [calls[index] for index in sorted(calls)]
        out.ended = bool(out.finish)
        return out


def _add(out: ResponseContent, calls: dict[int, dict[str, Json]], delta: Mapping[str, Json]) -> None:
    words, thoughts = _words(delta)
    out.text += words
    out.thinking += thoughts
    for n, piece in enumerate(listing(delta.get("tool_calls"))):
        index = piece.get("index")
        call = calls.setdefault(index if isinstance(index, int) else n, {"id": "", "name": "", "arguments": ""})
        function = mapping(piece.get("function")) or mapping(piece.get("custom"))
        call["id"] = text(piece.get("id")) or call["id"]
        call["name"] += text(function.get("name"))
        given = function.get("arguments", function.get("input"))
        call["arguments"] = given if isinstance(given, Mapping) else call["arguments"] + text(given)


def _words(said: Mapping[str, Json]) -> tuple[str, str]:
    """The text of a message or delta, and its disclosed reasoning; Mistral sends parts of both kinds."""
    content = said.get("content")
    if not isinstance(content, list):
        thoughts = text(said.get("reasoning_content")) or text(said.get("reasoning"))
        return text(content) or text(said.get("refusal")), thoughts
    words, thoughts = "", ""
    for part in map(mapping, content):
        words += text(part.get("text"))
        thoughts += "".join(text(mapping(one).get("text")) for one in listing(part.get("thinking")))
    return words, thoughts


def counted(counts: Json) -> dict[str, int]:
    """Tokens of a completion."""
    counts = mapping(counts)
    return usage(
        counts.get("prompt_tokens"),
        counts.get("completion_tokens"),
        mapping(counts.get("prompt_tokens_details")).get("cached_tokens"),
        mapping(counts.get("completion_tokens_details")).get("reasoning_tokens"),
    )


def called(one: Mapping[str, Json]) -> dict[str, Json]:
    """A tool call of an assistant."""
    function = mapping(one.get("function")) or mapping(one.get("custom"))
    arguments = function.get("arguments", function.get("input", ""))
    return {"id": text(one.get("id")), "name": text(function.get("name")), "arguments": arguments}


def tool(one: Mapping[str, Json]) -> dict[str, Json]:
    """An offered tool."""
    function = mapping(one.get("function")) or mapping(one.get("custom")) or one
    if not function.get("name"):
        return dict(one)
    schema = function.get("parameters")
    return {"name": function["name"], "description": text(function.get("description")), "schema": schema}


def message(one: Mapping[str, Json]) -> dict[str, Json]:
    """A message of the conversation."""
    role = text(one.get("role"))
    said, other = parts(one.get("content"))
    if role in ("tool", "function"):
        return {"role": "tool", "text": "", "tool_results": [{"id": text(one.get("tool_call_id")), "text": said}]}
    out: dict[str, Json] = {"role": role, "text": said}
    calls = [called(mapping(call)) for call in listing(one.get("tool_calls"))]
    if calls:
        out["tool_calls"] = calls
    if other:
        out["other"] = other
    return out


def parts(content: Json) -> tuple[str, list[str]]:
    """Text of a content, and the kinds of its parts that are not text."""
    if not isinstance(content, list):
        return (content, []) if isinstance(content, str) else ("" if content is None else compact(content), [])
    said, other = [], []
    for part in content:
        piece = part if isinstance(part, str) else mapping(part).get("text", mapping(part).get("refusal"))
        if isinstance(piece, str):
            said.append(piece)
        else:
            other.append(text(mapping(part).get("type")))
    return "\n".join(said), other
