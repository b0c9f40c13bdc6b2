"""Logged pairs and bare conversations with models become exchanges that real SDKs replay against."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reenact.errors import InteropError
from reenact.interop import conversations
from tests.interop.conftest import Tried


def write(desk: Tried, *lines: Any) -> None:
    (desk.folder / "chats.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


OPENAI = """
import openai
client = openai.OpenAI()
said = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Where is order 7?"}]
tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
first = client.chat.completions.create(model="gpt-4o", temperature=0, messages=said, tools=tools).choices[0].message
call = first.tool_calls[0]
said.append({"role": "assistant", "content": None, "tool_calls": [call.model_dump()]})
said.append({"role": "tool", "tool_call_id": call.id, "content": "on its way"})
last = client.chat.completions.create(model="gpt-4o", temperature=0, messages=said, tools=tools).choices[0]
print(call.function.arguments, last.message.content, last.finish_reason)
"""


def test_a_conversation_replays_in_the_agent_that_would_have_had_it(desk: Tried) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": '{"id": 7}'}}
    write(
        desk,
        {
            "messages": [
                {"role": "system", "content": "Be short."},
                {"role": "user", "content": "Where is order 7?"},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "call_1", "content": "on its way"},
                {"role": "assistant", "content": "It is on its way."},
            ]
        },
    )
    desk.writes("agent.py", OPENAI)
    imported = desk.reenact("import", "messages", "chats.jsonl")
    assert imported.code == 0, imported.err.decode()
    assert b"ignore rules: unsaid: model," in imported.err
    replayed = desk.replay("--cmd", "python agent.py", more={"OPENAI_API_KEY": "sk-none"})
    assert (replayed.code, replayed.out) == (0, b'{"id": 7} It is on its way. stop\n'), replayed.err.decode()
    said = replayed.err.decode()
    assert "ignore rule unsaid: model applied" in said
    assert "ignore rule unsaid: tools applied" in said
    assert "order not known" in said
    desk.writes("agent.py", OPENAI.replace("Be short.", "Be long."))
    changed = desk.replay("--cmd", "python agent.py", more={"OPENAI_API_KEY": "sk-none"})
    assert changed.code == 1
    assert b"differs at body.messages.0.content" in changed.err
    desk.writes("agent.py", OPENAI.replace("temperature=0", "stream=True"))
    streamed = desk.replay("--cmd", "python agent.py", more={"OPENAI_API_KEY": "sk-none"})
    assert streamed.code == 1
    assert b"differs at body.stream" in streamed.err


ANTHROPIC = """
import anthropic
client = anthropic.Anthropic()
said = [{"role": "user", "content": "Hello"}]
reply = client.messages.create(model="claude", max_tokens=9, system="Be kind.", messages=said)
print(reply.content[0].text, reply.stop_reason)
"""


def test_pairs_of_a_log_are_one_run_and_speak_their_own_protocol(desk: Tried) -> None:
    asked = {
        "model": "claude",
        "max_tokens": 9,
        "system": "Be kind.",
        "messages": [{"role": "user", "content": "Hello"}],
    }
    answered = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": "Hi."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 2},
    }
    write(
        desk, {"request": asked, "response": answered}, {"request": {**asked, "model": "other"}, "response": answered}
    )
    desk.writes("agent.py", ANTHROPIC)
    run = json.loads(desk.reenact("--json", "import", "messages", "chats.jsonl").out)
    assert (run["totals"]["events"], run["totals"]["models"], run["totals"]["tokens_in"]) == (2, 2, 10)
    replayed = desk.replay("--cmd", "python agent.py", more={"ANTHROPIC_API_KEY": "none"})
    assert replayed.out == b"Hi. end_turn\n", replayed.err.decode()
    assert b"1 recorded calls were not made: 1 POST api.anthropic.com/v1/messages" in replayed.err


def only(line: Any, **said: Any) -> Any:
    ((exchange,),) = (found.exchanges for found in conversations.read(json.dumps(line).encode(), **said))
    return exchange


@pytest.mark.parametrize(
    ("line", "url"),
    [
        ({"request": {"messages": []}, "response": {"object": "chat.completion"}}, conversations.OPENAI),
        ({"request": {"input": "x"}, "response": {"object": "response"}}, conversations.RESPONSES),
        ({"request": {"messages": []}, "response": {"type": "message", "content": []}}, conversations.ANTHROPIC),
        ({"request": {"url": "/v1/messages", "body": {"a": 1}}, "response": {"type": "error", "error": {}}},
         conversations.ANTHROPIC),
        ({"request": {"method": "PUT", "url": "http://h/x", "body": ""}, "response": {"status_code": 201, "body": ""}},
         "http://h/x"),
    ],
)  # fmt: skip
def test_where_a_pair_was_asked_is_told_by_what_it_says_or_by_its_shape(line: Any, url: str) -> None:
    assert only(line).url == url


def test_what_is_said_beside_the_file_counts() -> None:
    line = {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}
    exchange = only(line, url="http://127.0.0.1:1/v1/messages", params={"model": "m", "max_tokens": 5})
    assert json.loads(exchange.body) == {"model": "m", "max_tokens": 5, "messages": line["messages"][:1]}
    assert json.loads(exchange.answer)["content"] == [{"type": "text", "text": "y"}]
    (found,) = conversations.read(json.dumps(line).encode(), params={"model": "m"})
    assert "unsaid: model" not in found.ignore
    assert found.ignore["unsaid: temperature"] == "body.temperature"
    assert "body.stream" not in found.ignore.values()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ([1], "line 1: it is no object"),
        ({"prompt": "x", "completion": "y"}, "neither messages nor request and response (it has completion, prompt)"),
        ({"messages": [{"role": "robot"}]}, "line 1: message 0 has no role that is known"),
        ({"messages": [{"role": "user", "content": "x"}]}, "the file holds no exchange"),
        ({"request": {"a": 1}, "response": {"b": 2}}, "it does not say where it was asked"),
        ({"request": "x", "response": {}}, "its request or response is no object"),
        ({"request": {"url": "ftp://h", "body": {}}, "response": {}}, "is no address of HTTP"),
    ],
)
def test_a_line_that_cannot_be_read_is_refused_by_its_number(line: Any, why: str) -> None:
    with pytest.raises(InteropError) as refusal:
        conversations.read(json.dumps(line).encode())
    assert why in refusal.value.message or why in str(refusal.value)


def test_each_conversation_of_a_file_is_a_run_of_its_own(desk: Tried) -> None:
    line = {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}
    write(desk, line, line)
    imported = desk.reenact("--json", "import", "messages", "chats.jsonl")
    parts = [json.loads(each)["capture"]["import"]["part"] for each in imported.out.splitlines()]
    assert parts == ["line 1", "line 2"]
