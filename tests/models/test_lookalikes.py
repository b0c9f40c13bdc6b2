"""Requests that only look like model calls are none, and no bytes make recognition or reading raise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.dialects import read, recognise, stateless_model_request
from reenact.facts.dialects.answer_streams import amazon_events, collected, elements, framing_of, lines
from tests.models.test_providers import AMAZON, frame

HI: Any = [{"role": "user", "content": "hi"}]
PARTS: Any = [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}]


@pytest.mark.parametrize(
    ("url", "body"),
    [
        ("https://app.example/api/chat", {"messages": HI}),
        ("https://app.example/api/chat", {"id": "c", "messages": PARTS, "model": "m", "trigger": "submit-message"}),
        ("https://app.example/api/chat", {"model": "m", "messages": HI, "conversationId": "c"}),
        ("https://app.example/api/chat", {"model": "m", "messages": [{"role": "customer", "content": "x"}]}),
        ("https://app.example/api/chat", {"model": "Volvo", "messages": []}),
        ("https://app.example/api/generate", {"prompt": "a report"}),
        ("https://app.example/api/generate", {"model": "invoice", "prompt": "x", "customer": 7}),
        ("https://app.example/api/generate", {"model": {"name": "x"}, "prompt": "x"}),
        ("https://app.example/v2/chat", {"model": "m", "messages": HI, "room": "support"}),
        ("https://app.example/v2/chat", {"text": "hello"}),
        ("https://app.example/v2/embed", {"url": "https://video.example/1"}),
        ("https://app.example/api/embed", {"input": "https://video.example/1"}),
        ("https://app.example/shell/completions", {"prompt": "git ch"}),
        ("https://app.example/v1/embeddings", {"input": "x"}),
        ("https://app.example/model/tesla/invoke", {"action": "honk"}),
        ("https://app.example/model/tesla/converse", {"text": "hi"}),
        ("https://bedrock-runtime.eu-west-1.amazonaws.com/async-invoke", {"modelId": "m", "prompt": "x"}),
        ("https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/count-tokens", {"input": {"messages": HI}}),
        ("https://bedrock-runtime.eu-west-1.amazonaws.com/guardrail/g/version/1/apply", {"content": []}),
        ("https://generativelanguage.googleapis.com/v1beta/models/m:countTokens", {"contents": []}),
        ("https://generativelanguage.googleapis.com/v1beta/cachedContents", {"contents": [], "model": "m"}),
        ("https://generativelanguage.googleapis.com/v1beta/models/m:batchGenerateContent", {"batch": {}}),
        (
            "https://aiplatform.googleapis.com/v1/publishers/google/models/imagen:predict",
            {"instances": [{"prompt": "x"}]},
        ),
        ("https://api.mistral.ai/v1/conversations", {"model": "m", "inputs": "hi"}),
        ("https://api.mistral.ai/v1/ocr", {"model": "m", "document": {}}),
        ("https://api.cohere.com/v2/rerank", {"model": "m", "query": "q", "documents": ["d"]}),
        ("https://api.openai.com/v1/files", {"purpose": "batch"}),
        ("http://127.0.0.1:11434/api/pull", {"model": "llama"}),
        ("http://127.0.0.1:11434/api/create", {"model": "llama", "from": "x", "messages": HI}),
    ],
)
def test_look_alikes(url: str, body: Any) -> None:
    data = json.dumps(body).encode()
    assert recognise({"method": "POST", "url": url}, data) is None
    assert not stateless_model_request("POST", url, data)


@pytest.mark.parametrize(
    ("path", "body", "dialect"),
    [
        ("/gemini/v1beta/models/m:generateContent", {"contents": []}, "google.gemini"),
        ("/bedrock/model/m/converse", {"messages": []}, "bedrock.converse"),
        ("/ollama/api/chat", {"model": "m", "messages": HI}, "ollama.chat"),
        ("/ollama/api/chat", {"model": "m", "messages": HI, "options": {}, "new_one": 1}, "ollama.chat"),
        ("/cohere/v2/chat", {"model": "m", "messages": HI}, "cohere.chat"),
        ("/groq/openai/v1/chat/completions", {"messages": HI}, "openai.chat"),
    ],
)
@pytest.mark.parametrize("host", ["http://127.0.0.1:4000", "https://gateway.example", "http://[::1]:80"])
def test_gateways_do_not_hide_a_protocol(host: str, path: str, body: Any, dialect: str) -> None:
    head = {"method": "POST", "url": host + path}
    data = json.dumps(body).encode()
    assert recognise(head, data) == dialect
    found = read(head, data, {"status": 200, "headers": []}, b"{}")
    assert found is not None and found.dialect == dialect and found.partial


PATHS = (
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/completions",
    "/v1/embeddings",
    "/v1beta/models/m:generateContent",
    "/v1beta/models/m:streamGenerateContent",
    "/v1beta/models/m:embedContent",
    "/model/m/converse-stream",
    "/model/m/invoke",
    "/model/embed/invoke",
    "/api/chat",
    "/api/generate",
    "/api/embed",
    "/v2/chat",
    "/v2/embed",
    "/orders",
)
WORDS = st.sampled_from((
    "model", "messages", "contents", "prompt", "input", "system", "tools", "toolConfig", "inferenceConfig", "options",
    "generationConfig", "role", "content", "parts", "text", "type", "store", "candidates", "choices", "message",
    "delta", "usage", "output", "error", "functionCall", "tool_calls", "function", "embedding", "data", "done",
))  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=6) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=12,
)
TYPES = st.sampled_from(("application/json", "text/event-stream", AMAZON, "application/x-ndjson", ""))


def framed(kind: str, events: list[Any]) -> bytes:
    if kind == AMAZON:
        return b"".join(frame("contentBlockDelta", event) for event in events)
    if kind == "text/event-stream":
        return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    return b"\n".join(json.dumps(event).encode() for event in events)


@given(st.sampled_from(PATHS), ANYTHING, st.lists(ANYTHING, max_size=3), TYPES, st.integers(0, 40))
def test_whatever_is_sent_and_comes_back_reading_never_raises_and_agrees_with_recognition(
    path: str, request: Any, events: list[Any], kind: str, cut: int
) -> None:
    url = f"http://127.0.0.1{path}"
    head = {"method": "POST", "url": url, "headers": []}
    body = json.dumps(request).encode()
    response = framed(kind, events)
    found = read(head, body, {"status": 200, "headers": [["content-type", kind]]}, response[: len(response) - cut])
    named = recognise(head, body)
    assert (found.dialect if found else None) == named
    safe = stateless_model_request("POST", url, body)
    assert not safe or (found is not None and found.stateless)
    if found is not None:
        assert json.loads(json.dumps(found.to_json())) is not None


@given(st.lists(st.dictionaries(WORDS, st.integers(0, 9), max_size=3), max_size=5), st.data())
def test_a_stream_cut_anywhere_gives_a_prefix_of_its_events(events: list[Any], data: st.DataObject) -> None:
    binary = b"".join(frame("contentBlockDelta", event) for event in events)
    array = json.dumps(events).encode()
    documents = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    for framing, whole in ((amazon_events, binary), (elements, array), (lines, documents)):
        every, complete = collected(framing, whole)
        assert complete and [one for _, one in every] == events
        cut = data.draw(st.integers(0, max(len(whole) - 1, 0)))
        try:
            some, _ = collected(framing, whole[:cut])
        except ValueError:
            some = []
        assert some == every[: len(some)]


@given(st.binary(max_size=200))
def test_no_bytes_break_the_framings(data: bytes) -> None:
    for kind in (AMAZON, "application/x-ndjson", "text/event-stream", ""):
        framing = framing_of(kind, data)
        if framing is not None:
            collected(framing, data)
