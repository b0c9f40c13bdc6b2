"""Batches, stored answers and invocation logs: bodies of real traffic in the rows of the vendors' own types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from anthropic.types.messages import MessageBatchIndividualResponse
from openai.types.chat import ChatCompletion
from openai.types.evals.runs import OutputItemListResponse

from reenact.abc.store import Store
from reenact.errors import InteropError
from reenact.facts.call import Failure
from reenact.facts.reading import Reading
from reenact.facts.trace_runs import Grade, graded, reading_in
from reenact.interop.file_formats import read
from reenact.interop.readers import ReaderOptions, reader
from tests.interop.conftest import Bring

DEEP = 100_000


def traffic(shared_data: Path, name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The bodies of a real cassette that are JSON: what was asked, and what came."""
    found = []
    for item in yaml.safe_load((shared_data / "wire" / name).read_bytes())["interactions"]:
        both = []
        for side in (item["request"], item["response"]):
            body = side.get("parsed_body") or side["body"]
            text = body["string"] if isinstance(body, dict) and "string" in body else body
            both.append(json.loads(text) if isinstance(text, (str, bytes)) else text)
        found.append((both[0], both[1]))
    return found


def lines(*rows: Any) -> str:
    return "".join(json.dumps(each) + "\n" for each in rows)


def models(store: Store, run: Any) -> list[Any]:
    return [each for each in store.open(run).events() if each.kind == "model"]


def reading_of(store: Store, run: Any, event: Any) -> Reading:
    recording = store.open(run)
    return reading_in(recording.body(event.request), recording.body(event.answer) if event.answer else b"")


def tools(store: Store, run: Any) -> list[Any]:
    return [each for each in store.open(run).events() if each.kind == "tool"]


# --- OpenAI --------------------------------------------------------------------------------------------------------


