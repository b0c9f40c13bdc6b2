"""Messages of a model in whatever shape a trace tells them, as the neutral ones of a reading.

Every dialect has a shape of its own: parts, blocks, contents, items, keys with dots. A text may hold JSON, and that a
text with JSON again. What is not recognised is counted by its kind, and never taken for something else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reenact.facts.call import Json

_LEVELS: Final = 2
"""How often JSON may stand in a text in JSON."""
_DEEPEST: Final = 12
_SYSTEM: Final = ("system", "developer")
_ROLES: Final[Mapping[str, str]] = {"human": "user", "ai": "assistant", "model": "assistant", "function": "tool"}


@dataclass(slots=True)
class Asked:
    """What a model was asked: the system prompt, the conversation, tools, and parameters beside them."""

    system: str = ""
    messages: list[Json] = field(default_factory=list)
    tools: list[Json] = field(default_factory=list)
    params: dict[str, Json] = field(default_factory=dict)
    model: str = ""


@dataclass(slots=True)
class Said:
    """What a model answered."""

    text: str = ""
    thinking: str = ""
    tool_calls: list[Json] = field(default_factory=list)
    finish: str = ""
    model: str = ""
    id: str = ""
    usage: dict[str, int] = field(default_factory=dict)

    @property
    def anything(self) -> bool:
        """Whether there is any content."""
        return bool(self.text or self.thinking or self.tool_calls)


def opened(value: Json) -> Json:
    """A value whose text is JSON as the data in it; any other value as it is."""
    for _ in range(_LEVELS):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            return value
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def is_cut(value: Json) -> bool:
    """Whether a text begins as JSON and does not end: a limit on lengths has cut it off."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(value)
    except ValueError:
        return value.lstrip()[:2] in ('{"', "[{", "[[", '["')
    except RecursionError:
        return False
    return False


def unflattened(pairs: Iterable[tuple[str, Json]]) -> Json:
    """Keys with dots as lists and objects: numbers are places in a list, which may lack some of them."""
    root: dict[str, Any] = {}
    for key, value in pairs:
        at = root
        *path, last = key.split(".", _DEEPEST)
        for name in path:
            inner = at.get(name)
            if not isinstance(inner, dict):
                inner = at[name] = {} if inner is None else {"": inner}
            at = inner
        if isinstance(at.get(last), dict):
            at[last][""] = value
        else:
            at[last] = value
    return _listed(root)


def _listed(node: Any) -> Json:
    if not isinstance(node, dict):
        return node
    if node and all(key.isdigit() for key in node):
        return [_listed(node[key]) for key in sorted(node, key=int)]
    return {key: _listed(value) for key, value in node.items()}


# --- what was asked ----------------------------------------------------------------------------------------------


def conversation(value: Json) -> Asked:
    """A conversation: a list of messages in any shape, a whole request of a provider, or a text alone."""
    data = opened(value)
    if isinstance(data, Mapping):
        return _request(data)
    if isinstance(data, list):
        return _of_messages(data)
    return Asked(messages=[{"role": "user", "text": str(data)}]) if data not in (None, "") else Asked()


_HELD: Final = ("messages", "contents", "input", "prompt", "inputs", "request", "chat_history")
_NOT_PARAMETERS: Final = frozenset(
    {
        *_HELD,
        "system",
        "instructions",
        "system_instruction",
        "systemInstruction",
        "tools",
        "functions",
        "model",
        "config",
    }
)


def _request(data: Mapping[str, Json]) -> Asked:
    """A request as a provider gets it."""
    if _is_message(data):
        return _of_messages([data])
    held = next((name for name in _HELD if data.get(name) not in (None, "")), None)
    inner = opened(data[held]) if held else None
    if isinstance(inner, Mapping) and not _is_message(inner):
        return _request(inner)
    items = [] if held is None else inner if isinstance(inner, list) else [inner]
    found = _of_messages(items)
    config = data.get("config")
    more = config if isinstance(config, Mapping) else {}
    for source in (data, more):
        for name in ("system", "instructions", "system_instruction", "systemInstruction"):
            if source.get(name):
                found.system = "\n\n".join(part for part in (words(source[name]), found.system) if part)
        for name in ("tools", "functions"):
            found.tools += tools(source.get(name))
    found.params = {
        str(name): each
        for name, each in (*data.items(), *more.items())
        if name not in _NOT_PARAMETERS and isinstance(each, (str, int, float, bool))
    }
    found.model = str(data.get("model") or "")
    return found


def _is_message(data: Mapping[str, Json]) -> bool:
    return "role" in data and ("content" in data or "parts" in data or "tool_calls" in data)


def _of_messages(items: list[Any]) -> Asked:
    while items and all(isinstance(each, list) for each in items):
        items = [part for each in items for part in each]
    found = Asked(messages=[message(each) for each in items if each not in (None, "")])
    system = []
    while found.messages and found.messages[0]["role"] in _SYSTEM:
        system.append(found.messages.pop(0)["text"])
    found.system = "\n\n".join(part for part in system if part)
    return found


