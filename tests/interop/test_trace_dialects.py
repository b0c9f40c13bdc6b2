"""Every dialect of names in which model calls are told is read: on files of its instrumentation, or on samples."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from reenact.abc.store import Store
from reenact.facts.event import Event
from reenact.facts.reading import Reading
from reenact.facts.run import Run
from reenact.facts.trace_runs import Grade, graded, reading_in
from reenact.interop.otlp.names import EXACT, INDEXED, TABLES
from tests.interop.conftest import Bring
from tests.interop.spans import START, TRACE, pairs, span, text


def model_of(store: Store, run: Run) -> tuple[Event, Reading]:
    recording = store.open(run)
    event = next(each for each in recording.events() if each.kind == "model")
    return event, reading_in(recording.body(event.request), recording.body(event.answer))


def told(bring: Bring, store: Store, name: str = "call", events: Any = (), **says: Any) -> tuple[Event, Reading]:
    """The model call of a span with these attributes and events."""
    (run,) = bring("otlp", text(span(1, name, says=says.pop("says"), events=list(events), **says)))
    return model_of(store, run)


# --- files that instrumentations have written ---------------------------------------------------------------------


def test_a_file_of_the_conventions_of_today(shared_data: Path, store: Store, bring: Bring) -> None:
    path = shared_data / "formats/otlp-derived/otelgenai.openai_chat_completion_tool_calls.spans.json"
    (run,) = bring("otlp", path)
    assert (run.agent, run.totals.models, run.totals.tools) == ("cassette-agent", 2, 2)
    assert (run.totals.tokens_in, run.totals.tokens_out) == (174, 76)
    event, reading = model_of(store, run)
    assert event.attributes["span"]["dialect"] == "otel.genai"
    assert reading.system == "You're a helpful assistant."
    assert [call["name"] for call in reading.tool_calls] == ["get_current_weather"] * 2
    assert reading.tools[0]["schema"]["required"] == ["location"]
    assert (reading.finish, reading.response_id) == ("tool_calls", "chatcmpl-ASYMU9Ntix7ePttk0MSuerJstef6U")
    tools = [each for each in store.open(run).events() if each.kind == "tool"]
    assert [json.loads(store.open(run).body(each.answer)) for each in tools] == [
        "50 degrees and raining",
        "70 degrees and sunny",
    ]


def test_a_file_of_openinference_with_the_spans_of_the_sdk_itself(
    shared_data: Path, store: Store, bring: Bring
) -> None:
    path = shared_data / "formats/otlp-derived/openinference.anthropic_anthropic_tools_history.spans.json"
    (run,) = bring("otlp", path)
    event, reading = model_of(store, run)
    assert run.totals.models == 1, "the SDK tells of the same call"
    assert event.attributes["span"]["dialect"] == "openinference + otel.genai + anthropic.sdk"
    assert (reading.model_answered, reading.params["max_tokens"], reading.usage["tokens_in"]) == (
        "claude-3-5-haiku-20241022",
        1024,
        568,
    )
    assert [message["role"] for message in reading.messages] == ["user", "assistant", "user"]
    assert reading.messages[1]["tool_calls"] == [
        {"id": "call_1", "name": "get_weather", "arguments": {"location": "San Francisco, CA"}}
    ]
    assert reading.messages[2]["tool_results"] == [{"id": "call_1", "text": "Sunny and 65 degrees Fahrenheit"}]
    assert [tool["name"] for tool in reading.tools] == ["get_weather", "get_time"]
    assert [(call["name"], call["id"]) for call in reading.tool_calls] == [
        ("get_time", "toolu_013CVavAKjSN7RZoE2ZN4xQJ")
    ]
    assert reading.finish == "tool_use"


# --- samples ------------------------------------------------------------------------------------------------------

ASKED = [{"role": "user", "text": "Where is order 7?"}]


def test_flattened_messages_may_lack_places_and_tell_a_call_twice(bring: Bring, store: Store) -> None:
    call = "llm.output_messages.0.message"
    _, reading = told(
        bring,
        store,
        says={
            "openinference.span.kind": "LLM",
            "llm.model_name": "claude",
            "llm.input_messages.2.message.role": "user",
            "llm.input_messages.2.message.content": "Where is order 7?",
            "llm.input_messages.10.message.role": "user",
            "llm.input_messages.10.message.content": "Please.",
            f"{call}.role": "assistant",
            f"{call}.tool_calls.0.tool_call.id": "t1",
            f"{call}.tool_calls.0.tool_call.function.name": "find_order",
            f"{call}.tool_calls.0.tool_call.function.arguments": '{"order": 7}',
            f"{call}.contents.0.message_content.type": "tool_use",
            f"{call}.contents.0.tool_call.id": "t1",
            f"{call}.contents.0.tool_call.function.name": "find_order",
            "llm.invocation_parameters": '{"temperature": 0.2, "seed": 7, "model": "claude"}',
            "llm.tools.0.tool.json_schema": '{"name": "find_order", "input_schema": {"type": "object"}}',
        },
    )
    assert [message["text"] for message in reading.messages] == ["Where is order 7?", "Please."]
    assert [call["id"] for call in reading.tool_calls] == ["t1"]
    assert reading.params == {"temperature": 0.2, "seed": 7}
    assert reading.tools == ({"name": "find_order", "description": "", "schema": {"type": "object"}},)


def test_the_conventions_before_with_content_in_events_of_the_span(bring: Bring, store: Store) -> None:
    event, reading = told(
        bring,
        store,
        says={"gen_ai.operation.name": "chat", "gen_ai.system": "az.ai.openai", "gen_ai.request.model": "gpt-4"}
        | {"gen_ai.usage.prompt_tokens": 9, "gen_ai.usage.completion_tokens": 4},
        events=[
            ("gen_ai.system.message", {"content": "Be brief."}),
            ("gen_ai.user.message", {"content": "Where is order 7?"}),
            (
                "gen_ai.choice",
                {"index": 0, "finish_reason": "stop", "message": '{"role": "assistant", "content": "Lost."}'},
            ),
        ],
    )
    assert (reading.system, list(reading.messages), reading.text) == ("Be brief.", ASKED, "Lost.")
    assert (reading.provider, reading.finish) == ("azure", "stop")
    assert (reading.usage["tokens_in"], reading.usage["tokens_out"]) == (9, 4)
    assert graded(event)["messages"] is Grade.SEMANTIC


def test_the_conventions_before_with_content_in_records_of_logs(bring: Bring, store: Store) -> None:
    said = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.model": "gpt-4"}
    record = {"traceId": TRACE, "spanId": f"{1:016x}", "timeUnixNano": str(START), "severityNumber": 9}
    question = {**record, "body": {"kvlistValue": {"values": pairs({"content": "Where is order 7?"})}}}
    question |= {"attributes": pairs({"event.name": "gen_ai.user.message"})}
    choice = {**record, "body": {"kvlistValue": {"values": pairs({"index": 0, "message": {"content": "Lost."}})}}}
    choice |= {"eventName": "gen_ai.choice"}
    logs = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [question, choice]}]}]})
    (run,) = bring("otlp", logs + "\n" + text(span(1, "chat gpt-4", says=said)) + "\n")
    _, reading = model_of(store, run)
    assert (list(reading.messages), reading.text) == (ASKED, "Lost.")


def test_the_details_event_of_today(bring: Bring, store: Store) -> None:
    asked = [{"role": "user", "parts": [{"type": "text", "content": "Where is order 7?"}]}]
    says = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4"}
    details = {"gen_ai.input.messages": asked, "gen_ai.system_instructions": [{"type": "text", "content": "Be brief."}]}
    _, reading = told(bring, store, says=says, events=[("gen_ai.client.inference.operation.details", details)])
    assert (reading.system, list(reading.messages)) == ("Be brief.", ASKED)


def test_openllmetry_of_today_and_before(bring: Bring, store: Store) -> None:
    _, reading = told(
        bring,
        store,
        says={
            "llm.request.type": "chat",
            "gen_ai.system": "OpenAI",
            "gen_ai.request.model": "gpt-4",
            "gen_ai.prompt.0.role": "system",
            "gen_ai.prompt.0.content": "Be brief.",
            "gen_ai.prompt.1.role": "user",
            "gen_ai.prompt.1.content": '[{"type": "text", "text": "Where is order 7?"}]',
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.finish_reason": "tool_calls",
            "gen_ai.completion.0.tool_calls.0.id": "t1",
            "gen_ai.completion.0.tool_calls.0.name": "find_order",
            "gen_ai.completion.0.tool_calls.0.arguments": '{"order": 7}',
            "llm.request.functions.0.name": "find_order",
            "llm.request.functions.0.parameters": '{"type": "object"}',
            "llm.usage.total_tokens": 20,
            "gen_ai.usage.cache_creation_input_tokens": 2,
        },
    )
    assert (reading.system, list(reading.messages), reading.finish) == ("Be brief.", ASKED, "tool_calls")
    assert reading.tool_calls[0]["name"] == reading.tools[0]["name"] == "find_order"
    assert reading.usage["cache_written"] == 2


def test_the_layer_of_workflows_around_is_told_as_steps_and_tools(bring: Bring, store: Store) -> None:
    outer = {"traceloop.span.kind": "workflow", "traceloop.entity.name": "refund", "traceloop.entity.input": '{"a": 1}'}
    outer |= {"traceloop.association.properties.user_id": "u-1"}
    inner = {"traceloop.span.kind": "tool", "traceloop.entity.name": "find_order"}
    inner |= {"traceloop.entity.input": '{"args": [], "kwargs": {"order": 7}}', "traceloop.entity.output": '"lost"'}
    (run,) = bring("otlp", text(span(1, "refund.workflow", says=outer), span(2, "find_order.tool", 1, says=inner)))
    step, tool, _ = store.open(run).events()
    assert (run.user, step.kind, tool.kind, tool.name) == ("u-1", "step", "tool", "find_order")
    assert json.loads(store.open(run).body(tool.request)) == {"order": 7}
    assert json.loads(store.open(run).body(tool.answer)) == "lost"


def test_the_declaration_of_a_tool_is_not_taken_for_its_arguments(bring: Bring, store: Store) -> None:
    schema = '{"type": "object", "properties": {"order": {}}, "required": ["order"]}'
    says = {"openinference.span.kind": "TOOL", "tool.name": "find_order", "tool.parameters": schema}
    spans = span(1, "find_order", says={**says, "input.value": '{"order": 7}'}), span(2, "find_order", says=says)
    (run,) = bring("otlp", text(*spans, span(3, "find_order", says={**says, "tool.parameters": '{"order": 8}'})))
    asked = [store.open(run).body(event.request) for event in store.open(run).events() if event.kind == "tool"]
    assert [json.loads(each) if each else None for each in asked] == [{"order": 7}, None, {"order": 8}]


VENDORS: dict[str, dict[str, Any]] = {
    "vercel.ai": {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.model.provider": "openai.chat",
        "ai.model.id": "gpt-4",
        "ai.prompt.messages": '[{"role": "user", "content": [{"type": "text", "text": "Where is order 7?"}]}]',
        "ai.response.text": "Lost.",
        "ai.usage.promptTokens": 9,
        "ai.settings.temperature": 0,
        "ai.telemetry.metadata.userId": "u-1",
    },
    "langfuse": {
        "langfuse.observation.type": "generation",
        "langfuse.observation.model.name": "gpt-4",
        "langfuse.observation.input": '[{"role": "user", "content": "Where is order 7?"}]',
        "langfuse.observation.output": '{"role": "assistant", "content": "Lost."}',
        "langfuse.observation.usage_details": '{"input": 9, "output": 4}',
        "langfuse.observation.model.parameters": '{"temperature": 0}',
        "langfuse.user.id": "u-1",
    },
    "mlflow": {
        "mlflow.spanType": '"CHAT_MODEL"',
        "mlflow.spanInputs": '{"model": "gpt-4", "temperature": 0, '
        '"messages": [{"role": "user", "content": "Where is order 7?"}]}',
        "mlflow.spanOutputs": '{"choices": [{"message": {"role": "assistant", "content": "Lost."}}]}',
        "mlflow.chat.tokenUsage": '{"input_tokens": 9, "output_tokens": 4}',
        "mlflow.trace.user": '"u-1"',
    },
    "pydantic-ai": {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4",
        "gen_ai.request.temperature": 0,
        "gen_ai.usage.input_tokens": 9,
        "events": '[{"event.name": "gen_ai.user.message", "content": "Where is order 7?"}, '
        '{"event.name": "gen_ai.choice", "message": {"role": "assistant", "content": "Lost."}}]',
        "agent_name": "desk",
        "enduser.id": "u-1",
    },
    "google.adk": {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.request.model": "gpt-4",
        "gen_ai.request.temperature": 0,
        "gcp.vertex.agent.llm_request": '{"contents": [{"role": "user", "parts": [{"text": "Where is order 7?"}]}]}',
        "gcp.vertex.agent.llm_response": '{"content": {"role": "model", "parts": [{"text": "Lost."}]}}',
        "gen_ai.usage.input_tokens": 9,
        "user.id": "u-1",
    },
    "genkit": {
        "genkit:metadata:subtype": "model",
        "genkit:name": "gpt-4",
        "gen_ai.request.model": "gpt-4",
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.request.temperature": 0,
        "genkit:input": '{"messages": [{"role": "user", "content": [{"text": "Where is order 7?"}]}]}',
        "genkit:output": '{"message": {"role": "model", "content": [{"text": "Lost."}]}}',
        "user.id": "u-1",
    },
    "laminar": {
        "lmnr.span.type": "LLM",
        "gen_ai.request.model": "gpt-4",
        "gen_ai.request.temperature": 0,
        "lmnr.span.input": '[{"role": "user", "content": "Where is order 7?"}]',
        "lmnr.span.output": '[{"role": "assistant", "content": "Lost."}]',
        "gen_ai.usage.input_tokens": 9,
        "lmnr.association.properties.user_id": "u-1",
    },
}


@pytest.mark.parametrize("vendor", VENDORS)
def test_names_of_a_vendor(bring: Bring, store: Store, vendor: str) -> None:
    (run,) = bring("otlp", text(span(1, "call", says=VENDORS[vendor])))
    event, reading = model_of(store, run)
    assert vendor in event.attributes["span"]["dialect"]
    assert (reading.model_asked, list(reading.messages), reading.text) == ("gpt-4", ASKED, "Lost.")
    assert (reading.usage["tokens_in"], reading.params["temperature"], run.user) == (9, 0, "u-1")


def test_a_retrieval_has_its_query_its_documents_and_its_model(bring: Bring, store: Store) -> None:
    says = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": "refunds",
        "retrieval.documents.0.document.id": "d1",
        "retrieval.documents.0.document.score": 0.9,
        "retrieval.documents.0.document.content": "Refunds take a week.",
        "embedding.model_name": "ada",
    }
    (run,) = bring("otlp", text(span(1, "search", says=says)))
    found, _ = store.open(run).events()
    assert (found.kind, found.call.head["embedding_model"]) == ("retrieval", "ada")
    assert found.outcome is not None
    assert found.outcome.head["chunks"] == [{"id": "d1", "score": 0.9, "content": "Refunds take a week."}]
    assert graded(found)["content"] is Grade.SEMANTIC


def test_a_request_for_vectors_is_no_conversation(bring: Bring, store: Store) -> None:
    says = {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "ada", "gen_ai.provider.name": "openai"}
    _, reading = told(bring, store, says=says)
    assert reading.sort == "embedding"


def test_content_that_a_limit_has_cut_off_is_absent_and_said(bring: Bring, store: Store) -> None:
    cut = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Where is order 7?" * 9}]}])[:99]
    says = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4", "gen_ai.input.messages": cut}
    (run,) = bring("otlp", text(span(1, "chat", says=says)))
    event, reading = model_of(store, run)
    assert graded(event)["messages"] is Grade.ABSENT
    assert reading.partial
    assert run.capture["import"]["remarks"] == {"content that a limit on lengths has cut off": 1}


def test_several_dialects_in_one_file_each_tell_their_own(bring: Bring, store: Store) -> None:
    spans = [span(n, "call", says=says, at=n * 5) for n, says in enumerate(VENDORS.values(), 1)]
    (run,) = bring("otlp", text(*spans))
    assert run.totals.models == len(VENDORS)


def test_spans_as_an_sdk_prints_them(bring: Bring, store: Store) -> None:
    printed: dict[str, Any] = {
        "name": "chat gpt-4",
        "context": {"trace_id": f"0x{TRACE}", "span_id": "0x00000000000000a1", "trace_state": "[]"},
        "kind": "SpanKind.CLIENT",
        "parent_id": None,
        "start_time": "2026-11-21T10:00:00.000000Z",
        "end_time": "2026-11-21T10:00:01.500000Z",
        "status": {"status_code": "ERROR", "description": "refused"},
        "attributes": {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "gpt-4",
            "gen_ai.provider.name": "openai",
        },
        "events": [],
        "resource": {"attributes": {"service.name": "desk"}},
    }
    (run,) = bring("otlp", json.dumps([printed], indent=2))
    event, _ = store.open(run).events()
    assert (run.agent, run.tags["trace"], run.error) == ("desk", TRACE, "Error: refused")
    assert event.ended_us == 1_500_000


@pytest.mark.parametrize("ids", ["hex", "base64", "capitals"])
def test_ids_in_each_writing_are_the_same_trace(bring: Bring, store: Store, ids: str) -> None:
    made = span(1, "a")
    if ids == "base64":
        made |= {name: base64.b64encode(bytes.fromhex(made[name])).decode() for name in ("traceId", "spanId")}
    elif ids == "capitals":
        made |= {name: made[name].upper() for name in ("traceId", "spanId")}
    (run,) = bring("otlp", text(made))
    assert run.tags["trace"] == TRACE


def test_numbers_and_names_in_each_writing(bring: Bring, store: Store) -> None:
    made = span(1, "chat", says={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})
    made["startTimeUnixNano"] = int(made["startTimeUnixNano"])
    made["attributes"].append({"key": "gen_ai.usage.input_tokens", "value": {"intValue": 7}})
    made["attributes"].append({"key": "gen_ai.request.top_p", "value": {"doubleValue": "NaN"}})
    made |= {"kind": "SPAN_KIND_CLIENT", "status": {"code": "STATUS_CODE_ERROR"}}
    (run,) = bring("otlp", text(made))
    event, _ = store.open(run).events()
    assert (run.totals.tokens_in, run.status.value) == (7, "failed")
    assert event.attributes["reading"]["params"] == {"top_p": "NaN"}


# --- the tables themselves ----------------------------------------------------------------------------------------


def test_no_attribute_stands_in_two_tables_for_two_things() -> None:
    said: dict[str, set[str]] = {}
    for table in TABLES:
        for what, names in table.names.items():
            for name in names:
                said.setdefault(name, set()).add(what)
    assert {name: what for name, what in said.items() if len(what) > 1} == {}
    assert all(start.endswith(".") for start, _, _ in INDEXED)
    assert len(EXACT) > 200
