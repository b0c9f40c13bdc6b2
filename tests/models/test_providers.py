"""Each further provider's protocol, in samples of our own: what was asked and answered, at once and streamed."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import pytest

from reenact.facts.dialects import read, recognise, stateless_model_request
from reenact.facts.reading import Reading

GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-x:generateContent"
VERTEX = "https://aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/google/models/gemini-x"
BEDROCK = "https://bedrock-runtime.eu-west-1.amazonaws.com/model"
MISTRAL = "https://api.mistral.ai/v1/chat/completions"
OLLAMA = "http://127.0.0.1:11434/api"
COHERE = "https://api.cohere.com/v2/chat"
HI: Any = [{"role": "user", "content": "hi"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION: Any = {"type": "function", "function": {"name": "look", "description": "d", "parameters": SCHEMA}}


def reading(url: str, request: Any, response: Any, kind: str = "application/json", **more: str) -> Reading:
    headers = [["content-type", kind], *([name.replace("_", "-"), value] for name, value in more.items())]
    head = {"method": "POST", "url": url, "headers": [["content-type", "application/json"]]}
    body = json.dumps(request).encode()
    data = response if isinstance(response, bytes) else json.dumps(response).encode()
    found = read(head, body, {"status": 200, "headers": headers, "framing": "payload"}, data)
    assert found is not None and recognise(head, body) == found.dialect
    assert found.stateless is stateless_model_request("POST", url, body)
    assert Reading.from_json(json.loads(json.dumps(found.to_json()))) == found
    return found


def stateless(url: str, request: Any) -> bool:
    return stateless_model_request("POST", url, json.dumps(request).encode())


def sse(*events: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\r\n\r\n" for event in events)


def frame(kind: str, data: Any, message: str = "event") -> bytes:
    """A frame of Amazon's event stream."""
    label = ":event-type" if message == "event" else ":exception-type"
    headers = b""
    for name, value in ((label, kind), (":content-type", "application/json"), (":message-type", message)):
        headers += bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    payload = json.dumps(data).encode()
    start = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    start += struct.pack(">I", zlib.crc32(start))
    return start + headers + payload + struct.pack(">I", zlib.crc32(start + headers + payload))


def chunk(data: Any) -> bytes:
    return frame("chunk", {"bytes": base64.b64encode(json.dumps(data).encode()).decode()})


AMAZON = "application/vnd.amazon.eventstream"


