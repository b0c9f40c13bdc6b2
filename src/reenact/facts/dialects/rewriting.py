"""Rewriting a model request: another model, system prompt or parameters; everything else byte for byte as it was.

Only protocols whose place for each is known are rewritten. What was sent in JSON goes out as JSON with the same members
in the same order; only the values that change are written anew, so that tool schemas go out byte-identical.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from reenact.facts.call import Json

SPOKEN: Final = frozenset({"openai.chat", "openai.responses", "anthropic.messages", "ollama.chat", "bedrock.converse"})
"""Protocols that can be rewritten, by the names of their dialects."""

_FAMILIES: Final = (
    (re.compile(r"claude", re.IGNORECASE), frozenset({"anthropic.messages"})),
    (re.compile(r"gpt-|o[134]-|o[134]$|chatgpt", re.IGNORECASE), frozenset({"openai.chat", "openai.responses"})),
    (re.compile(r"gemini", re.IGNORECASE), frozenset({"google.gemini"})),
)
_ADDRESSED: Final = frozenset({"bedrock.converse"})
"""Protocols whose requests name the model in their path."""
_INFERENCE: Final = frozenset({"maxTokens", "temperature", "topP", "stopSequences"})
_TOO_ODD = "the request is no JSON object"


class NotRewritten(ValueError):
    """A request that cannot be changed as asked; says why."""


def other_protocol(dialect: str, model: str) -> bool:
    """Whether a model is known to be spoken to by another protocol than this one.

    Names that no maker is known for pass: gateways and local servers call models as they like."""
    named = [spoken for pattern, spoken in _FAMILIES if pattern.match(model.rpartition("/")[2])]
    return bool(named) and "/" not in model and all(dialect not in spoken for spoken in named)


def rewritten(dialect: str, body: bytes, *, prompt: str | None, model: str | None, params: Mapping[str, Json]) -> bytes:
    """A model request with something changed.

    Args:
        dialect: Name of its protocol (``recognise``).
        body: As the agent's client would send it.
        prompt: New system prompt; None leaves it.
        model: New model; None leaves it.
        params: Parameters to set, by the protocol's own names.

    Raises:
        NotRewritten: The protocol, or this request, has no place for it.
    """
    if dialect not in SPOKEN:
        raise NotRewritten(f"requests of {dialect} cannot be rewritten")
    if model is not None and other_protocol(dialect, model):
        raise NotRewritten(f"{model} does not speak {dialect}: a model of another protocol cannot answer this request")
    try:
        request = json.loads(body)
    except ValueError:
        raise NotRewritten(_TOO_ODD) from None
    if not isinstance(request, dict):
        raise NotRewritten(_TOO_ODD)
    changes: dict[str, Json] = {}
    if model is not None and dialect in _ADDRESSED:
        raise NotRewritten(
            f"the model of {dialect} stands in the address of the request, which is not rewritten: "
            "change it in the code, and fork with --rev"
        )
    if model is not None:
        changes["model"] = model
    if dialect == "ollama.chat" and params:
        changes["options"] = {**(request.get("options") or {}), **params}
    elif dialect == "bedrock.converse":
        changes.update(_inferring(request, params))
    else:
        changes.update(params)
    if prompt is not None:
        changes.update(_prompted(dialect, request, prompt))
    return _with_members(body, request, changes)


def _inferring(request: Mapping[str, Any], params: Mapping[str, Json]) -> dict[str, Json]:
    """The members of a converse request that hold its parameters, with others set: Bedrock's own, and the model's."""
    changes: dict[str, Json] = {}
    for name, value in params.items():
        member = "inferenceConfig" if name in _INFERENCE else "additionalModelRequestFields"
        changes[member] = {**(request.get(member) or {}), **(changes.get(member) or {}), name: value}
    return changes


def _prompted(dialect: str, request: Mapping[str, Any], prompt: str) -> dict[str, Json]:
    """The members that hold the system prompt, with another one."""
    if dialect == "anthropic.messages":
        return {"system": prompt}
    if dialect == "bedrock.converse":
        return {"system": [{"text": prompt}]}
    if dialect == "openai.responses":
        listed = request.get("input")
        if "instructions" in request or not isinstance(listed, list) or not _systems(listed):
            return {"instructions": prompt}
        return {"input": _replaced(listed, prompt)}
    return {"messages": _replaced(list(request.get("messages") or ()), prompt)}


def _systems(messages: list[Any]) -> list[int]:
    return [n for n, one in enumerate(messages) if isinstance(one, dict) and one.get("role") in ("system", "developer")]


def _replaced(messages: list[Any], prompt: str) -> list[Any]:
    """The messages with the first system message saying something else; with one in front where there is none."""
    found = _systems(messages)
    if not found:
        return [{"role": "system", "content": prompt}, *messages]
    first = found[0]
    return [{**one, "content": prompt} if n == first else one for n, one in enumerate(messages) if n not in found[1:]]


def _with_members(body: bytes, request: Mapping[str, Any], changes: Mapping[str, Json]) -> bytes:
    """The document with some members written anew, the others byte for byte as they stood."""
    text = body.decode("utf-8", "surrogatepass")
    out: list[str] = []
    left = dict(changes)
    for name, start, end in _members(text):
        out.append(f"{json.dumps(name)}: {_text(left.pop(name))}" if name in left else text[start:end])
    out += [f"{json.dumps(name)}: {_text(value)}" for name, value in left.items()]
    return ("{" + ", ".join(out) + "}").encode("utf-8", "surrogatepass")


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


_SPACE = re.compile(r"[ \t\r\n]*")


def _members(text: str) -> list[tuple[str, int, int]]:
    """Name, begin and end of each member of the outermost object."""
    decoder = json.JSONDecoder()
    at = _skip(text, text.index("{") + 1)
    found = []
    while text[at] != "}":
        name, after = decoder.raw_decode(text, at)
        value = _skip(text, _skip(text, after) + 1)
        _, end = decoder.raw_decode(text, value)
        found.append((name, at, end))
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match is not None else at