def words(value: Json) -> str:
    """The text of a value that is one, or holds parts with texts."""
    data = opened(value)
    if isinstance(data, str):
        return data
    if isinstance(data, (list, Mapping)):
        return str(message({"content": data})["text"])
    return "" if data is None else str(data)


_SCHEMAS: Final = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema")


def tools(value: Json) -> list[Json]:
    """Tools that were offered: name, description, schema; hosted ones as they are."""
    data = opened(value)
    found: list[Json] = []
    for each in data if isinstance(data, list) else [data] if isinstance(data, Mapping) else ():
        one = opened(each)
        if isinstance(one, Mapping):
            one = opened(_inner(one, "tool") or one)
        if isinstance(one, Mapping) and "json_schema" in one:
            one = opened(one["json_schema"])
        if not isinstance(one, Mapping):
            continue
        declared = one.get("function_declarations") or one.get("functionDeclarations")
        if isinstance(declared, list):
            found += tools(declared)
            continue
        function = _inner(one, "function") or one
        if not function.get("name"):
            found.append(dict(one))
            continue
        schemas = (function.get(name) for name in _SCHEMAS)
        schema = opened(next((each for each in schemas if each is not None), None))
        found.append(
            {"name": function["name"], "description": str(function.get("description") or ""), "schema": schema}
        )
    return found


# --- messages ----------------------------------------------------------------------------------------------------


def message(one: Json) -> dict[str, Json]:
    """A message of any shape: ``role`` and ``text``, and where there are any ``tool_calls``, ``tool_results``,
    ``thinking``, ``other``."""
    data = opened(one) if isinstance(one, str) else one
    if not isinstance(data, Mapping):
        return {"role": "user", "text": str(one)}
    path = data.get("id") if "lc" in data else None  # LangChain names the class
    made = str(path[-1]) if isinstance(path, list) and path else ""
    data = _inner(data, "message") or _inner(data, "kwargs") or data
    role = str(data.get("role") or data.get("type") or made.removesuffix("Chunk").removesuffix("Message")).lower()
    draft = _Draft()
    for name in ("parts", "contents", "content"):
        draft.take(data.get(name))
    extra = _inner(data, "additional_kwargs") or {}
    for each in (*_items(data.get("tool_calls")), *_items(extra.get("tool_calls"))):
        draft.calls(each)
    for each in _items([data.get("function_call")]):
        draft.calls(each)
    kind = str(data.get("type") or "")
    if kind in ("function_call", "function_call_output"):  # items of responses
        draft.part(data)
        role = "assistant" if kind == "function_call" else "tool"
    result = data.get("tool_call_id") or data.get("id") if role in ("tool", "function") else None
    if isinstance(result, str) and not draft.results:
        draft.results.append({"id": result, "text": draft.text})
        draft.text = ""
    role = "assistant" if role == "tool" and draft.called and not draft.results else role  # as Koog tells a call
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
        """A content: a text, a part, or a list of both."""
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
        """One part."""
        if isinstance(part, str):
            self.text += part
            return
        if not isinstance(part, Mapping):
            return
        inner = _inner(part, "message_content") or part
        kind = str(inner.get("type") or inner.get("part_kind") or "").replace("-", "_")
        if kind in ("reasoning", "thinking") or inner.get("thought") is True:
            self.thinking += _text(inner, "content", "thinking", "text", "reasoning", "summary")
        elif (
            kind in _CALLS
            or (kind == "function" and _inner(inner, "function"))
            or any(name in inner for name in ("functionCall", "function_call", "tool_call", "toolUse"))
        ):
            self.calls(inner)
        elif kind in _RESULTS or any(name in inner for name in ("functionResponse", "function_response", "toolResult")):
            self._result(inner)
        elif kind in ("", "text", "input_text", "output_text") and _text(inner, "content", "text"):
            self.text += _text(inner, "content", "text")
        else:
            self.other.append(kind or "unknown")

    def calls(self, one: Json) -> None:
        """A tool that the model wants called; the same one is often told twice."""
        if not isinstance(one, Mapping):
            return
        held = next((found for name in _WRAPPED if (found := _inner(one, name))), one)
        function = _inner(held, "function") or held
        given = next((function[name] for name in _ARGUMENTS if function.get(name) is not None), "")
        alone = one.get("function")
        name = str(function.get("name") or function.get("toolName") or (alone if isinstance(alone, str) else ""))
        ids = (held.get(key) or one.get(key) for key in ("id", "call_id", "toolCallId", "tool_call_id", "toolUseId"))
        own = str(next((each for each in ids if each), ""))
        if (name or own) and not any(own and each["id"] == own for each in self.called):
            self.called.append({"id": own, "name": name, "arguments": given})

    def _result(self, one: Mapping[str, Json]) -> None:
        held = next((found for name in _ANSWERED if (found := _inner(one, name))), one)
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


def _inner(data: Mapping[str, Json], name: str) -> Mapping[str, Json] | None:
    found = data.get(name)
    return found if isinstance(found, Mapping) and found else None


