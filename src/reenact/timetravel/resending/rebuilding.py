"""A request rebuilt for its protocol from what a trace tells of a model call: the same words, not the same bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.conversations import data_of
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.reading import Reading

_MOST_TOKENS: Final = 1024
"""The limit on an answer's tokens, if a protocol requires one and the trace has none."""
_DIALECTS: Final = {
    "anthropic": "anthropic.messages", "google": "google.gemini", "gemini": "google.gemini", "vertex": "google.gemini",
    "bedrock": "bedrock.converse", "ollama": "ollama.chat",
}  # fmt: skip
"""Protocol of each provider that has one of its own; all others speak OpenAI's chat completions."""
_FAMILIES: Final = (("claude", "anthropic.messages"), ("gemini", "google.gemini"))
_PARAMETERS: Final[Mapping[str, Mapping[str, str]]] = {
    "openai.chat": {
        name: name
        for name in ("temperature", "top_p", "max_tokens", "seed", "stop", "frequency_penalty", "presence_penalty", "n")
    },
    "anthropic.messages": {
        "temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "max_tokens": "max_tokens",
        "stop": "stop_sequences",
    },
    "google.gemini": {
        "temperature": "temperature", "top_p": "topP", "top_k": "topK", "max_tokens": "maxOutputTokens",
        "stop": "stopSequences", "seed": "seed",
    },
    "bedrock.converse": {
        "temperature": "temperature", "top_p": "topP", "max_tokens": "maxTokens", "stop": "stopSequences",
    },
    "ollama.chat": {
        "temperature": "temperature", "top_p": "top_p", "top_k": "top_k", "max_tokens": "num_predict", "seed": "seed",
        "stop": "stop",
    },
}  # fmt: skip
"""The parameters' names in each protocol: common name to its own."""


@dataclass(frozen=True, slots=True)
class _Turn:
    """One message: its text, the tools that it calls, and the results of tools."""

    role: str
    text: str
    calls: tuple[tuple[str, str, Any], ...]
    results: tuple[tuple[str, str, str], ...]
    """The id of the call, the name of the tool, the result."""


def rebuilt(reading: Reading, event: int, run: str) -> tuple[str, str, bytes, list[str]]:
    """A request with the content of a reading.

    Args:
        reading: The reading of a model call in a trace.
        event: The number of the call's event, for messages.
        run: The name of the trace's run, for messages.

    Returns:
        The protocol, the path, the body, and what the request lacks, in words.

    Raises:
        UsageError: The trace does not have the request, or not the model.
    """
    model = reading.model_asked or reading.model_answered
    if reading.sort or not model or not (reading.messages or reading.system):
        lacking = "asks for vectors" if reading.sort else "names no model" if not model else "keeps no messages"
        raise UsageError(
            f"event {event} cannot be sent again: the trace {lacking}",
            cause="a request is rebuilt from the messages and the model that a trace tells",
            next_command=f"reenact kit {run}",
        )
    if reading.provider == "vertex" and not model.rpartition("/")[2].startswith("gemini"):
        raise UsageError(
            f"event {event} cannot be sent again: it asks {model} at Vertex AI",
            cause="of requests to Vertex AI, only those to Gemini can be rebuilt from a trace",
            next_command=f"reenact show {run}:{event}",
        )
    dialect = _dialect(reading.provider, model)
    turns = list(_turns(reading))
    names = _PARAMETERS[dialect]
    params = {names[name]: value for name, value in reading.params.items() if name in names}
    path, body = _BUILDERS[dialect](model, reading, turns, params)
    return dialect, path, json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"), _lost(reading, names)


def _dialect(provider: str, model: str) -> str:
    named = next((spoken for start, spoken in _FAMILIES if model.rpartition("/")[2].startswith(start)), "openai.chat")
    return _DIALECTS.get(provider) or (named if not provider else "openai.chat")