def test_gemini_parameters_tools_and_thoughts() -> None:
    request = {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "AA"}}]},
            {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"city": "B"}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"is": 1}}}]},
        ],
        "tools": [{"function_declarations": [{"name": "look", "description": "d", "parameters": SCHEMA}]}],
        "generationConfig": {"temperature": 0, "topP": 0.5, "seed": 7, "maxOutputTokens": 9, "stopSequences": ["x"]},
    }
    response = {
        "candidates": [
            {
                "content": {
                    "parts": [{"text": "Hm.", "thought": True}, {"text": "Fo"}, {"text": "g"}],
                    "role": "model",
                },
                "finishReason": "MAX_TOKENS",
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 10,
            "toolUsePromptTokenCount": 2,
            "candidatesTokenCount": 3,
            "thoughtsTokenCount": 4,
            "cachedContentTokenCount": 5,
        },
        "modelVersion": "gemini-x-001",
        "responseId": "r1",
    }
    found = reading(GEMINI, request, response)
    assert (found.model_asked, found.model_answered, found.response_id) == ("gemini-x", "gemini-x-001", "r1")
    assert (found.system, found.text, found.thinking, found.finish) == ("Be brief.", "Fog", "Hm.", "MAX_TOKENS")
    asked = {name: found.params[name] for name in ("temperature", "top_p", "seed", "max_tokens", "stop")}
    assert asked == {"temperature": 0, "top_p": 0.5, "seed": 7, "max_tokens": 9, "stop": ["x"]}
    assert found.messages[0] == {"role": "user", "text": "look", "other": ["inlineData"]}
    assert found.messages[1]["tool_calls"] == [{"id": "", "name": "look", "arguments": {"city": "B"}}]
    assert found.messages[2]["tool_results"] == [{"id": "look", "text": '{"is":1}'}]
    assert found.tools == ({"name": "look", "description": "d", "schema": SCHEMA},)
    assert (found.usage["tokens_in"], found.usage["tokens_out"]) == (12, 7)
    assert (found.usage["cached"], found.usage["reasoning"], found.partial) == (5, 4, False)


def test_gemini_at_vertex_streams_an_array() -> None:
    chunks: list[dict[str, Any]] = [
        {"candidates": [{"content": {"parts": [{"text": text}]}}], "modelVersion": "v"} for text in ("Hel", "lo]")
    ]
    chunks.append({"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 1}})
    whole = json.dumps(chunks).encode()
    request = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    found = reading(f"{VERTEX}:streamGenerateContent", request, whole)
    assert (found.provider, found.region, found.streamed) == ("vertex", "europe-west4", True)
    assert (found.text, found.finish, found.partial) == ("Hello]", "STOP", False)
    cut = reading(f"{VERTEX}:streamGenerateContent", request, whole[: whole.index(b"finishReason")])
    assert (cut.text, cut.partial) == ("Hello]", True)
    assert reading(f"{VERTEX}:streamGenerateContent", request, whole[:-1]).partial


def test_gemini_blocked_and_refused() -> None:
    request = {"contents": [{"parts": {"text": "hi"}}]}
    blocked = reading(GEMINI, request, {"promptFeedback": {"blockReason": "SAFETY"}})
    assert (blocked.finish, blocked.partial, blocked.messages[0]["text"]) == ("SAFETY", False, "hi")
    error = {"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}}
    streamed = reading(GEMINI, request, [error])
    assert streamed.error == {"status": 0, "type": "RESOURCE_EXHAUSTED", "message": "slow"}


@pytest.mark.parametrize(
    "more",
    [
        {"cachedContent": "cachedContents/1"},
        {"cached_content": "cachedContents/1"},
        {"tools": [{"googleSearch": {}}]},
        {"tools": [{"functionDeclarations": []}, {"code_execution": {}}]},
        {"tools": [{"urlContext": {}}]},
        {"store": True},
    ],
)
def test_what_makes_gemini_a_write(more: Any) -> None:
    request = {"contents": [{"parts": [{"text": "the store of cachedContent"}]}]}
    assert stateless(GEMINI, request)
    assert stateless(GEMINI, request | {"tools": [{"functionDeclarations": [{"name": "f"}]}]})
    assert not stateless(GEMINI, request | more)


CONVERSE = {
    "system": [{"text": "Be brief."}, {"cachePoint": {"type": "default"}}],
    "messages": [
        {"role": "user", "content": [{"text": "look"}, {"image": {"format": "png"}}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "look", "input": {"city": "B"}}}]},
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "t1", "content": [{"json": {"is": 1}}], "status": "error"}}],
        },
    ],
    "inferenceConfig": {"temperature": 0, "topP": 0.5, "maxTokens": 9, "stopSequences": ["x"]},
    "toolConfig": {
        "tools": [{"toolSpec": {"name": "look", "description": "d", "inputSchema": {"json": SCHEMA}}}],
        "toolChoice": {"any": {}},
    },
    "additionalModelRequestFields": {"top_k": 3},
}


