"""Recorded answers that no expression is about are known from the expressions alone, and none of these is evaluated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest

import reenact
from reenact.abc.store import Recording
from reenact.store.memory_store import MemoryStore
from reenact.testing import ScriptedProvider
from reenact.testing.expectations.expectation import expect
from reenact.testing.expectations.unnamed_answers import unnamed
from reenact.testing.provider import Rule, Script, ToolUse, When
from tests.expectations.conftest import get_order, recorded, search_docs

SCRIPT = Script(
    rules=(
        Rule(uses=(ToolUse("get_order", {"number": 5, "user_id": "u1"}),), when=When(results=False)),
        Rule(say="It is on its way."),
    )
)


def names(recording: Recording, *texts: str) -> list[str]:
    """What is left unnamed by expressions."""
    return [str(each) for each in unnamed([expect(text).compiled() for text in texts], recording)]


@pytest.mark.parametrize(
    ("texts", "left"),
    [
        (("calls(search_docs) <= 3",), ["get_order (2 answers from event 40)", "refund (event 42)"]),
        (("result(refund)[0] == 'x'", "before(get_order, refund)"), ["search_docs (20 answers from event 1)"]),
        (("state(search)['searches'] < 9", "len(args(refund)) == 1"), ["get_order (2 answers from event 40)"]),
        (("all(a['user_id'] == user for a in args('get_order'))", "repeats <= 2"), []),
        (("any(a['tool'] == 'refund' for a in acts)",),
         ["search_docs (20 answers from event 1)", "get_order (2 answers from event 40)"]),
        (("tools <= 3", "status == 'ok'", "tokens < 9", "calls(nothing) == 0"),
         ["search_docs (20 answers from event 1)", "get_order (2 answers from event 40)", "refund (event 42)"]),
        (("grade('graders:polite')",),
         ["search_docs (20 answers from event 1)", "get_order (2 answers from event 40)", "refund (event 42)"]),
    ],
)  # fmt: skip
def test_a_call_is_named_by_its_call_its_result_and_the_state_that_it_leaves(
    bad: Recording, texts: tuple[str, ...], left: list[str]
) -> None:
    assert names(bad, *texts) == left


def test_the_last_state_is_that_of_the_last_step() -> None:
    def two() -> None:
        state: dict[str, Any] = {}
        for name, number in (("first", 5), ("second", 6)):
            with reenact.step(name, state):
                state[name] = get_order(number, "u1") if number == 6 else search_docs("x")

    recording = recorded(two)
    assert names(recording, "state['second'] != None") == ["search_docs (event 1)"]
    assert names(recording, "state(first) != None") == ["get_order (event 3)"]


@pytest.fixture(scope="module")
def asked() -> Iterator[Recording]:
    """A model that asks for a tool, the tool, and the model's last words."""
    store = MemoryStore()
    with ScriptedProvider(SCRIPT) as provider, reenact.record(store=store) as run:
        client = openai.OpenAI(base_url=f"{provider.url}/v1", api_key="sk-test", max_retries=0)
        tool: Any = {"type": "function", "function": {"name": "get_order", "parameters": {"type": "object"}}}
        messages: list[Any] = [{"role": "user", "content": "Where is order 5?"}]
        for _ in range(2):
            said = client.chat.completions.create(model="gpt-5.4", messages=messages, tools=[tool]).choices[0].message
            messages.append(said.model_dump(exclude_none=True))
            for use in said.tool_calls or ():
                assert use.type == "function"
                found = get_order(**json.loads(use.function.arguments))
                messages.append({"role": "tool", "tool_call_id": use.id, "content": json.dumps(found)})
    yield store.open(store.run(run.id))


def test_a_models_answer_is_named_by_the_tool_that_it_asked_for_and_its_last_words_by_the_answer(
    asked: Recording,
) -> None:
    (last,) = names(asked, "calls(get_order) == 1")
    assert last.startswith("gpt-5.4") and "->" not in last
    first, tool = names(asked, "'way' in answer")
    assert "-> get_order (event" in first and tool.startswith("get_order (event")
    assert names(asked, "judge('it is polite', 'gpt-judge')", "len(acts) == 1") == []