def openai_batch(pairs: list[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    asked, came = [], []
    for number, (request, response) in enumerate(pairs):
        name = f"request-{number}"
        asked.append({"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": request})
        answer = {"status_code": 200, "request_id": f"req_{number}", "body": response}
        came.append({"id": f"batch_req_{number}", "custom_id": name, "response": answer, "error": None})
    return asked, came


OPENAI = "openai__test_openai_tool_output.yaml"


def test_a_batch_with_its_results_is_one_run(bring: Bring, store: Store, shared_data: Path) -> None:
    pairs = traffic(shared_data, OPENAI)
    asked, came = openai_batch(pairs)
    (run,) = bring("openai", lines(*asked, *reversed(came)))
    found = models(store, run)
    assert len(found) == len(pairs) > 1
    for event, (request, response) in zip(found, pairs, strict=True):
        reading = reading_of(store, run, event)
        assert event.attributes["span"]["dialect"] == "openai.chat"
        assert (reading.model_asked, reading.model_answered) == (request["model"], response["model"])
        assert len(reading.tools) == len(request["tools"])
        called = response["choices"][0]["message"].get("tool_calls") or []
        assert [each["id"] for each in reading.tool_calls] == [each["id"] for each in called]
        assert graded(event)["messages"] is graded(event)["answer"] is Grade.SEMANTIC
        assert graded(event)["usage"] is Grade.EXACT
    (again,) = bring("openai", lines(*came, *asked))
    assert again.id == run.id


def test_a_half_of_a_batch_says_what_is_absent(bring: Bring, store: Store, shared_data: Path) -> None:
    asked, came = openai_batch(traffic(shared_data, OPENAI))
    (results,) = bring("openai", lines(*came))
    event = models(store, results)[0]
    assert (graded(event)["messages"], graded(event)["answer"]) == (Grade.ABSENT, Grade.SEMANTIC)
    (requests,) = bring("openai", lines(*asked))
    event = models(store, requests)[0]
    assert (graded(event)["messages"], graded(event)["answer"]) == (Grade.SEMANTIC, Grade.ABSENT)
    assert event.outcome is None


def test_what_failed_in_a_batch_is_an_error(bring: Bring, store: Store, shared_data: Path) -> None:
    asked, _ = openai_batch(traffic(shared_data, OPENAI))
    body = {"error": {"message": "slow down", "type": "rate_limit", "param": None, "code": None}}
    came = [
        {"id": "1", "custom_id": "request-0", "response": {"status_code": 429, "request_id": "r", "body": body}},
        {"id": "2", "custom_id": "request-1", "response": None, "error": {"code": "batch_expired", "message": "late"}},
    ]
    (run,) = bring("openai", lines(*asked, *came))
    outcomes = [each.outcome for each in models(store, run)]
    assert all(isinstance(each, Failure) for each in outcomes)
    assert [each.error.type for each in outcomes] == ["rate_limit", "batch_expired"]


def test_stored_completions_are_a_run_each(bring: Bring, store: Store, shared_data: Path) -> None:
    pairs = traffic(shared_data, OPENAI)
    stored = [
        {**ChatCompletion.model_validate(came).to_dict(), "metadata": {"a": "b"}, "temperature": 0.5, "tools": []}
        for _, came in pairs
    ]
    stored[0]["messages"] = pairs[0][0]["messages"]
    runs = bring("openai", json.dumps({"object": "list", "data": stored, "has_more": False}))
    assert len(runs) == len(pairs)
    with_messages = [graded(models(store, run)[0])["messages"] for run in runs]
    assert sorted(with_messages) == sorted([Grade.SEMANTIC] + [Grade.ABSENT] * (len(pairs) - 1))
    reading = reading_of(store, runs[0], models(store, runs[0])[0])
    assert reading.params["temperature"] == 0.5


def test_a_chain_of_stored_responses_is_one_run(bring: Bring, store: Store, shared_data: Path) -> None:
    name = "openai_responses__test_openai_responses_thinking_with_tool_calls.yaml"
    pairs = [each for each in traffic(shared_data, name) if each[1].get("object") == "response"]
    stored: list[dict[str, Any]] = []
    for request, came in pairs:
        before = {"previous_response_id": stored[-1]["id"]} if stored else {}
        stored.append({**came, "input": request["input"], **before})
    (run,) = bring("openai", lines(*stored))
    assert run.totals.models == len(pairs) > 1
    assert run.totals.tools >= 1, "what the next request tells of the calls of tools"
    assert {graded(each)["result"] for each in tools(store, run)} == {Grade.SEMANTIC}


# --- Anthropic -----------------------------------------------------------------------------------------------------

ANTHROPIC = "anthropic__test_multiple_parallel_tool_calls.yaml"


def test_a_message_batch_with_its_results_is_one_run(bring: Bring, store: Store, shared_data: Path) -> None:
    pairs = traffic(shared_data, ANTHROPIC)
    asked = [{"custom_id": f"r{number}", "params": request} for number, (request, _) in enumerate(pairs)]
    came = []
    for number, (_, message) in enumerate(pairs):
        made = {"custom_id": f"r{number}", "result": {"type": "succeeded", "message": message}}
        came.append(MessageBatchIndividualResponse.model_validate(made).to_dict(mode="json"))
    more = ({"custom_id": "late", "result": {"type": "expired"}},)
    inner = {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}
    bad = {"custom_id": "bad", "result": {"type": "errored", "error": inner}}
    (run,) = bring("anthropic", lines(*asked, *reversed(came), *more, bad))
    found = models(store, run)
    assert len(found) == len(pairs) + 2
    for event, (request, message) in zip(found, pairs, strict=False):
        reading = reading_of(store, run, event)
        assert event.attributes["span"]["dialect"] == "anthropic.messages"
        assert reading.model_answered == message["model"]
        assert len(reading.messages) == len(request["messages"])
        assert reading.usage["tokens_out"] == message["usage"]["output_tokens"]
    assert [each.outcome.error.type for each in found[-2:]] == ["expired", "invalid_request_error"]
    (again,) = bring("anthropic", lines(*came, *asked, bad, *more))
    assert again.id == run.id


# --- Bedrock -------------------------------------------------------------------------------------------------------

NOVA = "us.amazon.nova-micro-v1:0"


def invocation(number: int, operation: str, model: str, asked: Any, came: Any, **more: Any) -> dict[str, Any]:
    """A row as the schema has it."""
    return {
        "schemaType": "ModelInvocationLog", "schemaVersion": "1.0", "timestamp": f"2026-01-08T10:00:{number:02d}Z",
        "accountId": "123456789012", "identity": {"arn": "arn:aws:sts::123456789012:assumed-role/desk"},
        "region": "eu-west-1", "requestId": f"r-{number}", "operation": operation, "modelId": model,
        "input": {"inputContentType": "application/json", "inputBodyJson": asked, "inputTokenCount": 1},
        "output": {"outputContentType": "application/json", "outputBodyJson": came, "outputTokenCount": 1},
    } | more  # fmt: skip


def bedrock(shared_data: Path) -> list[dict[str, Any]]:
    """A real conversation of a model with two tools: its requests, and the answers that the next request repeats."""
    path = shared_data / "wire" / "bedrock__test_bedrock_model_iter_stream.yaml"
    asked = [json.loads(each["request"]["body"]) for each in yaml.safe_load(path.read_bytes())["interactions"]]
    rows = []
    for number, request in enumerate(asked):
        later = asked[number + 1]["messages"] if number + 1 < len(asked) else []
        message = next((each for each in later[len(request["messages"]) :] if each["role"] == "assistant"), None)
        message = message or {"role": "assistant", "content": [{"text": "30 degrees."}]}
        came = {
            "output": {"message": message},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 7, "outputTokens": 3},
        }
        rows.append(invocation(number, "ConverseStream", NOVA, request, came))
    return rows


def test_calls_of_one_conversation_are_one_run(bring: Bring, store: Store, shared_data: Path) -> None:
    rows = bedrock(shared_data)
    alone = invocation(30, "Converse", NOVA, {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}, None)
    first, second = bring("bedrock", lines(*rows, {**alone, "output": {}, "errorCode": "ThrottlingException"}))
    assert (first.totals.models, second.totals.models) == (len(rows), 1)
    assert first.totals.tools == 1
    reading = reading_of(store, first, models(store, first)[0])
    assert models(store, first)[0].attributes["span"]["dialect"] == "bedrock.converse"
    assert (reading.provider, reading.region) == ("bedrock", "eu-west-1")
    assert (reading.model_asked, len(reading.tools)) == (NOVA, 2)
    assert {graded(each)["result"] for each in tools(store, first)} == {Grade.SEMANTIC}
    assert models(store, second)[0].outcome.error.type == "ThrottlingException"
    again = bring("bedrock", lines(*rows))
    assert [each.id for each in again] == [first.id]


def test_events_of_cloudwatch_hold_the_same_rows(bring: Bring, store: Store, shared_data: Path) -> None:
    events = [{"timestamp": 1, "message": json.dumps(row)} for row in bedrock(shared_data)]
    (run,) = bring("bedrock", json.dumps({"events": events}, indent=1))
    assert run.totals.models == len(events)


def test_pieces_of_a_stream_are_joined(bring: Bring, store: Store) -> None:
    asked = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}]}
    usage = {"input_tokens": 3, "output_tokens": 1}
    came = [
        {"type": "message_start", "message": {"id": "m", "model": "claude", "content": [], "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    model = "anthropic.claude-3-haiku-20240307-v1:0"
    (run,) = bring("bedrock", lines(invocation(1, "InvokeModelWithResponseStream", model, asked, came)))
    reading = reading_of(store, run, models(store, run)[0])
    assert (reading.text, reading.finish, reading.streamed) == ("Hello", "end_turn", True)


def test_bodies_that_are_elsewhere_are_absent_and_named(bring: Bring, store: Store) -> None:
    row = invocation(1, "Converse", NOVA, None, None)
    row["input"] = {"inputBodyS3Path": "s3://logs/in.json"}
    (run,) = bring("bedrock", lines(row))
    (event,) = models(store, run)
    assert graded(event)["messages"] is graded(event)["answer"] is Grade.ABSENT
    assert event.attributes["span"]["attributes"]["inputBodyS3Path"] == "s3://logs/in.json"


# --- Vertex AI -----------------------------------------------------------------------------------------------------


def test_rows_of_vertex_hold_what_gemini_was_asked(bring: Bring, store: Store, shared_data: Path) -> None:
    pairs = traffic(shared_data, "google__test_google_tool_output.yaml")
    place = "projects/p/locations/europe-west4"
    rows = [
        {
            "endpoint": f"{place}/publishers/google/models/gemini",
            "logging_time": f"2026-01-08 10:00:{number:02d} UTC",
            "request_id": str(number), "model": "gemini-2.0-flash", "api_method": "generateContent",
            "request_payload": [json.dumps(asked)], "response_payload": [json.dumps(came)],
            "full_request": json.dumps(asked) if number else None, "full_response": came if number else None,
        }
        for number, (asked, came) in enumerate(pairs)
    ]  # fmt: skip
    (run,) = bring("vertex", lines(*rows))
    found = models(store, run)
    assert len(found) == len(pairs) > 1
    for event, (asked, came) in zip(found, pairs, strict=True):
        reading = reading_of(store, run, event)
        assert event.attributes["span"]["dialect"] == "google.gemini"
        assert (reading.provider, reading.region, reading.model_asked) == ("vertex", "europe-west4", "gemini-2.0-flash")
        assert len(reading.messages) == len(asked["contents"])
        assert reading.usage["tokens_in"] == came["usageMetadata"]["promptTokenCount"]
    claude = {"anthropic_version": "vertex-2023-10-16", "messages": [{"role": "user", "content": "a"}]}
    message = {"type": "message", "id": "m", "content": [{"type": "text", "text": "b"}], "stop_reason": "end_turn"}
    row = {"request_id": "c", "model": "claude-opus-4-5", "full_request": claude, "full_response": message}
    (other,) = bring("vertex", json.dumps([row]))
    assert models(store, other)[0].attributes["span"]["dialect"] == "anthropic.messages"
    assert [each.id for each in bring("vertex", lines(*rows))] == [run.id]


# --- OpenAI Evals --------------------------------------------------------------------------------------------------


def output_item(number: int, asked: list[Any], came: Any) -> dict[str, Any]:
    """An output item, checked by the SDK's own type."""
    message = came["choices"][0]["message"]
    used = {"cached_tokens": 0, "completion_tokens": 5, "prompt_tokens": 9, "total_tokens": 14}
    sample = {
        "input": [{"role": each["role"], "content": str(each.get("content") or "")} for each in asked],
        "output": [{"role": "assistant", "content": str(message.get("content") or "called")}], "usage": used,
        "model": came["model"], "seed": 7, "temperature": 0.5, "top_p": 1.0, "max_completion_tokens": 99,
        "finish_reason": "stop", "error": {"code": "", "message": ""},
    }  # fmt: skip
    made = {
        "id": f"outputitem_{number}", "object": "eval.run.output_item", "created_at": 1_767_000_000 + number,
        "eval_id": "eval_1", "run_id": "evalrun_1", "status": "pass", "datasource_item_id": number, "sample": sample,
        "datasource_item": {"question": "?", "ideal": "!"},
        "results": [{"name": "close", "passed": True, "score": 0.9}],
    }  # fmt: skip
    found: dict[str, Any] = OutputItemListResponse.model_validate(made).to_dict()
    found["sample"]["error"] = None
    return found


def test_an_output_item_is_a_run_with_its_sample_and_its_grade(bring: Bring, store: Store, shared_data: Path) -> None:
    rows = [output_item(n, asked["messages"], came) for n, (asked, came) in enumerate(traffic(shared_data, OPENAI))]
    runs = bring("evals", lines(*rows))
    assert len(runs) == len(rows) > 1
    recording = store.open(runs[0])
    item, sampled, grade, original = recording.events()
    assert (item.name, grade.name, original.name) == ("item", "grader close", "original")
    assert json.loads(recording.body(item.request)) == {"question": "?", "ideal": "!"}
    assert json.loads(recording.body(grade.answer))["passed"] is True
    reading = reading_of(store, runs[0], sampled)
    assert (reading.text, reading.params["seed"]) == (rows[0]["sample"]["output"][0]["content"], 7)
    assert [each.id for each in bring("evals", json.dumps({"object": "list", "data": rows}))] == [e.id for e in runs]


def test_data_sets_and_logs_of_oaieval_are_read(bring: Bring, store: Store) -> None:
    system = {"role": "system", "content": "Be short."}
    data = ({"item": {"q": 1}}, {"item": {"q": 1}}, {"input": [system], "ideal": "yes"})
    assert len(bring("evals", lines(*data))) == 3
    log = {"run_id": "r", "sample_id": "s.1", "created_by": "", "created_at": "2026-01-08 10:00:00.5+00:00"}
    sampling = {**log, "event_id": 0, "type": "sampling", "data": {"prompt": [system], "sampled": ["yes"]}}
    match = {**log, "event_id": 1, "type": "match", "data": {"correct": True, "expected": "yes"}}
    (run,) = bring("evals", lines({"spec": {"model": "m"}}, sampling, match, {"final_report": {"accuracy": 1}}))
    model, judged, _ = store.open(run).events()
    assert (reading_of(store, run, model).text, judged.name) == ("yes", "match")
    assert len(run.capture["import"]["left"]) == 2


# --- damaged files -------------------------------------------------------------------------------------------------

GOOD: dict[str, Any] = {
    "openai": {"custom_id": "a", "url": "/v1/chat/completions", "body": {"model": "m", "messages": []}},
    "anthropic": {"custom_id": "a", "params": {"model": "m", "messages": []}},
    "bedrock": invocation(1, "Converse", NOVA, {"messages": []}, None),
    "evals": {"sample_id": "s", "run_id": "r", "event_id": 1, "type": "sampling", "data": {"prompt": "a"}},
    "vertex": {"request_id": "1", "model": "gemini", "full_request": {"contents": []}},
}


@pytest.mark.parametrize("form", GOOD)
@pytest.mark.parametrize(
    "bad",
    ["[" * DEEP + "]" * DEEP, "7", '{"__proto__": {"a": 1}}', '{"resourceSpans": []}', '{"custom_id": [7]}', '{"a'],
)
def test_a_row_that_is_none_costs_that_row(bring: Bring, form: str, bad: str) -> None:
    (run,) = bring(form, lines(GOOD[form]) + bad)
    assert (run.totals.models, len(run.capture["import"]["left"])) == (1, 1)
    assert run.capture["import"]["left"][0].startswith("line 2: ")


ODD: list[Any] = [
    7, "text", [7], [[]], {"messages": 7}, {"messages": [7, None, {"role": 7, "content": {"__proto__": 1}}]},
    {"messages": [{"role": "user", "content": [None, 7, {"type": 7, "text": {}}]}], "tools": 7, "system": {"a": 1}},
    {"input": [7], "model": ["m"]}, {"choices": 7}, {"output": 7}, {"content": [7, None], "usage": "many"},
]  # fmt: skip


@pytest.mark.parametrize("form", GOOD)
def test_no_shape_of_bodies_costs_the_file(bring: Bring, form: str) -> None:
    rows = []
    for number, body in enumerate(ODD):
        if form == "openai":
            rows.append({"custom_id": f"a{number}", "url": "/v1/responses", "body": body})
            rows.append({"custom_id": f"a{number}", "response": {"status_code": "x", "body": body}})
        elif form == "anthropic":
            rows.append({"custom_id": f"a{number}", "params": body})
            rows.append({"custom_id": f"a{number}", "result": {"type": "succeeded", "message": body}})
        elif form == "vertex":
            rows.append({"request_id": number + 1, "full_request": body, "response_payload": [body, body]})
            rows.append({"request_id": number + 99, "full_request": {"contents": body}, "full_response": body})
        elif form == "evals":
            rows.append({"id": number, "datasource_item": {"a": 1}, "sample": {"input": body, "output": body}})
            rows.append({"id": number + 99, "datasource_item": {"a": 1}, "sample": body, "results": [body]})
        else:
            rows.append(invocation(number, "InvokeModel", NOVA, body, body, identity=7, timestamp=[]))
    runs = bring(form, lines(*rows))
    events = sum(each.totals.events for each in runs)
    assert events >= len(ODD) - len(runs[0].capture["import"]["left"])


@pytest.mark.parametrize("form", GOOD)
def test_half_a_document_and_another_format_are_refused(tmp_path: Path, form: str) -> None:
    path = tmp_path / "half"
    path.write_text(json.dumps({"data": [GOOD[form]]}, indent=1)[:-4])
    with pytest.raises(InteropError, match="holds no row"):
        read(form, path, ReaderOptions())
    path.write_text('{"interactions": [], "request": 1}')
    with pytest.raises(InteropError) as raised:
        read(form, path, ReaderOptions())
    assert "looks like vcr" in str(raised.value.cause)
    assert reader(form).fits(lines(GOOD[form]).encode())
