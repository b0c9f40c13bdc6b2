"""A trace between formats: the value that every reader of traces makes, whatever tool has written it.

A trace is one run: model calls, calls of tools, retrievals and whatever else its spans say, in order, each with its
parent, its times, its error, and for each of its parts how much of the wire was kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from reenact.facts.call import Json
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.reading import Reading
from reenact.facts.trace_runs import Grade


class SpanSort(StrEnum):
    """What a span is of."""

    MODEL = "model"
    TOOL = "tool"
    RETRIEVAL = "retrieval"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Wrong:
    """What a span failed with: the name of an error, and its words."""

    type: str
    text: str


@dataclass(frozen=True, slots=True)
class TraceItem:
    """One span of a trace, or what another span tells of a call that has none of its own.

    Attributes:
        sort: What it is of.
        name: What was called: the model, the tool, the retriever, the step.
        parent: Number of the item it happened inside, in the order of the trace; None for none.
        span: Its id; empty where the trace has no span of it.
        start_us, end_us: Microseconds since the trace began; None where that is not known.
        reading: Of a model call.
        asked, answered: Arguments and result of a tool, query and documents of a retrieval, input and output of a step.
        call_id: What the model called this call of a tool.
        embedding_model: Of a retrieval: what made its vectors.
        error: What it failed with.
        grades: How much was kept of each part.
        dialect: Whose names its attributes had.
        rest: Attributes that no table of names knows.
        merged: Ids of further spans of the same call.
        chunks: Of a retrieval: id, score and content of what was found; None where that cannot be told.
    """

    sort: SpanSort
    name: str
    parent: int | None = None
    span: str = ""
    start_us: int | None = None
    end_us: int | None = None
    reading: Reading | None = None
    asked: Json = None
    answered: Json = None
    call_id: str = ""
    embedding_model: str = ""
    error: Wrong | None = None
    grades: Mapping[str, Grade] = field(default_factory=dict)
    dialect: str = ""
    rest: Mapping[str, Json] = field(default_factory=dict)
    merged: tuple[str, ...] = ()
    chunks: tuple[Json, ...] | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What a trace says of the run as a whole; empty where it does not.

    Attributes:
        agent, version: Of the agent.
        user, tenant, session: For whom it ran.
        commit: Of its code.
        service: Who has sent the trace.
    """

    agent: str = ""
    version: str = ""
    user: str = ""
    tenant: str = ""
    session: str = ""
    commit: str = ""
    service: str = ""


NO_FACTS: Final = Facts()
"""Of a span that says nothing of them."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What a file holds of one trace, which becomes one run.

    Attributes:
        source: Format (``otlp``).
        id: Of the trace.
        digest: Of its content, whatever container and order it came in: the same content has the same one.
        items: In order, parents before children. May be made each time it is asked for; never all at once in memory.
        spans: How many spans it has.
        began_us: When it began, microseconds since the epoch; None where that is not known.
        facts: What it says of the run.
        error: What it failed with as a whole.
        remarks: What was found amiss or was changed, and how often.
        left: What of the file could not be read, by its place; the same for every trace of a file.
        original: The documents that it came in, as text, in order; made each time it is asked for.
    """

    source: str
    id: str
    digest: str
    items: Iterable[TraceItem]
    spans: int
    began_us: int | None = None
    facts: Facts = field(default_factory=Facts)
    error: Wrong | None = None
    remarks: Mapping[str, int] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    original: Iterable[bytes] = ()
