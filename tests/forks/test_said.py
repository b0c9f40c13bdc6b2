"""What a model says is changed in words and tool calls: every SDK reads it, and ids and signed reasoning stay."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from reenact.facts.answers.say_answers import said
from reenact.facts.call import Json
from reenact.facts.dialects.recognition import read
from reenact.testing import ScriptedProvider
from reenact.testing.provider import Reply, Route, Rule, Script, ToolUse, When
from tests.forks.conftest import Forks

LOOK = {"type": "object", "properties": {"city": {"type": "string"}}}
WORLD = Script(
    rules=(
        Rule(say="It is foggy.", when=When(model="mistral")),  # whose client joins no arguments that come in pieces
        Rule(say="It is foggy.", uses=(ToolUse("look", {"city": "Oslo"}),)),
    )
)
"""Says the same to everyone: words and a tool call."""

START = f"""
import asyncio, json, os
WORLD, LOOK = os.environ["WORLD"], {LOOK!r}
def told(text, *calls):
    calls = [[name, args if isinstance(args, dict) else json.loads(args)] for name, args in calls]
    print(json.dumps([text or "", calls]))
"""
CHAT = """
import openai
client = openai.OpenAI(base_url=WORLD + "/v1", api_key="k", max_retries=0)
ask = dict(model="gpt-x", messages=[dict(role="user", content="hi")],
    tools=[dict(type="function", function=dict(name="look", parameters=LOOK))])
said = client.chat.completions.create(**ask).choices[0].message
told(said.content, *((one.function.name, one.function.arguments) for one in said.tool_calls or ()))
with client.chat.completions.stream(**ask) as stream:
    said = stream.get_final_completion().choices[0].message
told(said.content, *((one.function.name, one.function.arguments) for one in said.tool_calls or ()))
"""
RESPONSES = """
import openai
client = openai.AsyncOpenAI(base_url=WORLD + "/v1", api_key="k", max_retries=0)
ask = dict(model="gpt-x", input="hi", store=False,
    tools=[dict(type="function", name="look", parameters=LOOK, strict=False)])
def tell(said):
    told(said.output_text, *((one.name, one.arguments) for one in said.output if one.type == "function_call"))
async def main():
    tell(await client.responses.create(**ask))
    async with client.responses.stream(**ask) as stream:
        tell(await stream.get_final_response())
asyncio.run(main())
"""
ANTHROPIC = """
import anthropic
client = anthropic.Anthropic(base_url=WORLD, api_key="k", max_retries=0)
ask = dict(model="claude-x", max_tokens=99, messages=[dict(role="user", content="hi")],
    tools=[dict(name="look", input_schema=LOOK)])
def tell(said):
    told("".join(one.text for one in said.content if one.type == "text"),
        *((one.name, one.input) for one in said.content if one.type == "tool_use"))
tell(client.messages.create(**ask))
with client.messages.stream(**ask) as stream:
    tell(stream.get_final_message())
"""
GEMINI = """
from google import genai
from google.genai import types
client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=WORLD))
tools = [types.Tool(function_declarations=[dict(name="look", description="d", parameters_json_schema=LOOK)])]
how = types.GenerateContentConfig(tools=tools,
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True))
def tell(*chunks):
    parts = [part for each in chunks for part in each.candidates[0].content.parts]
    told("".join(part.text or "" for part in parts),
        *((part.function_call.name, part.function_call.args) for part in parts if part.function_call))
tell(client.models.generate_content(model="gemini-x", contents="hi", config=how))
tell(*client.models.generate_content_stream(model="gemini-x", contents="hi", config=how))
"""
CONVERSE = """
import boto3
client = boto3.client("bedrock-runtime", region_name="eu-west-1", endpoint_url=WORLD, aws_access_key_id="k",
    aws_secret_access_key="k")
ask = dict(modelId="amazon.nova-x-v1:0", messages=[dict(role="user", content=[dict(text="hi")])],
    toolConfig=dict(tools=[dict(toolSpec=dict(name="look", inputSchema=dict(json=LOOK)))]))
