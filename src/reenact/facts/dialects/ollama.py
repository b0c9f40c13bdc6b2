"""Ollama's own chat and generate, at once and as a stream of one JSON document per line."""

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
from reenact.facts.dialects.openai_chat import called, tool
from reenact.facts.repeated_bytes import PatternSearch

_ACTS = PatternSearch(UNUSUAL)
_SHARED = (
    "model",
    "stream",
    "options",
    "format",
    "keep_alive",
    "think",
    "logprobs",
    "top_logprobs",
    "truncate",
    "shift",
)
_CHAT = frozenset((*_SHARED, "messages", "tools"))
_GENERATE = frozenset((*_SHARED, "prompt", "suffix", "system", "template", "context", "raw", "images"))
_EVIDENCE = ("options", "keep_alive")
_ROLES = ("system", "user", "assistant", "tool")
_MESSAGE = frozenset(("role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id", "name"))
_NOT_PARAMETERS = ("model", "messages", "tools", "prompt", "system", "options", "context", "images")


class Ollama:
    """``POST …/api/chat`` and ``…/api/generate``: other services use these paths too, so the body must have Ollama's
    shape."""

    name = "ollama.chat"
    sort = ""

    def speaks(self, path: str, body: bytes) -> bool:
        """Recognised by the end of the path, a model, and messages or a prompt in Ollama's shape without unknown
        keys."""
        if not path.endswith(("/api/chat", "/api/generate")) or b'"model"' not in body:
            return False
        if path.endswith("/chat"):
            request = shaped(body, _CHAT, _EVIDENCE)
            asks = conversation(request.get("messages"), _ROLES, _MESSAGE)
        else:
            request = shaped(body, _GENERATE, _EVIDENCE)
            asks = isinstance(request.get("prompt"), str)
        return asks and isinstance(request.get("model"), str)

    def stateless(self, body: bytes) -> bool:
        """True if every tool is the caller's own: the server stores nothing."""
        if not _ACTS.finds(body):
            return True
        tools = listing(json.loads(body).get("tools"))
        return all(mapping(one).get("type", "function") == "function" for one in tools)

    def asked(self, path: str, request: Mapping[str, Json]) -> RequestContent:
        """Read a request."""
        messages = [_message(mapping(one)) for one in listing(request.get("messages"))]
        system = [text(request.get("system"))] if request.get("system") else []
        while messages and messages[0]["role"] == "system":
            system.append(messages.pop(0)["text"])
        if "prompt" in request:
            images = {"other": ["image"]} if request.get("images") else {}
            messages.append({"role": "user", "text": text(request["prompt"]), **images})
        return RequestContent(
            text(request.get("model")),
            neutral({**parameters(request, _NOT_PARAMETERS), **mapping(request.get("options"))}),
            "\n\n".join(system),
            messages,
            [tool(mapping(one)) for one in listing(request.get("tools"))],
        )

    def answered(self, response: Mapping[str, Json]) -> ResponseContent:
        """Read a response."""
        message = mapping(response.get("message"))
        finish = text(response.get("done_reason"))
        return ResponseContent(
            text(response.get("model")),
            text(message.get("content")) or text(response.get("response")),
            text(message.get("thinking")) or text(response.get("thinking")),
            [called(mapping(one)) for one in listing(message.get("tool_calls"))],
            finish or ("stop" if response.get("done") is True else ""),
            usage(response.get("prompt_eval_count"), response.get("eval_count")),
            error=failure(response) if response.get("error") else None,
            ended=response.get("done") is True,
        )

    def streamed(self, events: Iterable[tuple[str, Json]]) -> ResponseContent:
        """Join the chunks. The last one says that the answer is done, and has the token counts."""
        out = ResponseContent(ended=False)
        for _, chunk in events:
            one = self.answered(chunk)
            out.model = one.model or out.model
            out.text += one.text
            out.thinking += one.thinking
            out.tool_calls += one.tool_calls
            out.finish, out.error = one.finish or out.finish, one.error or out.error
            out.usage.update(one.usage)
            out.ended = out.ended or one.ended
        return out


def _message(one: Mapping[str, Json]) -> dict[str, Json]:
    role, said = text(one.get("role")), text(one.get("content"))
    if role == "tool":
        name = text(one.get("tool_call_id")) or text(one.get("tool_name")) or text(one.get("name"))
        return {"role": role, "text": "", "tool_results": [{"id": name, "text": said}]}
    calls = [called(mapping(call)) for call in listing(one.get("tool_calls"))]
    other = ["image"] if one.get("images") else []
    out: dict[str, Json] = {"role": role, "text": said}
    named = (("tool_calls", calls), ("thinking", text(one.get("thinking"))), ("other", other))
    out.update({name: value for name, value in named if value})
    return out
