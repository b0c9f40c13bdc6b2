"""The facts in the attributes of one span, by the tables of names: the newest name of the most faithful dialect
wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.interop.otlp.names import EXACT, INDEXED, PREFIXES
from reenact.interop.otlp.spans import LOG, Span
from reenact.interop.trace_values import loaded, opened, unflattened

_DETAILS: Final = "gen_ai.client.inference.operation.details"
_MESSAGES: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_CHOICE: Final = "gen_ai.choice"
_CHUNKS: Final = frozenset({"gen_ai.content.completion.chunk", "First Token Stream Event", "gen_ai.completion.chunk"})
_HELD: Final = {"gen_ai.content.prompt": "gen_ai.prompt", "gen_ai.content.completion": "gen_ai.completion"}


@dataclass(slots=True)
class SpanContent:
    """The facts of a span.

    Attributes:
        said: The value of each fact, by the tables' words.
        params: Parameters of the request.
        usage: Tokens.
        lists: Flattened lists, put together again.
        asked, answered: Messages in events of the span, or in log records.
        exception: The exception in an event.
        rest: The attributes that no table knows.
        dialects: The number of attributes in each dialect.
        streamed: Whether its events show that it was streamed.
    """

    said: dict[str, Json] = field(default_factory=dict)
    params: dict[str, Json] = field(default_factory=dict)
    usage: dict[str, int] = field(default_factory=dict)
    lists: dict[str, Json] = field(default_factory=dict)
    asked: list[Json] = field(default_factory=list)
    answered: list[Json] = field(default_factory=list)
    exception: Mapping[str, Json] = field(default_factory=dict)
    rest: dict[str, Json] = field(default_factory=dict)
    dialects: Counter[str] = field(default_factory=Counter)
    streamed: bool = False

    def text(self, name: str) -> str:
        """A fact as a text; empty where it is missing."""
        value = self.said.get(name)
        if isinstance(value, list):
            value = value[0] if value else ""
        return "" if value is None or isinstance(value, dict) else str(value)

    @property
    def dialect(self) -> str:
        """The dialect of most of its names; several dialects are joined by ``+``."""
        own = [name for name, _ in self.dialects.most_common() if name != "general"]
        return " + ".join(own[:3])


def gathered(span: Span, logs: Iterable[Span] = ()) -> SpanContent:
    """The facts of a span, with those of its log records."""
    found = SpanContent()
    ranks: dict[str, int] = {}
    flat: dict[str, list[tuple[str, Json]]] = {}
    for name, value in span.attributes.items():
        _take(found, ranks, flat, name, value)
    for name, value in span.resource.items():
        known = EXACT.get(name)
        if known is not None and known[2].dialect in ("general", "mlflow") and known[0] not in found.said:
            found.said[known[0]] = value
    for name, _, said in span.events:
        _event(found, ranks, flat, name, said)
    for log in logs:
        _log(found, ranks, flat, log)
    for name, pairs in flat.items():
        found.lists[name] = unflattened(pairs)
    _older_events(found)
    return found


def _take(
    found: SpanContent, ranks: dict[str, int], flat: dict[str, list[tuple[str, Json]]], name: str, value: Json
) -> None:
    """Take in one attribute."""
    known = EXACT.get(name)
    if known is not None:
        said, rank, table = known
        found.dialects[table.dialect] += 1
        if value is None or ranks.get(said, rank) < rank:
            return
        ranks[said] = rank
        _keep(found, said, loaded(value) if table.json else value)
        return
    for start, said, table in INDEXED:
        if name.startswith(start) and name[len(start) : len(start) + 1].isdigit():
            found.dialects[table.dialect] += 1
            flat.setdefault(said, []).append((name[len(start) :], value))
            return
    for start, table in PREFIXES:
        if name.startswith(start):
            found.dialects[table.dialect] += 1
            found.params.setdefault(name[len(start) :], value)
            return
    found.rest[name] = value


def _keep(found: SpanContent, said: str, value: Json) -> None:
    group, _, name = said.partition(".")
    if group == "param" and name:
        found.params[name] = value
    elif group == "usage" and name:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found.usage[name] = int(value)
    else:
        found.said[said] = value


def _event(
    found: SpanContent,
    ranks: dict[str, int],
    flat: dict[str, list[tuple[str, Json]]],
    name: str,
    said: Mapping[str, Json],
) -> None:
    """An event of a span, which may hold messages, content, an exception, or the time of a chunk."""
    if name == "exception":
        found.exception = said
    elif name in _CHUNKS:
        found.streamed = True
    elif name == _DETAILS or name in _HELD:
        for key, value in said.items():
            _take(found, ranks, flat, key, value)
    elif name in _MESSAGES or name == _CHOICE:
        _message(found, name, said)
    elif said or name:
        kept = found.rest.setdefault("events", [])
        if isinstance(kept, list):
            kept.append({"name": name, "attributes": dict(said)})


def _message(found: SpanContent, name: str, said: Mapping[str, Json]) -> None:
    """A message in an event of the earlier conventions; its content is among its attributes, or in a field of its
    own."""
    body = opened(said.get("content")) if isinstance(opened(said.get("content")), dict) else None
    one: dict[str, Any] = {**said, **(body or {})}
    found.dialects["otel.genai (before)"] += 1
    if name == _CHOICE:
        inner = opened(one.get("message"))
        found.answered.append({**one, **({"message": inner} if isinstance(inner, dict) else {})})
    else:
        found.asked.append({"role": _MESSAGES[name], **one})


def _log(found: SpanContent, ranks: dict[str, int], flat: dict[str, list[tuple[str, Json]]], log: Span) -> None:
    """A record of a log that belongs to a span."""
    body = log.attributes.get(LOG)
    said = {name: value for name, value in log.attributes.items() if name not in (LOG, "event.name")}
    if isinstance(body, Mapping):
        said = {**said, **body}
    elif body not in (None, "") and "content" not in said:
        said["content"] = body
    _event(found, ranks, flat, log.name, said)


def _older_events(found: SpanContent) -> None:
    """Messages that are a list of events in one attribute."""
    for name in ("all_messages", "events"):
        value = opened(found.said.get(name))
        for one in value if isinstance(value, list) else ():
            if isinstance(one, Mapping) and str(one.get("event.name")) in (*_MESSAGES, _CHOICE):
                _message(found, str(one["event.name"]), one)
