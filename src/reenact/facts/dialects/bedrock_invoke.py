"""Amazon Bedrock's invoke: one endpoint for the protocols of many models, which are recognised by the body.

Anthropic's protocol has its own dialect. This module reads Nova (in the form of converse), models with OpenAI's chat
protocol, and models that complete one prompt (Titan, Llama, Mistral, Cohere, DeepSeek).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from reenact.facts.call import Json
from reenact.facts.dialects.bedrock_converse import BedrockConverse, conversed, counted
from reenact.facts.dialects.dialect import (
    RequestContent,
    ResponseContent,
    listing,
    mapping,
    neutral,
    parameters,
    text,
    usage,
)
from reenact.facts.dialects.openai_chat import OpenAIChat
from reenact.facts.lazy_regex import lazy_regex

_PATH = lazy_regex(r"/model/([^/]+)/invoke(?:-with-response-stream)?$")
_ASKS = lazy_regex(rb'"(?:messages|prompt|inputText|message)"\s*:')
_NOT_PARAMETERS = ("prompt", "inputText", "message", "chat_history", "textGenerationConfig", "modelId")
_NOVA = ("inferenceConfig", "toolConfig", "schemaVersion")
_NOVA_EVENTS = ("messageStart", "contentBlockStart", "contentBlockDelta", "messageStop", "metadata")
_METRICS = "amazon-bedrock-invocationMetrics"
_CHAT, _CONVERSE = OpenAIChat(), BedrockConverse()


class BedrockInvoke:
    """``POST …/model/MODEL/invoke`` and ``invoke-with-response-stream``."""

    name = "bedrock.invoke"
    sort = ""

    def speaks(self, path: str, body: bytes) -> bool:
        """Recognised by the end of the path, and a prompt or messages in the body."""
        return _PATH.search(path) is not None and _ASKS.search(body) is not None

    def stateless(self, body: bytes) -> bool:
        """True unless a hosted tool acts for the request, in OpenAI's shape or in that of converse."""
        return _CHAT.stateless(body) and _CONVERSE.stateless(body)

    def asked(self, path: str, request: Mapping[str, Json]) -> RequestContent:
        """Read a request."""
        named = _PATH.search(path)
        model = unquote(named[1]) if named else ""
        if "messages" in request:
            if any(name in request for name in _NOVA) or isinstance(request.get("system"), list):
                return conversed(model, request)
            found = _CHAT.asked(path, request)
            found.model = found.model or model
            return found
        prompt = next((text(request.get(name)) for name in ("prompt", "inputText", "message") if name in request), "")
        params = {**parameters(request, _NOT_PARAMETERS), **mapping(request.get("textGenerationConfig"))}
        before = [_turn(mapping(one)) for one in listing(request.get("chat_history"))]
        return RequestContent(
            model, neutral(params, {"top_p": ("p",)}), "", [*before, {"role": "user", "text": prompt}]
        )

    def answered(self, response: Mapping[str, Json]) -> ResponseContent:
        """Read a response."""
        if "output" in response or "error" in response:
            return _CONVERSE.answered(response)
        choice = mapping((listing(response.get("choices")) or [{}])[0])
        if mapping(choice.get("message")):
            found = _CHAT.answered(response)
            found.finish = found.finish or text(choice.get("stop_reason"))
            return found
        return self._joined([response])

    def streamed(self, events: Iterable[tuple[str, Json]]) -> ResponseContent:
        """Join the chunks by the protocol that their keys show."""
        chunks = list(events)
        if any(kind in chunk for _, chunk in chunks for kind in _NOVA_EVENTS):
            return _CONVERSE.streamed(chunks)
        if any(isinstance(chunk.get("choices"), list) and _deltas(chunk) for _, chunk in chunks):
            found = _CHAT.streamed(chunks)
            metrics = next((chunk[_METRICS] for _, chunk in chunks if mapping(chunk.get(_METRICS))), None)
            found.usage = found.usage or _measured(mapping(metrics))
            return found
        return self._joined([chunk for _, chunk in chunks])

    def _joined(self, chunks: list[Mapping[str, Json]]) -> ResponseContent:
        out = ResponseContent(ended=False)
        for chunk in chunks:
            piece = _piece(chunk)
            out.text += next(
                (text(piece[one]) for one in ("outputText", "generation", "completion", "text") if one in piece), ""
            )
            reasons = ("completionReason", "stop_reason", "finish_reason")
            out.finish = next((text(piece[one]) for one in reasons if piece.get(one)), out.finish)
            out.usage.update(_own_counts(chunk))
            out.usage.update(_measured(mapping(chunk.get(_METRICS))))
            out.response_id = text(chunk.get("generation_id")) or text(chunk.get("id")) or out.response_id
            if mapping(chunk.get("error")):
                out.error = _CONVERSE.answered(chunk).error
        out.ended = bool(out.finish or out.error)
        return out


def _deltas(chunk: Mapping[str, Json]) -> bool:
    return any("delta" in mapping(choice) for choice in listing(chunk.get("choices")))


def _piece(chunk: Mapping[str, Json]) -> Mapping[str, Json]:
    """The object that holds the text of a chunk or of a whole response: the first result in it, or the object
    itself."""
    for name in ("results", "outputs", "generations", "choices"):
        if listing(chunk.get(name)):
            return mapping(chunk[name][0])
    return chunk


def _own_counts(chunk: Mapping[str, Json]) -> dict[str, int]:
    """Tokens by the field names of Llama and of Titan."""
    said = chunk.get("totalOutputTextTokenCount")
    if said is None and listing(chunk.get("results")):
        said = mapping(chunk["results"][0]).get("tokenCount")
    asked = chunk.get("inputTextTokenCount")
    llama_asked, llama_said = chunk.get("prompt_token_count"), chunk.get("generation_token_count")
    return usage(asked if llama_asked is None else llama_asked, said if llama_said is None else llama_said)


def _measured(metrics: Mapping[str, Json]) -> dict[str, int]:
    """Tokens as Bedrock itself counted them, in the last chunk of a stream."""
    names = {"inputTokens": "inputTokenCount", "outputTokens": "outputTokenCount"}
    return counted({**metrics, **{ours: metrics.get(theirs) for ours, theirs in names.items()}})


def _turn(one: Mapping[str, Json]) -> dict[str, Json]:
    role = {"USER": "user", "CHATBOT": "assistant", "SYSTEM": "system"}.get(text(one.get("role")), "user")
    return {"role": role, "text": text(one.get("message"))}
