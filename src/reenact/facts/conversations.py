"""Conversations compared across protocols and traces: the speakers and their texts, without the spelling of a protocol.

Each protocol, and each dialect of traces, has its own way to write a system prompt, parts, calls of tools and their
results. Two records of one conversation share the order of the messages; ids, reasoning and white space are not
compared, and a text that holds JSON is compared as data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from reenact.facts.call import Json
from reenact.facts.late import late
from reenact.facts.lazy_regex import lazy_regex
from reenact.facts.reading import Reading

if TYPE_CHECKING:
    from reenact.facts.credential_search import normalise
else:  # loaded late: it knows every shape of a credential
    normalise = late("reenact.facts.credential_search", "normalise")

_ROLES: Final[Mapping[str, str]] = {"developer": "system", "human": "user", "ai": "assistant", "model": "assistant"}
_DATE: Final = lazy_regex(r"[-@:](?:\d{4}-\d\d-\d\d|\d{8}|\d{3,4})\Z")


def lines_of(reading: Reading) -> list[list[Json]]:
    """The conversation before a model's answer, in order.

    Returns:
        ``[role, text]``, ``["call", tool, arguments]`` and ``["result", the result of a tool]``; consecutive messages
        of one role are one text.
    """
    found: list[list[Json]] = [["system", reading.system]] if reading.system else []
    for message in reading.messages:
        if not isinstance(message, Mapping):
            continue
        role, text = str(message.get("role") or "user"), message.get("text")
        role = _ROLES.get(role, role)
        if isinstance(text, str) and text:
            if role == "tool":
                found.append(["result", data_of(text)])
            elif found and found[-1][0] == role:
                found[-1][1] += "\n" + text
            else:
                found.append([role, text])
        for result in _mappings(message.get("tool_results")):
            found.append(["result", data_of(result.get("text"))])
        for call in _mappings(message.get("tool_calls")):
            found.append(["call", str(call.get("name") or ""), data_of(call.get("arguments"))])
    return found


def digest_of(lines: Iterable[list[Json]]) -> bytes:
    """A digest that is equal for equal conversations; credentials and their stand-ins count as equal."""
    plain = [[_squeezed(part) for part in line] for line in lines]
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return blake2b(normalise(text.encode("utf-8", "surrogatepass")), digest_size=16).digest()


def data_of(value: Json) -> Json:
    """The data of a text that holds JSON; any other value unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def is_same_model(now: str, reading: Reading) -> bool:
    """Whether the model of today's request is the one in a trace. It is compared with the trace's requested model or,
    if there is none, with the model that answered. The name in the trace may begin with a provider's name, and end with
    a date or version that today's name lacks. A trace that names no model counts as the same model."""
    told = (reading.model_asked or reading.model_answered).rpartition("/")[2]
    asked = now.rpartition("/")[2]
    return not told or not asked or asked in (told, _DATE.sub("", told))


def _mappings(value: Any) -> list[Mapping[str, Json]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, (list, tuple)) else []


def _squeezed(value: Json) -> Json:
    """A value without white space, because some records join parts by white space and others do not."""
    return "".join(value.split()) if isinstance(value, str) else value