def test_converse() -> None:
    response = {
        "output": {
            "message": {
                "role": "assistant",
                "content": [
                    {"reasoningContent": {"reasoningText": {"text": "Hm."}}},
                    {"text": "Let me look."},
                    {"toolUse": {"toolUseId": "t2", "name": "look", "input": {"city": "C"}}},
                ],
            }
        },
        "stopReason": "tool_use",
        "usage": {"inputTokens": 3, "outputTokens": 4, "cacheReadInputTokens": 5, "cacheWriteInputTokens": 6},
    }
    found = reading(f"{BEDROCK}/eu.anthropic.claude-x-v1%3A0/converse", CONVERSE, response)
    assert (found.dialect, found.model_asked) == ("bedrock.converse", "eu.anthropic.claude-x-v1:0")
    assert (found.system, found.region, found.thinking) == ("Be brief.", "eu-west-1", "Hm.")
    assert (found.text, found.finish, found.stateless) == ("Let me look.", "tool_use", True)
    assert (found.params["max_tokens"], found.params["top_p"], found.params["temperature"]) == (9, 0.5, 0)
    assert found.messages[0] == {"role": "user", "text": "look", "other": ["image"]}
    assert found.messages[2]["tool_results"] == [{"id": "t1", "text": '{"is":1}', "error": True}]
    assert found.tool_calls == ({"id": "t2", "name": "look", "arguments": {"city": "C"}},)
    assert found.usage["tokens_in"] == 14 and found.usage["cached"] == 5 and found.usage["cache_written"] == 6
    hosted = {**CONVERSE, "toolConfig": {"tools": [{"systemTool": {"name": "nova_grounding"}}]}}
    passed = {**CONVERSE, "additionalModelRequestFields": {"tools": [{"type": "web_search_20250305"}]}}
    own = {**CONVERSE, "additionalModelRequestFields": {"tools": [{"type": "bash_20250124", "name": "bash"}]}}
    url = f"{BEDROCK}/m/converse"
    assert stateless(url, own) and not stateless(url, hosted) and not stateless(url, passed)


def test_converse_broken_off_by_an_exception() -> None:
    data = frame("messageStart", {"role": "assistant"})
    data += frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hel"}})
    data += frame("throttlingException", {"message": "slow down"}, "exception")
    found = reading(f"{BEDROCK}/m/converse-stream", CONVERSE, data, AMAZON)
    assert (found.text, found.partial) == ("Hel", True)
    assert found.error == {"status": 0, "type": "throttlingException", "message": "slow down"}


def test_a_damaged_frame_is_where_reading_ends() -> None:
    good = frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hel"}})
    bad = frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "lo!"}}).replace(b"lo!", b"XX!")
    stop = frame("messageStop", {"stopReason": "end_turn"})
    assert reading(f"{BEDROCK}/m/converse-stream", CONVERSE, good + stop, AMAZON).partial is False
    found = reading(f"{BEDROCK}/m/converse-stream", CONVERSE, good + bad + stop, AMAZON)
    assert (found.text, found.partial) == ("Hel", True)


