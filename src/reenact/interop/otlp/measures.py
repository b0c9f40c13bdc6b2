"""The measurements of a call or a run for the metrics: instruments by the conventions' names. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from reenact.facts.call import Json, Kind
from reenact.facts.features import Case, Features, case_of, fingerprint
from reenact.facts.frequent_names import Key
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.run import Run, Status
from reenact.interop.otlp.call_attributes import provider_of
from reenact.interop.otlp.event_spans import RecountedEvent, recounted, wrong
from reenact.interop.traces import SpanSort

AGENT: Final = "gen_ai.agent.name"
FINGERPRINT: Final = "reenact.fingerprint"
_DURATIONS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_FIRST: Final = (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_TOKENS: Final = tuple(float(4**power) for power in range(14))
_CALLS: Final = (0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0, 55.0, 89.0, 144.0)


@dataclass(frozen=True, slots=True)
class Instrument:
    """One metric.

    Attributes:
        name, unit, about: Its name, unit and description, as they are sent.
        bounds: Upper bounds of the buckets of a histogram, ascending; empty for a counter.
        few: Whether it counts by agent and fingerprint, only the most frequent of each (``facts.frequent_names``).
    """

    name: str
    unit: str
    about: str
    bounds: tuple[float, ...] = ()
    few: bool = False


def _seconds(name: str, about: str, bounds: tuple[float, ...] = _DURATIONS) -> Instrument:
    return Instrument(name, "s", about, bounds)


_OPERATION: Final = _seconds("gen_ai.client.operation.duration", "How long a call of a model or a retriever took.")
_INFERENCE: Final = _seconds("gen_ai.client.inference.duration", "How long a call of a model took.")
_USAGE: Final = Instrument("gen_ai.client.token.usage", "{token}", "Tokens of a call of a model.", _TOKENS)
_CHUNK: Final = "How long a streamed answer took to begin."
_FIRST_CHUNKS: Final = {
    "released": _seconds("gen_ai.client.operation.time_to_first_chunk", _CHUNK, _FIRST),
    "next": _seconds("gen_ai.client.inference.time_to_first_chunk", _CHUNK, _FIRST),
}
_COUNTED: Final = {
    "tokens_in": "input_tokens",
    "tokens_out": "output_tokens",
    "cached": "cache_read.input_tokens",
    "cache_written": "cache_write.input_tokens",
    "reasoning": "reasoning.output_tokens",
}
_TOOL: Final = _seconds("gen_ai.execute_tool.duration", "How long a call of a tool took.")
_MCP: Final = _seconds("mcp.client.operation.duration", "How long a request to an MCP server took.")
_AGENT: Final = _seconds("gen_ai.invoke_agent.duration", "How long a run of an agent took.")
_ASKED: Final = Instrument(
    "gen_ai.invoke_agent.inference_calls", "{call}", "Calls of models in a run of an agent.", _CALLS
)
_USED: Final = Instrument("gen_ai.invoke_agent.tool_calls", "{call}", "Calls of tools in a run of an agent.", _CALLS)
_RUNS: Final = Instrument("reenact.runs", "{run}", "Runs that have ended, by how they ended.")
_FAILURES: Final = Instrument("reenact.run.failures", "{run}", "Runs that did not end well, by their error.")
_COLD: Final = Instrument("reenact.cold_cases", "{run}", "Runs that cannot be replayed as they are kept.", few=True)


@dataclass(frozen=True, slots=True)
class Measurement:
    """One value of an instrument, with its attributes in the order of their names."""

    instrument: Instrument
    value: float
    attributes: tuple[tuple[str, Json], ...]

    @property
    def key(self) -> Key:
        """The agent and the fingerprint to which the measurement belongs."""
        found = dict(self.attributes)
        return Key(str(found.get(AGENT, "")), str(found.get(FINGERPRINT, "")))


def labels(key: Key) -> tuple[tuple[str, Json], ...]:
    """An agent and a fingerprint as attributes."""
    return _measured(_COLD, 0, {AGENT: key.agent, FINGERPRINT: key.fingerprint}).attributes


def _measured(instrument: Instrument, value: float, attributes: Mapping[str, Json]) -> Measurement:
    held = sorted((name, each) for name, each in attributes.items() if each not in (None, ""))
    return Measurement(instrument, value, tuple(held))


def of_call(seen: RecountedEvent, names: str) -> Iterator[Measurement]:
    """The measurements of a call that is a span; none for a call that never ended.

    Args:
        seen: The call.
        names: The conventions (``facts.policy.OTEL_METRICS``): ``released`` or ``next``.
    """
    event = seen.event
    if event.ended_us is None:
        return
    told = recounted(seen)
    took = max(0, event.ended_us - event.issued_us) / 1e6
    error = wrong(seen)
    common: dict[str, Json] = {"error.type": None if error is None else error.type}
    if event.call.kind is Kind.MCP:
        tool = event.name if told.sort is SpanSort.TOOL else None
        yield _measured(_MCP, took, {**common, "mcp.method.name": told.said["method"], "gen_ai.tool.name": tool})
    elif told.sort is SpanSort.TOOL:
        yield _measured(
            _TOOL, took, {**common, "gen_ai.operation.name": told.operation, "gen_ai.tool.name": event.name}
        )
    elif told.sort is SpanSort.RETRIEVAL:
        yield _measured(_OPERATION, took, {**common, "gen_ai.operation.name": told.operation})
    elif told.sort is SpanSort.MODEL:
        yield from _of_model(seen, took, names)


def _of_model(seen: RecountedEvent, took: float, names: str) -> Iterator[Measurement]:
    told, error = recounted(seen), wrong(seen)
    reading = told.reading
    if reading is None:  # every model call has a reading
        return
    who: dict[str, Json] = {
        "gen_ai.operation.name": told.operation,
        "gen_ai.provider.name": provider_of(reading),
        "gen_ai.request.model": reading.model_asked or told.subject,
        "gen_ai.response.model": reading.model_answered,
        "server.address": told.shared.get("server.address"),
        "server.port": told.shared.get("server.port"),
    }
    newer = names == "next"
    duration = _INFERENCE if newer and told.operation != "embeddings" else _OPERATION
    yield _measured(duration, took, {**who, "error.type": None if error is None else error.type})
    first = told.said.get("first_chunk")
    if first is not None:
        yield _measured(_FIRST_CHUNKS[names], float(first), who)
    counts = {word: count for word in _COUNTED if (count := reading.usage.get(word)) is not None}
    if newer:
        for word, count in counts.items():
            name = f"gen_ai.client.inference.usage.{_COUNTED[word]}"
            yield _measured(Instrument(name, "{token}", "Tokens of calls of models."), count, who)
    for word in ("tokens_in", "tokens_out"):
        if word in counts:
            sort = "input" if word == "tokens_in" else "output"
            name = f"gen_ai.client.inference.operation.{sort}_tokens"
            usage = Instrument(name, "{token}", _USAGE.about, _TOKENS) if newer else _USAGE
            more = {} if newer else {"gen_ai.token.type": sort}
            yield _measured(usage, counts[word], {**who, **more})


def of_run(run: Run, models: int, tools: int, features: Features) -> Iterator[Measurement]:
    """The measurements of a run that has ended.

    Args:
        run: The run.
        models, tools: The number of its model and tool calls.
        features: Its features for ``triage``.
    """
    failed = run.status not in (Status.OK, Status.RECORDING)
    error = (run.error.partition(": ")[0] or run.status.value) if failed else None
    who: dict[str, Json] = {AGENT: run.agent}
    if run.lasted_us is not None:
        took = max(0, run.lasted_us) / 1e6
        yield _measured(_AGENT, took, {**who, "error.type": error})
    yield _measured(_ASKED, models, who)
    yield _measured(_USED, tools, who)
    yield _measured(_RUNS, 1, {**who, "reenact.run.status": run.status.value})
    if failed:
        yield _measured(_FAILURES, 1, {**who, "error.type": error})
    if features.cold:
        case = case_of(run.status, run.flagged, features) or Case.COLD
        yield cold_case(run.agent, fingerprint(case, features, run.flag or ""))


def cold_case(agent: str, fingerprint: str) -> Measurement:
    """The measurement of one run that cannot be replayed.

    Args:
        agent: Its agent.
        fingerprint: The fingerprint of its group.
    """
    return _measured(_COLD, 1, {AGENT: agent, FINGERPRINT: fingerprint})
