"""Traces of Langfuse as JSON: exports with their observations, rows of observations alone, batches of ingestion.

An observation that came by OpenTelemetry has its attributes among its metadata; they tell more than the columns, and
are read like any span's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final

from reenact.facts.call import Json
from reenact.facts.lazy_regex import lazy_regex
from reenact.interop.otlp.otlp_documents import Pages, json_form
from reenact.interop.otlp.spans import Span, identity, time_ns
from reenact.interop.rows.call_items import mapping, text
from reenact.interop.trace_values import opened

SOURCE: Final = "langfuse"

_LIKE: Final = lazy_regex(
    rb'"(?:observations|parentObservationId|parent_observation_id|isRootObservation|is_root_observation)"\s*:'
    rb'|"(?:trace|span|generation|event|observation|score)-create"'
)
_CAPITAL: Final = lazy_regex(r"([A-Z])")
_NUMBERS: Final = ("gen_ai.request.", "gen_ai.usage.")
_NUMBER: Final = lazy_regex(r"-?\d{1,15}(\.\d{1,15})?")
_COLUMNS: Final[Mapping[str, str]] = {
    "type": "langfuse.observation.type",
    "input": "langfuse.observation.input",
    "output": "langfuse.observation.output",
    "model": "langfuse.observation.model.name",
    "modelParameters": "langfuse.observation.model.parameters",
    "usageDetails": "langfuse.observation.usage_details",
    "promptName": "langfuse.observation.prompt.name",
    "promptVersion": "langfuse.observation.prompt.version",
    "completionStartTime": "langfuse.observation.completion_start_time",
    "costDetails": "langfuse.observation.cost_details",
    "environment": "langfuse.environment",
    "tags": "langfuse.trace.tags",
    "scores": "langfuse.trace.scores",
}
"""The span attribute for each column of an observation or trace."""
_OF_TRACES: Final = frozenset({"tags", "scores"})
_CONTEXT: Final[Mapping[str, str]] = {
    "userId": "langfuse.user.id",
    "sessionId": "langfuse.session.id",
    "version": "langfuse.version",
    "release": "langfuse.release",
}
"""The span attribute for each fact of a trace about all its observations."""


def fits(head: bytes) -> bool:
    """Whether a file with this beginning looks like a trace of Langfuse."""
    return _LIKE.search(head) is not None


class Observations:
    """The layout of observations in a file. A piece is a trace, one of its observations, and the id of its parent."""

    source: Final = SOURCE
    piece: Final = "observation"
    retold: Final = True

    def documents(self, file: BinaryIO) -> Pages:
        """One document, or one on each line."""
        return Pages(json_form(file))

    def pieces(self, document: Any) -> Iterator[Any]:
        """Each observation with its trace; a trace without a single root counts as an observation, too."""
        for each in document if isinstance(document, list) else [document]:
            held = mapping(each)
            if isinstance(held.get("batch"), list):
                yield from _of_batch(held["batch"])
            elif isinstance(held.get("data"), list):
                yield from (piece for row in held["data"] for piece in self.pieces(row))
            elif isinstance(held.get("observations"), list):
                trace = {name: value for name, value in held.items() if name != "observations"}
                yield from _of_trace(mapping(held.get("trace")) or trace, held["observations"])
            elif _column(held, "traceId") and _column(held, "startTime"):
                yield {}, held, _column(held, "parentObservationId")

    def span(self, piece: Any) -> Span | str:
        """An observation as a span."""
        trace, row, parent = piece
        held = mapping(row)
        own = identity(_column(held, "id"), 8)
        root = identity(_column(held, "traceId") or trace.get("id"), 16)
        if not own or not root:
            return "an observation without ids"
        said = mapping(opened(held.get("metadata")))
        resource = dict(mapping(said.get("resourceAttributes")))
        resource.setdefault("service.name", text(trace.get("name")) or text(_column(held, "traceName")) or SOURCE)
        return Span(
            root,
            own,
            identity(parent, 8),
            text(held.get("name")) or text(held.get("type")).lower() or "observation",
            time_ns(_column(held, "startTime") or held.get("timestamp")),
            time_ns(_column(held, "endTime")),
            _attributes(trace, held, said, root=not parent),
            resource,
            text(mapping(said.get("scope")).get("name")),
            failed=text(held.get("level")).upper() == "ERROR",
            status=text(_column(held, "statusMessage")),
        )

    def joined(self, pieces: list[Any]) -> Any:
        """A trace with some of its observations."""
        return {"trace": pieces[0][0], "observations": [row for _, row, _ in pieces]}


def _of_trace(trace: Mapping[str, Any], rows: list[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """The observations of a trace. Unless a single one of them is the root, the trace itself becomes the root."""
    own = trace.get("id")
    roots = [row for row in rows if not _column(mapping(row), "parentObservationId")]
    above = own if len(roots) != 1 and own else ""
    if above:
        ends = [_column(mapping(row), "endTime") for row in rows]
        ended = max(ends, key=lambda each: time_ns(each) or 0, default=None)
        yield trace, {**trace, "endTime": ended}, ""
    for row in rows:
        yield trace, row, _column(mapping(row), "parentObservationId") or above


def _of_batch(events: list[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Events of ingestion: a later event completes its observation."""
    traces: dict[str, dict[str, Any]] = {}
    rows: dict[str, dict[str, Any]] = {}
    for event in map(mapping, events):
        body, kind = mapping(event.get("body")), text(event.get("type"))
        said = {name: value for name, value in body.items() if value is not None}
        sort = kind.rpartition("-")[0]
        if sort == "score":
            traces.setdefault(text(body.get("traceId")), {}).setdefault("scores", []).append(dict(body))
        elif sort == "trace":
            traces.setdefault(text(body.get("id")), {}).update(said)
        else:
            row = rows.setdefault(text(body.get("id")) or f" {len(rows)}", {})
            row |= {**({} if sort in ("", "observation") else {"type": sort.upper()}), **said}
    of: dict[str, list[Any]] = {own: [] for own in traces}
    for row in rows.values():
        of.setdefault(text(row.get("traceId")), []).append(row)
    for own, each in of.items():
        yield from _of_trace(traces.get(own, {}), each)


