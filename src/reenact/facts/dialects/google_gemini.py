"""Google's generateContent, at the Gemini API and at Vertex AI."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from reenact.facts.call import Json
from reenact.facts.dialects.dialect import (
    RequestContent,
    ResponseContent,
    at,
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

_METHOD = lazy_regex(r"/([^/:]+)(?::|%3[Aa])(?:generateContent|streamGenerateContent)$")
_SETTLED = ("contents", "systemInstruction", "system_instruction", "tools", "generationConfig", "generation_config")
_ACTS = PatternSearch(
    lazy_regex(rb'"(?:cachedContent|cached_content|store|background|previousInteractionId|previous_interaction_id)"'),
    lazy_regex(rb'"tools"'),
)
_OWN = frozenset(("functionDeclarations", "function_declarations", "computerUse", "computer_use"))


class GoogleGemini:
    """``POST …/models/MODEL:generateContent`` and ``:streamGenerateContent``."""

    name = "google.gemini"
    sort = ""

    def speaks(self, path: str, body: bytes) -> bool:
        """Recognised by the method at the end of the path and the contents in the body."""
        return _METHOD.search(path) is not None and b'"contents"' in body

    def stateless(self, body: bytes) -> bool:
        """True unless the request uses cached content or is stored, or a hosted tool acts for it."""
        if not _ACTS.finds(body):
            return True
        request = json.loads(body)
        if any(at(request, name) for name in ("cachedContent", "store", "background", "previousInteractionId")):
            return False
        return all(mapping(one).keys() <= _OWN for one in listing(request.get("tools")))

    def asked(self, path: str, request: Mapping[str, Json]) -> RequestContent:
        """Read a request."""
        named = _METHOD.search(path)
        contents = request.get("contents")
        given = [contents] if isinstance(contents, Mapping) else listing(contents)
        settings = mapping(at(request, "generationConfig"))
        return RequestContent(
            unquote(named[1]) if named else "",
            neutral({**parameters(request, _SETTLED), **settings}),
            _plain(at(request, "systemInstruction")),
            [_message(one) for one in given],
            [tool for one in listing(request.get("tools")) for tool in _tools(mapping(one))],
        )

    def answered(self, response: Mapping[str, Json]) -> ResponseContent:
        """Read a response: its first candidate."""
        candidate = mapping((listing(response.get("candidates")) or [{}])[0])
        blocked = text(mapping(at(response, "promptFeedback")).get("blockReason"))
        out = ResponseContent(
            text(at(response, "modelVersion")),
            finish=text(at(candidate, "finishReason")) or blocked,
            usage=counted(at(response, "usageMetadata")),
            response_id=text(at(response, "responseId")),
            error=failure(response) if response.get("error") else None,
        )
        for part in map(mapping, listing(mapping(candidate.get("content")).get("parts"))):
            said = text(part.get("text"))
            if part.get("thought") is True:
                out.thinking += said
            else:
                out.text += said
            called = mapping(at(part, "functionCall"))
            if called:
                out.tool_calls.append(_called(called))
        out.ended = bool(out.finish or out.error)
        return out

    def streamed(self, events: Iterable[tuple[str, Json]]) -> ResponseContent:
        """Join the parts of the first candidate. The token counts are those of the last chunk that has counts."""
        whole: dict[str, Json] = {}
        parts: list[Json] = []
        finish = ""
        for _, chunk in events:
            for name in ("modelVersion", "responseId", "usageMetadata", "promptFeedback", "error"):
                if at(chunk, name):
                    whole[name] = at(chunk, name)
            for candidate in map(mapping, listing(chunk.get("candidates"))):
                if candidate.get("index", 0) == 0:
                    parts += listing(mapping(candidate.get("content")).get("parts"))
                    finish = text(at(candidate, "finishReason")) or finish
        return self.answered({**whole, "candidates": [{"content": {"parts": parts}, "finishReason": finish}]})


def _plain(content: Json) -> str:
    if isinstance(content, str):
        return content
    parts = mapping(content).get("parts")
    found = [parts] if isinstance(parts, Mapping) else listing(parts)
    return "\n".join(said for said in (text(mapping(part).get("text")) for part in found) if said)


def _called(call: Mapping[str, Json]) -> dict[str, Json]:
    return {"id": text(call.get("id")), "name": text(call.get("name")), "arguments": call.get("args")}


def _message(one: Json) -> dict[str, Json]:
    """A content of the conversation. Results without an id are paired by the name of their function."""
    if isinstance(one, str):
        return {"role": "user", "text": one}
    one = mapping(one)
    found = one.get("parts")
    said: list[str] = []
    thinking: list[str] = []
    calls, results, other = [], [], []
    for part in map(mapping, [found] if isinstance(found, Mapping) else listing(found)):
        called, result = mapping(at(part, "functionCall")), mapping(at(part, "functionResponse"))
        if called:
            calls.append(_called(called))
        elif result:
            name = text(result.get("id")) or text(result.get("name"))
            results.append({"id": name, "text": compact(result.get("response"))})
        elif isinstance(part.get("text"), str):
            (thinking if part.get("thought") is True else said).append(part["text"])
        else:
            other += [name for name in part if name not in ("thoughtSignature", "thought_signature", "thought")]
    role = text(one.get("role")) or "user"
    out: dict[str, Json] = {"role": "assistant" if role == "model" else role, "text": "\n".join(said)}
    named = (("tool_calls", calls), ("tool_results", results), ("thinking", "\n".join(thinking)), ("other", other))
    out.update({name: value for name, value in named if value})
    return out


def _tools(one: Mapping[str, Json]) -> list[Json]:
    """The tools in one entry: its functions, and hosted ones by their name."""
    found: list[Json] = []
    for declared in map(mapping, listing(at(one, "functionDeclarations"))):
        schema = at(declared, "parametersJsonSchema") or declared.get("parameters")
        name, about = text(declared.get("name")), text(declared.get("description"))
        found.append({"name": name, "description": about, "schema": schema})
    hosted = [name for name in one if name not in ("functionDeclarations", "function_declarations")]
    return found + [{"type": name, **mapping(one[name])} for name in hosted]


def counted(counts: Json) -> dict[str, int]:
    """Tokens of a response. Tokens of thoughts count as output, tokens that tools added as input."""
    counts = mapping(counts)
    asked, said = at(counts, "promptTokenCount"), at(counts, "candidatesTokenCount")
    thought, used = at(counts, "thoughtsTokenCount"), at(counts, "toolUsePromptTokenCount")
    if isinstance(asked, int) and isinstance(used, int):
        asked += used
    if isinstance(thought, int):
        said = thought + (said if isinstance(said, int) else 0)
    return usage(asked, said, at(counts, "cachedContentTokenCount"), thought)
