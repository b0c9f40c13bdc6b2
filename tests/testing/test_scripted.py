"""A scripted model says what it is told to, to real SDKs, and fails the test when it is asked differently."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import openai
import pytest

import reenact
from reenact.errors import GoldenMismatch
from reenact.store.memory_store import MemoryStore
from reenact.testing import Said, ScriptedModel, ToolUse, scripted_model
from reenact.testing.provider import Ask, When, reset

TOOLS: list[Any] = [{"type": "function", "function": {"name": "search_docs", "parameters": {"type": "object"}}}]


def agent(model: ScriptedModel, question: str = "refunds?") -> str:
    """A small agent on OpenAI's SDK: one search, then an answer."""
    with openai.OpenAI(base_url=model.openai_url, api_key=model.key) as client:
        messages: list[Any] = [{"role": "system", "content": "Answer."}, {"role": "user", "content": question}]
        for _ in range(3):
            said = (
                client.chat.completions.create(model="gpt-5.4-mini", messages=messages, tools=TOOLS).choices[0].message
            )
            if not said.tool_calls:
                return said.content or ""
            messages.append(said.model_dump(exclude_none=True))
            for call in said.tool_calls:
                assert call.type == "function"
                found = json.dumps({"count": 0, "for": call.function.arguments})
                messages.append({"role": "tool", "tool_call_id": call.id, "content": found})
    return "gave up"


def test_an_agent_is_led_through_its_script() -> None:
    search = ToolUse("search_docs", {"query": "refunds"})
    with scripted_model(search, Said("There are none.", asked='"count": 0')) as model:
        assert agent(model) == "There are none."
        assert [ask.last_user for ask in model.asked] == ["refunds?", "refunds?"]
        assert model.asked[0].system == "Answer." and model.asked[0].tools[0].name == "search_docs"
        assert model.asked[1].results[0].name == "search_docs"


def test_anthropics_sdk_and_streams_are_spoken_too() -> None:
    with scripted_model("hello there") as model, anthropic.Anthropic(base_url=model.url, api_key=model.key) as client:
        with client.messages.stream(
            model="claude-sonnet-5", max_tokens=50, messages=[{"role": "user", "content": "hi"}]
        ) as stream:
            assert "".join(stream.text_stream) == "hello there"


def test_a_request_too_many_fails_whatever_the_agent_makes_of_it() -> None:
    with pytest.raises(GoldenMismatch, match="request 2 is one too many"):
        with scripted_model(ToolUse("search_docs", {})) as model:
            with pytest.raises(openai.BadRequestError):
                agent(model)


def test_an_answer_that_nobody_asked_for_fails() -> None:
    with pytest.raises(AssertionError, match="it was asked 1 times and has 1 more to say"):
        with scripted_model("done", "never") as model:
            agent(model)


@pytest.mark.parametrize(
    "asked",
    ["shipping", When(system="You are"), lambda ask: ask.model == "other", lambda ask: check(ask)],
)
def test_another_request_than_expected_fails_with_what_was_asked(asked: Any) -> None:
    with pytest.raises(GoldenMismatch, match=r"request 1 is 'refunds\?', ") as caught:
        with scripted_model(Said("done", asked=asked)) as model:
            try:
                agent(model)
            except openai.BadRequestError as error:
                raise RuntimeError("the agent failed in its own way") from error
    assert isinstance(caught.value.__cause__, RuntimeError)


def check(ask: Ask) -> None:
    """An expectation that asserts."""
    assert ask.turns == (), "there should be no turns"


def test_what_is_expected_and_comes_is_answered() -> None:
    with scripted_model(Said("done", asked=lambda ask: None), Said("done", asked=When(system="answer"))) as model:
        assert agent(model) == agent(model) == "done"


def test_the_tests_own_failure_comes_first() -> None:
    with pytest.raises(KeyError):
        with scripted_model("never asked"):
            raise KeyError("of the test")


def test_faults_on_the_way() -> None:
    with scripted_model(Said("lost", fault=reset()), "second try") as model:
        assert agent(model) == "second try", "the SDK tried again by itself"


def test_it_is_a_function_too() -> None:
    model = scripted_model("one", [ToolUse("a"), ToolUse("b")], Said("three", asked="refund"))
    assert model("hi") == "one"
    assert model([{"role": "system", "content": "S"}, {"role": "user", "content": "hi"}]) == (
        ToolUse("a"),
        ToolUse("b"),
    )
    assert model.asked[1].system == "S"
    with pytest.raises(GoldenMismatch, match="expected 'refund' in it"):
        model("shipping")
    with pytest.raises(GoldenMismatch):
        model.check()


def test_environment_points_the_sdks_at_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_model("hello") as model:
        for name, value in model.environment().items():
            monkeypatch.setenv(name, value)
        with openai.OpenAI() as client:
            reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
        assert reply.choices[0].message.content == "hello"


def test_an_agent_that_talks_to_it_can_be_recorded_and_replayed() -> None:
    store = MemoryStore()
    with scripted_model("hello") as model:
        url = model.openai_url

        def entry() -> str:
            with openai.OpenAI(base_url=url, api_key="k") as client:
                said = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
            return said.choices[0].message.content or ""

        assert reenact.record(store=store, agent="greeter")(entry)() == "hello"
    assert reenact.replay(store.run("@"), entry=entry, store=store).output == "hello"
