"""Rewriting a model request: another model, system prompt or parameters; everything else byte for byte as it was.

A request in JSON goes out as JSON with the same members in the same order; only changed values are written again, so
that tool schemas go out byte-identical. An address that names the model then names the other one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from reenact.facts.call import Call, Json
from reenact.facts.dialects.model_addresses import maker_of, model_in, readdressed, through_one_door
from reenact.facts.dialects.prompt_fields import NoPlace, prompted, tuned
from reenact.facts.dialects.recognition import recognise
from reenact.facts.lazy_dataclass import replace
from reenact.facts.lazy_regex import lazy_regex

SPOKEN: Final = frozenset({
    "openai.chat", "openai.responses", "openai.completions", "anthropic.messages", "google.gemini",
    "bedrock.converse", "bedrock.invoke", "ollama.chat", "cohere.chat",
})  # fmt: skip
"""Protocols that can be rewritten, by the names of their dialects."""

_FAMILIES: Final = (
    (lazy_regex(r"claude", re.IGNORECASE), frozenset({"anthropic.messages"})),
    (
        lazy_regex(r"gpt-|o[134]-|o[134]$|chatgpt", re.IGNORECASE),
        frozenset({"openai.chat", "openai.responses", "openai.completions"}),
    ),
    (lazy_regex(r"gemini", re.IGNORECASE), frozenset({"google.gemini"})),
)
_TOO_ODD = "the request is no JSON object"


class NotRewritten(ValueError):
    """A request that cannot be changed as asked; the message says why."""


def other_protocol(dialect: str, model: str, now: str = "") -> bool:
    """Whether a model is known to use another protocol than this one.

    The answer is no for a name whose maker is unknown, because gateways and local servers name models as they like. The
    answer is also no for a model whose maker has made the requested model too, because a model of this maker answers
    there already.

    Args:
        dialect: Name of the protocol.
        model: The other model.
        now: The model that the request names.
    """
    named = [spoken for pattern, spoken in _FAMILIES if pattern.match(model.rpartition("/")[2])]
    if not named or "/" in model or any(dialect in spoken for spoken in named):
        return False
    return not any(pattern.match(now) and pattern.match(model) for pattern, _ in _FAMILIES)


def rewritten(
    dialect: str, url: str, body: bytes, *, prompt: str | None, model: str | None, params: Mapping[str, Json]
) -> tuple[str, bytes]:
    """A changed model request: its address, and its body.

    Args:
        dialect: Name of its protocol (``recognise``).
        url: The address of the agent's client; whole, or from its path on.
        body: The body of the agent's client.
        prompt: New system prompt; None for no change.
        model: New model; None for no change.
        params: Parameters to set, by the protocol's own names.

    Raises:
        NotRewritten: The protocol, or this request, has no place for a change.
    """
    if dialect not in SPOKEN:
        raise NotRewritten(f"requests of {dialect or 'an unknown protocol'} cannot be rewritten")
    try:
        request = json.loads(body)
    except ValueError:
        raise NotRewritten(_TOO_ODD) from None
    if not isinstance(request, dict):
        raise NotRewritten(_TOO_ODD)
    addressed = model_in(url)
    changes: dict[str, Json] = {}
    if model is not None:
        _require_same_protocol(dialect, url, model, addressed or str(request.get("model", "")))
        if "model" in request or not addressed:
            changes["model"] = model
        url = readdressed(url, model)
    changes.update(tuned(dialect, addressed, request, params))
    if prompt is not None:
        try:
            changes.update(prompted(dialect, addressed, request, prompt))
        except NoPlace as error:
            raise NotRewritten(str(error)) from None
    return url, _with_members(body, changes) if changes else body


def as_sent(call: Call, changes: Json) -> Call:
    """The agent's request as a fork sent it; the same request where the changes do not fit it.

    Args:
        call: The request, with its body.
        changes: The note on it (``facts.event.REWRITTEN``).
    """
    if not isinstance(changes, Mapping):
        return call
    url, made = str(call.head.get("url", "")), {"prompt": None, "model": None, **changes}
    made["params"] = made.get("params") or {}
    try:
        url, body = rewritten(recognise(call.head, call.body) or "", url, call.body, **made)
    except (NotRewritten, TypeError):  # a note of the program's own may have this name
        return call
    return replace(call, head={**call.head, "url": url}, body=body)


def _require_same_protocol(dialect: str, url: str, model: str, now: str) -> None:
    """Refuse a model that uses another protocol than the request."""
    spoken = dialect if other_protocol(dialect, model, now) else ""
    if through_one_door(url):
        makers = maker_of(now), maker_of(model)
        spoken = f"as {now} does" if all(makers) and makers[0] != makers[1] else spoken
    if spoken:
        raise NotRewritten(f"{model} does not speak {spoken}: a model of another protocol cannot answer this request")


def _with_members(body: bytes, changes: Mapping[str, Json]) -> bytes:
    """The document with some members written again, the others byte for byte as they stood."""
    text = body.decode("utf-8", "surrogatepass")
    out: list[str] = []
    left = dict(changes)
    for name, start, end in _members(text):
        out.append(f"{json.dumps(name)}: {_text(left.pop(name))}" if name in left else text[start:end])
    out += [f"{json.dumps(name)}: {_text(value)}" for name, value in left.items()]
    return ("{" + ", ".join(out) + "}").encode("utf-8", "surrogatepass")


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


_SPACE = lazy_regex(r"[ \t\r\n]*")


def _members(text: str) -> list[tuple[str, int, int]]:
    """The name, beginning and end of each member of the outermost object."""
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
