"""The attributes of one call, in the names of a dialect: the tables of names, read in reverse.

The words are those of the tables (``names.NameTable.names``), so one table serves both directions. A fact without a
name in the dialect is written under our own (``names.REENACT``), never left out, and never under another dialect's
name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.reading import Reading
from reenact.interop.otlp.names import OPENINFERENCE, OTEL, OTEL_BEFORE, REENACT, NameTable
from reenact.interop.otlp.outgoing_span import SpanKind
from reenact.interop.traces import SpanSort


@dataclass(frozen=True, slots=True)
class SpelledCall:
    """The facts of one call for its span.

    Attributes:
        sort: The sort of the span.
        operation: The conventions' word (``chat``, ``execute_tool``); empty where they have none.
        subject: The name of the call; with the operation it names the span.
        kind: The side of the call.
        said: The texts and numbers that are no content, by the words of the tables.
        reading: The reading of a model call.
        asked, answered: The content; None where no content is written.
        inline: Whether content is written.
        shared: Attributes that all dialects name alike.
    """

    sort: SpanSort
    operation: str
    subject: str
    kind: SpanKind = SpanKind.INTERNAL
    said: Mapping[str, Json] = field(default_factory=dict)
    reading: Reading | None = None
    asked: Json = None
    answered: Json = None
    inline: bool = False
    shared: Mapping[str, Json] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name of the span."""
        return " ".join(part for part in (self.operation, self.subject) if part) or "call"


def spelled(told: SpelledCall, dialect: str) -> dict[str, Json]:
    """The attributes of a call.

    Args:
        told: The call.
        dialect: One of ``facts.policy.OTEL_DIALECTS``.
    """
    found = _openinference(told) if dialect == "openinference" else _otel(told, before=dialect == "otel-before")
    found.update(told.shared)
    return {name: value for name, value in found.items() if value not in (None, "", [], ())}


def as_text(value: Json) -> Json:
    """A value as the text of its JSON; a text as it is."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def returned(value: Json) -> Json:
    """The result of a tool, distinguishable from a missing one: None and an empty text are written as JSON."""
    return json.dumps(value) if value in (None, "") else value


# --- OpenTelemetry -----------------------------------------------------------------------------------------------

_BEFORE: Final = frozenset(
    {"provider", "input_messages", "output_messages", "param.seed", "param.service_tier", "param.fingerprint"}
)
"""Names that the conventions had from 1.28 to 1.36."""
_SPELLED: Final = {"stop": "stop_sequences"}
"""Parameters whose names in readings differ from those in the tables."""


def _named(word: str, *tables: NameTable) -> str:
    """The newest name of a word in the first table that has one; empty where no table has one."""
    return next((table.names[word][0] for table in tables if word in table.names), "")


def _otel(told: SpelledCall, *, before: bool) -> dict[str, Json]:
    found: dict[str, Json] = {}

    def put(word: str, value: Json) -> None:
        tables = (OTEL_BEFORE, OTEL) if before and word in _BEFORE else (OTEL,)
        found[_named(word, *tables, REENACT)] = value

    if told.operation:
        put("operation", told.operation)
    for word, value in told.said.items():
        put(word, value)
    reading = told.reading
    if reading is not None:
        put("provider", provider_of(reading, before=before))
        put("model_asked", reading.model_asked)
        put("model_answered", reading.model_answered)
        put("response_id", reading.response_id)
        if told.sort is SpanSort.MODEL and not reading.sort:
            put("finish", [reading.finish] if reading.finish else ["error"] if reading.error else [])
        for name, value in _parameters(reading):
            known = _named(f"param.{name}", *((OTEL_BEFORE, OTEL) if before else (OTEL,)))
            found[known or f"{REENACT.prefixes[0]}{name}"] = value if _fits(value) else as_text(value)
        for word, count in _usage(reading):
            put(word, count)
        if told.inline:
            put("system", as_text([{"type": "text", "content": reading.system}]) if reading.system else None)
            put("input_messages", as_text([_message(each) for each in reading.messages]) if reading.messages else None)
            put("output_messages", as_text(_answer(reading)))
            put("tools", as_text([_tool(each) for each in reading.tools]) if reading.tools else None)
    if told.inline:
        asked, answered = _CONTENT.get(told.sort, ("input", "output"))
        if told.sort is not SpanSort.MODEL:
            put(asked, as_text(told.asked))
            number = told.sort is SpanSort.TOOL and isinstance(told.answered, int | float)  # its JSON would be a text
            put(answered, told.answered if number else as_text(told.answered))
    return found


_CONTENT: Final = {SpanSort.TOOL: ("tool_arguments", "tool_result"), SpanSort.RETRIEVAL: ("query", "documents")}
_PROVIDERS: Final = {
    "azure": "azure.ai.openai", "google": "gcp.gemini", "vertex": "gcp.vertex_ai", "bedrock": "aws.bedrock",
    "function": "in_process", "mistral": "mistral_ai", "xai": "x_ai", "moonshot": "moonshot_ai",
}  # fmt: skip
_PROVIDERS_BEFORE: Final = {"azure": "az.ai.openai", "google": "gemini", "vertex": "vertex_ai"}
"""The names of providers: in readings, in today's conventions, and in the conventions before them."""


