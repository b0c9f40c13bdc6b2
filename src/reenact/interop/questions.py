"""The question to a model, in any shape of a trace: system prompt, conversation, tools, parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.interop.trace_messages import message, words
from reenact.interop.trace_values import object_in, opened

_SYSTEM: Final = ("system", "developer")


@dataclass(slots=True)
class ModelQuestion:
    """The question to a model: the system prompt, the conversation, tools, and parameters."""

    system: str = ""
    messages: list[Json] = field(default_factory=list)
    tools: list[Json] = field(default_factory=list)
    params: dict[str, Json] = field(default_factory=dict)
    model: str = ""


def conversation(value: Json) -> ModelQuestion:
    """A conversation: a list of messages in any shape, a whole request of a provider, or a text alone."""
    data = opened(value)
    if isinstance(data, Mapping):
        return _request(data)
    if isinstance(data, list):
        return _of_messages(data)
    return ModelQuestion(messages=[{"role": "user", "text": str(data)}]) if data not in (None, "") else ModelQuestion()


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


def _request(data: Mapping[str, Json]) -> ModelQuestion:
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


def _of_messages(items: list[Any]) -> ModelQuestion:
    while items and all(isinstance(each, list) for each in items):
        items = [part for each in items for part in each]
    found = ModelQuestion(messages=[message(each) for each in items if each not in (None, "")])
    system = []
    while found.messages and found.messages[0]["role"] in _SYSTEM:
        system.append(found.messages.pop(0)["text"])
    found.system = "\n\n".join(part for part in system if part)
    return found


_SCHEMAS: Final = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema")


def tools(value: Json) -> list[Json]:
    """The offered tools: name, description, schema; hosted tools are unchanged."""
    data = opened(value)
    found: list[Json] = []
    for each in data if isinstance(data, list) else [data] if isinstance(data, Mapping) else ():
        one = opened(each)
        if isinstance(one, Mapping):
            one = opened(object_in(one, "tool") or one)
        if isinstance(one, Mapping) and "json_schema" in one:
            one = opened(one["json_schema"])
        if not isinstance(one, Mapping):
            continue
        declared = one.get("function_declarations") or one.get("functionDeclarations")
        if isinstance(declared, list):
            found += tools(declared)
            continue
        function = object_in(one, "function") or one
        if not function.get("name"):
            found.append(dict(one))
            continue
        schemas = (function.get(name) for name in _SCHEMAS)
        schema = opened(next((each for each in schemas if each is not None), None))
        found.append(
            {"name": function["name"], "description": str(function.get("description") or ""), "schema": schema}
        )
    return found
