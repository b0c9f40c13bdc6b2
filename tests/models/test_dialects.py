"""Model calls of our own making: other hosts, parameters, errors, cut-off and hostile responses, and effects."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.dialects import read, recognise, stateless_model_request
from reenact.facts.reading import Reading

CHAT = "https://api.openai.com/v1/chat/completions"
RESPONSES = "https://api.openai.com/v1/responses"
MESSAGES = "https://api.anthropic.com/v1/messages"
TURN = [{"role": "user", "content": "hi"}]
OK = {"status": 200, "headers": [["content-type", "application/json"]], "framing": "payload"}
SSE: dict[str, Any] = {
    "status": 200,
    "headers": [["content-type", "text/event-stream; charset=utf-8"]],
    "framing": "payload",
}


def post(url: str) -> dict[str, Any]:
    return {"method": "POST", "url": url, "headers": [["content-type", "application/json"]]}


def reading(url: str, request: Any, response: Any, head: Any = OK) -> Reading:
    data = response if isinstance(response, bytes) else json.dumps(response).encode()
    found = read(post(url), json.dumps(request).encode(), head, data)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("url", "request_", "dialect", "provider", "region"),
    [
        ("http://127.0.0.1:8000/v1/chat/completions", {"messages": TURN}, "openai.chat", "127.0.0.1", ""),
        (
            "https://x.openai.azure.com/openai/deployments/dep/chat/completions?api-version=1",
            {"messages": TURN},
            "openai.chat",
            "azure",
            "",
        ),
        ("https://openrouter.ai/api/v1/chat/completions/", {"messages": TURN}, "openai.chat", "openrouter", ""),
        ("https://us.api.openai.com/v1/responses", {"input": "hi"}, "openai.responses", "openai", "us"),
        (
            "http://proxy.example/anthropic/v1/messages?beta=true",
            {"messages": TURN},
            "anthropic.messages",
            "proxy.example",
            "",
        ),
        (
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/anthropic.claude/invoke",
            {"anthropic_version": "b", "messages": TURN},
            "anthropic.messages",
            "bedrock",
            "eu-west-1",
        ),
        (
            "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/anthropic/models/c:streamRawPredict",
            {"anthropic_version": "v", "messages": TURN},
            "anthropic.messages",
            "vertex",
            "us-east5",
        ),
    ],
)
def test_hosts_and_paths(url: str, request_: Any, dialect: str, provider: str, region: str) -> None:
    found = reading(url, request_, {})
    assert (found.dialect, found.provider, found.region) == (dialect, provider, region)
    assert found.partial


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        ("GET", CHAT, b'{"messages": []}'),
        ("POST", CHAT, b""),
        ("POST", CHAT, b'{"input": 1}'),
        ("POST", "https://api.openai.com/v1/embeddings", b'{"input": "x"}'),
        ("POST", "https://api.anthropic.com/v1/messages/count_tokens", b'{"messages": []}'),
        ("POST", "https://api.anthropic.com/v1/messages/batches", b'{"requests": [{"messages": []}]}'),
        ("POST", "https://api.openai.com/v1/threads/t/messages", b'{"role": "user", "content": "x"}'),
        ("POST", "https://chat.example/messages", b'{"text": "hello"}'),
    ],
)
def test_other_requests_are_none(method: str, url: str, body: bytes) -> None:
    head = {**post(url), "method": method}
    assert recognise(head, body) is None
    assert read(head, body, OK, b"{}") is None
    assert not stateless_model_request(method, url, body)


def test_parameters_and_system_prompt() -> None:
    request = {
        "model": "m",
        "temperature": 0,
        "top_p": 0.5,
        "seed": 7,
        "max_completion_tokens": 9,
        "reasoning_effort": "low",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "developer", "content": [{"type": "text", "text": "Now."}]},
            {
                "role": "user",
                "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "u"}}],
            },
        ],
    }
    found = reading(CHAT, request, {})
    assert found.params == {
        "temperature": 0,
        "top_p": 0.5,
        "seed": 7,
        "max_completion_tokens": 9,
        "max_tokens": 9,
        "reasoning_effort": "low",
    }
    assert found.system == "Be brief.\n\nNow."
    assert found.messages == ({"role": "user", "text": "look", "other": ["image_url"]},)
    anthropic = reading(
        MESSAGES, {"model": "c", "system": [{"type": "text", "text": "S"}], "messages": TURN, "max_tokens": 3}, {}
    )
    assert (anthropic.system, anthropic.params) == ("S", {"max_tokens": 3})
    responses = reading(RESPONSES, {"model": "r", "instructions": "I", "input": "hi", "max_output_tokens": 4}, {})
    assert (responses.system, responses.params["max_tokens"]) == ("I", 4)
    assert responses.messages == ({"role": "user", "text": "hi"},)


def test_refusals_and_broken_refusals() -> None:
    limited = {**OK, "status": 429}
    error = {"error": {"message": "slow down", "type": "rate_limit", "code": "x"}}
    assert reading(CHAT, {"messages": TURN}, error, limited).error == {
        "status": 429,
        "type": "rate_limit",
        "message": "slow down",
    }
    half = reading(CHAT, {"messages": TURN}, b'{"error": {"mess', limited)
    assert half.error == {"status": 429, "type": "", "message": '{"error": {"mess'}
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert reading(MESSAGES, {"messages": TURN}, overloaded, {**OK, "status": 529}).error == {
        "status": 529,
        "type": "overloaded_error",
        "message": "Overloaded",
    }
    stream = b"event: error\ndata: " + json.dumps(overloaded).encode() + b"\n\n"
    found = reading(MESSAGES, {"messages": TURN, "stream": True}, stream, SSE)
    assert found.error is not None and found.error["type"] == "overloaded_error" and found.partial


def chunks(*deltas: Any, finish: str | None = "stop") -> bytes:
    events = [{"model": "m", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    if finish:
        events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    return b"".join(b"data: " + json.dumps(event).encode() + b"\r\n\r\n" for event in events) + b"data: [DONE]\r\n\r\n"


def test_parallel_tool_calls_are_joined_by_their_index() -> None:
    def piece(index: int, **function: str) -> Any:
        return {
            "tool_calls": [{"index": index, "id": f"c{index}" if "name" in function else None, "function": function}]
        }

    stream = chunks(
        piece(0, name="a", arguments=""),
        piece(1, name="b", arguments='{"y"'),
        piece(0, arguments="{}"),
        piece(1, arguments=": 1}"),
        finish="tool_calls",
    )
    found = reading(CHAT, {"messages": TURN, "stream": True}, stream, SSE)
    assert found.tool_calls == (
        {"id": "c0", "name": "a", "arguments": "{}"},
        {"id": "c1", "name": "b", "arguments": '{"y": 1}'},
    )
    assert not found.partial


def test_a_cut_stream_is_partial_and_keeps_what_came() -> None:
    stream = chunks({"content": "Hello"}, {"content": " world"})
    cut = stream[: stream.index(b" world")]
    found = reading(CHAT, {"messages": TURN, "stream": True}, cut, SSE)
    assert (found.text, found.partial) == ("Hello", True)
    packed = gzip.compress(stream)
    head = {**SSE, "headers": [*SSE["headers"], ["Content-Encoding", "gzip"]]}
    assert reading(CHAT, {"messages": TURN}, packed, head).text == "Hello world"
    assert reading(CHAT, {"messages": TURN}, packed[:-40], head).partial


@given(st.binary(max_size=300), st.sampled_from([OK, SSE, {}, {"status": 200, "headers": [], "framing": "wire"}]))
def test_no_response_makes_it_raise(data: bytes, head: Any) -> None:
    for url, request in ((CHAT, {"messages": TURN}), (RESPONSES, {"input": "x"}), (MESSAGES, {"messages": TURN})):
        found = read(post(url), json.dumps(request).encode(), head, data)
        assert found is not None and found.partial == bool(head or data), "without any response none is cut off"


junk = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "delta",
                    "content",
                    "output",
                    "type",
                    "error",
                    "usage",
                    "tool_calls",
                    "function",
                    "index",
                    "item",
                    "response",
                    "messages",
                    "tools",
                    "input",
                    "role",
                    "system",
                    "store",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(junk, junk)
def test_no_shape_makes_it_raise(request: Any, response: Any) -> None:
    body = json.dumps({"messages": request, "input": request, "tools": request, "store": request}).encode()
    stream = b"data: " + json.dumps(response).encode() + b"\n\n"
    for url in (CHAT, RESPONSES, MESSAGES):
        for data, head in ((json.dumps(response).encode(), OK), (stream, SSE)):
            found = read(post(url), body, head, data)
            assert found is not None
            json.dumps(found.to_json())
        stateless_model_request("POST", url, body)


@pytest.mark.parametrize(
    ("url", "request_", "stateless"),
    [
        (CHAT, {"messages": TURN}, True),
        (CHAT, {"messages": TURN, "store": False}, True),
        (CHAT, {"messages": TURN, "store": True}, False),
        (CHAT, {"messages": TURN, "web_search_options": {}}, False),
        (CHAT, {"messages": [{"role": "user", "content": 'say "store"'}]}, True),
        (CHAT, {"messages": TURN, "store": None, "tools": [{"type": "function", "function": {"name": "x"}}]}, True),
        (RESPONSES, {"input": "x"}, False),
        (RESPONSES, {"input": "x", "store": True}, False),
        (RESPONSES, {"input": "x", "store": False}, True),
        (RESPONSES, {"input": "x", "store": False, "background": True}, False),
        (RESPONSES, {"input": "x", "store": False, "conversation": "c"}, False),
        (RESPONSES, {"input": "x", "store": False, "previous_response_id": "r"}, False),
        (RESPONSES, {"input": "x", "store": False, "tools": [{"type": "web_search"}]}, False),
        (RESPONSES, {"input": "x", "store": False, "tools": [{"type": "function", "name": "f"}]}, True),
        (MESSAGES, {"messages": TURN}, True),
        (MESSAGES, {"messages": TURN, "tools": [{"name": "t", "input_schema": {}}]}, True),
        (MESSAGES, {"messages": TURN, "tools": [{"type": "bash_20250124", "name": "bash"}]}, True),
        (MESSAGES, {"messages": TURN, "tools": [{"type": "web_search_20250305", "name": "web_search"}]}, False),
        (MESSAGES, {"messages": TURN, "mcp_servers": [{"url": "u"}]}, False),
        (MESSAGES, {"messages": TURN, "container": "c"}, False),
    ],
)
def test_what_makes_a_model_request_a_write(url: str, request_: Any, stateless: bool) -> None:
    assert stateless_model_request("POST", url, json.dumps(request_).encode()) is stateless
    assert reading(url, request_, {}).stateless is stateless


def test_a_brief_reading_leaves_out_what_repeats() -> None:
    found = reading(
        CHAT, {"model": "m", "messages": TURN, "tools": [{"type": "function", "function": {"name": "f"}}]}, {}
    )
    assert set(found.to_json()) - set(found.to_json(brief=True)) == {"messages", "tools"}
    assert Reading.from_json({**found.to_json(), "a field of tomorrow": 1}) == found
