"""A rewritten model request differs in what was asked for, and is byte for byte what it was in everything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.dialects.request_rewriting import NotRewritten, other_protocol, rewritten

TOOLS = '[ {"name":"look",  "schema": {"b": 1,"a": 1.50, "é": "\\u00e9"}} ]'
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


HERE = "/v1/ask"


def change(dialect: str, body: str, prompt: str | None = None, model: str | None = None, **params: Any) -> bytes:
    url, sent = rewritten(dialect, HERE, body.encode(), prompt=prompt, model=model, params=params)
    assert url is HERE
    return sent


def invoke(model: str) -> str:
    return f"https://there.example/model/{model}/invoke"


def test_tool_schemas_go_out_as_they_stood() -> None:
    body = '{"model": "gpt-5.4",\n "messages": [{"role": "user", "content": "hi"}], "tools": ' + TOOLS + "}"
    sent = change("openai.chat", body, model="gpt-5.4-nano", temperature=0, seed=42).decode()
    assert f'"tools": {TOOLS}' in sent
    asked = json.loads(body)
    assert json.loads(sent) == {**asked, "model": "gpt-5.4-nano", "temperature": 0, "seed": 42}


@given(st.dictionaries(st.text(), JSON), st.dictionaries(st.text(), JSON, max_size=3))
def test_every_other_member_keeps_its_bytes(request: dict[str, Any], params: dict[str, Any]) -> None:
    request = {name: value for name, value in request.items() if name not in ("messages", "system")}
    for body in (json.dumps(request), json.dumps(request, ensure_ascii=False, indent=1)):
        more = {f"p{n}": value for n, value in enumerate(params.values())}
        sent = change("anthropic.messages", body, prompt="be brief", **more)
        assert json.loads(sent) == {
            **request,
            "system": "be brief",
            **more,
        }
        for name, value in request.items():
            if body.startswith("{\n"):
                break
            assert f"{json.dumps(name)}: {json.dumps(value)}".encode() in sent


SYSTEM = {"role": "system", "content": "long"}
USER = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("dialect", "request_", "expected"),
    [
        ("openai.chat", {"messages": [SYSTEM, USER]}, {"messages": [{**SYSTEM, "content": "p"}, USER]}),
        ("bedrock.converse", {"messages": [USER]}, {"messages": [USER], "system": [{"text": "p"}]}),
        ("openai.chat", {"messages": [USER]}, {"messages": [{"role": "system", "content": "p"}, USER]}),
        ("openai.chat", {"messages": [SYSTEM, USER, SYSTEM]}, {"messages": [{**SYSTEM, "content": "p"}, USER]}),
        ("openai.responses", {"input": "hi", "instructions": "long"}, {"input": "hi", "instructions": "p"}),
        ("openai.responses", {"input": "hi"}, {"input": "hi", "instructions": "p"}),
        (
            "openai.responses",
            {"input": [{"role": "developer", "content": "long"}, USER]},
            {"input": [{"role": "developer", "content": "p"}, USER]},
        ),
        ("anthropic.messages", {"system": [{"type": "text", "text": "long"}]}, {"system": "p"}),
        ("google.gemini", {"contents": []}, {"contents": [], "systemInstruction": {"parts": [{"text": "p"}]}}),
        ("google.gemini", {"system_instruction": "long"}, {"system_instruction": {"parts": [{"text": "p"}]}}),
        ("ollama.chat", {"prompt": "hi", "system": "long"}, {"prompt": "hi", "system": "p"}),
        ("ollama.chat", {"messages": [USER]}, {"messages": [{"role": "system", "content": "p"}, USER]}),
        ("cohere.chat", {"messages": [SYSTEM, USER]}, {"messages": [{**SYSTEM, "content": "p"}, USER]}),
        (
            "bedrock.invoke",
            {"messages": [USER], "system": [{"text": "long"}]},
            {"messages": [USER], "system": [{"text": "p"}]},
        ),
        ("bedrock.invoke", {"messages": [USER]}, {"messages": [{"role": "system", "content": "p"}, USER]}),
        ("bedrock.invoke", {"message": "hi"}, {"message": "hi", "preamble": "p"}),
    ],
)
def test_the_system_prompt_of_each_protocol(dialect: str, request_: Any, expected: Any) -> None:
    assert json.loads(change(dialect, json.dumps(request_), prompt="p")) == expected


@pytest.mark.parametrize(
    ("dialect", "request_", "params", "expected"),
    [
        (
            "ollama.chat",
            {"model": "q", "options": {"num_ctx": 9}},
            {"temperature": 0},
            {"model": "q", "options": {"num_ctx": 9, "temperature": 0}},
        ),
        (
            "google.gemini",
            {"generationConfig": {"topK": 9}},
            {"temperature": 0, "seed": 4, "safetySettings": []},
            {"generationConfig": {"topK": 9, "temperature": 0, "seed": 4}, "safetySettings": []},
        ),
        ("google.gemini", {"generation_config": {}}, {"seed": 4}, {"generation_config": {"seed": 4}}),
        (
            "bedrock.converse",
            {"inferenceConfig": None},
            {"maxTokens": 9, "top_k": 5},
            {"inferenceConfig": {"maxTokens": 9}, "additionalModelRequestFields": {"top_k": 5}},
        ),
        ("bedrock.invoke", {"messages": [], "schemaVersion": "1"}, {"topK": 9}, {"inferenceConfig": {"topK": 9}}),
        ("bedrock.invoke", {"inputText": "hi"}, {"topP": 1}, {"textGenerationConfig": {"topP": 1}}),
        ("bedrock.invoke", {"prompt": "hi"}, {"temperature": 0}, {"temperature": 0}),
        ("openai.completions", {"prompt": "hi"}, {"temperature": 0}, {"temperature": 0}),
    ],
)
def test_parameters_stand_where_each_protocol_has_them(dialect: str, request_: Any, params: Any, expected: Any) -> None:
    assert json.loads(change(dialect, json.dumps(request_), **params)) == {**request_, **expected}


@pytest.mark.parametrize(
    ("dialect", "url", "model", "expected"),
    [
        ("bedrock.converse", "/model/a.b%3A0/converse", "c.d:1", "/model/c.d%3A1/converse"),
        ("bedrock.converse", "/model/a.b/converse-stream?x=1", "c", "/model/c/converse-stream?x=1"),
        ("bedrock.converse", "/model/a/converse", "arn:aws:b:e::p/x", "/model/arn%3Aaws%3Ab%3Ae%3A%3Ap%2Fx/converse"),
        ("bedrock.invoke", invoke("amazon.nova-x"), "us.amazon.nova-y", invoke("us.amazon.nova-y")),
        ("anthropic.messages", invoke("anthropic.claude-a"), "anthropic.claude-b", invoke("anthropic.claude-b")),
        ("google.gemini", "/v1beta/models/g-1:generateContent", "g-2", "/v1beta/models/g-2:generateContent"),
        ("google.gemini", "/v1beta/models/g-1:generateContent", "models/g-2", "/v1beta/models/g-2:generateContent"),
        (
            "google.gemini",
            "/models/g%3AstreamGenerateContent?alt=sse",
            "h",
            "/models/h%3AstreamGenerateContent?alt=sse",
        ),
        (
            "anthropic.messages",
            "/publishers/anthropic/models/claude-a@1:rawPredict",
            "claude-b@2",
            "/publishers/anthropic/models/claude-b@2:rawPredict",
        ),
        (
            "openai.chat",
            "/openai/deployments/one/chat/completions?api-version=7",
            "two",
            "/openai/deployments/two/chat/completions?api-version=7",
        ),
    ],
)
def test_a_model_in_the_address_is_changed_there(dialect: str, url: str, model: str, expected: str) -> None:
    body = b'{"messages": [],  "contents": [], "prompt": ""}'
    assert rewritten(dialect, url, body, prompt=None, model=model, params={}) == (expected, body)
    told = b'{"model": "one", "messages": []}'
    assert json.loads(rewritten(dialect, url, told, prompt=None, model=model, params={})[1])["model"] == model


def test_a_model_of_nova_says_so_in_its_name_alone() -> None:
    body = b'{"messages": [{"role": "user", "content": [{"text": "hi"}]}]}'
    _, sent = rewritten("bedrock.invoke", invoke("amazon.nova-x"), body, prompt="p", model=None, params={"topK": 1})
    assert json.loads(sent) == {**json.loads(body), "system": [{"text": "p"}], "inferenceConfig": {"topK": 1}}


@pytest.mark.parametrize(
    ("now", "model", "other"),
    [
        ("amazon.nova-x", "amazon.titan-text", True),
        ("anthropic.claude-a", "eu.meta.llama-b", True),
        ("eu.anthropic.claude-a", "arn:aws:bedrock:eu-west-1::foundation-model/anthropic.claude-b", False),
        ("mistral.large", "arn:aws:bedrock:eu-west-1:1:application-inference-profile/xyz", False),
    ],
)
def test_behind_one_door_each_maker_speaks_for_itself(now: str, model: str, other: bool) -> None:
    def send() -> None:
        rewritten("bedrock.invoke", invoke(now), b'{"prompt": ""}', prompt=None, model=model, params={})

    if other:
        with pytest.raises(NotRewritten, match=f"does not speak as {now} does"):
            send()
    else:
        send()


@pytest.mark.parametrize(
    ("dialect", "model", "other"),
    [
        ("openai.chat", "claude-haiku-5-5", True),
        ("anthropic.messages", "gpt-5.4", True),
        ("openai.responses", "gpt-5.4-nano", False),
        ("openai.chat", "anthropic/claude-haiku-5-5", False),
        ("openai.chat", "my-own-model", False),
        ("google.gemini", "gpt-5.4", True),
        ("bedrock.converse", "amazon.nova-lite-v1:0", False),
    ],
)
def test_a_model_of_another_protocol_is_known_by_its_name(dialect: str, model: str, other: bool) -> None:
    assert other_protocol(dialect, model) is other


def test_a_model_of_the_maker_who_answers_now_is_no_other() -> None:
    assert other_protocol("openai.chat", "gemini-2", now="gemini-1") is False
    assert other_protocol("openai.chat", "gemini-2", now="gpt-5.4") is True


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        ("openai.embeddings", "{}"),
        ("", "{}"),
        ("openai.chat", "[]"),
        ("openai.chat", "no"),
        ("openai.completions", '{"prompt": "hi"}'),
        ("bedrock.invoke", '{"inputText": "hi"}'),
    ],
)
def test_what_cannot_be_rewritten_is_refused(dialect: str, body: str) -> None:
    with pytest.raises(NotRewritten):
        change(dialect, body, prompt="p")