said = client.converse(**ask)["output"]["message"]["content"]
told("".join(one.get("text", "") for one in said),
    *((one["toolUse"]["name"], one["toolUse"]["input"]) for one in said if "toolUse" in one))
text, calls = "", []
for event in client.converse_stream(**ask)["stream"]:
    if "toolUse" in event.get("contentBlockStart", {}).get("start", {}):
        calls.append([event["contentBlockStart"]["start"]["toolUse"]["name"], ""])
    delta = event.get("contentBlockDelta", {}).get("delta", {})
    text += delta.get("text", "")
    if "toolUse" in delta:
        calls[-1][1] += delta["toolUse"]["input"]
told(text, *calls)
"""
OLLAMA = """
import ollama
client = ollama.Client(WORLD)
ask = dict(model="llama-x", messages=[dict(role="user", content="hi")],
    tools=[dict(type="function", function=dict(name="look", description="d", parameters=LOOK))])
def tell(*messages):
    told("".join(one.content for one in messages),
        *((each.function.name, dict(each.function.arguments)) for one in messages for each in one.tool_calls or ()))
tell(client.chat(**ask).message)
tell(*(part.message for part in client.chat(stream=True, **ask)))
"""
MISTRAL = """
from mistralai.client import Mistral
client = Mistral(api_key="k", server_url=WORLD)
ask = dict(model="mistral-x", messages=[dict(role="user", content="hi")],
    tools=[dict(type="function", function=dict(name="look", parameters=LOOK))])
said = client.chat.complete(**ask).choices[0].message
told(said.content, *((one.function.name, one.function.arguments) for one in said.tool_calls or ()))
text, calls = "", {}
for event in client.chat.stream(**ask):
    delta = event.data.choices[0].delta if event.data.choices else None
    text += (delta.content or "") if delta else ""
    for one in (delta.tool_calls or ()) if delta else ():
        call = calls.setdefault(one.index, ["", ""])
        call[0] += one.function.name or ""
        call[1] += one.function.arguments or ""
told(text, *calls.values())
"""
COHERE = """
import httpx
ask = dict(model="command-x", messages=[dict(role="user", content="hi")],
    tools=[dict(type="function", function=dict(name="look", parameters=LOOK))])
keys = dict(authorization="Bearer k")
said = httpx.post(WORLD + "/v2/chat", json=ask, headers=keys).json()["message"]
told("".join(one["text"] for one in said.get("content", [])),
    *((one["function"]["name"], one["function"]["arguments"]) for one in said.get("tool_calls", [])))
text, calls = "", []
for line in httpx.post(WORLD + "/v2/chat", json={**ask, "stream": True}, headers=keys).text.splitlines():
    event = json.loads(line[6:]) if line.startswith("data: ") else {}
    message = event.get("delta", {}).get("message", {})
    if event.get("type") == "content-delta":
        text += message["content"]["text"]
    elif event.get("type") == "tool-call-start":
        calls.append([message["tool_calls"]["function"]["name"], ""])
    elif event.get("type") == "tool-call-delta":
        calls[-1][1] += message["tool_calls"]["function"]["arguments"]
