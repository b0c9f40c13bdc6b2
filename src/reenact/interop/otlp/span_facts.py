"""The meaning of one span: a model call, a tool, a retrieval or a step of the agent, in any dialect of names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Final

from reenact.facts.call import Json
from reenact.facts.dialects.hosts import region_of
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.reading import Reading
from reenact.facts.trace_runs import Grade
from reenact.interop.otlp.names import EMBEDDING_WORDS, MODEL_WORDS, RETRIEVAL_WORDS, SORTS, TOOL_WORDS
from reenact.interop.otlp.span_content import SpanContent, gathered
from reenact.interop.otlp.spans import Span
from reenact.interop.questions import ModelQuestion, conversation, tools
from reenact.interop.trace_answers import ImportedAnswer, answer, usage
from reenact.interop.trace_messages import words
from reenact.interop.trace_values import is_cut, opened
from reenact.interop.traces import NO_FACTS, Facts, SpanSort, TraceItem, Wrong

CUT: Final = "content that a limit on lengths has cut off"
ELSEWHERE: Final = "content that was kept elsewhere, by reference"
UNTOLD: Final = "spans whose content is damaged, kept as steps with their attributes"

_ENDS: Final = (".dogenerate", ".dostream", ".doembed")
_NO_WORDS: Final = frozenset({"unknown", "span", "default", "task"})
_LEADS: Final = ("execute_tool ", "running tool: ", "tool_", "tools/call ")
_FACTS: Final = ("agent", "version", "user", "tenant", "session", "commit", "service")


@dataclass(frozen=True, slots=True)
class SpanFacts:
    """The meaning of a span.

    Attributes:
        item: The item, without its place in the trace.
        facts: Its facts about the run.
        key: A second id of the call: that of a response, or of a tool call; empty without one.
        remarks: The faults that were found.
    """

    item: TraceItem
    facts: Facts
    key: str = ""
    remarks: tuple[str, ...] = ()


def span_facts(span: Span, logs: Iterable[Span] = ()) -> SpanFacts:
    """The meaning of a span and its log records. A span that cannot be understood keeps its attributes."""
    try:
        return _told(span, logs)
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, RecursionError):
        return SpanFacts(
            TraceItem(SpanSort.OTHER, span.name, span=span.id, rest=span.attributes), NO_FACTS, remarks=(UNTOLD,)
        )


def _told(span: Span, logs: Iterable[Span]) -> SpanFacts:
    found = gathered(span, logs)
    sort, vectors = _sort(span, found)
    remarks: list[str] = []
    item = TraceItem(sort, span.name, span=span.id, error=_error(span, found), rest=found.rest, dialect=found.dialect)
    key = ""
    if sort is SpanSort.MODEL:
        item, key = _model(item, found, vectors, remarks), found.text("response_id")
        key = key or (item.reading.response_id if item.reading is not None else "")
    elif sort is SpanSort.TOOL:
        item, key = _tool(item, found, remarks), found.text("tool_id")
    elif sort is SpanSort.RETRIEVAL:
        item = _retrieval(item, found)
    else:
        item = _step(item, found)
    texts = [found.text(name) for name in _FACTS]
    return SpanFacts(item, Facts(*texts) if any(texts) else NO_FACTS, key, tuple(remarks))


def _sort(span: Span, found: SpanContent) -> tuple[SpanSort, bool]:
    """The sort of a span, and whether it asks for vectors."""
    for name in SORTS:
        value = span.attributes.get(name)
        if value is None:
            continue
        word = str(opened(value)).lower()
        if word not in _NO_WORDS:
            return _named(word), word in EMBEDDING_WORDS or word.endswith(".doembed")
    if found.text("method") == "tools/call" or (found.text("tool_name") and not found.usage):
        return SpanSort.TOOL, False
    asks = found.lists.keys() & {"input_messages", "output_messages"} or found.usage or found.asked
    said = any(name in found.said for name in ("input_messages", "output_messages", "response_id", "provider"))
    if found.text("model_asked") and (asks or said):
        return SpanSort.MODEL, False
    return SpanSort.OTHER, False


def _named(word: str) -> SpanSort:
    """The sort of a span, by a dialect's word for it."""
    if word in MODEL_WORDS or word in EMBEDDING_WORDS or word.endswith(_ENDS):
        return SpanSort.MODEL
    return SpanSort.TOOL if word in TOOL_WORDS else SpanSort.RETRIEVAL if word in RETRIEVAL_WORDS else SpanSort.OTHER


