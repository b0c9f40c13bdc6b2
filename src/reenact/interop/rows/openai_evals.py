"""Files of OpenAI Evals: data sets, output items with samples and graders' results, and logs of oaieval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from reenact.facts.call import Json
from reenact.facts.evals_mark import MARK
from reenact.facts.lazy_regex import lazy_regex
from reenact.interop.rows.call_items import (
    LoggedCall,
    listing,
    mapping,
    microseconds,
    model_call,
    semantic,
    since,
    text,
)
from reenact.interop.rows.linked_calls import OpenToolCalls
from reenact.interop.rows.row_reader import Belongs, Row, Teller
from reenact.interop.trace_values import opened
from reenact.interop.traces import Facts, SpanSort, TraceItem, Wrong

SOURCE: Final = "evals"

_URL: Final = "https://api.openai.com/v1/chat/completions"
_LIKE: Final = lazy_regex(rb'"datasource_item"|"item"\s*:|"sample_id"|"ideal"\s*:')
_LATEST_US: Final = 1 << 53
_PARAMETERS: Final = ("model", "seed", "temperature", "top_p", "max_completion_tokens")


def fits(head: bytes) -> bool:
    """Whether a file with this beginning looks like a data set or results of an evaluation."""
    return _LIKE.search(head) is not None


class EvalRows:
    """The rows of files of OpenAI Evals: each item of a data set is a run, with its sample and its grades."""

    source: Final = SOURCE

    def __init__(self) -> None:
        self._items = 0

    def belongs(self, row: Row) -> Belongs | str:
        """A row belongs to the run of its item, or, in a log, to the run of its sample."""
        at_us = microseconds(row.get("created_at"))
        mark = mapping(mapping(row.get("item")).get(MARK))
        if text(mark.get("run")) and isinstance(row.get("sample"), Mapping):
            return Belongs(f"reenact {mark['run']}", "", _moment(mark, "at_us"))
        if isinstance(row.get("datasource_item"), Mapping):
            return Belongs(f"{row.get('run_id')} {row.get('id') or row.get('datasource_item_id')}", "", at_us)
        if text(row.get("sample_id")) and "event_id" in row:
            return Belongs(f"{row.get('run_id')} {row['sample_id']}", "", at_us)
        if isinstance(row.get("item"), Mapping) or ("input" in row and "ideal" in row):
            self._items += 1
            return Belongs(f"item {self._items}", "", at_us)
        return f"no item, no sample and no result ({', '.join(sorted(map(str, row))[:4])[:80]})"

    def facts(self, row: Row) -> Facts:
        """The agent is the model that was evaluated."""
        mark = mapping(mapping(row.get("item")).get(MARK))
        model = text(mapping(row.get("sample")).get("model"))
        return Facts(text(mark.get("agent")) or model or SOURCE, text(mark.get("version")))

    def teller(self, began_us: int | None) -> Teller:
        """Reads an item as a step, its sample as a model call, and each grader's result as a step."""
        return _ItemState(began_us)


class _ItemState:
    """An item while its rows are read."""

    def __init__(self, began_us: int | None) -> None:
        self._began_us = began_us
        self._recovered = OpenToolCalls()

    def told(self, rows: list[Row]) -> Iterator[TraceItem]:
        """The items of a row."""
        row = rows[0]
        at_us = since(microseconds(row.get("created_at")), self._began_us)
        if "event_id" in row:
            yield _event(row, at_us)
            return
        item = row.get("datasource_item") or row.get("item")
        mark = mapping(mapping(item).get(MARK))
        if mark and mapping(row.get("sample")):
            yield from self._called(mapping(item), mark, mapping(row.get("sample")))
            return
        if item is None:
            item = {name: row[name] for name in ("input", "ideal")}
        yield _step("item", item, None, at_us)
        sample = mapping(row.get("sample"))
        if sample:
            yield _sample(sample, at_us)
        for result in map(mapping, listing(row.get("results"))):
            yield _step(f"grader {result.get('name') or result.get('type') or ''}".strip()[:200], None, result, at_us)

    def rest(self) -> Iterator[TraceItem]:
        """Tool calls without an answer in a later row; only rows that were exported from a run have them."""
        return self._recovered.rest()

    def _called(
        self, item: Mapping[str, Any], mark: Mapping[str, Any], sample: Mapping[str, Any]
    ) -> Iterator[TraceItem]:
        """A model call of a run, and the tool calls that its messages answer."""
        start_us, end_us = (since(_moment(mark, name), self._began_us) for name in ("at_us", "ended_us"))
        asked = {**mapping(sample.get("parameters")), "tools": item.get("tools") or None}
        called = _sample({**sample, "input": item.get("input")}, start_us, end_us, asked)
        yield from self._recovered.before(called)
        yield called


