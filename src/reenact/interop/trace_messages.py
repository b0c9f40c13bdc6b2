"""A message of a model in any shape of a trace, as the neutral message of a reading.

Every dialect has a shape of its own: parts, blocks, contents, items, keys with dots. A text may hold JSON, which may
hold a text with JSON again. An unknown part is counted by its kind, and never taken for another one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from reenact.facts.call import Json
from reenact.interop.trace_values import object_in, objects_in, opened

_ROLES: Final[Mapping[str, str]] = {"human": "user", "ai": "assistant", "model": "assistant", "function": "tool"}


def message(one: Json) -> dict[str, Json]:
    """A message of any shape: ``role`` and ``text``, and where there are any ``tool_calls``, ``tool_results``,
    ``thinking``, ``other``."""
    data = opened(one) if isinstance(one, str) else one
    if not isinstance(data, Mapping):
        return {"role": "user", "text": str(one)}
    path = data.get("id") if "lc" in data else None  # LangChain names the class
    made = str(path[-1]) if isinstance(path, list) and path else ""
    data = object_in(data, "message") or object_in(data, "kwargs") or data
    role = str(data.get("role") or data.get("type") or made.removesuffix("Chunk").removesuffix("Message")).lower()
    draft = _Draft()
    for name in ("parts", "contents", "content"):
        draft.take(data.get(name))
    extra = object_in(data, "additional_kwargs") or {}
    for each in (*objects_in(data.get("tool_calls")), *objects_in(extra.get("tool_calls"))):
        draft.calls(each)
    for each in objects_in([data.get("function_call")]):
        draft.calls(each)
    kind = str(data.get("type") or "")
    if kind in ("function_call", "function_call_output"):  # items of OpenAI's responses
        draft.part(data)
        role = "assistant" if kind == "function_call" else "tool"
    result = data.get("tool_call_id") or data.get("id") if role in ("tool", "function") else None
    if isinstance(result, str) and not draft.results:
        draft.results.append({"id": result, "text": draft.text})
        draft.text = ""
    role = "assistant" if role == "tool" and draft.called and not draft.results else role  # Koog does that
    return draft.message(_ROLES.get(role, role or "user"))


class _Draft:
    """A message while its parts are read."""

    def __init__(self) -> None:
        self.text = ""
        self.thinking = ""
        self.called: list[dict[str, Json]] = []
        self.results: list[dict[str, Json]] = []
        self.other: list[str] = []

    def take(self, content: Json) -> None:
        """Take in content: a text, a part, or a list of both."""
        data = content
        if isinstance(content, str):
            held = opened(content)
            if not _is_parts(held):
                self.text += content
                return
            data = held
        for part in data if isinstance(data, list) else [data] if isinstance(data, Mapping) else ():
            self.part(part)

    def part(self, part: Json) -> None:
        """Take in one part."""
        if isinstance(part, str):
            self.text += part
            return
        if not isinstance(part, Mapping):
            return
        inner = object_in(part, "message_content") or part
        kind = str(inner.get("type") or inner.get("part_kind") or "").replace("-", "_")
        if kind in ("reasoning", "thinking") or inner.get("thought") is True:
            self.thinking += text_in(inner, "content", "thinking", "text", "reasoning", "summary")
        elif (
            kind in _CALLS
            or (kind == "function" and object_in(inner, "function"))
            or any(name in inner for name in ("functionCall", "function_call", "tool_call", "toolUse"))
        ):
            self.calls(inner)
        elif kind in _RESULTS or any(name in inner for name in ("functionResponse", "function_response", "toolResult")):
            self._result(inner)
        elif kind in ("", "text", "input_text", "output_text") and text_in(inner, "content", "text"):
            self.text += text_in(inner, "content", "text")
        else:
            self.other.append(kind or "unknown")

    def calls(self, one: Json) -> None:
        """Take in the tool calls that the model requests; a trace often has the same call twice."""
        if not isinstance(one, Mapping):
            return
        held = next((found for name in _WRAPPED if (found := object_in(one, name))), one)
        function = object_in(held, "function") or held
        given = next((function[name] for name in _ARGUMENTS if function.get(name) is not None), "")
        alone = one.get("function")
        name = str(function.get("name") or function.get("toolName") or (alone if isinstance(alone, str) else ""))
        ids = (held.get(key) or one.get(key) for key in ("id", "call_id", "toolCallId", "tool_call_id", "toolUseId"))
        own = str(next((each for each in ids if each), ""))
        if (name or own) and not any(own and each["id"] == own for each in self.called):
            self.called.append({"id": own, "name": name, "arguments": given})

    def _result(self, one: Mapping[str, Json]) -> None:
        held = next((found for name in _ANSWERED if (found := object_in(one, name))), one)
        given = next((held[name] for name in _GIVEN if held.get(name) is not None), "")
        keys = ("id", "tool_use_id", "toolCallId", "call_id", "tool_call_id", "toolUseId")
        own = str(next((held[key] for key in keys if held.get(key)), ""))
        text = given if isinstance(given, str) else _told(given)
        if not any(own and each["id"] == own for each in self.results):
            self.results.append({"id": own, "text": text})

    def message(self, role: str) -> dict[str, Json]:
        """The message."""
        out: dict[str, Json] = {"role": role, "text": self.text}
        for name, found in (
            ("tool_calls", self.called),
            ("tool_results", self.results),
            ("thinking", self.thinking),
            ("other", self.other),
        ):
            if found:
                out[name] = found
        return out


_CALLS: Final = frozenset({"tool_call", "tool_use", "function_call", "server_tool_call"})
_RESULTS: Final = frozenset(
    {"tool_call_response", "tool_result", "function_call_output", "server_tool_call_response", "tool_return"}
)
_WRAPPED: Final = ("tool_call", "functionCall", "function_call", "toolUse")
_ANSWERED: Final = ("functionResponse", "function_response", "toolResult")
_ARGUMENTS: Final = ("arguments", "args", "input", "parameters")
_GIVEN: Final = ("response", "result", "content", "output", "text")


def _told(value: Json) -> str:
    """A result as text: the texts of its parts, else the data."""
    if _is_parts(value):
        found = words(value)
        if found:
            return found
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _is_parts(data: Json) -> bool:
    known = ("type", "text", "parts")
    return (
        isinstance(data, list)
        and bool(data)
        and all(isinstance(each, Mapping) and any(name in each for name in known) for each in data)
    )


def words(value: Json) -> str:
    """The text of a value that is a text, or holds parts with texts."""
    data = opened(value)
    if isinstance(data, str):
        return data
    if isinstance(data, (list, Mapping)):
        return str(message({"content": data})["text"])
    return "" if data is None else str(data)


def text_in(data: Mapping[str, Json], *names: str) -> str:
    """The first text under one of some names, or the text of the parts under that name."""
    for name in names:
        found = data.get(name)
        if isinstance(found, str) and found:
            return found
        if isinstance(found, list):
            return words(found)
    return ""