def _error(span: Span, found: SpanContent) -> Wrong | None:
    kind = found.text("error_type") or str(found.exception.get("exception.type") or "")
    if not span.failed and not found.text("error_type"):
        return None
    raised = str(found.exception.get("exception.message") or "")
    status = span.status.removeprefix(f"{kind}: ")  # as the SDK of OpenTelemetry describes an exception
    text = raised if raised and raised in (span.status or raised) else status or found.text("error_text")
    return Wrong(kind or "Error", text or kind or "the span's status is an error")


def _grade(there: object) -> Grade:
    return Grade.SEMANTIC if there else Grade.ABSENT


def _exact(there: object) -> Grade:
    return Grade.EXACT if there else Grade.ABSENT


# --- models ------------------------------------------------------------------------------------------------------


def _model(item: TraceItem, found: SpanContent, vectors: bool, remarks: list[str]) -> TraceItem:
    asked, whole = _asked(found)
    said = _said(found)
    cut = [name for name in ("input_messages", "output_messages", "input", "output") if is_cut(found.said.get(name))]
    if cut:
        remarks.append(CUT)
    if found.said.get("input_ref") or found.said.get("output_ref"):
        remarks.append(ELSEWHERE)
    params = {**_parameters(found), **found.params}
    params = {**{name: each for name, each in asked.params.items() if whole and name not in params}, **params}
    name = found.text("model_asked") or found.text("model_name") or asked.model
    answered = found.text("model_answered") or (said.model if said.model else "")
    counts = _usage(found, said)
    blind_in = any(each.startswith("input") for each in cut)
    blind_out = any(each.startswith("output") for each in cut)
    reading = Reading(
        dialect=found.dialect or "trace",
        provider=_provider(found.text("provider")),
        region=_region(found.text("server")),
        model_asked=name,
        model_answered=answered,
        params=params,
        system=asked.system,
        messages=tuple(asked.messages),
        tools=tuple(asked.tools),
        tools_hash=_hash(asked.tools),
        tool_calls=tuple(said.tool_calls),
        text=said.text,
        thinking=said.thinking,
        finish=found.text("finish") or said.finish,
        usage=counts,
        streamed=found.streamed or found.said.get("streamed") is True or params.get("stream") is True,
        error=None if item.error is None else {"type": item.error.type, "message": item.error.text},
        partial=bool(cut),
        response_id=found.text("response_id") or said.id,
        sort="embedding" if vectors else "",
    )
    content = bool(asked.messages) and not blind_in
    grades = {
        "model": _exact(name),
        "provider": _exact(reading.provider),
        "system": _grade(content or asked.system),
        "messages": _grade(content),
        "tools": _grade(asked.tools or whole),
        "parameters": _grade(whole or params.keys() - {"fingerprint"}),
        "answer": _grade((said.anything and not blind_out) or item.error is not None or vectors),
        "usage": _exact(counts),
    }
    return replace(item, name=name or answered or item.name, reading=reading, grades=grades)


def _asked(found: SpanContent) -> tuple[ModelQuestion, bool]:
    """The question to the model, and whether it is the whole request of a provider."""
    whole = opened(found.said.get("input"))
    full = conversation(whole) if isinstance(whole, Mapping) else ModelQuestion()
    listed = found.lists.get("input_messages")
    told_of = listed if listed is not None else found.said.get("input_messages")
    asked = conversation(told_of) if told_of is not None else ModelQuestion()
    if found.asked and not asked.messages:
        asked = conversation(list(found.asked))
    if full.messages and (len(full.messages) >= len(asked.messages)):
        asked, is_whole = full, True
    else:
        is_whole = False
        if not asked.messages and found.said.get("input") is not None:
            asked = conversation(found.said["input"])
    if found.said.get("system") is not None:
        said = words(found.said["system"])
        if said and said not in asked.system:
            asked.system = "\n\n".join(part for part in (said, asked.system) if part)
    offered = found.lists.get("tools") if "tools" in found.lists else found.said.get("tools")
    if offered is None and isinstance(held := opened(found.said.get("model_parameters")), Mapping):
        offered = held.get("function_tools")  # Pydantic AI has them there
    if not asked.tools and offered is not None:
        asked.tools = tools(offered)
    return asked, is_whole