def _step(name: str, asked: Json, answered: Json, at_us: int | None) -> TraceItem:
    grades = {"input": semantic(asked is not None), "output": semantic(answered is not None or asked is not None)}
    given = dict(answered) if isinstance(answered, Mapping) else answered
    return TraceItem(
        SpanSort.OTHER, name, start_us=at_us, end_us=at_us, asked=asked, answered=given, grades=grades, dialect=SOURCE
    )


def _moment(mark: Mapping[str, Any], name: str) -> int | None:
    """A time of a row that was made of a run, microseconds since the epoch."""
    at_us = mark.get(name)
    return at_us if isinstance(at_us, int) and not isinstance(at_us, bool) and 0 < at_us < _LATEST_US else None


def _sample(
    sample: Mapping[str, Any], at_us: int | None, end_us: int | None = None, asked: Mapping[str, Json] | None = None
) -> TraceItem:
    """The sample: the messages to a model, and those of its answer.

    Args:
        sample: The sample.
        at_us, end_us: Microseconds since the run began; None where they are not known.
        asked: Parameters and tools of the request, where all of them are known.
    """
    given, came = sample.get("input"), sample.get("output")
    request: dict[str, Json] = {name: sample[name] for name in _PARAMETERS if sample.get(name) is not None}
    request |= {name: value for name, value in (asked or {}).items() if value is not None}
    request["messages"] = _messages(given, "user")
    said = _messages(came, "assistant")
    if not said and text(sample.get("output_text")):
        said = [{"role": "assistant", "content": sample["output_text"]}]
    error = mapping(sample.get("error"))
    wrong = Wrong(str(error.get("code") or "error"), str(error.get("message") or "")[:2000]) if error else None
    response: dict[str, Json] | None = None
    if said:
        choice = {"index": 0, "message": said[-1], "finish_reason": sample.get("finish_reason") or "stop"}
        model = sample.get("model_answered") or sample.get("model")
        response = {"id": sample.get("id") or "", "model": model, "choices": [choice], "usage": sample.get("usage")}
    missing = () if asked is not None else ("tools",) if given else ("messages", "system", "tools")
    held = LoggedCall(_URL, request, response, error=wrong, start_us=at_us, end_us=end_us, missing=missing)
    return model_call(held)


def _event(row: Row, at_us: int | None) -> TraceItem:
    """A row of a log: a sample, or its judgement."""
    data = mapping(row.get("data"))
    if row.get("type") != "sampling":
        return _step(text(row.get("type"))[:200] or "event", None, data, at_us)
    sampled = opened(data.get("sampled"))
    words = sampled[0] if isinstance(sampled, list) and sampled else sampled
    request: Json = {"model": data.get("model") or "", "messages": _messages(data.get("prompt"), "user")}
    choice = {"index": 0, "message": {"role": "assistant", "content": words}, "finish_reason": "stop"}
    response: Json = {"model": data.get("model"), "choices": [choice], "usage": data.get("usage")}
    missing = ("tools", "parameters")
    return model_call(
        LoggedCall(_URL, request, response if words is not None else None, start_us=at_us, missing=missing)
    )


def _messages(value: Any, role: str) -> list[Json]:
    """Messages; a text becomes one message."""
    if isinstance(value, str):
        return [{"role": role, "content": value}]
    return [dict(each) for each in listing(value) if isinstance(each, Mapping)]
