"""Runs of LangSmith as JSON: lists, JSON Lines, trees with their child runs, requests of ingestion (post and patch)."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, BinaryIO, Final

from reenact.facts.call import Json
from reenact.facts.lazy_regex import lazy_regex
from reenact.interop.otlp.names import as_said
from reenact.interop.otlp.otlp_documents import Pages, json_form
from reenact.interop.otlp.spans import Span, identity, time_ns
from reenact.interop.rows.call_items import listing, mapping, text
from reenact.interop.trace_values import opened

SOURCE: Final = "langsmith"

_LIKE: Final = lazy_regex(rb'"(?:dotted_order|run_type|parent_run_id)"\s*:')
_LISTS: Final = ("post", "patch", "runs", "data")
_LONGEST: Final = 10_000
"""Most letters of arguments that are written as Python writes them."""


def fits(head: bytes) -> bool:
    """Whether a file with this beginning looks like runs of LangSmith."""
    return _LIKE.search(head) is not None


class Runs:
    """The layout of runs in a file."""

    source: Final = SOURCE
    piece: Final = "run"
    retold: Final = True

    def documents(self, file: BinaryIO) -> Pages:
        """One document, or one on each line."""
        return Pages(json_form(file))

    def pieces(self, document: Any) -> Iterator[Any]:
        """Each run, with the ids that its place or order gives; later events complete it."""
        found: dict[str, dict[str, Any]] = {}
        waiting: list[tuple[Any, str, str]] = [(each, "", "") for each in reversed(_listed(document))]
        while waiting:
            run, parent, trace = waiting.pop()
            if not isinstance(run, Mapping):
                found[f" {len(found)}"] = {}
                continue
            path = [each.partition("Z")[2] for each in text(run.get("dotted_order")).split(".") if each]
            own = text(run.get("id")) or (path[-1] if path else "")
            above = text(run.get("parent_run_id")) or parent or (path[-2] if len(path) > 1 else "")
            root = text(run.get("trace_id")) or (path[0] if path else "") or trace or above or own
            said = {name: value for name, value in run.items() if name != "child_runs" and value not in (None, {}, [])}
            before = found.setdefault(own or f" {len(found)}", {})
            before |= {**said, "id": own, "parent_run_id": above, "trace_id": root}
            waiting += [(each, own, root) for each in reversed(listing(run.get("child_runs")))]
        yield from found.values()

    def span(self, piece: Any) -> Span | str:
        """A run as a span."""
        own, trace = identity(piece.get("id"), 8), identity(piece.get("trace_id"), 16)
        if not own or not trace:
            return "a run without an id"
        parent = identity(piece.get("parent_run_id"), 8)
        error = piece.get("error")
        events = [mapping(each) for each in listing(piece.get("events"))]
        project = text(piece.get("session_name"))
        return Span(
            trace,
            own,
            parent,
            text(piece.get("name")) or "run",
            _start(piece),
            time_ns(piece.get("end_time")),
            {**_attributes(piece), **({} if parent else as_said(SOURCE, agent=text(piece.get("name")) or None))},
            {"service.name": project} if project else {},
            events=tuple((text(each.get("name")), time_ns(each.get("time")), {}) for each in events),
            failed=bool(error) or piece.get("status") == "error",
            status=text(error),
        )

    def joined(self, pieces: list[Any]) -> Any:
        """A list of runs."""
        return pieces


def _listed(document: Any) -> list[Any]:
    """The runs of a document: one, a list, requests of ingestion, or a list of those."""
    if isinstance(document, list):
        return [run for each in document for run in (_listed(each) if isinstance(each, Mapping) else [each])]
    if not isinstance(document, Mapping):
        return []
    held = [each for name in _LISTS for each in listing(document.get(name))]
    return held or [document]


def _start(run: Mapping[str, Any]) -> int | None:
    """When a run began, by its ``dotted_order``, which has microseconds; its time has only milliseconds."""
    last = text(run.get("dotted_order")).rpartition(".")[2].partition("Z")[0]
    try:
        when = datetime.strptime(last, "%Y%m%dT%H%M%S%f").replace(tzinfo=UTC)
    except ValueError:
        return time_ns(run.get("start_time"))
    return time_ns(when.isoformat())


def _attributes(run: Mapping[str, Any]) -> dict[str, Json]:
    extra = mapping(opened(run.get("extra")))
    kind = text(run.get("run_type"))
    asked, came = opened(run.get("inputs")), opened(run.get("outputs"))
    found: dict[str, Json] = {f"langsmith.metadata.{key}": each for key, each in mapping(extra.get("metadata")).items()}
    found["langsmith.span.kind"] = kind or "run"
    for name in ("tags", "feedback_stats", "reference_example_id"):
        if run.get(name):
            found[f"langsmith.run.{name}"] = run[name]
    if kind == "tool":
        return found | _tool(run, asked, came, extra)
    if kind == "retriever":
        return found | as_said(
            SOURCE, query=_unwrapped(asked, "query"), documents=_unwrapped(came, "documents", "output")
        )
    if kind in ("llm", "embedding"):
        return found | _model(run, asked, came, mapping(extra.get("invocation_params")))
    return found | as_said(SOURCE, input=asked, output=came)


def _model(run: Mapping[str, Any], asked: Json, came: Json, params: Mapping[str, Any]) -> dict[str, Json]:
    """A call of a model: a provider's own request and response, or messages as LangChain writes them down."""
    answers = listing(mapping(came).get("messages"))
    counts = mapping(came).get("usage_metadata")
    if counts is None and run.get("prompt_tokens"):
        counts = {name: run.get(name) for name in ("prompt_tokens", "completion_tokens")}
    model = mapping(asked).get("model") or params.get("model") or params.get("model_name")
    return as_said(
        SOURCE,
        input=asked,
        output=answers[-1] if answers else came,
        parameters={name: value for name, value in params.items() if not isinstance(value, (list, dict))} or None,
        tools=params.get("tools") or params.get("functions"),
        usage_details=counts,
        model_asked=text(model) or None,
    )


def _tool(run: Mapping[str, Any], asked: Json, came: Json, extra: Mapping[str, Any]) -> dict[str, Json]:
    """A call of a tool: LangChain wraps its arguments and its result."""
    if isinstance(asked, Mapping) and set(asked) == {"input"}:
        asked = _literal(asked["input"])
    if isinstance(came, Mapping) and set(came) == {"output"}:
        came = opened(came["output"])
    said = mapping(mapping(came).get("kwargs")) or mapping(came)
    own = text(said.get("tool_call_id")) or text(extra.get("tool_call_id"))
    result = said["content"] if own and "content" in said else came
    return as_said(
        SOURCE, tool_name=text(run.get("name")), tool_arguments=asked, tool_result=result, tool_id=own or None
    )


def _unwrapped(value: Json, *names: str) -> Json:
    """The value under the first existing name, or else the whole value."""
    said = mapping(value)
    return next((said[name] for name in names if name in said), value)


def _literal(value: Json) -> Json:
    """Arguments in the notation of Python, parsed to data."""
    data = opened(value)
    if not isinstance(data, str) or data.lstrip()[:1] not in ("{", "[") or len(data) > _LONGEST:
        return data
    try:
        found: Json = json.loads(json.dumps(ast.literal_eval(data)))
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return data
    return found