def _lost(reading: Reading, names: Mapping[str, str]) -> list[str]:
    messages = [each for each in reading.messages if isinstance(each, Mapping)]
    lost = sorted({str(kind) for each in messages for kind in each.get("other") or ()})
    lost += [] if reading.params else ["parameters"]
    spelled = {"fingerprint", *names.values()}
    lost += sorted(f"parameter {name}" for name in reading.params if name not in names and name not in spelled)
    return lost


def _turns(reading: Reading) -> Iterator[_Turn]:
    """The messages in order. A result without an id gets the id of the first earlier call that has no result yet."""
    waiting: list[tuple[str, str]] = []
    for number, message in enumerate(each for each in reading.messages if isinstance(each, Mapping)):
        role, text = str(message.get("role") or "user"), str(message.get("text") or "")
        calls = []
        for at, call in enumerate(_mappings(message.get("tool_calls"))):
            name, own = str(call.get("name") or ""), str(call.get("id") or f"call_{number}_{at}")
            calls.append((own, name, data_of(call.get("arguments"))))
            waiting.append((own, name))
        told = [
            (str(each.get("id") or ""), str(each.get("text") or "")) for each in _mappings(message.get("tool_results"))
        ]
        if role in ("tool", "function") and not told:
            told, text = [("", text)], ""
        results = []
        for given, said in told:
            found = next((pair for pair in waiting if pair[0] == given or not given), (given or f"call_{number}", ""))
            if found in waiting:
                waiting.remove(found)
            results.append((*found, said))
        yield _Turn("assistant" if role in ("ai", "model") else role, text, tuple(calls), tuple(results))


Built = tuple[str, dict[str, Json]]


def _openai(model: str, reading: Reading, turns: Sequence[_Turn], params: dict[str, Json]) -> Built:
    messages: list[Json] = [{"role": "system", "content": reading.system}] if reading.system else []
    for turn in turns:
        messages += [{"role": "tool", "tool_call_id": own, "content": said} for own, _, said in turn.results]
        if turn.text or turn.calls or not turn.results:
            one: dict[str, Json] = {"role": turn.role, "content": turn.text or None}
            if turn.calls:
                one["tool_calls"] = [
                    {"id": own, "type": "function", "function": {"name": name, "arguments": _written(arguments)}}
                    for own, name, arguments in turn.calls
                ]
            messages.append(one)
    tools = [
        {"type": "function", "function": _named(name, about, schema, "parameters")}
        for name, about, schema in _tools(reading)
    ]
    return "/v1/chat/completions", {
        "model": model,
        "messages": messages,
        **params,
        **({"tools": tools} if tools else {}),
    }


def _anthropic(model: str, reading: Reading, turns: Sequence[_Turn], params: dict[str, Json]) -> Built:
    messages: list[Json] = []
    for turn in turns:
        blocks: list[Json] = [
            {"type": "tool_result", "tool_use_id": own, "content": said} for own, _, said in turn.results
        ]
        blocks += [{"type": "text", "text": turn.text}] if turn.text else []
        blocks += [
            {"type": "tool_use", "id": own, "name": name, "input": _object(arguments)}
            for own, name, arguments in turn.calls
        ]
        messages.append({"role": "assistant" if turn.role == "assistant" else "user", "content": blocks})
    body: dict[str, Json] = {"model": model, "messages": messages, "max_tokens": _MOST_TOKENS, **params}
    body |= {"system": reading.system} if reading.system else {}
    tools = [_named(*tool, "input_schema") for tool in _tools(reading)]
    return "/v1/messages", body | ({"tools": tools} if tools else {})