told(text, *calls)
"""
SDKS = {
    "openai chat": CHAT,
    "openai responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "bedrock": CONVERSE,
    "ollama": OLLAMA,
    "mistral": MISTRAL,
    "cohere": COHERE,
}


@pytest.fixture
def world() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(WORLD) as provider:
        yield provider


def recorded(forks: Forks, provider: ScriptedProvider, program: str, **environ: str) -> list[Any]:
    """Record a program; gives what it printed, a JSON document a line."""
    forks.desk.environ = {"WORLD": provider.url, **environ}
    return [json.loads(line) for line in forks.record(START + program).splitlines()]


def models(forks: Forks) -> list[int]:
    """The numbers of the model calls."""
    return [event.number for event in forks.events(forks.parent) if "reading" in event.attributes]


def printed(report: dict[str, Any]) -> list[Any]:
    assert report["exit_code"] == 0, report["message"]
    return [json.loads(line) for line in report["printed"].splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("sdk", SDKS)
def test_every_sdk_reads_what_its_model_is_made_to_say(forks: Forks, world: ScriptedProvider, sdk: str) -> None:
    calls = [] if sdk == "mistral" else [["look", {"city": "Oslo"}]]
    assert recorded(forks, world, SDKS[sdk]) == [["It is foggy.", calls]] * 2
    world.stop()
    uses = '{"say": "Wait.", "uses": [{"name": "ask", "args": {"of": "Málaga", "n": [1]}}, {"name": "look"}]}'
    text, used = ["I cannot, says Málaga.", []], ["Wait.", [["ask", {"of": "Málaga", "n": [1]}], ["look", {}]]]
    for spoken, called in (models(forks), models(forks)[::-1]):
        words = "--say", f"{spoken}=I cannot, says Málaga.", "--result", f"{called}={uses}"
        report = forks.fork(0, *words, "--live", "none")
        assert printed(report) == ([text, used] if spoken < called else [used, text])
    forks.replays_exactly(report["run"])


GENERATE = """
import httpx, openai, ollama
client = openai.OpenAI(base_url=WORLD + "/old", api_key="k", max_retries=0)
told(client.completions.create(model="gpt-x", prompt="hi").choices[0].text)
told("".join(part.choices[0].text for part in client.completions.create(model="gpt-x", prompt="hi", stream=True)))
told(ollama.Client(WORLD).generate(model="llama-x", prompt="hi").response)
told("".join(part.response for part in ollama.Client(WORLD).generate(model="llama-x", prompt="hi", stream=True)))
"""
COMPLETION = {"id": "c", "object": "text_completion", "created": 1, "model": "gpt-x"}
COMPLETION |= {"choices": [{"text": "foggy", "index": 0, "finish_reason": "stop", "logprobs": None}]}
GENERATED = {"model": "llama-x", "created_at": "2026-01-01T00:00:00Z", "response": "foggy", "done": True}


def streams(visit: Any) -> bool:
    return bool(visit.body.get("stream"))


def completed(visit: Any) -> Any:
    frames = [b"data: " + json.dumps(COMPLETION).encode() + b"\n\n", b"data: [DONE]\n\n"]
    return Reply(headers=(("content-type", "text/event-stream"),), frames=frames) if streams(visit) else COMPLETION


def generated(visit: Any) -> Any:
    line = json.dumps(GENERATED).encode() + b"\n"
    return Reply(headers=(("content-type", "application/x-ndjson"),), frames=[line]) if streams(visit) else GENERATED


HI: list[Any] = [{"role": "user", "content": "hi"}]
ASKED = {
    "/v1/chat/completions": {"model": "gpt-x", "messages": HI},
    "/v1/responses": {"model": "gpt-x", "input": "hi", "store": False},
    "/v1/completions": {"model": "gpt-x", "prompt": "hi"},
    "/v1/messages": {"model": "claude-x", "max_tokens": 9, "messages": HI},
    "/v1beta/models/gemini-x:generateContent": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
    "/model/nova-x/converse": {"messages": [{"role": "user", "content": [{"text": "hi"}]}]},
    "/api/chat": {"model": "llama-x", "messages": HI, "stream": False},
    "/v2/chat": {"model": "command-x", "messages": HI},
}


@pytest.mark.parametrize("path", ASKED)
def test_what_is_said_in_the_place_of_no_answer_costs_nothing_and_is_by_the_model_that_was_asked(path: str) -> None:
    """Nobody was asked: a count of tokens, or the name of a version, would be made up."""
    head: dict[str, Json] = {"method": "POST", "url": f"http://127.0.0.1:1{path}"}
    head |= {"headers": [["content-type", "application/json"]]}
    body = json.dumps(ASKED[path]).encode()
    response = said(head, body, {"say": "I give up"})
    reading = read(head, body, {"status": 200, "headers": [["content-type", response.media]]}, response.body)
    assert reading is not None and reading.text == "I give up"
    assert (reading.usage.get("tokens_in"), reading.usage.get("tokens_out")) == (0, 0)
    assert reading.model_answered in (reading.model_asked, "") and "fingerprint" not in reading.params


def test_prompts_that_are_completed_are_answered_in_words(forks: Forks) -> None:
    routes = (Route("/old/completions", completed, "POST"), Route("/api/generate", generated, "POST"))
    with ScriptedProvider(Script(routes=routes)) as provider:
        assert recorded(forks, provider, GENERATE) == [["foggy", []]] * 4
    numbers = models(forks)
    report = forks.fork(0, *(word for n in numbers for word in ("--say", f"{n}=It rains.")), "--live", "none")
    assert printed(report) == [["It rains.", []]] * 4
    refused = forks.fork(0, "--result", f'{numbers[0]}={{"uses": [{{"name": "look"}}]}}', "--live", "none", status=2)
    assert "without tool calls" in refused["said"]


THINKING = """
import anthropic
client = anthropic.Anthropic(base_url=WORLD + "/signed", api_key="k", max_retries=0)
ask = dict(model="claude-x", max_tokens=99, messages=[dict(role="user", content="hi")],
    tools=[dict(name="look", input_schema=LOOK)])