def _number(name: str, value: Json) -> Json:
    """A parameter or count as the number that it was: Langfuse keeps attributes as texts."""
    if not isinstance(value, str) or not name.startswith(_NUMBERS) or not _NUMBER.fullmatch(value):
        return value
    return float(value) if "." in value else int(value)


def _column(row: Mapping[str, Any], name: str) -> Any:
    """A column in either spelling, ``traceId`` and ``trace_id``."""
    value = row.get(name)
    return row.get(_CAPITAL.sub(r"_\1", name).lower()) if value is None else value


def _attributes(
    trace: Mapping[str, Any], row: Mapping[str, Any], said: Mapping[str, Any], *, root: bool
) -> dict[str, Json]:
    """The facts of an observation; a root also has those of its trace."""
    found: dict[str, Json] = {key: _number(key, value) for key, value in mapping(said.get("attributes")).items()}
    plain = {key: value for key, value in said.items() if key not in ("attributes", "resourceAttributes", "scope")}
    found |= {f"langfuse.observation.metadata.{key}": value for key, value in plain.items()}
    for name, attribute in _COLUMNS.items():
        value = _column(trace if root and name in _OF_TRACES else row, name)
        if value not in (None, {}, []):
            found[attribute] = opened(value)
    if "langfuse.observation.usage_details" not in found and row.get("usage"):
        found["langfuse.observation.usage_details"] = row["usage"]
    for name, attribute in _CONTEXT.items():
        value = _column(row, name) or _column(trace, name)
        if value:
            found[attribute] = value
    return found