def provider_of(reading: Reading, *, before: bool = False) -> str:
    """The provider: by the host if it is known, else by the protocol; ``before``: under the conventions' name from 1.28
    to 1.36."""
    name = reading.provider
    if not name or "." in name or ":" in name or name == "localhost":
        name = reading.dialect.partition(".")[0]
    return (_PROVIDERS_BEFORE if before else {}).get(name) or _PROVIDERS.get(name, name)


def _parameters(reading: Reading) -> Iterator[tuple[str, Json]]:
    if reading.streamed:
        yield "stream", True
    for name, value in reading.params.items():
        if name == "stream" or _SPELLED.get(name) in reading.params:
            continue
        known = _SPELLED.get(name, name)
        yield known, [value] if known == "stop_sequences" and isinstance(value, str) else value


def _fits(value: Json) -> bool:
    """Whether a value can be an attribute as it is."""
    return not isinstance(value, Mapping) and (
        not isinstance(value, (list, tuple)) or all(isinstance(each, (str, int, float)) for each in value)
    )


def _usage(reading: Reading) -> Iterator[tuple[str, int]]:
    for name in ("tokens_in", "tokens_out", "cached", "cache_written", "reasoning"):
        count = reading.usage.get(name)
        if count is not None:
            yield f"usage.{name}", count


def _message(one: Json) -> Json:
    """A message of a reading in the parts of the conventions."""
    if not isinstance(one, Mapping):
        return {"role": "user", "parts": [{"type": "text", "content": as_text(one)}]}
    results = one.get("tool_results") or ()
    parts: list[dict[str, Json]] = []
    if one.get("thinking"):
        parts.append({"type": "reasoning", "content": one["thinking"]})
    if one.get("text"):
        parts.append({"type": "text", "content": one["text"]})
    parts += [_call(each) for each in one.get("tool_calls") or () if isinstance(each, Mapping)]
    parts += [{"type": "tool_call_response", "id": each.get("id"), "response": each.get("text")} for each in results]
    parts += [{"type": str(each)} for each in one.get("other") or ()]
    return {"role": "tool" if results and not one.get("text") else str(one.get("role") or "user"), "parts": parts}


def _call(one: Mapping[str, Json]) -> dict[str, Json]:
    return {"type": "tool_call", "id": one.get("id"), "name": one.get("name"), "arguments": one.get("arguments")}


def _answer(reading: Reading) -> Json:
    if not (reading.text or reading.tool_calls or reading.thinking):
        return None
    said = {"role": "assistant", "text": reading.text, "thinking": reading.thinking}
    told: Any = _message({**said, "tool_calls": list(reading.tool_calls)})
    return [{**told, "finish_reason": reading.finish or "stop"}]


def _tool(one: Json) -> Json:
    if not isinstance(one, Mapping) or "schema" not in one:
        return one
    return {
        "type": "function",
        "name": one.get("name"),
        "description": one.get("description"),
        "parameters": one["schema"],
    }


# --- OpenInference -----------------------------------------------------------------------------------------------

_SORTS: Final = {SpanSort.MODEL: "LLM", SpanSort.TOOL: "TOOL", SpanSort.RETRIEVAL: "RETRIEVER", SpanSort.OTHER: "CHAIN"}