print(client.messages.create(**ask).model_dump_json())
with client.messages.stream(**ask) as stream:
    print(stream.get_final_message().model_dump_json())
"""
BLOCKS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "Let me see.", "signature": "c2lnbmVk"},
    {"type": "redacted_thinking", "data": "aGlkZGVu"},
    {"type": "text", "text": "It is foggy."},
    {"type": "tool_use", "id": "toolu_kept", "name": "look", "input": {"city": "Oslo"}},
]
MESSAGE: dict[str, Any] = {
    "id": "msg_kept",
    "type": "message",
    "role": "assistant",
    "model": "claude-x-dated",
    "content": BLOCKS,
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 5},
}


def thought(visit: Any) -> Any:
    """Anthropic's answer with signed thinking, whole or streamed."""
    if not streams(visit):
        return MESSAGE
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {**MESSAGE, "content": []}}]
    for at, block in enumerate(BLOCKS):
        emptied: dict[str, dict[str, Any]] = {
            "thinking": {"thinking": "", "signature": ""},
            "text": {"text": ""},
            "tool_use": {"input": {}},
        }
        events.append(
            {"type": "content_block_start", "index": at, "content_block": block | emptied.get(block["type"], {})}
        )
        deltas = {
            "thinking": [
                *({"type": "thinking_delta", "thinking": part} for part in ("Let me ", "see.")),
                {"type": "signature_delta", "signature": "c2lnbmVk"},
            ],
            "text": [{"type": "text_delta", "text": "It is foggy."}],
            "tool_use": [{"type": "input_json_delta", "partial_json": '{"city": "Oslo"}'}],
        }
        for delta in deltas.get(block["type"], []):
            events.append({"type": "content_block_delta", "index": at, "delta": delta})
        events.append({"type": "content_block_stop", "index": at})
    events.append({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}})
    events.append({"type": "message_stop"})
    frames = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events]
    return Reply(headers=(("content-type", "text/event-stream"),), frames=frames)


def test_ids_and_signed_thinking_stay_as_they_were(forks: Forks) -> None:
    with ScriptedProvider(Script(routes=(Route("/signed/v1/messages", thought, "POST"),))) as provider:
        before = recorded(forks, provider, THINKING)
    assert all(one["content"][0]["signature"] == "c2lnbmVk" for one in before)
    value = '{"say": "No.", "uses": [{"name": "look", "args": {"city": "Rome"}}]}'
    report = forks.fork(0, *(word for n in models(forks) for word in ("--result", f"{n}={value}")), "--live", "none")
    for then, now in zip(before, printed(report), strict=True):
        assert (now["id"], now["model"]) == ("msg_kept", "claude-x-dated")
        assert [block["type"] for block in now["content"]] == [block["type"] for block in BLOCKS]
        assert now["content"][:2] == then["content"][:2]
        assert now["content"][2]["text"] == "No."
        assert (now["content"][3]["id"], now["content"][3]["input"]) == ("toolu_kept", {"city": "Rome"})


