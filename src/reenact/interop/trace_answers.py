"""The answer of a model, in any shape of a trace: text, tool calls, the reason to stop, tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.interop.trace_messages import message, text_in
from reenact.interop.trace_values import object_in, opened


@dataclass(slots=True)
class ImportedAnswer:
    """The answer of a model."""

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


def answer(value: Json) -> ImportedAnswer:
    """The answer of a model: messages in any shape, a whole response of a provider, or only a text."""
    data = opened(value)
    if isinstance(data, Mapping):
        return _response(data)
    if isinstance(data, list):
        items = data
        while items and all(isinstance(each, list) for each in items):
            items = items[0]
        if items and isinstance(items[0], Mapping) and _is_item(items[0]):
            return _of_items(items)
        if len(items) > 1 and all(map(_is_call_alone, items)):  # Koog writes one message for each call
            return _of_items([part for each in items for part in each["content"]])
        return _said(items[0]) if items else ImportedAnswer()
    return ImportedAnswer(text="" if data is None else str(data))


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


def _response(data: Mapping[str, Json]) -> ImportedAnswer:
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


def _of_items(items: list[Any]) -> ImportedAnswer:
    return _said({"role": "assistant", "content": [part for each in items for part in _flat(each)]})


def _flat(item: Any) -> list[Any]:
    inner = item.get("content") if isinstance(item, Mapping) and item.get("type") == "message" else None
    return inner if isinstance(inner, list) else [item]


def _said(one: Mapping[str, Json]) -> ImportedAnswer:
    if not isinstance(one, Mapping):
        return ImportedAnswer(text=str(one))
    content = object_in(one, "content")
    held = object_in(one, "message") or (content if content is not None and "parts" in content else None) or one
    read = message({"role": "assistant", **held})
    text = str(read["text"]) or text_in(one, "text")
    finish = next(
        (one[name] for name in ("finish_reason", "finishReason", "stop_reason", "finish") if one.get(name)), ""
    ) or next((held[name] for name in ("finish_reason", "stop_reason") if held.get(name)), "")
    if isinstance(finish, Mapping):  # some tools put the last piece of a stream here
        finish = finish.get("finish_reason") or ""
    return ImportedAnswer(text, str(read.get("thinking") or ""), list(read.get("tool_calls") or ()), str(finish))


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
