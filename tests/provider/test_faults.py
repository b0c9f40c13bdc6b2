"""Proves that each fault reaches the real SDKs as the failure it stands for, and only as often as it was asked for."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx
import openai
import pytest

from reenact.testing import ScriptedProvider
from reenact.testing.provider import (
    Fault,
    Rule,
    Script,
    When,
    rate_limited,
    refused,
    reset,
    server_error,
    silent,
    slow,
    truncated,
)

ASKED: Any = {"model": "gpt-5.4-mini", "messages": [{"role": "user", "content": "hello, are you there at all?"}]}
TO_CLAUDE: Any = {**ASKED, "model": "claude-haiku-5-5", "max_tokens": 99}


def test_a_rate_limit_has_half_a_body_and_says_when_to_come_back(
    provider: ScriptedProvider, gpt: openai.OpenAI
) -> None:
    provider.fail(rate_limited(retry_after_s=1.5))
    with pytest.raises(openai.RateLimitError) as caught:
        gpt.chat.completions.create(**ASKED)
    assert caught.value.response.headers["retry-after"] == "1.5"
    with pytest.raises(json.JSONDecodeError):
        caught.value.response.json()
    assert gpt.chat.completions.create(**ASKED).choices[0].finish_reason == "stop"


def test_the_sdk_retries_over_it_by_itself(provider: ScriptedProvider, gpt: openai.OpenAI) -> None:
    provider.fail(rate_limited(retry_after_s=0), path="/v1/chat")
    assert gpt.with_options(max_retries=1).chat.completions.create(**ASKED).choices
    assert provider.counts == {"/v1/chat/completions": 2}


def test_errors_of_the_server_in_each_dialect(provider: ScriptedProvider, gpt: openai.OpenAI, claude: Any) -> None:
    provider.fail(server_error(), times=2)
    with pytest.raises(openai.InternalServerError) as caught:
        gpt.responses.create(model="gpt-5.4-mini", input="hello")
    assert caught.value.response.json()["error"]["type"] == "server_error"
    with pytest.raises(anthropic.InternalServerError):
        claude.messages.create(**TO_CLAUDE)
    provider.fail(server_error(529), path="/v1/messages")
    with pytest.raises(anthropic.APIStatusError) as overloaded:
        claude.messages.create(**TO_CLAUDE)
    assert overloaded.value.response.json()["error"]["type"] == "overloaded_error"


@pytest.mark.parametrize("fault", [reset(3), truncated(3)], ids=lambda fault: fault.kind)
def test_a_stream_breaks_off_after_so_many_events(provider: ScriptedProvider, gpt: openai.OpenAI, fault: Fault) -> None:
    provider.fail(fault)
    seen: list[Any] = []
    with pytest.raises(Exception) as caught:
        for chunk in gpt.chat.completions.create(**ASKED, stream=True):
            seen.append(chunk)
    assert len(seen) == 3
    chain, at = [], caught.value
    while at is not None:
        chain.append(type(at).__name__)
        at = at.__cause__ or at.__context__  # type: ignore[assignment]
    wanted = {"reset": {"ReadError", "ConnectionResetError"}, "truncated": {"RemoteProtocolError"}}[fault.kind]
    assert wanted <= set(chain), chain


def test_a_plain_body_breaks_off_too(provider: ScriptedProvider, claude: anthropic.Anthropic) -> None:
    provider.fail(truncated(1))
    with pytest.raises(anthropic.APIConnectionError):
        claude.messages.create(**TO_CLAUDE)


def test_a_silent_server_and_a_refused_connection(provider: ScriptedProvider, gpt: openai.OpenAI) -> None:
    provider.fail(silent())
    with pytest.raises(openai.APIConnectionError):
        gpt.chat.completions.create(**ASKED)
    provider.refuse()
    with pytest.raises(httpx.ConnectError):
        httpx.get(provider.url)
    provider.listen()
    assert gpt.chat.completions.create(**ASKED).choices
    provider.fail(refused())
    for _ in range(2):
        with pytest.raises(openai.APIConnectionError):
            gpt.chat.completions.create(**ASKED)
    assert provider.counts["/v1/chat/completions"] == 3


def test_a_slow_stream_arrives_piece_by_piece(provider: ScriptedProvider) -> None:
    provider.fail(slow(0.02))
    body = {**ASKED, "stream": True}
    headers = {"authorization": "Bearer k", "accept-encoding": "identity"}
    with httpx.stream("POST", f"{provider.url}/v1/chat/completions", json=body, headers=headers) as answer:
        parts = list(answer.iter_raw())
    assert len(parts) > 5 and b"".join(parts).endswith(b"data: [DONE]\n\n")
    assert answer.elapsed.total_seconds() >= 0.02 * 5


def test_a_rule_may_bring_its_fault(provider: ScriptedProvider, claude: anthropic.Anthropic) -> None:
    provider.script = Script(rules=(Rule(fault=rate_limited(), when=When(to_call=1)), Rule(say="back again")))
    with pytest.raises(anthropic.RateLimitError):
        claude.messages.create(**TO_CLAUDE)
    assert claude.messages.create(**TO_CLAUDE).content[0].text == "back again"


def test_a_mistake_in_the_script_is_an_error_of_the_server(
    provider: ScriptedProvider, gpt: openai.OpenAI, capfd: pytest.CaptureFixture[str]
) -> None:
    provider.script = Script(rules=(Rule(say=lambda ask: ask.nothing),))  # type: ignore[attr-defined]
    with pytest.raises(openai.InternalServerError):
        gpt.chat.completions.create(**ASKED)
    assert "nothing" in capfd.readouterr().err