def _openinference(told: SpelledCall) -> dict[str, Json]:
    reading = told.reading
    vectors = reading is not None and reading.sort == "embedding"
    sort = "EMBEDDING" if vectors else "AGENT" if told.operation == "invoke_agent" else _SORTS[told.sort]
    found: dict[str, Json] = {_named("operation", OPENINFERENCE): sort}
    for word, value in told.said.items():
        found[_named(word, OPENINFERENCE, OTEL, REENACT)] = value
    if reading is not None:
        found |= _model(reading, vectors=vectors)
        if told.inline:
            found |= _content(reading)
    if told.inline and told.sort is not SpanSort.MODEL:
        for word, value in (("input", told.asked), ("output", told.answered)):
            if value is not None:
                found[_named(word, OPENINFERENCE)] = as_text(value)
                text = isinstance(value, str)
                found[_named(f"{word}_type", OPENINFERENCE)] = "text/plain" if text else "application/json"
        if told.sort is SpanSort.RETRIEVAL and isinstance(told.answered, (list, tuple)):
            found |= dict(_documents(told.answered))
    return found


def _model(reading: Reading, *, vectors: bool) -> dict[str, Json]:
    name = reading.model_asked or reading.model_answered
    found: dict[str, Json] = {
        "embedding.model_name" if vectors else "llm.model_name": name,
        _named("provider", OPENINFERENCE): provider_of(reading),
        _named("model_answered", OPENINFERENCE): reading.model_answered,
        _named("finish", OPENINFERENCE): reading.finish,
    }
    params = dict(_parameters(reading))
    if params:
        at = 1 if vectors else 0
        found[OPENINFERENCE.names["parameters"][at]] = as_text({"model": name, **params})
    counts = dict(_usage(reading))
    if counts:
        found |= {_named(word, OPENINFERENCE): count for word, count in counts.items()}
        total = counts.get("usage.tokens_in", 0) + counts.get("usage.tokens_out", 0)
        found[_named("usage.total", OPENINFERENCE)] = total
    return found


def _content(reading: Reading) -> dict[str, Json]:
    asked: list[Json] = [{"role": "system", "text": reading.system}] if reading.system else []
    asked += [
        each if isinstance(each, Mapping) else {"role": "user", "text": as_text(each)} for each in reading.messages
    ]
    found = dict(_flattened("llm.input_messages.", asked))
    if reading.text or reading.tool_calls:
        said = {"role": "assistant", "text": reading.text, "tool_calls": list(reading.tool_calls)}
        found |= dict(_flattened("llm.output_messages.", [said]))
    for number, each in enumerate(reading.tools):
        found[f"llm.tools.{number}.tool.json_schema"] = as_text(_tool(each))
    return found


def _flattened(start: str, messages: list[Json]) -> Iterator[tuple[str, Json]]:
    number = 0
    for one in messages:
        results = [each for each in one.get("tool_results") or () if isinstance(each, Mapping)]
        if one.get("text") or one.get("tool_calls") or not results:
            lead = f"{start}{number}.message."
            number += 1
            yield f"{lead}role", str(one.get("role") or "user")
            yield f"{lead}content", one.get("text")
            for at, call in enumerate(each for each in one.get("tool_calls") or () if isinstance(each, Mapping)):
                held = f"{lead}tool_calls.{at}.tool_call."
                yield f"{held}id", call.get("id")
                yield f"{held}function.name", call.get("name")
                yield f"{held}function.arguments", as_text(call.get("arguments"))
        for result in results:
            lead = f"{start}{number}.message."
            number += 1
            yield f"{lead}role", "tool"
            yield f"{lead}tool_call_id", result.get("id")
            yield f"{lead}content", as_text(result.get("text"))


def _documents(found: Any) -> Iterator[tuple[str, Json]]:
    for number, each in enumerate(found):
        if isinstance(each, Mapping):
            for name in ("id", "score", "content", "metadata"):
                if each.get(name) is not None:
                    value = each[name]
                    yield (
                        f"retrieval.documents.{number}.document.{name}",
                        as_text(value) if name == "metadata" else value,
                    )