def _said(found: SpanContent) -> ImportedAnswer:
    """The answer of the model."""
    listed = found.lists.get("output_messages")
    told_of = listed if listed is not None else found.said.get("output_messages")
    said = answer(told_of) if told_of is not None else ImportedAnswer()
    if not said.anything and found.answered:
        said = answer(found.answered[:1])
    if found.said.get("output") is not None:
        full = answer(found.said["output"])
        if not said.anything:
            said = full
        said.model, said.id = said.model or full.model, said.id or full.id
        said.usage = said.usage or full.usage
    if not said.anything:
        said.text, said.thinking = found.text("answer_text"), found.text("answer_thinking")
        calls = found.said.get("answer_calls")
        if calls is not None:
            data = opened(calls)
            said.tool_calls = answer([{"role": "assistant", "tool_calls": data}]).tool_calls
    return said


_UNSENT: Final = frozenset({"model", "messages", "tools", "input", "contents", "system", "instructions"})


def _parameters(found: SpanContent) -> dict[str, Json]:
    data = opened(found.said.get("parameters"))
    return {str(k): v for k, v in data.items() if k not in _UNSENT} if isinstance(data, Mapping) else {}


def _usage(found: SpanContent, said: ImportedAnswer) -> dict[str, int]:
    counts = {name: count for name, count in found.usage.items() if name != "total"}
    for name, count in (*usage(found.said.get("usage_details")).items(), *said.usage.items()):
        counts.setdefault(name, count)
    if counts:
        counts |= {"input": counts.get("tokens_in", 0), "output": counts.get("tokens_out", 0)}
    return counts


_PROVIDERS: Final = {
    "az.ai.openai": "azure", "azure.ai.openai": "azure", "azure.ai.inference": "azure", "az.ai.inference": "azure",
    "gemini": "google", "gcp.gemini": "google", "gcp.gen_ai": "google", "google_genai": "google", "vertex_ai": "vertex",
    "gcp.vertex_ai": "vertex", "aws.bedrock": "bedrock", "aws_bedrock": "bedrock", "mistral_ai": "mistral",
    "mistralai": "mistral", "x_ai": "xai", "moonshot_ai": "moonshot",
}  # fmt: skip
"""The names of providers: in the dialects, and in readings of the wire."""


def _provider(name: str) -> str:
    plain = name.lower()
    if plain in _PROVIDERS:
        return _PROVIDERS[plain]
    return plain.partition(".")[0] if plain.split(".")[-1] in ("chat", "responses", "messages", "completion") else plain


def _region(host: str) -> str:
    """The region in the name of a provider's host; empty where it names none, or is no host."""
    try:
        return region_of(f"//{host}") if host else ""
    except ValueError:
        return ""


