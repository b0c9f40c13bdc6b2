"""Proves that the real SDKs, sync and async, whole and streamed, read every answer of the scripted provider.

A stream and a whole answer to the same settled request must say the same: text, tool calls, usage, finish reason.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
import httpx
import openai
import pytest
from anthropic.types import ToolUseBlock
from pydantic import BaseModel

from reenact.testing import ScriptedProvider
from reenact.testing.provider import Rule, Script, ToolUse, When

GPT, CLAUDE = "gpt-5.4-mini", "claude-haiku-5-5"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
CHAT_TOOLS: Any = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}}]
RESPONSE_TOOLS: Any = [{"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": False}]
CLAUDE_TOOLS: Any = [{"name": "get_weather", "input_schema": SCHEMA}]
ASKED: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "weather in Málaga, please 🌞"}]
TWO_CALLS = Script(
    rules=(
        Rule(
            say="Let me look.",
            uses=(
                ToolUse("get_weather", {"city": "Málaga", "days": 1}),
                ToolUse("get_weather", {"city": "Kyōto", "days": 2}),
            ),
            when=When(results=False),
        ),
        Rule(say=lambda ask: " and ".join(f"{result.name}={result.text}" for result in ask.results)),
    )
)


def test_chat_whole_and_streamed_say_the_same(gpt: openai.OpenAI) -> None:
    whole = gpt.chat.completions.create(model=GPT, messages=ASKED, temperature=0)
    chunks = list(
        gpt.chat.completions.create(
            model=GPT, messages=ASKED, temperature=0, stream=True, stream_options={"include_usage": True}
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert whole.choices[0].message.content == text
    assert "Málaga, please 🌞" in text
    assert whole.choices[0].finish_reason == chunks[-2].choices[0].finish_reason == "stop"
    assert whole.usage is not None and whole.usage == chunks[-1].usage
    assert whole.usage.prompt_tokens + whole.usage.completion_tokens == whole.usage.total_tokens > 0
    assert whole.id.startswith("chatcmpl-") and whole.system_fingerprint and whole.system_fingerprint.startswith("fp_")
    assert len({chunk.id for chunk in chunks}) == 1 and len(chunks) > 5


def test_chat_tool_calls_there_and_back(provider: ScriptedProvider, gpt: openai.OpenAI) -> None:
    provider.script = TWO_CALLS
    with gpt.chat.completions.stream(model=GPT, messages=ASKED, tools=CHAT_TOOLS) as stream:
        streamed = stream.get_final_completion().choices[0]
    whole = gpt.chat.completions.create(model=GPT, messages=ASKED, tools=CHAT_TOOLS).choices[0]
    for choice in (streamed, whole):
        assert choice.finish_reason == "tool_calls" and choice.message.content == "Let me look."
        calls = choice.message.tool_calls or []
        assert [json.loads(call.function.arguments) for call in calls if call.type == "function"] == [
            {"city": "Málaga", "days": 1},
            {"city": "Kyōto", "days": 2},
        ]
        assert len({call.id for call in calls}) == 2 and all(call.id.startswith("call_") for call in calls)
    calls = whole.message.tool_calls or []
    results = [{"role": "tool", "tool_call_id": call.id, "content": str(at)} for at, call in enumerate(calls)]
    history: Any = [*ASKED, whole.message.model_dump(exclude_none=True), *results]
    final = gpt.chat.completions.create(model=GPT, messages=history, tools=CHAT_TOOLS)
    assert final.choices[0].message.content == "get_weather=0 and get_weather=1"
    orphan: Any = [*ASKED, {"role": "tool", "tool_call_id": "call_nobody", "content": "0"}]
    with pytest.raises(openai.BadRequestError):
        gpt.chat.completions.create(model=GPT, messages=orphan)


def test_an_offered_tool_is_called_with_arguments_that_fit_its_schema(gpt: openai.OpenAI) -> None:
    choice = gpt.chat.completions.create(model=GPT, messages=ASKED, tools=CHAT_TOOLS).choices[0]
    assert choice.message.tool_calls is not None and choice.message.tool_calls[0].type == "function"
    arguments = json.loads(choice.message.tool_calls[0].function.arguments)
    assert arguments["city"] and isinstance(arguments["days"], int)
    silent = gpt.chat.completions.create(model=GPT, messages=ASKED, tools=CHAT_TOOLS, tool_choice="none").choices[0]
    assert silent.message.content and not silent.message.tool_calls


def test_structured_output_and_the_limit_of_tokens(gpt: openai.OpenAI) -> None:
    class Verdict(BaseModel):
        city: str
        sure: bool

    parsed = gpt.chat.completions.parse(model=GPT, messages=ASKED, response_format=Verdict).choices[0].message.parsed
    assert parsed is not None and "Málaga" in parsed.city
    cut = gpt.chat.completions.create(model=GPT, messages=ASKED, max_completion_tokens=2).choices[0]
    assert cut.finish_reason == "length" and len((cut.message.content or "").split()) == 2


def test_responses_whole_and_streamed_say_the_same(gpt: openai.OpenAI) -> None:
    whole = gpt.responses.create(model=GPT, instructions="Be brief.", input="tell me", temperature=0)
    with gpt.responses.stream(model=GPT, instructions="Be brief.", input="tell me", temperature=0) as stream:
        events = list(stream)
        final = stream.get_final_response()
    assert whole.output_text == final.output_text and "tell me" in whole.output_text
    assert whole.usage == final.usage and whole.status == final.status == "completed"
    assert whole.id.startswith("resp_") and whole.output[0].id.startswith("msg_")  # type: ignore[union-attr]
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == final.output_text and len(deltas) > 3
    assert [event.sequence_number for event in events] == list(range(len(events)))


def test_responses_tool_calls_continue_by_history_and_by_id(provider: ScriptedProvider, gpt: openai.OpenAI) -> None:
    provider.script = TWO_CALLS
    with gpt.responses.stream(model=GPT, input="weather", tools=RESPONSE_TOOLS) as stream:
        first = stream.get_final_response()
    calls = [item for item in first.output if item.type == "function_call"]
    assert [json.loads(call.arguments)["city"] for call in calls] == ["Málaga", "Kyōto"]
    outputs: Any = [
        {"type": "function_call_output", "call_id": c.call_id, "output": str(i)} for i, c in enumerate(calls)
    ]
    by_id = gpt.responses.create(model=GPT, previous_response_id=first.id, input=outputs)
    dumped = [item.model_dump(exclude_none=True) for item in first.output]
    history: Any = [{"role": "user", "content": "weather"}, *dumped, *outputs]
    by_history = gpt.responses.create(model=GPT, input=history)
    assert by_id.output_text == by_history.output_text == "get_weather=0 and get_weather=1"
    with pytest.raises(openai.BadRequestError, match="not found"):
        gpt.responses.create(model=GPT, previous_response_id="resp_nobody", input="hello")


def test_messages_whole_and_streamed_say_the_same(claude: anthropic.Anthropic) -> None:
    asked: Any = {
        "model": CLAUDE,
        "max_tokens": 200,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "tell me"}],
        "extra_body": {"temperature": 0},
    }
    whole = claude.messages.create(**asked)
    with claude.messages.stream(**asked) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert whole.content[0].type == "text" and whole.content[0].text == text and "tell me" in text
    assert (whole.usage.input_tokens, whole.usage.output_tokens) == (
        final.usage.input_tokens,
        final.usage.output_tokens,
    )
    assert whole.stop_reason == final.stop_reason == "end_turn" and whole.id.startswith("msg_")
    assert claude.messages.create(**{**asked, "max_tokens": 1}).stop_reason == "max_tokens"


def test_messages_tool_calls_there_and_back(provider: ScriptedProvider, claude: anthropic.Anthropic) -> None:
    provider.script = TWO_CALLS
    asked: Any = {"model": CLAUDE, "max_tokens": 200, "tools": CLAUDE_TOOLS}
    question: Any = {"role": "user", "content": [{"type": "text", "text": "weather"}]}
    with claude.messages.stream(messages=[question], **asked) as stream:
        streamed = stream.get_final_message()
    whole = claude.messages.create(messages=[question], **asked)
    for message in (streamed, whole):
        used = [block for block in message.content if isinstance(block, ToolUseBlock)]
        assert [block.input for block in used] == [{"city": "Málaga", "days": 1}, {"city": "Kyōto", "days": 2}]
        assert message.stop_reason == "tool_use" and message.content[0].type == "text"
    uses = [block for block in whole.content if isinstance(block, ToolUseBlock)]
    results: Any = [{"type": "tool_result", "tool_use_id": use.id, "content": str(at)} for at, use in enumerate(uses)]
    said: Any = {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in whole.content]}
    final = claude.messages.create(messages=[question, said, {"role": "user", "content": results}], **asked)
    assert final.content[0].type == "text" and final.content[0].text == "get_weather=0 and get_weather=1"


def test_the_asynchronous_clients_with_twenty_streams_at_once(provider: ScriptedProvider) -> None:
    async def one(gpt: openai.AsyncOpenAI, claude: anthropic.AsyncAnthropic, at: int) -> str:
        question: Any = [{"role": "user", "content": f"question {at}"}]
        if at % 2:
            async with claude.messages.stream(model=CLAUDE, max_tokens=99, messages=question) as stream:
                return "".join([text async for text in stream.text_stream])
        chunks = await gpt.chat.completions.create(model=GPT, messages=question, stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in chunks])

    async def all_of_them() -> list[str]:
        async with (
            openai.AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="k") as gpt,
            anthropic.AsyncAnthropic(base_url=provider.url, api_key="k") as claude,
        ):
            whole = await gpt.responses.create(model=GPT, input="alone")
            assert "alone" in whole.output_text
            return await asyncio.gather(*(one(gpt, claude, at) for at in range(20)))

    answers = asyncio.run(all_of_them())
    assert all(f"question {at} " in answer for at, answer in enumerate(answers))
    assert provider.counts == {"/v1/responses": 1, "/v1/chat/completions": 10, "/v1/messages": 10}


def test_answers_are_compressed_when_accepted_and_connections_kept(provider: ScriptedProvider) -> None:
    body = {"model": GPT, "messages": ASKED, "temperature": 0}
    with httpx.Client(base_url=provider.url, headers={"authorization": "Bearer k"}) as client:
        for stream in (False, True):
            packed = client.post("/v1/chat/completions", json={**body, "stream": stream})
            plain = client.post(
                "/v1/chat/completions", json={**body, "stream": stream}, headers={"accept-encoding": "identity"}
            )
            assert packed.headers["content-encoding"] == "gzip" and "content-encoding" not in plain.headers
            assert packed.text.count("Málaga") == plain.text.count("Málaga") > 0
        assert packed.extensions["network_stream"] is plain.extensions["network_stream"]


def test_it_says_what_it_is_and_wants_a_key(provider: ScriptedProvider) -> None:
    answer = httpx.post(f"{provider.url}/v1/messages", json={})
    assert answer.headers["server"] == "reenact-scripted-provider" and answer.headers["x-reenact-scripted"] == "1"
    assert answer.status_code == 401 and answer.json()["error"]["type"] == "authentication_error"
    assert httpx.get(f"{provider.url}/nowhere").status_code == 404
    bad = httpx.post(f"{provider.url}/v1/messages", content=b"[1", headers={"x-api-key": "k"})
    assert bad.status_code == 400 and bad.json()["error"]["type"] == "invalid_request_error"
