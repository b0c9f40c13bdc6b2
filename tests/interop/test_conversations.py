"""Logged pairs and bare conversations with models become exchanges that real SDKs replay against."""

from __future__ import annotations

import json
from functools import partial
from typing import Any
from unittest.mock import patch

import anthropic
import openai
import pytest
from openai.types.chat import ChatCompletionMessageFunctionToolCall

import reenact
from reenact.abc.store import Store
from reenact.errors import Divergence, InteropError
from reenact.interop import conversation_files, importing
from reenact.interop.file_formats import write
from reenact.interop.readers import ReaderOptions
from reenact.replaying.told_tools import told_tools
from tests.interop.conftest import Bring


def text_of(*lines: Any) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]


def agent(system: str = "Be short.", **options: Any) -> tuple[Any, ...]:
    """An agent on the real SDK, which asks, calls a tool, and asks again."""
    client = openai.OpenAI(api_key="none")
    asked = partial(client.chat.completions.create, model="gpt-4o", tools=TOOLS, **options)
    said: list[Any] = [{"role": "system", "content": system}, {"role": "user", "content": "Where is order 7?"}]
    calls = asked(messages=said).choices[0].message.tool_calls
    assert calls is not None
    call = calls[0]
    assert isinstance(call, ChatCompletionMessageFunctionToolCall)
    said.append({"role": "assistant", "content": None, "tool_calls": [call.model_dump()]})
    said.append({"role": "tool", "tool_call_id": call.id, "content": "on its way"})
    last = asked(messages=said).choices[0]
    return call.function.arguments, last.message.content, last.finish_reason


CALL = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": '{"id": 7}'}}
CONVERSATION: dict[str, list[dict[str, Any]]] = {
    "messages": [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Where is order 7?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "on its way"},
        {"role": "assistant", "content": "It is on its way."},
    ]
}


def test_a_conversation_replays_in_the_agent_that_would_have_had_it(bring: Bring, store: Store) -> None:
    (run,) = bring("messages", text_of(CONVERSATION))
    replayed = reenact.replay(run, entry=lambda: agent(temperature=0), store=store)
    assert replayed.output == ('{"id": 7}', "It is on its way.", "stop")
    assert {"ignore rule unsaid: model applied", "ignore rule unsaid: tools applied"} <= {
        remark.rpartition(" applied")[0] + " applied" for remark in replayed.report.remarks
    }
    with pytest.raises(Divergence, match=r"differs at body\.messages\.0\.content"):
        reenact.replay(run, entry=lambda: agent("Be long."), store=store)
    with pytest.raises(Divergence, match=r"differs at body\.stream"):
        reenact.replay(run, entry=lambda: agent(stream=True), store=store)


@reenact.tool
def look_up(id: int, depth: int = 1) -> str:  # noqa: A002
    raise AssertionError("the tool's own code ran")


@reenact.tool(name="look_up")
def look_up_data(id: int) -> dict[str, Any]:  # noqa: A002
    raise AssertionError("the tool's own code ran")


def with_tool(function: Any, *more: int) -> Any:
    """An agent whose tool is a marked function; it is called with what the model wants, or with something else."""

    def entry() -> str:
        client = openai.OpenAI(api_key="none")
        said: list[Any] = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Where is order 7?"}]
        message = client.chat.completions.create(model="gpt-4o", messages=said).choices[0].message
        call = message.tool_calls[0]  # type: ignore[index]
        found = function(*more) if more else function(**json.loads(call.function.arguments))  # type: ignore[union-attr]
        said.append(message.model_dump(include={"role", "content", "tool_calls"}))
        content = found if isinstance(found, str) else json.dumps(found)
        said.append({"role": "tool", "tool_call_id": call.id, "content": content})
        return client.chat.completions.create(model="gpt-4o", messages=said).choices[0].message.content or ""

    return entry