METRICS = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 8, "outputTokenCount": 2}}
CLAUDE = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": HI}
CLAUDE_EVENTS = (
    {"type": "message_start", "message": {"model": "claude-x", "id": "m", "usage": {"input_tokens": 8}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop", **METRICS},
)
NOVA = {"schemaVersion": "messages-v1", "messages": [{"role": "user", "content": [{"text": "hi"}]}]}
NOVA_EVENTS = (
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hello"}}},
    {"messageStop": {"stopReason": "end_turn"}},
    {"metadata": {"usage": {"inputTokens": 8, "outputTokens": 2}}, **METRICS},
)
TITAN = {"inputText": "hi", "textGenerationConfig": {"maxTokenCount": 9, "topP": 0.5}}
TITAN_EVENTS = (
    {"outputText": "Hel", "completionReason": None},
    {"outputText": "lo", "completionReason": "FINISH", **METRICS},
)
LLAMA = {"prompt": "hi", "max_gen_len": 9}
LLAMA_EVENTS = ({"generation": "Hel", "stop_reason": None}, {"generation": "lo", "stop_reason": "stop", **METRICS})
MISTRAL_EVENTS = (
    {"outputs": [{"text": "Hel", "stop_reason": None}]},
    {"outputs": [{"text": "lo", "stop_reason": "stop"}], **METRICS},
)
CHAT_EVENTS = (
    {"choices": [{"index": 0, "delta": {"content": "Hello"}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], **METRICS},
)


@pytest.mark.parametrize(
    ("model", "request_", "events"),
    [
        ("anthropic.claude-x-v1:0", CLAUDE, CLAUDE_EVENTS),
        ("amazon.nova-x-v1:0", NOVA, NOVA_EVENTS),
        ("amazon.titan-x", TITAN, TITAN_EVENTS),
        ("meta.llama-x", LLAMA, LLAMA_EVENTS),
        ("mistral.m-x", {"prompt": "hi", "max_tokens": 9}, MISTRAL_EVENTS),
        ("openai.gpt-oss-x", {"messages": HI, "max_tokens": 9}, CHAT_EVENTS),
    ],
)
def test_invoke_streamed(model: str, request_: Any, events: Any) -> None:
    data = b"".join(map(chunk, events))
    url = f"{BEDROCK}/{model.replace(':', '%3A')}/invoke-with-response-stream"
    found = reading(url, request_, data, AMAZON)
    assert (found.model_asked, found.provider, found.streamed) == (model, "bedrock", True)
    assert (found.text, found.partial, found.stateless) == ("Hello", False, True)
    assert found.finish in ("end_turn", "FINISH", "stop")
    assert (found.usage["tokens_in"], found.usage["tokens_out"]) == (8, 2)
    assert found.messages == ({"role": "user", "text": "hi"},)
    assert found.params.get("max_tokens", 9) == 9
    assert reading(url, request_, data[:-3], AMAZON).partial


@pytest.mark.parametrize(
    ("request_", "response", "tokens"),
    [
        (NOVA, {"output": {"message": {"content": [{"text": "Hello"}]}}, "stopReason": "end_turn"}, (7, 3)),
        (
            TITAN,
            {
                "inputTextTokenCount": 8,
                "results": [{"outputText": "Hello", "tokenCount": 2, "completionReason": "FINISH"}],
            },
            (8, 2),
        ),
        (
            LLAMA,
            {"generation": "Hello", "prompt_token_count": 8, "generation_token_count": 2, "stop_reason": "stop"},
            (8, 2),
        ),
        ({"prompt": "hi"}, {"outputs": [{"text": "Hello", "stop_reason": "stop"}]}, (7, 3)),
        ({"prompt": "hi"}, {"choices": [{"text": "Hello", "stop_reason": "stop"}]}, (7, 3)),
        ({"message": "hi"}, {"text": "Hello", "finish_reason": "COMPLETE", "generation_id": "g"}, (7, 3)),
        (
            {"messages": HI},
            {"choices": [{"message": {"content": "Hello"}, "stop_reason": "stop"}]},
            (7, 3),
        ),
    ],
)
def test_invoke_at_once_with_counts_in_body_or_headers(request_: Any, response: Any, tokens: Any) -> None:
    counts = {"x_amzn_bedrock_input_token_count": "7", "x_amzn_bedrock_output_token_count": "3"}
    found = reading(f"{BEDROCK}/some.model/invoke", request_, response, **counts)
    assert (found.model_asked, found.text, found.partial) == ("some.model", "Hello", False)
    assert (found.usage["tokens_in"], found.usage["tokens_out"]) == tokens
    assert found.messages == ({"role": "user", "text": "hi"},)


def test_mistral_says_content_and_thoughts_in_parts() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    said = [thinking, {"type": "text", "text": "Hello"}]
    request = {"model": "magistral", "messages": HI, "random_seed": 7, "tools": [FUNCTION]}
    message = {
        "role": "assistant",
        "content": said,
        "tool_calls": [{"id": "t", "function": {"name": "look", "arguments": "{}"}}],
    }
    response = {"model": "magistral", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    found = reading(MISTRAL, request, response)
    assert (found.provider, found.text, found.thinking, found.params["seed"]) == ("mistral", "Hello", "Hm.", 7)
    assert found.tool_calls == ({"id": "t", "name": "look", "arguments": "{}"},)
    stream = sse(
        {"model": "magistral", "choices": [{"index": 0, "delta": {"content": [thinking]}}]},
        {"choices": [{"index": 0, "delta": {"content": "Hello"}, "finish_reason": "stop"}]},
    )
    found = reading(MISTRAL, {**request, "stream": True}, stream, "text/event-stream")
    assert (found.text, found.thinking, found.partial, found.usage) == ("Hello", "Hm.", False, {})


@pytest.mark.parametrize(
    ("url", "request_"),
    [
        ("https://api.mistral.ai/v1/agents/completions", {"agent_id": "a", "messages": HI}),
        ("https://api.groq.com/openai/v1/chat/completions", {"model": "groq/compound-mini", "messages": HI}),
        (MISTRAL, {"model": "m", "messages": HI, "tools": [FUNCTION, {"type": "browser_search"}]}),
        (MISTRAL, {"model": "m", "messages": HI, "tools": [{"type": "code_interpreter"}]}),
        ("https://api.x.ai/v1/chat/completions", {"model": "m", "messages": HI, "search_parameters": {}}),
        ("https://openrouter.ai/api/v1/chat/completions", {"model": "m:online", "messages": HI}),
    ],
)
def test_tools_that_a_server_uses_by_itself_make_a_write(url: str, request_: Any) -> None:
    assert recognise({"method": "POST", "url": url}, json.dumps(request_).encode()) == "openai.chat"
    assert not stateless(url, request_)
    said = [{"role": "user", "content": 'The compound says {"type": "browser_search"}'}]
    assert stateless(MISTRAL, {"model": "m", "messages": said, "tools": [FUNCTION]})


def test_ollama_chat() -> None:
    request = {
        "model": "llama",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "look", "images": ["AA"]},
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look", "arguments": {}}}]},
            {"role": "tool", "content": "fog", "tool_name": "look"},
        ],
        "tools": [FUNCTION],
        "options": {"temperature": 0, "num_predict": 9, "seed": 7},
        "stream": True,
    }
    chunks: list[dict[str, Any]] = [
        {"model": "llama", "message": {"role": "assistant", "content": "", "thinking": "Hm."}, "done": False},
        {"model": "llama", "message": {"role": "assistant", "content": "Fo"}, "done": False},
        {
            "model": "llama",
            "message": {"content": "g", "tool_calls": [{"function": {"name": "look", "arguments": {"a": 1}}}]},
        },
        {
            "model": "llama",
            "message": {"content": ""},
            "done": True,
            "done_reason": "stop",
            "prompt_eval_count": 8,
            "eval_count": 2,
        },
    ]
    data = b"".join(json.dumps(one).encode() + b"\n" for one in chunks)
    found = reading(f"{OLLAMA}/chat", request, data, "application/x-ndjson")
    assert (found.dialect, found.system, found.text, found.thinking) == ("ollama.chat", "Be brief.", "Fog", "Hm.")
    assert (found.params["max_tokens"], found.params["seed"], found.finish) == (9, 7, "stop")
    assert found.tool_calls == ({"id": "", "name": "look", "arguments": {"a": 1}},)
    assert found.messages[2]["tool_results"] == [{"id": "look", "text": "fog"}]
    assert (found.usage["tokens_in"], found.usage["tokens_out"], found.partial) == (8, 2, False)
    cut = reading(f"{OLLAMA}/chat", request, data[: len(data) // 2], "application/x-ndjson")
    assert cut.partial and "Fog".startswith(cut.text)
    at_once = reading(f"{OLLAMA}/chat", {**request, "stream": False}, {**chunks[-1], "message": {"content": "Fog"}})
    assert (at_once.text, at_once.streamed, at_once.stateless) == ("Fog", False, True)


def test_ollama_generate() -> None:
    request = {"model": "llama", "prompt": "hi", "system": "Be brief.", "stream": False}
    found = reading(f"{OLLAMA}/generate", request, {"model": "llama", "response": "Hello", "done": True})
    assert (found.system, found.text, found.usage, found.finish) == ("Be brief.", "Hello", {}, "stop")
    refused = reading(f"{OLLAMA}/generate", request, {"error": "model not found"})
    assert refused.error == {"status": 0, "type": "", "message": "model not found"}


COHERE_ASKED = {
    "model": "command-x",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "look"}]},
        {
            "role": "assistant",
            "tool_plan": "I look.",
            "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "t1", "content": [{"type": "document", "document": {"data": "fog"}}]},
    ],
    "tools": [FUNCTION],
    "p": 0.5,
    "k": 3,
    "seed": 7,
}
COHERE_USAGE = {
    "billed_units": {"input_tokens": 3.0, "output_tokens": 2},
    "tokens": {"input_tokens": 70, "output_tokens": 9},
}


def test_cohere_at_once() -> None:
    call = {"id": "t2", "type": "function", "function": {"name": "look", "arguments": '{"city": "B"}'}}
    message = {
        "role": "assistant",
        "tool_plan": "Hm.",
        "content": [{"type": "text", "text": "Fog"}],
        "tool_calls": [call],
    }
    response = {"id": "r", "message": message, "finish_reason": "TOOL_CALL", "usage": COHERE_USAGE}
    found = reading(COHERE, COHERE_ASKED, response)
    assert (found.dialect, found.provider, found.model_asked) == ("cohere.chat", "cohere", "command-x")
    assert (found.system, found.text, found.thinking, found.finish) == ("Be brief.", "Fog", "Hm.", "TOOL_CALL")
    assert (found.params["top_p"], found.params["top_k"], found.params["seed"]) == (0.5, 3, 7)
    assert found.tool_calls == ({"id": "t2", "name": "look", "arguments": '{"city": "B"}'},)
    assert found.messages[1]["thinking"] == "I look." and found.messages[2]["tool_results"][0]["id"] == "t1"
    expected = {"tokens_in": 70, "tokens_out": 9, "billed_in": 3, "billed_out": 2}
    assert {name: found.usage[name] for name in expected} == expected and found.stateless


def test_cohere_streamed() -> None:
    def delta(kind: str, index: int | None, **message: Any) -> Any:
        return {"type": kind, "index": index, "delta": {"message": message}}

    def call(kind: str, index: int, **function: str) -> Any:
        return delta(kind, index, tool_calls={"id": f"t{index}", "type": "function", "function": function})

    events = [
        {"id": "r", "type": "message-start", "delta": {"message": {"role": "assistant", "content": []}}},
        delta("tool-plan-delta", None, tool_plan="Hm."),
        delta("content-start", 0, content={"type": "text", "text": ""}),
        delta("content-delta", 0, content={"text": "Fo"}),
        delta("content-delta", 0, content={"text": "g"}),
        call("tool-call-start", 0, name="look", arguments=""),
        call("tool-call-start", 1, name="see", arguments=""),
        call("tool-call-delta", 0, arguments='{"city"'),
        call("tool-call-delta", 1, arguments="{}"),
        call("tool-call-delta", 0, arguments=': "B"}'),
        {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": COHERE_USAGE}},
    ]
    found = reading(COHERE, {**COHERE_ASKED, "stream": True}, sse(*events), "text/event-stream")
    assert (found.text, found.thinking, found.finish, found.response_id) == ("Fog", "Hm.", "TOOL_CALL", "r")
    assert [(one["id"], one["name"], one["arguments"]) for one in found.tool_calls] == [
        ("t0", "look", '{"city": "B"}'),
        ("t1", "see", "{}"),
    ]
    assert found.usage["tokens_in"] == 70 and not found.partial
    assert reading(COHERE, COHERE_ASKED, sse(*events[:-1]), "text/event-stream").partial


def test_completions_of_one_prompt() -> None:
    url = "http://127.0.0.1:8000/v1/completions"
    request = {"model": "m", "prompt": "hi", "max_tokens": 9, "suffix": "!"}
    response = {
        "model": "m",
        "choices": [{"index": 0, "text": "Hello", "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1},
    }
    found = reading(url, request, response)
    assert (found.dialect, found.text, found.usage["tokens_in"]) == ("openai.completions", "Hello", 1)
    stream = sse(*({"model": "m", "choices": [{"index": 0, "text": piece}]} for piece in ("Hel", "lo")))
    stream += sse({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]})
    found = reading(url, request, stream, "text/event-stream")
    assert (found.text, found.finish, found.partial) == ("Hello", "stop", False)
    middle = {"model": "codestral", "choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}]}
    assert reading("https://api.mistral.ai/v1/fim/completions", request, middle).text == "Hello"


PACKED = base64.b64encode(struct.pack("<4f", 1, 2, 3, 4)).decode()


@pytest.mark.parametrize(
    ("url", "request_", "response", "dialect", "model", "dimensions", "tokens"),
    [
        (
            "https://api.openai.com/v1/embeddings",
            {"model": "e", "input": ["a", "b"], "dimensions": 4},
            {"model": "e", "data": [{"embedding": PACKED}], "usage": {"prompt_tokens": 2}},
            "openai.embeddings",
            "e",
            4,
            2,
        ),
        (
            "https://x.openai.azure.com/openai/deployments/dep/embeddings?api-version=1",
            {"input": ["a", "b"]},
            {"data": [{"embedding": [1, 2, 3, 4]}]},
            "openai.embeddings",
            "dep",
            4,
            None,
        ),
        (
            "https://api.mistral.ai/v1/embeddings",
            {"model": "mistral-embed", "input": ["a", "b"]},
            {"data": [{"embedding": [1, 2]}], "usage": {"prompt_tokens": 2}},
            "openai.embeddings",
            "mistral-embed",
            2,
            2,
        ),
        (
            "https://generativelanguage.googleapis.com/v1beta/models/e:batchEmbedContents",
            {"requests": [{"content": {"parts": [{"text": one}]}, "outputDimensionality": 4} for one in "ab"]},
            {"embeddings": [{"values": [1, 2, 3, 4]}]},
            "google.embeddings",
            "e",
            4,
            None,
        ),
        (
            f"{VERTEX}:predict",
            {"instances": [{"content": "a"}, {"content": "b"}], "parameters": {"outputDimensionality": 2}},
            {"predictions": [{"embeddings": {"values": [1, 2], "statistics": {"token_count": 3}}}]},
            "google.embeddings",
            "gemini-x",
            2,
            3,
        ),
        (
            "https://api.cohere.com/v2/embed",
            {"model": "e", "texts": ["a", "b"], "input_type": "search_query", "output_dimension": 4},
            {"id": "i", "embeddings": {"float": [[1, 2, 3, 4]]}, "meta": {"billed_units": {"input_tokens": 2}}},
            "cohere.embeddings",
            "e",
            4,
            2,
        ),
        (
            f"{OLLAMA}/embed",
            {"model": "e", "input": ["a", "b"]},
            {"model": "e", "embeddings": [[1, 2]], "prompt_eval_count": 2},
            "ollama.embeddings",
            "e",
            2,
            2,
        ),
        (
            f"{BEDROCK}/cohere.embed-x/invoke",
            {"texts": ["a", "b"], "input_type": "search_query"},
            {"embeddings": [[1, 2]]},
            "bedrock.embeddings",
            "cohere.embed-x",
            2,
            None,
        ),
    ],
)
def test_embeddings(
    url: str, request_: Any, response: Any, dialect: str, model: str, dimensions: int, tokens: int | None
) -> None:
    found = reading(url, request_, response)
    assert (found.dialect, found.sort, found.model_asked) == (dialect, "embedding", model)
    assert (found.dimensions, found.usage.get("tokens_in"), found.stateless) == (dimensions, tokens, True)
    assert found.params.get("dimensions", dimensions) == dimensions
    assert [(one["role"], one["text"]) for one in found.messages] == [("input", "a"), ("input", "b")]
    assert not found.partial and not found.text
    assert reading(url, request_, {}).partial


def test_titan_embeds_one_text() -> None:
    url, response = f"{BEDROCK}/amazon.titan-embed-text-v2%3A0/invoke", {"embedding": [1, 2], "inputTextTokenCount": 5}
    found = reading(url, {"inputText": "a", "dimensions": 2}, response)
    assert (found.model_asked, found.dimensions) == ("amazon.titan-embed-text-v2:0", 2)
    assert found.usage["tokens_in"] == 5 and found.messages[0]["text"] == "a"
