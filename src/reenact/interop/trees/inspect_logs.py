"""Logs of Inspect AI (``.eval`` archives and JSON): each epoch of a sample is a trace of its events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Any, BinaryIO, Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.lazy_regex import lazy_regex
from reenact.interop.otlp.layouts import Documents
from reenact.interop.otlp.names import as_said
from reenact.interop.otlp.otlp_documents import Pages, json_form
from reenact.interop.otlp.spans import Span, time_ns
from reenact.interop.rows.call_items import listing, mapping, text
from reenact.interop.trees.archive_entries import MAGIC, ArchiveEntries
from reenact.interop.trees.conversation_turns import Room, turns

SOURCE: Final = "inspect"

_LIKE: Final = lazy_regex(rb'"eval"\s*:\s*\{')
_OWN: Final = lazy_regex(rb'"(?:task_id|task_version|eval_id)"\s*:')
_ROOT: Final = "sample"
_REFERENCE: Final = ("attachment://", "tc://")
_LASTING: Final = frozenset({"model", "tool", "sandbox", "subtask", "span_begin", "step"})
"""Events that take time; the others happen at once."""
_AROUND: Final = frozenset({"uuid", "span_id", "timestamp", "working_start", "event", "pending", "completed", "events"})
"""Fields of an event that give its place, and not its content."""


def fits(head: bytes) -> bool:
    """Whether a file with this beginning looks like a log of Inspect."""
    if head.startswith(MAGIC):
        return b"_journal/" in head or b"samples/" in head or b"header.json" in head
    return _LIKE.search(head) is not None and _OWN.search(head) is not None


@dataclass(frozen=True, slots=True)
class _Sample:
    """A sample while its events are read.

    Attributes:
        log: The facts of its log about the evaluation.
        sample: The sample.
        trace: Its id.
        room: The bytes of its conversations that may still be repeated.
    """

    log: Mapping[str, Any]
    sample: Mapping[str, Any]
    trace: str
    room: Room = field(default_factory=Room)


@dataclass(frozen=True, slots=True)
class _Piece:
    """One event, or the sample itself.

    Attributes:
        of: The sample.
        event: The event; a call inside a conversation has ``attributes`` in it.
        own, parent: Its id, and that of its parent.
        end: The end of the parent, as in the log.
    """

    of: _Sample
    event: Mapping[str, Any]
    own: str
    parent: str
    end: Any = None


class SampleLayout:
    """The layout of samples in a file."""

    source: Final = SOURCE
    piece: Final = "event"
    retold: Final = False

    def documents(self, file: BinaryIO) -> Documents:
        """The samples of an archive, or a log of JSON."""
        head = file.read(len(MAGIC))
        file.seek(0)
        return (
            ArchiveEntries(file, "samples/", ("header.json", "_journal/start.json")) if head == MAGIC else _json(file)
        )

    def pieces(self, document: Any) -> Iterator[Any]:
        """Each sample, and each event of it."""
        log = mapping(document)
        head = {name: value for name, value in log.items() if name != "samples"}
        for each in listing(log.get("samples")):
            yield from _of_sample(head, mapping(each))

    def span(self, piece: Any) -> Span | str:
        """An event as a span."""
        event, of = piece.event, piece.of
        if not of.sample:
            return "a sample that is no object"
        kind = text(event.get("event"))
        found, error = _told(piece, kind)
        name = text(event.get("name")) or text(event.get("function")) or text(event.get("model"))
        own = f"{kind} {name}".strip() if kind in ("span_begin", "step", "score", "subtask", "") else name or kind
        start = event.get("timestamp") or of.sample.get("started_at")
        return Span(
            of.trace,
            piece.own,
            piece.parent,
            own.removeprefix("span_begin ").removeprefix("step ") or _ROOT,
            time_ns(start),
            time_ns(piece.end),
            _resolved(found, mapping(of.sample.get("attachments"))),
            failed=error is not None,
            status=error or "",
        )

    def joined(self, pieces: list[Any]) -> Any:
        """A log of the sample that the pieces belong to."""
        return {**pieces[0].of.log, "samples": [pieces[0].of.sample]}


def _json(file: BinaryIO) -> Pages:
    return Pages(json_form(file))


def _of_sample(log: Mapping[str, Any], sample: Mapping[str, Any]) -> Iterator[_Piece]:
    spec = mapping(log.get("eval"))
    ids = [spec.get(name) for name in ("run_id", "eval_id", "task_id", "created")]
    ids += [sample.get(name) for name in ("uuid", "id", "epoch")]
    of = _Sample(log, sample, blake2b(repr(ids).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest())
    events = [mapping(each) for each in listing(sample.get("events"))]
    stamps = [event["timestamp"] for event in events if event.get("timestamp")]
    begun = [each for each in (sample.get("started_at"), stamps[0] if stamps else None) if time_ns(each)]
    start = min(begun, key=lambda each: time_ns(each) or 0, default=spec.get("created"))
    end = sample.get("completed_at") or (stamps[-1] if stamps else None)
    yield _Piece(of, {"timestamp": start}, _ROOT, "", end)
    if events:
        yield from _events(of, events)
        return
    model = _model(text(spec.get("model")))[1]
    for turn in turns(SOURCE, listing(sample.get("messages")), model):
        said = {"event": "turn", "name": turn.name, "attributes": turn.attributes, "error": turn.error or None}
        yield _Piece(of, said, f"message-{turn.at}", _ROOT)


def _events(of: _Sample, events: list[Mapping[str, Any]]) -> Iterator[_Piece]:
    """Each event with its parent: a span, a step or a tool call."""
    spans, ended = _ends(events)
    known = {str(event.get("id")) for event in events if event.get("event") == "span_begin"}
    waiting = [(event, _ROOT, at) for at, event in reversed([*enumerate(events)])]
    steps: list[tuple[str, str]] = []
    count = 0
    while waiting:
        event, above, at = waiting.pop()
        kind, name = text(event.get("event")), text(event.get("name"))
        count += 1
        begins = kind == "span_begin"
        if kind == "span_end":
            continue
        if kind == "step" and event.get("action") == "end":
            while steps and steps.pop()[1] != name:
                pass
            continue
        inside = str(event.get("parent_id") if begins else event.get("span_id") or "")
        parent = inside if inside in known else above if above != _ROOT or not steps else steps[-1][0]
        own = str(event.get("id")) if begins else text(event.get("uuid")) or f"event-{count}"
        end = spans.get(own) if begins else ended.get(at) if kind == "step" else event.get("completed")
        yield _Piece(of, event, own, parent, end if end or kind in _LASTING else event.get("timestamp"))
        if kind == "step":
            steps.append((own, name))
        waiting += [(mapping(each), own, -1) for each in reversed(listing(event.get("events")))]


def _ends(events: list[Mapping[str, Any]]) -> tuple[dict[str, Any], dict[int, Any]]:
    """When each span ended, by its id, and each step of older logs, by the place of its beginning."""
    spans: dict[str, Any] = {}
    steps: dict[int, Any] = {}
    begun: dict[str, list[int]] = {}
    for at, event in enumerate(events):
        kind = event.get("event")
        if kind == "span_end":
            spans[str(event.get("id"))] = event.get("timestamp")
        elif kind == "step" and event.get("action") == "end" and begun.get(text(event.get("name"))):
            steps[begun[text(event.get("name"))].pop()] = event.get("timestamp")
        elif kind == "step":
            begun.setdefault(text(event.get("name")), []).append(at)
    return spans, steps


def _told(piece: _Piece, kind: str) -> tuple[dict[str, Json], str | None]:
    """The facts of an event, and its failure."""
    event, of = piece.event, piece.of
    error = event.get("error") if kind else of.sample.get("error")
    wrong = text(error) or text(mapping(error).get("message")) or (text(mapping(error).get("type")) if error else "")
    failed = (wrong or "error") if error else None
    if kind == "turn":
        return dict(event["attributes"]), failed
    if kind == "model":
        return _model_call(event, of), failed
    if kind == "tool":
        found = as_said(
            SOURCE,
            operation="tool",
            tool_name=text(event.get("function")),
            tool_id=text(event.get("id")) or None,
            tool_arguments=event.get("arguments"),
            tool_result=event.get("result"),
            error_type=text(mapping(error).get("type")) or None,
        )
        return found, failed
    if not kind:
        return _whole(of), failed
    if kind in ("span_begin", "step"):
        return {f"{SOURCE}.operation": "step", f"{SOURCE}.type": event.get("type")}, failed
    said = {name: value for name, value in event.items() if name not in _AROUND and value is not None}
    asked = {name: said.pop(name) for name in ("cmd", "file", "input", "target") if name in said}
    return as_said(SOURCE, operation="step", input=asked or None, output=said or None), failed


def _whole(of: _Sample) -> dict[str, Json]:
    """The facts of a sample and of its evaluation."""
    spec, sample = mapping(of.log.get("eval")), of.sample
    result = {name: sample[name] for name in ("target", "scores", "metadata", "limit") if sample.get(name)}
    words = text(mapping(sample.get("output")).get("completion"))
    return as_said(
        SOURCE,
        operation="sample",
        input=sample.get("input"),
        output={**({"answer": words} if words else {}), **result} or None,
        agent=text(spec.get("task")) or SOURCE,
        session=text(spec.get("run_id")) or None,
        commit=text(mapping(spec.get("revision")).get("commit")) or None,
    ) | {f"{SOURCE}.{name}": spec[name] for name in ("packages", "task_args", "dataset", "sandbox") if spec.get(name)}


def _model_call(event: Mapping[str, Any], of: _Sample) -> dict[str, Json]:
    """A call of a model: the provider's own bodies where they were kept, and Inspect's reading of them."""
    pool = mapping(of.sample.get("events_data"))
    call, output = mapping(event.get("call")), mapping(event.get("output"))
    provider, model = _model(text(event.get("model")))
    request = dict(mapping(call.get("request")))
    key = text(call.get("call_key"))
    if key and key not in request:
        spoken = _picked(call.get("call_refs"), listing(pool.get("calls")))
        request = {**request, key: spoken} if of.room.told(spoken) else {}
    config = {**mapping(event.get("config")), "tool_choice": event.get("tool_choice")}
    found = as_said(
        SOURCE,
        operation="model",
        provider=provider or None,
        model_asked=text(request.get("model")) or model or None,
        input=request or None,
        output=call.get("response") or {"model": output.get("model")},
        output_messages=output.get("choices") or None,
        parameters={name: value for name, value in config.items() if isinstance(value, (str, int, float))},
        tools=event.get("tools") or None,
        usage_details=output.get("usage"),
        response_id=text(output.get("response_id")) or None,
    )
    told = listing(event.get("input"))
    if not told and event.get("input_refs"):
        return found | of.room.attributes(SOURCE, _picked(event["input_refs"], listing(pool.get("messages"))))
    return found | as_said(SOURCE, input_messages=told)


def _model(name: str) -> tuple[str, str]:
    """The provider and the model in a name such as ``openai/gpt-4o``."""
    provider, slash, model = name.partition("/")
    return (provider, model) if slash else ("", name)


def _picked(ranges: Any, pool: list[Any]) -> list[Any]:
    """The items of a pool in some ranges."""
    pairs = [each for each in listing(ranges) if isinstance(each, list) and len(each) == 2]
    return [one for first, end in pairs if isinstance(first, int) and isinstance(end, int) for one in pool[first:end]]


def _resolved(value: Any, attachments: Mapping[str, Any]) -> Any:
    """A value with separately stored texts put in their places.

    Raises:
        RecursionError: The value is nested too deeply.
    """
    if isinstance(value, str):
        lead = next((each for each in _REFERENCE if value.startswith(each)), "")
        return attachments.get(value.removeprefix(lead), value) if lead else value
    if isinstance(value, dict):
        return {key: _resolved(each, attachments) for key, each in value.items()}
    return [_resolved(each, attachments) for each in value] if isinstance(value, list) else value