def told(content: str) -> dict[str, Any]:
    messages = [*CONVERSATION["messages"]]
    messages[3] = {**messages[3], "content": content}
    return {"messages": messages}


def test_a_tool_is_answered_from_the_conversation(bring: Bring, store: Store) -> None:
    (run,) = bring("messages", text_of(told("on its way")), ReaderOptions(params={"model": "gpt-4o"}))
    replayed = reenact.replay(run, entry=with_tool(look_up), store=store)
    assert (replayed.output, replayed.unused, replayed.report.exit_code) == ("It is on its way.", 0, 0)
    assert "calls of tools that were answered from the conversation (1)" in replayed.report.remarks
    (again,) = bring("json", write("json", store.open(run)).data.decode())
    assert reenact.replay(again, entry=with_tool(look_up), store=store).output == "It is on its way."
    with pytest.raises(AssertionError, match="own code ran"):  # nobody has asked for order 8
        reenact.replay(again, entry=with_tool(look_up, 8), store=store)


def test_equal_calls_are_told_apart_by_the_answers_that_asked_for_them(bring: Bring, store: Store) -> None:
    calls = [{**CALL, "id": f"call_{at}"} for at in (1, 2)]
    said: list[Any] = [*CONVERSATION["messages"][:2]]
    for call, state in zip(calls, ("packed", "sent"), strict=True):
        said.append({"role": "assistant", "content": None, "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": call["id"], "content": state})
    (run,) = bring("messages", text_of({"messages": [*said, CONVERSATION["messages"][4]]}))

    def entry() -> list[str]:
        client, before, found = openai.OpenAI(api_key="none"), said[:2], []
        for _ in calls:
            message = client.chat.completions.create(model="gpt-4o", messages=before).choices[0].message
            found.append(look_up(**json.loads(message.tool_calls[0].function.arguments)))  # type: ignore[index,union-attr]
            before = said[: len(before) + 2]
        return found

    assert reenact.replay(run, entry=entry, store=store).output == ["packed", "sent"]


@pytest.mark.parametrize(
    ("content", "tool"), [('{"at":"sea"}', look_up), ('{"at": "sea"}', look_up), ('{"at": "sea"}', look_up_data)]
)
def test_a_result_is_the_very_text_or_its_data(bring: Bring, store: Store, content: str, tool: Any) -> None:
    (run,) = bring("messages", text_of(told(content)))
    assert reenact.replay(run, entry=with_tool(tool), store=store).output == "It is on its way."


def test_a_tool_runs_where_the_file_holds_what_it_fetches(bring: Bring, store: Store) -> None:
    (run,) = bring("messages", text_of(told("on its way")), ReaderOptions(params={"model": "gpt-4o"}))
    document = json.loads(write("json", store.open(run)).data)
    (other,) = json.loads(json.dumps(document["exchanges"][:1]))
    other["request"] |= {"method": "GET", "url": "http://127.0.0.1:9/orders", "text": "", "headers": []}
    document["exchanges"].append(other)
    (mixed,) = bring("json", json.dumps(document))
    assert told_tools(store.open(run))
    assert told_tools(store.open(mixed)) == {}
    with pytest.raises(AssertionError, match="own code ran"):
        reenact.replay(mixed, entry=with_tool(look_up), store=store)


def test_pairs_of_a_log_are_one_run_and_speak_their_own_protocol(bring: Bring, store: Store) -> None:
    said = [{"role": "user", "content": "Hello"}]
    asked = {"model": "claude", "max_tokens": 9, "system": "Be kind.", "messages": said}
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
    pair = {"request": asked, "response": answered}
    (run,) = bring("messages", text_of(pair, {**pair, "request": {**asked, "model": "other"}}))
    assert (run.totals.events, run.totals.models, run.totals.tokens_in) == (2, 2, 10)

    def entry() -> tuple[str, str | None]:
        client = anthropic.Anthropic(api_key="none")
        reply = client.messages.create(**asked)  # type: ignore[call-overload]
        return reply.content[0].text, reply.stop_reason

    replayed = reenact.replay(run, entry=entry, store=store)
    assert (replayed.output, replayed.unused) == (("Hi.", "end_turn"), 1)


