"""A request that is rebuilt from a trace says the same conversation in each protocol, and says what it lacks."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from reenact.errors import UsageError
from reenact.facts.conversations import digest_of, lines_of
from reenact.facts.dialects import read
from reenact.facts.reading import Reading
from reenact.timetravel.resending.rebuilding import rebuilt

READING = Reading(
    "", model_asked="m-1", system="Be brief.", params={"temperature": 0.5, "max_tokens": 77, "stop": ["x"]},
    messages=(
        {"role": "user", "text": "Wetter in Málaga?"},
        {"role": "assistant", "text": "I look.", "tool_calls": [
            {"id": "c1", "name": "look", "arguments": {"city": "Málaga"}},
            {"id": "c2", "name": "look", "arguments": '{"city": "Oslo"}'},
        ]},
        {"role": "tool", "text": "", "tool_results": [{"id": "c1", "text": '{"sky": "fog"}'}]},
        {"role": "tool", "text": "", "tool_results": [{"id": "c2", "text": '{"sky": "rain"}'}]},
        {"role": "assistant", "text": "Fog."},
        {"role": "user", "text": "And now?"},
    ),
    tools=({"name": "look", "description": "d", "schema": {"type": "object", "properties": {}}},),
)  # fmt: skip
HEAD = {"status": 200, "headers": [["content-type", "application/json"]], "framing": "payload"}


@pytest.mark.parametrize(
    ("provider", "dialect"),
    [
        ("openai", "openai.chat"), ("mistral", "openai.chat"), ("", "openai.chat"), ("groq", "openai.chat"),
        ("anthropic", "anthropic.messages"), ("google", "google.gemini"), ("bedrock", "bedrock.converse"),
        ("ollama", "ollama.chat"),
    ],
)  # fmt: skip
def test_each_protocol_says_the_same_conversation(provider: str, dialect: str) -> None:
    spoken, path, body, lost = rebuilt(replace(READING, provider=provider), 3, "7f3c")
    assert spoken == dialect and lost == []
    head = {"method": "POST", "url": f"https://host{path}", "headers": [["content-type", "application/json"]]}
    again = read(head, body, HEAD, b"{}")
    assert again is not None and again.dialect == dialect and again.model_asked == "m-1"
    assert digest_of(lines_of(again)) == digest_of(lines_of(READING))
    assert again.params["max_tokens"] == 77 and again.params["temperature"] == 0.5
    assert [tool["name"] for tool in again.tools if isinstance(tool, dict)] == ["look"]
    assert again.stateless


def test_the_family_of_a_model_tells_its_protocol_where_no_provider_is_named() -> None:
    assert rebuilt(replace(READING, model_asked="claude-x"), 3, "7f3c")[0] == "anthropic.messages"
    assert rebuilt(replace(READING, model_asked="google/gemini-x"), 3, "7f3c")[0] == "google.gemini"
    assert rebuilt(replace(READING, model_asked="claude-x", provider="openrouter"), 3, "7f3c")[0] == "openai.chat"


def test_what_is_missing_is_named() -> None:
    image = {"role": "user", "text": "look", "other": ["image_url"]}
    reading = replace(READING, messages=(image,), params={"logit_bias": {"5": 1}, "fingerprint": "fp", "maxTokens": 5})
    assert rebuilt(replace(reading, provider="bedrock"), 3, "7f3c")[3] == ["image_url", "parameter logit_bias"]
    assert rebuilt(replace(READING, params={}), 3, "7f3c")[3] == ["parameters"]


def test_a_result_without_an_id_belongs_to_the_first_call_that_waits() -> None:
    told = []
    for each in READING.messages:
        assert isinstance(each, dict)
        given = [{"text": one["text"]} for one in each.get("tool_results", ())]
        told.append({**each, "tool_results": given} if given else each)
    body = json.loads(rebuilt(replace(READING, messages=tuple(told)), 3, "7f3c")[2])
    assert [each["tool_call_id"] for each in body["messages"] if each["role"] == "tool"] == ["c1", "c2"]


@pytest.mark.parametrize(
    "reading",
    [replace(READING, messages=(), system=""), replace(READING, model_asked=""), replace(READING, sort="embedding")],
)
def test_a_trace_that_does_not_tell_enough_is_refused(reading: Reading) -> None:
    with pytest.raises(UsageError, match="event 3 cannot be sent again") as refused:
        rebuilt(reading, 3, "7f3c")
    assert "reenact kit 7f3c" in str(refused.value)
