"""Where in a request each protocol keeps its system prompt and its parameters, and how to replace them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reenact.facts.call import Json
from reenact.facts.dialects.dialect import listing, mapping
from reenact.facts.dialects.model_addresses import maker_of

_CONVERSE: Final = frozenset({"maxTokens", "temperature", "topP", "stopSequences"})
_GEMINI_ABOVE: Final = frozenset({"safetySettings", "toolConfig", "labels", "cachedContent", "serviceTier"})
_NOVA: Final = "amazon.nova"
_ONE_PROMPT: Final = "this request of {} completes one prompt, and has no place for a system prompt"


class NoPlace(ValueError):
    """The protocol of the request has no place for a change; the message says so."""


def tuned(dialect: str, model: str, request: Mapping[str, Json], params: Mapping[str, Json]) -> dict[str, Json]:
    """The members of a request that hold its parameters, with new values set.

    Args:
        dialect: Name of its protocol.
        model: The model in its address; empty without one.
        request: The request of the agent's client.
        params: The new values by the protocol's own names.
    """
    changes: dict[str, Json] = {}
    for name, value in params.items():
        member = _holder(dialect, model, request, name)
        if not member:
            changes[name] = value
        else:
            changes[member] = {**mapping(request.get(member)), **mapping(changes.get(member)), name: value}
    return changes


def _holder(dialect: str, model: str, request: Mapping[str, Json], name: str) -> str:
    """The member that contains a parameter; empty where the parameter is at the top of the request."""
    if dialect == "ollama.chat":
        return "options"
    if dialect == "bedrock.converse":
        return "inferenceConfig" if name in _CONVERSE else "additionalModelRequestFields"
    if dialect == "google.gemini":
        return "" if name in _GEMINI_ABOVE else _spelled(request, "generationConfig", "generation_config")
    if dialect == "bedrock.invoke":
        if _is_nova(model, request):
            return "inferenceConfig"
        return "textGenerationConfig" if "inputText" in request else ""
    return ""


def prompted(dialect: str, model: str, request: Mapping[str, Json], prompt: str) -> dict[str, Json]:
    """The members of a request that hold the system prompt, with another prompt in them.

    Raises:
        NoPlace: The protocol has no place for a system prompt.
    """
    if dialect == "openai.completions":
        raise NoPlace(_ONE_PROMPT.format(dialect))
    if dialect == "bedrock.invoke":
        return _prompted_in_invoke(model, request, prompt)
    if dialect == "openai.responses":
        listed = request.get("input")
        if "instructions" in request or not isinstance(listed, list) or not _systems(listed):
            return {"instructions": prompt}
        return {"input": _replaced(listed, prompt)}
    beside: dict[str, dict[str, Json]] = {
        "anthropic.messages": {"system": prompt},
        "bedrock.converse": {"system": [{"text": prompt}]},
        "google.gemini": {_spelled(request, "systemInstruction", "system_instruction"): {"parts": [{"text": prompt}]}},
        "ollama.chat": {"system": prompt} if "prompt" in request else {},
    }
    return beside.get(dialect) or {"messages": _replaced(listing(request.get("messages")), prompt)}


def _prompted_in_invoke(model: str, request: Mapping[str, Json], prompt: str) -> dict[str, Json]:
    """The members with another system prompt, for a request to a maker's model through Bedrock's invoke."""
    if _is_nova(model, request):
        return {"system": [{"text": prompt}]}
    if "messages" in request:
        return {"messages": _replaced(listing(request["messages"]), prompt)}
    if "message" in request:
        return {"preamble": prompt}
    raise NoPlace(_ONE_PROMPT.format("bedrock.invoke"))


def _is_nova(model: str, request: Mapping[str, Json]) -> bool:
    """Whether a request to Bedrock's invoke has the shape of converse."""
    told = maker_of(model) == _NOVA or any(name in request for name in ("inferenceConfig", "schemaVersion"))
    return "messages" in request and (told or isinstance(request.get("system"), list))


def _spelled(request: Mapping[str, Json], camel: str, snake: str) -> str:
    return snake if snake in request else camel


def _systems(messages: list[Json]) -> list[int]:
    return [n for n, one in enumerate(messages) if isinstance(one, dict) and one.get("role") in ("system", "developer")]


def _replaced(messages: list[Json], prompt: str) -> list[Json]:
    """The messages with another prompt in the first system message, which is added in front where there is none."""
    found = _systems(messages)
    if not found:
        return [{"role": "system", "content": prompt}, *messages]
    first = found[0]
    return [{**one, "content": prompt} if n == first else one for n, one in enumerate(messages) if n not in found[1:]]