REASONED = """
import openai
client = openai.OpenAI(base_url=WORLD + "/signed", api_key="k", max_retries=0)
ask = dict(model="o9", input="hi", store=False, include=["reasoning.encrypted_content"])
print(client.responses.create(**ask).model_dump_json())
with client.responses.stream(**ask) as stream:
    print(stream.get_final_response().model_dump_json())
"""
ITEMS: list[dict[str, Any]] = [
    {"id": "rs_kept", "type": "reasoning", "summary": [], "encrypted_content": "c2lnbmVk"},
    {
        "id": "fc_kept",
        "type": "function_call",
        "call_id": "call_kept",
        "name": "look",
        "arguments": "{}",
        "status": "completed",
    },
]
REASON: dict[str, Any] = {
    "id": "resp_kept",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "o9-dated",
    "output": ITEMS,
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}


def reasoned(visit: Any) -> Any:
    """A response with encrypted reasoning, whole or streamed."""
    if not streams(visit):
        return REASON
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {**REASON, "output": []}}]
    for at, item in enumerate(ITEMS):
        events.append({"type": "response.output_item.added", "output_index": at, "item": item})
        events.append({"type": "response.output_item.done", "output_index": at, "item": item})
    events.append({"type": "response.completed", "response": REASON})
    numbered = ({**one, "sequence_number": at} for at, one in enumerate(events))
    frames = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in numbered]
    return Reply(headers=(("content-type", "text/event-stream"),), frames=frames)


def test_ids_and_encrypted_reasoning_stay_as_they_were(forks: Forks) -> None:
    with ScriptedProvider(Script(routes=(Route("/signed/responses", reasoned, "POST"),))) as provider:
        recorded(forks, provider, REASONED)
    value = '{"uses": [{"name": "look", "args": {"city": "Rome"}}]}'
    report = forks.fork(0, *(word for n in models(forks) for word in ("--result", f"{n}={value}")), "--live", "none")
    for now in printed(report):
        assert (now["id"], now["model"]) == ("resp_kept", "o9-dated")
        kept, call = now["output"]
        assert (kept["id"], kept["encrypted_content"]) == ("rs_kept", "c2lnbmVk")
        assert (call["id"], call["call_id"], json.loads(call["arguments"])) == (
            "fc_kept",
            "call_kept",
            {"city": "Rome"},
        )


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("--result={n}=notjson", "no answer of a model"),
        ('--result={n}={{"say": 3}}', "say is a text"),
        ('--result={n}={{"uses": [{{"args": {{}}}}]}}', "a tool call is"),
        ('--result={n}={{"uses": [{{"name": "look", "args": 3}}]}}', "a tool call is"),
        ('--result={n}={{"choices": []}}', "no answer of a model"),
        ('--result={n}={{"answer": "hi"}}', "no answer of a model"),
        ("--say=0=hi", "asks no model"),
    ],
)
def test_what_is_no_answer_is_refused_before_anything_runs(
    forks: Forks, world: ScriptedProvider, given: str, why: str
) -> None:
    recorded(forks, world, 'import httpx\nhttpx.get(WORLD + "/nothing")\n' + CHAT)
    for number in models(forks):
        refused = forks.fork(0, given.format(n=number), "--live", "none", status=2)
        assert why in refused["said"], refused["said"]
    assert len(forks.runs()) == 1


def test_a_whole_response_of_the_protocol_is_taken(forks: Forks, world: ScriptedProvider) -> None:
    recorded(forks, world, CHAT)
    whole, streamed = models(forks)
    message = {"role": "assistant", "content": "It is sunny."}
    body = json.dumps({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    report = forks.fork(0, "--result", f"{whole}={body}", "--live", "none")
    assert printed(report)[0] == ["It is sunny.", []]
    refused = forks.fork(0, "--result", f"{streamed}={body}", "--live", "none", status=2)
    assert "wants a stream" in refused["said"]


OWN = """
import reenact

@reenact.model
def think(prompt):
    return "It is foggy."

with reenact.step("all"):
    told(think("hi"))
"""


def test_a_model_in_the_process_says_a_text_too(forks: Forks, world: ScriptedProvider) -> None:
    assert recorded(forks, world, OWN) == [["It is foggy.", []]]
    report = forks.fork("think#1", "--say", "think#1=It rains.", "--live", "none")
    assert printed(report) == [["It rains.", []]]
    assert re.search(r"event \d+ says \"It rains.\"", report["first_line"])
