"""Reading: one model call in a form that is the same for the protocols of all providers.

A reading is derived from the recorded bytes, which stay the truth; it can be made again at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field, fields

_LARGE = ("system", "messages", "tools")


@dataclass(frozen=True, slots=True)
class Reading:
    """A model call.

    Attributes:
        dialect: The protocol: ``openai.chat``, ``google.gemini``, ``bedrock.converse`` … (``facts.dialects`` has each).
        provider: The provider, by the host: ``openai``, ``azure``, ``groq`` …; the host itself where unknown.
        region: Region in the host name; empty where there is none.
        model_asked, model_answered: Names of the model in request and response; empty where they name none.
        params: Parameters of the request as sent (``temperature``, ``top_p``, ``seed`` …); a protocol's own spelling is
            also under the common name (``max_tokens``, ``top_p``, ``seed``, ``stop``, ``dimensions``); and
            ``fingerprint`` is as in the response.
        system: The system prompt in full.
        messages: The conversation: ``role`` and ``text``, and where there are any ``tool_calls`` (``id``, ``name``,
            ``arguments``), ``tool_results`` (``id``, ``text``), ``thinking``, ``other`` (kinds of further parts).
        tools: Tools offered: ``name``, ``description``, ``schema``; hosted ones with their ``type``.
        tools_hash: Digest of the tools as sent; empty where none were.
        tool_calls: Tools the model wants called: ``id``, ``name``, ``arguments`` (text as sent, or data).
        text: The model's text.
        thinking: The part of the model's reasoning that was disclosed.
        finish: The reason for its end, in the provider's word.
        usage: Tokens as the provider counted them: ``tokens_in`` (with cached tokens), ``tokens_out`` (with reasoning),
            ``cached``, ``cache_written``, ``reasoning``; ``input`` and ``output`` are the first two again;
            ``billed_in`` and ``billed_out`` where a provider bills other numbers than it counts.
        stateless: Whether the request changes nothing on the provider's side.
        streamed: Whether the response was a stream of events.
        error: ``status``, ``type``, ``message`` of a refusal or of a failure inside the stream; None on success.
        partial: Whether a part could not be read: the response is cut off, or does not follow its protocol.
        response_id: The provider's id of the answer.
        sort: ``embedding`` for a call that asks for vectors (its texts are messages of role ``input``); empty for
            words.
        dimensions: The length of each vector in the answer; 0 without any.
    """

    dialect: str
    provider: str = ""
    region: str = ""
    model_asked: str = ""
    model_answered: str = ""
    params: Mapping[str, Json] = field(default_factory=dict)
    system: str = ""
    messages: tuple[Json, ...] = ()
    tools: tuple[Json, ...] = ()
    tools_hash: str = ""
    tool_calls: tuple[Json, ...] = ()
    text: str = ""
    thinking: str = ""
    finish: str = ""
    usage: Mapping[str, int] = field(default_factory=dict)
    stateless: bool = False
    streamed: bool = False
    error: Mapping[str, Json] | None = None
    partial: bool = False
    response_id: str = ""
    sort: str = ""
    dimensions: int = 0

    def to_json(self, *, brief: bool = False) -> dict[str, Json]:
        """The reading as JSON-able data, without empty fields.

        Args:
            brief: Leave out what the request repeats from call to call (system prompt, messages, tools): a run that
                keeps readings then grows only with the new parts.
        """
        out: dict[str, Json] = {}
        for name in _NAMES:
            value = getattr(self, name)
            if value:
                out[name] = list(value) if isinstance(value, tuple) else dict(value) if name in _MAPS else value
        return briefly(out) if brief else out

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> Reading:
        """The inverse of ``to_json``; fields of a later version are ignored."""
        known = set(_NAMES)
        kept: dict[str, Any] = {"dialect": ""}
        for name, value in data.items():
            if name in known:
                kept[name] = tuple(value) if isinstance(value, list) else value
        return cls(**kept)


def briefly(data: Mapping[str, Json]) -> dict[str, Json]:
    """A reading as data, without the parts that the request repeats from call to call."""
    return {name: value for name, value in data.items() if name not in _LARGE}


_NAMES = tuple(each.name for each in fields(Reading))
_MAPS = ("params", "usage", "error")