def _gemini(model: str, reading: Reading, turns: Sequence[_Turn], params: dict[str, Json]) -> Built:
    contents: list[Json] = []
    for turn in turns:
        parts: list[Json] = [
            {"functionResponse": {"name": name, "response": _object(data_of(said), "result")}}
            for _, name, said in turn.results
        ]
        parts += [{"text": turn.text}] if turn.text else []
        parts += [{"functionCall": {"name": name, "args": _object(arguments)}} for _, name, arguments in turn.calls]
        contents.append({"role": "model" if turn.role == "assistant" else "user", "parts": parts})
    body: dict[str, Json] = {"contents": contents}
    body |= {"systemInstruction": {"parts": [{"text": reading.system}]}} if reading.system else {}
    body |= {"generationConfig": params} if params else {}
    tools = [_named(*tool, "parameters") for tool in _tools(reading)]
    path = f"/v1beta/models/{quote(model.removeprefix('models/'), safe='@')}:generateContent"
    return path, body | ({"tools": [{"functionDeclarations": tools}]} if tools else {})


def _converse(model: str, reading: Reading, turns: Sequence[_Turn], params: dict[str, Json]) -> Built:
    messages: list[Json] = []
    for turn in turns:
        parts: list[Json] = [
            {"toolResult": {"toolUseId": own, "content": [{"text": said}]}} for own, _, said in turn.results
        ]
        parts += [{"text": turn.text}] if turn.text else []
        parts += [
            {"toolUse": {"toolUseId": own, "name": name, "input": _object(arguments)}}
            for own, name, arguments in turn.calls
        ]
        messages.append({"role": "assistant" if turn.role == "assistant" else "user", "content": parts})
    body: dict[str, Json] = {"messages": messages}
    body |= {"system": [{"text": reading.system}]} if reading.system else {}
    body |= {"inferenceConfig": params} if params else {}
    tools = [
        {"toolSpec": {**_named(name, about, None, ""), "inputSchema": {"json": schema or {"type": "object"}}}}
        for name, about, schema in _tools(reading)
    ]
    return f"/model/{quote(model, safe='')}/converse", body | ({"toolConfig": {"tools": tools}} if tools else {})


def _ollama(model: str, reading: Reading, turns: Sequence[_Turn], params: dict[str, Json]) -> Built:
    messages: list[Json] = [{"role": "system", "content": reading.system}] if reading.system else []
    for turn in turns:
        messages += [{"role": "tool", "tool_name": name, "content": said} for _, name, said in turn.results]
        if turn.text or turn.calls or not turn.results:
            one: dict[str, Json] = {"role": turn.role, "content": turn.text}
            if turn.calls:
                one["tool_calls"] = [
                    {"function": {"name": name, "arguments": _object(arguments)}} for _, name, arguments in turn.calls
                ]
            messages.append(one)
    tools = [
        {"type": "function", "function": _named(name, about, schema, "parameters")}
        for name, about, schema in _tools(reading)
    ]
    body: dict[str, Json] = {"model": model, "messages": messages, "stream": False}
    body |= {"options": params} if params else {}
    return "/api/chat", body | ({"tools": tools} if tools else {})


_BUILDERS: Final[Mapping[str, Callable[[str, Reading, Sequence[_Turn], dict[str, Json]], Built]]] = {
    "openai.chat": _openai,
    "anthropic.messages": _anthropic,
    "google.gemini": _gemini,
    "bedrock.converse": _converse,
    "ollama.chat": _ollama,
}


def _tools(reading: Reading) -> Iterator[tuple[str, str, Json]]:
    for each in reading.tools:
        if isinstance(each, Mapping) and each.get("name"):
            yield str(each["name"]), str(each.get("description") or ""), each.get("schema")


def _named(name: str, about: str, schema: Json, member: str) -> dict[str, Json]:
    found: dict[str, Json] = {"name": name, **({"description": about} if about else {})}
    return found | ({member: schema or {"type": "object", "properties": {}}} if member else {})


def _written(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _object(value: Any, name: str = "value") -> Json:
    """A value as an object: the value itself if it is one, or else an object that holds it under ``name``."""
    return dict(value) if isinstance(value, Mapping) else {} if value in (None, "") else {name: value}


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, (list, tuple)) else []
