"""A dialect: one provider's protocol, read from parsed requests and responses."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.lazy_regex import lazy_regex


@dataclass(slots=True)
class RequestContent:
    """The content of a request."""

    model: str = ""
    params: dict[str, Json] = field(default_factory=dict)
    system: str = ""
    messages: list[Json] = field(default_factory=list)
    tools: list[Json] = field(default_factory=list)


@dataclass(slots=True)
class ResponseContent:
    """The content of a response; ``ended`` says whether a stream came to its proper end."""

    model: str = ""
    text: str = ""
    thinking: str = ""
    tool_calls: list[dict[str, Json]] = field(default_factory=list)
    finish: str = ""
    usage: dict[str, int] = field(default_factory=dict)
    fingerprint: str = ""
    response_id: str = ""
    error: dict[str, Json] | None = None
    ended: bool = True
    dimensions: int = 0


class Dialect(Protocol):
    """One protocol. Requests and responses are parsed JSON objects; any method may raise on malformed ones."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def sort(self) -> str:
        """The sort of the request: ``embedding``, or empty for words."""
        ...

    def speaks(self, path: str, body: bytes) -> bool:
        """Whether a POST to ``path`` with this body is a call in this dialect. Looks for words; parses nothing."""
        ...

    def stateless(self, body: bytes) -> bool:
        """Whether the request changes nothing on the provider's side. Parses only a body that looks like this
        protocol."""
        ...

    def asked(self, path: str, request: Mapping[str, Json]) -> RequestContent:
        """Read a request."""
        ...

    def answered(self, response: Mapping[str, Json]) -> ResponseContent:
        """Read a response that came at once."""
        ...

    def streamed(self, events: Iterable[tuple[str, Json]]) -> ResponseContent:
        """Read a response that came as events: pairs of their name and data."""
        ...


def usage(
    tokens_in: Json, tokens_out: Json, cached: Json = None, reasoning: Json = None, written: Json = None
) -> dict[str, int]:
    """Tokens by name, without those that the provider did not count."""
    out: dict[str, int] = {}
    pairs = (("tokens_in", tokens_in), ("input", tokens_in), ("tokens_out", tokens_out), ("output", tokens_out))
    for name, value in (*pairs, ("cached", cached), ("reasoning", reasoning), ("cache_written", written)):
        if isinstance(value, int) and not isinstance(value, bool):
            out[name] = value
    return out


_NEUTRAL: Mapping[str, tuple[str, ...]] = {
    "top_p": ("topP",),
    "top_k": ("topK",),
    "seed": ("random_seed",),
    "stop": ("stopSequences", "stop_sequences"),
    "dimensions": ("outputDimensionality", "output_dimensionality", "output_dimension"),
    "max_tokens": ("maxOutputTokens", "max_output_tokens", "maxTokens", "num_predict", "max_gen_len", "maxTokenCount"),
}


def parameters(request: Mapping[str, Json], without: Collection[str], most: Sequence[str] = ()) -> dict[str, Json]:
    """All parameters of a request except ``without``. The first existing one of ``most`` is given as ``max_tokens``
    too."""
    out = {name: value for name, value in request.items() if name not in without}
    for name in most:
        if out.get(name) is not None:
            out.setdefault("max_tokens", out[name])
            break
    return out


def neutral(params: Mapping[str, Json], more: Mapping[str, tuple[str, ...]] | None = None) -> dict[str, Json]:
    """Parameters as sent, with those that a protocol spells in its own way also under the common name.

    Args:
        params: The parameters as sent.
        more: Spellings of one protocol: the common name to its own.
    """
    out = dict(params)
    for name, spellings in (*_NEUTRAL.items(), *(more or {}).items()):
        found = next((out[one] for one in spellings if out.get(one) is not None), None)
        if found is not None:
            out.setdefault(name, found)
    return out


def failure(error: Json, status: int = 0) -> dict[str, Json]:
    """The status, type and message of an error object in any provider's shape."""
    inner = error.get("error", error) if isinstance(error, Mapping) else error
    if not isinstance(inner, Mapping):
        return {"status": status, "type": "", "message": str(inner)[:2000]}
    kind = inner.get("type") or inner.get("__type") or inner.get("status") or inner.get("code") or ""
    said = inner.get("message") or inner.get("Message") or inner.get("detail") or ""
    return {"status": status, "type": str(kind), "message": said if isinstance(said, str) else compact(said)[:2000]}


UNUSUAL = lazy_regex(
    rb'"type"\s*:\s*"(?!(?:function|custom|text|image|image_url|input_text|output_text|input_image|input_audio|file|document'
    rb"|refusal|tool_use|tool_result|thinking|redacted_thinking|base64|url|ephemeral|json_object|json_schema|enabled"
    rb'|disabled|adaptive|auto|any|tool|none|string|number|integer|object|array|boolean|null)")'
)
"""Finds a part with an unusual type: no common part, no tool of the user's own, no JSON schema. A request without such
a part holds no hosted tool, and this is known without parsing."""


def shaped(body: bytes, known: frozenset[str], evidence: Collection[str] = ()) -> Mapping[str, Json]:
    """The request if it is an object with known keys only, else an empty object: for paths that other services use too.

    Args:
        body: The request's body.
        known: Keys that the protocol knows.
        evidence: Keys that only this protocol has. If one of them is there, unknown keys are accepted.
    """
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(request, dict) or not (known >= request.keys() or any(one in request for one in evidence)):
        return {}
    return request


def conversation(messages: Json, roles: Collection[str], keys: frozenset[str]) -> bool:
    """Whether a value is a list of messages: of these roles, with these keys alone."""
    return (
        isinstance(messages, list)
        and bool(messages)
        and all(isinstance(one, dict) and one.get("role") in roles and keys >= one.keys() for one in messages)
    )


def at(one: Mapping[str, Json], name: str) -> Json:
    """A field of an object that may be spelled in camel or in snake case."""
    value = one.get(name)
    return one.get(_HUMP.sub(lambda found: f"_{found[0].lower()}", name)) if value is None else value


_HUMP = lazy_regex("[A-Z]")


def compact(value: Json) -> str:
    """JSON on one line, for parts that have no text of their own."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def mapping(value: Json) -> Mapping[str, Json]:
    """The value if it is an object, else an empty one: providers leave out empty objects, or set them to null."""
    return value if isinstance(value, Mapping) else {}


def listing(value: Json) -> list[Json]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: Json) -> str:
    """The value if it is text, else an empty one."""
    return value if isinstance(value, str) else ""