def _hash(offered: list[Json]) -> str:
    if not offered:
        return ""
    try:
        text = json.dumps(offered, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return ""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# --- tools, retrievals, steps ------------------------------------------------------------------------------------


def _tool(item: TraceItem, found: SpanContent, remarks: list[str]) -> TraceItem:
    name = found.text("tool_name") or found.text("entity") or item.name
    for lead in _LEADS:
        name = name.removeprefix(lead)
    asked = opened(_either(found, "tool_arguments", "input"))
    if asked is None and not _is_schema(told_of := opened(found.said.get("tool_parameters"))):
        asked = told_of
    answered = _result(found)
    if any(is_cut(found.said.get(each)) for each in ("tool_arguments", "tool_result", "input", "output")):
        remarks.append(CUT)
    grades = {
        "arguments": _grade(asked is not None),
        "result": _grade(answered is not None or item.error is not None),
        "call_id": _exact(found.text("tool_id")),
    }
    call = found.text("tool_id")
    if answered == "null":
        answered = None
    return replace(item, name=name, asked=_arguments(asked), answered=answered, call_id=call, grades=grades)


def _result(found: SpanContent) -> Json:
    """The result of a tool: as data, if its text is an object or a list, or is marked as JSON."""
    told = _either(found, "tool_result", "output")
    if isinstance(told, str) and found.text("output_type") == "application/json":
        try:
            told = json.loads(told)
        except (ValueError, RecursionError):
            return told
        return "null" if told is None else told
    return opened(told)


def _is_schema(value: Json) -> bool:
    """Whether the parameters of a tool are its declaration, as OpenInference has them, and no arguments."""
    return isinstance(value, Mapping) and isinstance(value.get("properties"), Mapping)


def _either(found: SpanContent, first: str, second: str) -> Json:
    value = found.said.get(first)
    return found.said.get(second) if value is None else value


def _arguments(asked: Json) -> Json:
    """Arguments, by name if the span names them; wrappers of instrumentations are removed."""
    if (
        isinstance(asked, Mapping)
        and set(asked) <= {"args", "kwargs"}
        and asked.get("kwargs")
        and not asked.get("args")
    ):
        return asked["kwargs"]
    if isinstance(asked, Mapping) and set(asked) >= {"inputs", "kwargs"} and isinstance(asked["inputs"], Mapping):
        return asked["inputs"]
    return asked


_CHUNK: Final = ("id", "score", "content", "metadata")


def _retrieval(item: TraceItem, found: SpanContent) -> TraceItem:
    listed = found.lists.get("documents")
    value = opened(listed if listed is not None else _either(found, "documents", "output"))
    query = opened(_either(found, "query", "input"))
    held = [_document(each) for each in value] if isinstance(value, list) else []
    chunks = tuple(each for each in held if each)
    grades = {
        "query": _grade(query is not None),
        "documents": _grade(value is not None or item.error is not None),
        "content": _grade(chunks and all("content" in each for each in chunks)),
    }
    name = found.text("source") or item.name
    return replace(
        item,
        name=name.removeprefix("retrieval "),
        asked=query,
        answered=value,
        embedding_model=found.text("model_asked"),
        chunks=chunks if chunks and len(chunks) == len(held) else None,
        grades=grades,
    )


def _document(one: Json) -> dict[str, Json]:
    """A document that was found: id, score, content."""
    if isinstance(one, Mapping) and isinstance(one.get("document"), Mapping):
        one = one["document"]
    if not isinstance(one, Mapping):
        return {"content": one} if isinstance(one, str) else {}
    found = {name: one[name] for name in _CHUNK if one.get(name) is not None}
    for name, other in (("content", "page_content"), ("content", "text"), ("id", "document_id")):
        if name not in found and one.get(other) is not None:
            found[name] = one[other]
    return found


def _step(item: TraceItem, found: SpanContent) -> TraceItem:
    asked = opened(_either(found, "input", "input_messages"))
    answered = opened(_either(found, "output", "output_messages"))
    grades = {"input": _grade(asked is not None), "output": _grade(answered is not None or item.error is not None)}
    return replace(item, asked=asked, answered=answered, grades=grades)


# --- spans of one call -------------------------------------------------------------------------------------------


def merged(outer: TraceItem, inner: TraceItem) -> TraceItem:
    """Two items of one call as one: the outer one, with the facts that only the inner one has."""
    grades = dict(outer.grades)
    left, right = outer.reading, inner.reading
    reading = left
    if left is not None and right is not None:
        richer, poorer = (left, right) if _content(left) >= _content(right) else (right, left)
        reading = Reading(
            **{
                name: getattr(richer, name) or getattr(poorer, name)
                for name in Reading.__dataclass_fields__
                if name not in ("params", "usage")
            },
            params={**poorer.params, **richer.params},
            usage={**poorer.usage, **richer.usage},
        )
    for name, grade in inner.grades.items():
        grades[name] = min((grades.get(name, Grade.ABSENT), grade), key=list(Grade).index)
    dialects = dict.fromkeys(part for each in (outer, inner) for part in each.dialect.split(" + ") if part)
    return replace(
        outer,
        reading=reading,
        asked=outer.asked if outer.asked is not None else inner.asked,
        answered=outer.answered if outer.answered is not None else inner.answered,
        call_id=outer.call_id or inner.call_id,
        error=outer.error or inner.error,
        grades=grades,
        rest={**inner.rest, **outer.rest},
        dialect=" + ".join(dialects),
        merged=(*outer.merged, inner.span, *inner.merged),
        chunks=outer.chunks if outer.chunks is not None else inner.chunks,
    )


def _content(reading: Reading) -> int:
    return len(reading.messages) + len(reading.text) + len(reading.tool_calls) + bool(reading.system)
