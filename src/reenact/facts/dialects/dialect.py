"""What a dialect is: one provider's protocol, read from parsed requests and responses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from reenact.facts.call import Json


@dataclass(slots=True)
class Asked:
    """What a request says."""

    model: str = ""
    params: dict[str, Json] = field(default_factory=dict)
    system: str = ""
    messages: list[Json] = field(default_factory=list)
    tools: list[Json] = field(default_factory=list)


@dataclass(slots=True)
class Answered:
    """What a response says; ``ended`` is whether a stream came to its proper end."""

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


class Dialect(Protocol):
    """One protocol. Requests and responses are parsed JSON objects; any of these may raise on malformed ones."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    def speaks(self, path: str, body: bytes) -> bool:
        """Whether a POST to ``path`` with this body is a call in this dialect. Looks for words; parses nothing."""
        ...

    def stateless(self, body: bytes) -> bool:
        """Whether the request changes nothing on the provider's side. Parses only what looks as if it did."""
        ...

    def asked(self, path: str, request: Mapping[str, Any]) -> Asked:
        """Read a request."""
        ...

    def answered(self, response: Mapping[str, Any]) -> Answered:
        """Read a response that came at once."""
        ...

    def streamed(self, events: Iterable[tuple[str, Json]]) -> Answered:
        """Read a response that came as events: pairs of their name and data."""
        ...


def usage(tokens_in: Json, tokens_out: Json, cached: Json = None, reasoning: Json = None) -> dict[str, int]:
    """Tokens, those the provider did not count left out."""
    out: dict[str, int] = {}
    pairs = (("tokens_in", tokens_in), ("input", tokens_in), ("tokens_out", tokens_out), ("output", tokens_out))
    for name, value in (*pairs, ("cached", cached), ("reasoning", reasoning)):
        if isinstance(value, int):
            out[name] = value
    return out


def parameters(request: Mapping[str, Any], without: Sequence[str], most: Sequence[str]) -> dict[str, Json]:
    """Everything a request asks beside ``without``; the first of ``most`` that is there under ``max_tokens`` too."""
    out = {name: value for name, value in request.items() if name not in without}
    for name in most:
        if out.get(name) is not None:
            out.setdefault("max_tokens", out[name])
            break
    return out


def failure(error: Any, status: int = 0) -> dict[str, Json]:
    """An error object of either provider's shape."""
    inner = error.get("error", error) if isinstance(error, Mapping) else error
    if not isinstance(inner, Mapping):
        return {"status": status, "type": "", "message": str(inner)[:2000]}
    kind = inner.get("type") or inner.get("code") or ""
    return {"status": status, "type": str(kind), "message": str(inner.get("message") or "")}


def compact(value: Json) -> str:
    """JSON on one line, for parts that have no text of their own."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one: providers leave out, or set to null, what is empty."""
    return value if isinstance(value, Mapping) else {}


def listing(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """The value if it is text, else an empty one."""
    return value if isinstance(value, str) else ""