def only(line: Any, **said: Any) -> Any:
    ((exchange,),) = (found.exchanges for found in conversation_files.read(json.dumps(line).encode(), **said))
    return exchange


@pytest.mark.parametrize(
    ("line", "url"),
    [
        ({"request": {"messages": []}, "response": {"object": "chat.completion"}}, conversation_files.OPENAI),
        ({"request": {"input": "x"}, "response": {"object": "response"}}, conversation_files.RESPONSES),
        ({"request": {"messages": []}, "response": {"type": "message", "content": []}}, conversation_files.ANTHROPIC),
        ({"request": {"url": "/v1/messages", "body": {"a": 1}}, "response": {"type": "error", "error": {}}},
         conversation_files.ANTHROPIC),
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
    (found,) = conversation_files.read(json.dumps(line).encode(), params={"model": "m"})
    assert "unsaid: model" not in found.ignore
    assert found.ignore["unsaid: temperature"] == "body.temperature"
    assert "body.stream" not in found.ignore.values()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ([1], "line 1: it is no object"),
        ({"prompt": "x", "completion": "y"}, "neither messages nor request and response (it has completion, prompt)"),
        ({"messages": [{"role": "robot"}]}, "line 1: message 0 has no role that is known"),
        ({"messages": [{"role": ["user"]}]}, "line 1: message 0 has no role that is known"),
        ({"messages": [{"role": "user", "content": "x"}]}, "the file holds no exchange"),
        ({"request": {"a": 1}, "response": {"b": 2}}, "it does not say where it was asked"),
        ({"request": "x", "response": {}}, "its request or response is no object"),
        ({"request": {"url": "ftp://h", "body": {}}, "response": {}}, "is no address of HTTP"),
    ],
)
def test_a_line_that_cannot_be_read_is_refused_by_its_number(line: Any, why: str) -> None:
    with pytest.raises(InteropError) as refusal:
        conversation_files.read(json.dumps(line).encode())
    assert why in refusal.value.message or why in str(refusal.value)


def test_each_conversation_of_a_file_is_a_run_of_its_own(bring: Bring) -> None:
    line = {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}
    runs = bring("messages", text_of(line, line))
    assert [run.capture["import"]["part"] for run in runs] == ["line 1", "line 2"]


def test_the_same_again_is_the_run_that_is_there_also_out_of_a_longer_file(bring: Bring, store: Store) -> None:
    other = {"messages": [{"role": "user", "content": "Hm?"}, {"role": "assistant", "content": "Yes."}]}
    (first,) = bring("messages", text_of(CONVERSATION))
    assert [run.id for run in bring("messages", text_of(CONVERSATION))] == [first.id]
    more = bring("messages", text_of(other, CONVERSATION, other))
    assert [run.id == first.id for run in more] == [False, True, False]
    assert [run.tags["import"].partition(".")[2] for run in more] == ["", "", "2"]
    assert [run.id for run in bring("messages", text_of(other, other, CONVERSATION))] == [
        more[0].id,
        more[2].id,
        first.id,
    ]
    assert len(list(store.runs())) == 3
    (said,) = bring(
        "messages", text_of(CONVERSATION), ReaderOptions(params={"model": "gpt-4o"})
    )  # it counts when compared
    assert said.id != first.id


def test_a_run_that_cannot_be_written_leaves_none_of_its_file(bring: Bring, store: Store) -> None:
    line = {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}
    with patch.object(importing, "_duration_us", side_effect=[0, OSError("the disk is full")]), pytest.raises(OSError):
        bring("messages", text_of(line, line))
    assert list(store.runs()) == []