def _items(value: Json) -> list[Mapping[str, Json]]:
    data = opened(value)
    return [each for each in data if isinstance(each, Mapping)] if isinstance(data, list) else []


def _text(data: Mapping[str, Json], *names: str) -> str:
    for name in names:
        found = data.get(name)
        if isinstance(found, str) and found:
            return found
        if isinstance(found, list):
            return words(found)
    return ""


# --- what was answered -------------------------------------------------------------------------------------------


def answer(value: Json) -> Said:
    """What a model said: messages in any shape, a whole response of a provider, or a text alone."""
    data = opened(value)
    if isinstance(data, Mapping):
        return _response(data)
    if isinstance(data, list):
        items = data
        while items and all(isinstance(each, list) for each in items):
            items = items[0]
        if items and isinstance(items[0], Mapping) and _is_item(items[0]):
            return _of_items(items)
        if len(items) > 1 and all(map(_is_call_alone, items)):  # Koog: a message for each call
            return _of_items([part for each in items for part in each["content"]])
        return _said(items[0]) if items else Said()
    return Said(text="" if data is None else str(data))


def _is_call_alone(one: Json) -> bool:
    """Whether a message holds calls of functions as its content, and nothing else."""
    parts = opened(one["content"]) if isinstance(one, Mapping) and "content" in one else None
    return (
        isinstance(parts, list)
        and bool(parts)
        and all(isinstance(part, Mapping) and part.get("type") == "function" for part in parts)
    )


def _is_item(one: Mapping[str, Json]) -> bool:
    return one.get("type") in ("message", "function_call", "reasoning", "text", "tool_use") and "parts" not in one


def _response(data: Mapping[str, Json]) -> Said:
    """A response as a provider gives it: its first choice."""
    for name in ("choices", "candidates", "generations"):
        items = data.get(name)
        while isinstance(items, list) and items and isinstance(items[0], list):
            items = items[0]
        if isinstance(items, list) and items and isinstance(items[0], Mapping):
            found = _said(items[0])
            break
    else:
        output = data.get("output")
        if isinstance(output, list) and output:
            found = _of_items(output)
        elif isinstance(output, Mapping):
            found = _said(output)
        else:
            found = _said(data)
    found.model = str(data.get("model") or data.get("modelVersion") or "")
    found.id = str(data.get("id") or data.get("responseId") or "")
    found.usage = usage(data.get("usage") or data.get("usageMetadata") or {})
    return found


def _of_items(items: list[Any]) -> Said:
    return _said({"role": "assistant", "content": [part for each in items for part in _flat(each)]})


def _flat(item: Any) -> list[Any]:
    inner = item.get("content") if isinstance(item, Mapping) and item.get("type") == "message" else None
    return inner if isinstance(inner, list) else [item]


def _said(one: Mapping[str, Json]) -> Said:
    if not isinstance(one, Mapping):
        return Said(text=str(one))
    content = _inner(one, "content")
    held = _inner(one, "message") or (content if content is not None and "parts" in content else None) or one
    read = message({"role": "assistant", **held})
    text = str(read["text"]) or _text(one, "text")
    finish = next(
        (one[name] for name in ("finish_reason", "finishReason", "stop_reason", "finish") if one.get(name)), ""
    ) or next((held[name] for name in ("finish_reason", "stop_reason") if held.get(name)), "")
    if isinstance(finish, Mapping):  # the last piece of a stream in its place
        finish = finish.get("finish_reason") or ""
    return Said(text, str(read.get("thinking") or ""), list(read.get("tool_calls") or ()), str(finish))


_COUNTS: Final[Mapping[str, tuple[str, ...]]] = {
    "tokens_in": ("tokens_in", "input_tokens", "prompt_tokens", "promptTokenCount", "input", "inputTokens"),
    "tokens_out": (
        "tokens_out",
        "output_tokens",
        "completion_tokens",
        "candidatesTokenCount",
        "output",
        "outputTokens",
    ),
    "cached": (
        *("cached", "cache_read_input_tokens", "cachedContentTokenCount", "input_cached_tokens"),
        *("input_tokens_cache_read", "input_token_details.cache_read", "prompt_tokens_details.cached_tokens"),
    ),
    "cache_written": ("cache_written", "cache_creation_input_tokens", "input_tokens_cache_write"),
    "reasoning": (
        *("reasoning", "reasoning_tokens", "thoughtsTokenCount", "output_token_details.reasoning"),
        "completion_tokens_details.reasoning_tokens",
    ),
}


def usage(value: Json) -> dict[str, int]:
    """Tokens by their common names."""
    data = opened(value)
    if not isinstance(data, Mapping):
        return {}
    inside = ((outer, inner) for outer, inner in data.items() if isinstance(inner, Mapping))
    data = {**data, **{f"{outer}.{name}": count for outer, inner in inside for name, count in inner.items()}}
    found: dict[str, int] = {}
    for name, names in _COUNTS.items():
        count = next((data[each] for each in names if _is_count(data.get(each))), None)
        if count is not None:
            found[name] = int(count)
    return found


def _is_count(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1 << 53
