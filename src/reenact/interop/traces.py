"""A trace between formats: the value that every reader of traces makes, for every tool.

A trace is one run: model calls, tool calls, retrievals and other spans, in order. Each has its parent, its times, its
error, and for each part a grade of how much of the wire was kept.
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
    """The sort of a span."""

    MODEL = "model"
    TOOL = "tool"
    RETRIEVAL = "retrieval"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Wrong:
    """The failure of a span: the name of an error, and its text."""

    type: str
    text: str


@dataclass(frozen=True, slots=True)
class TraceItem:
    """One span of a trace, or a call without a span that another span tells of.

    Attributes:
        sort: The sort.
        name: The name of the model, tool, retriever or step.
        parent: The number of the item around it, in the order of the trace; None without one.
        span: Its id; empty where the trace has no span of it.
        start_us, end_us: Microseconds since the trace began; None where they are not known.
        reading: The reading of a model call.
        asked, answered: Arguments and result of a tool, query and documents of a retrieval, input and output of a step.
        call_id: The model's id of this tool call.
        embedding_model: For a retrieval: the model of its vectors.
        error: The failure.
        grades: The grade of each part.
        dialect: The dialect of its attributes' names.
        rest: Attributes that no table of names knows.
        merged: Ids of further spans of the same call.
        chunks: For a retrieval: id, score and content of the results; None where they are not known.
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
    """The facts of a trace about the run as a whole; empty where it has none.

    Attributes:
        agent, version: The name and the version of the agent.
        user, tenant, session: The user, tenant and session of the run.
        commit: The commit of its code.
        service: The sender of the trace.
    """

    agent: str = ""
    version: str = ""
    user: str = ""
    tenant: str = ""
    session: str = ""
    commit: str = ""
    service: str = ""


NO_FACTS: Final = Facts()
"""The facts of a span that has none about its run."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One trace of a file, which becomes one run.

    Attributes:
        source: Format (``otlp``).
        id: The id of the trace.
        digest: The digest of its content, independent of container and order.
        items: The items in order, parents before children; may be made at each iteration, to keep memory small.
        spans: The number of its spans.
        began_us: Its beginning, microseconds since the epoch; None where it is not known.
        facts: Its facts about the run.
        error: The failure of the whole.
        remarks: The faults and changes, with their number.
        left: The parts of the file that could not be read, by place; the same for every trace of a file.
        original: Its original documents, as text, in order; made at each iteration.
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
