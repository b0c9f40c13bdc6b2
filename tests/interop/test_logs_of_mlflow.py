"""Traces of MLflow: one that its SDK has written, and made from the published form (version 3), whole and damaged."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from reenact.abc.store import Store
from reenact.facts.call import Failure
from reenact.facts.trace_runs import Grade, graded, reading_in
from tests.interop.conftest import Bring

BEGAN = 1_767_866_400_000_000_000
DEEP = 100_000


def span(number: int, parent: int, name: str, kind: str, asked: Any, came: Any, **more: Any) -> dict[str, Any]:
    """A span whose attributes are JSON in texts, and whose ids are base64."""

    def own(value: int, size: int) -> str:
        return base64.b64encode(value.to_bytes(size, "big")).decode()

    said = {"mlflow.spanType": kind, "mlflow.spanInputs": asked, "mlflow.spanOutputs": came, **more}
    return {
        "trace_id": own(7, 16), "span_id": own(number, 8), "parent_span_id": own(parent, 8) if parent else None,
        "name": name, "start_time_unix_nano": BEGAN + number * 1_000_000,
        "end_time_unix_nano": BEGAN + number * 1_000_000 + 500_000, "events": [], "links": [],
        "status": {"code": "STATUS_CODE_OK", "message": ""},
        "attributes": {key: json.dumps(value) for key, value in said.items()},
    }  # fmt: skip


def trace(*spans: Any, **more: Any) -> dict[str, Any]:
    info = {
        "trace_id": "tr-00000000000000000000000000000007", "request_time": "2026-01-08T10:00:00Z", "state": "OK",
        "trace_metadata": {"mlflow.source.git.commit": "a" * 40, "mlflow.trace.session": "s1"}, "tags": {},
    }  # fmt: skip
    return {"info": info | more, "data": {"spans": list(spans)}}


ASKED = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Where is order 7?"}], "temperature": 0}
MESSAGE = {"role": "assistant", "content": "lost"}
CAME = {"id": "c1", "model": "gpt-4o-2024", "choices": [{"index": 0, "finish_reason": "stop", "message": MESSAGE}]}
TOKENS = {"mlflow.chat.tokenUsage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}}
SPANS = (
    span(3, 1, "find_order", "TOOL", {"order": 7}, "lost"),
    span(2, 1, "chat", "CHAT_MODEL", ASKED, CAME, **TOKENS),
    span(1, 0, "desk", "AGENT", {"question": "Where is order 7?"}, "It is lost."),
)


def test_a_trace_is_a_run_of_its_spans(bring: Bring, store: Store) -> None:
    (run,) = bring("mlflow", json.dumps(trace(*SPANS), indent=1))
    assert (run.tags["commit"], run.session) == ("a" * 40, "s1")
    assert (run.totals.tokens_in, run.totals.tokens_out) == (3, 2)
    recording = store.open(run)
    root, model, tool, original = recording.events()
    assert [each.kind for each in (root, model, tool, original)] == ["step", "model", "tool", "note"]
    assert [each.parent for each in (root, model, tool)] == [None, 0, 0]
    assert model.answer is not None
    reading = reading_in(recording.body(model.request), recording.body(model.answer))
    assert (reading.model_asked, reading.text, reading.params["temperature"]) == ("gpt-4o", "lost", 0)
    assert graded(model)["times"] is Grade.EXACT
    assert graded(model)["messages"] is Grade.SEMANTIC
    assert (tool.name, json.loads(recording.body(tool.request))) == ("find_order", {"order": 7})
    (again,) = bring("mlflow", json.dumps(trace(*SPANS)) + "\n")
    assert again.id == run.id


def test_a_trace_that_its_sdk_has_written(bring: Bring, store: Store) -> None:
    (run,) = bring("mlflow", Path(__file__).parent / "written" / "mlflow-3.17.2.json")
    assert (run.agent, run.user, run.totals.models, run.totals.tools) == ("desk", "u1", 1, 4)
    recording = store.open(run)
    tools = [each for each in recording.events() if each.kind == "tool"]
    assert [(each.name, json.loads(recording.body(each.request))) for each in tools] == [
        (name, {"order": 7}) for name in ("find_order", "count", "tell", "bad")
    ]
    assert [json.loads(recording.body(each.answer)) for each in tools[:3]] == [{"state": "lost"}, 3, None]
    assert [graded(each)["result"] for each in tools] == [Grade.SEMANTIC] * 4
    outcome = tools[3].outcome
    assert isinstance(outcome, Failure)
    assert (outcome.error.type, outcome.error.text) == ("ConnectionError", "bank down")


@pytest.mark.parametrize("bad", ["[" * DEEP + "]" * DEEP, "7", '{"__proto__": 1}', '{"info": {}, "data": 7}', '{"in'])
def test_a_trace_that_is_none_costs_that_trace(bring: Bring, bad: str) -> None:
    (run,) = bring("mlflow", json.dumps(trace(*SPANS)) + "\n" + bad + "\n")
    assert (run.totals.models, len(run.capture["import"]["left"])) == (1, 1)


@pytest.mark.parametrize(
    "damage",
    [
        {"span_id": 7}, {"trace_id": []}, {"start_time_unix_nano": "soon"}, {"end_time_unix_nano": -1},
        {"attributes": 7}, {"attributes": {"mlflow.spanInputs": "[" * DEEP}}, {"status": 7}, {"events": [7]},
        {"parent_span_id": {"a": 1}}, {"attributes": {"__proto__": "x", "mlflow.spanType": "7"}},
    ],
)  # fmt: skip
def test_a_damaged_span_costs_itself_at_most(bring: Bring, damage: dict[str, Any]) -> None:
    own = span(4, 1, "odd", "TOOL", 1, 2)
    (run,) = bring("mlflow", json.dumps(trace(*SPANS, {**own, **damage}, 7)))
    assert run.totals.models == 1
    assert run.totals.events >= 5


def test_spans_that_are_each_others_parents_are_told_once(bring: Bring, store: Store) -> None:
    (run,) = bring("mlflow", json.dumps(trace(span(1, 2, "a", "TOOL", 1, 2), span(2, 1, "b", "TOOL", 1, 2))))
    assert run.totals.tools == 2
