"""A rewritten model request differs in what was asked for, and is byte for byte what it was in everything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.dialects.rewriting import NotRewritten, other_protocol, rewritten

TOOLS = '[ {"name":"look",  "schema": {"b": 1,"a": 1.50, "é": "\\u00e9"}} ]'
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def change(dialect: str, body: str, prompt: str | None = None, model: str | None = None, **params: Any) -> bytes:
    return rewritten(dialect, body.encode(), prompt=prompt, model=model, params=params)


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
    ],
)
def test_the_system_prompt_of_each_protocol(dialect: str, request_: Any, expected: Any) -> None:
    assert json.loads(change(dialect, json.dumps(request_), prompt="p")) == expected


def test_parameters_of_a_local_server_stand_in_its_options() -> None:
    sent = json.loads(change("ollama.chat", '{"model": "q", "options": {"num_ctx": 9}}', temperature=0))
    assert sent == {"model": "q", "options": {"num_ctx": 9, "temperature": 0}}


@pytest.mark.parametrize(
    ("dialect", "model", "other"),
    [
        ("openai.chat", "claude-haiku-5-5", True),
        ("anthropic.messages", "gpt-5.4", True),
        ("openai.responses", "gpt-5.4-nano", False),
        ("openai.chat", "anthropic/claude-haiku-5-5", False),
        ("openai.chat", "my-own-model", False),
    ],
)
def test_a_model_of_another_protocol_is_known_by_its_name(dialect: str, model: str, other: bool) -> None:
    assert other_protocol(dialect, model) is other


@pytest.mark.parametrize(("dialect", "body"), [("cohere.chat", "{}"), ("openai.chat", "[]"), ("openai.chat", "no")])
def test_what_cannot_be_rewritten_is_refused(dialect: str, body: str) -> None:
    with pytest.raises(NotRewritten):
        change(dialect, body, prompt="p")
