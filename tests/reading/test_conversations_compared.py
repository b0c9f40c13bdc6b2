"""One conversation is the same in whichever protocol it is asked, and another wherever anything else is said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.conversations import digest_of, is_same_model, lines_of
from reenact.facts.dialects import read
from reenact.facts.reading import Reading

WORDS = st.text(st.characters(codec="ascii", categories=("L", "N", "P")), min_size=1, max_size=8)
ARGUMENTS = st.dictionaries(WORDS, st.integers() | WORDS, max_size=2)
TURNS = st.lists(st.tuples(WORDS, st.none() | st.tuples(WORDS, ARGUMENTS, WORDS), WORDS), min_size=1, max_size=3)
"""What the user says, the tool that the model wants with its arguments and its result, what the model says."""


def openai(system: str, turns: Any) -> Reading:
    said: list[Any] = [{"role": "system", "content": system}]
    for at, (user, tool, answer) in enumerate(turns):
        said.append({"role": "user", "content": [{"type": "text", "text": user}]})
        if tool is not None:
            name, arguments, result = tool
            call = {
                "id": f"call_{at}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            said.append({"role": "assistant", "content": None, "tool_calls": [call]})
            said.append({"role": "tool", "tool_call_id": f"call_{at}", "content": result})
        said.append({"role": "assistant", "content": answer})
    return asked("https://api.openai.com/v1/chat/completions", {"model": "m", "messages": said})


def anthropic(system: str, turns: Any) -> Reading:
    said: list[Any] = []
    for at, (user, tool, answer) in enumerate(turns):
        said.append({"role": "user", "content": user})
        if tool is not None:
            name, arguments, result = tool
            use = {"type": "tool_use", "id": f"toolu_{at}", "name": name, "input": arguments}
            said.append({"role": "assistant", "content": [use]})
            block = {"type": "tool_result", "tool_use_id": f"toolu_{at}", "content": result}
            said.append({"role": "user", "content": [block]})
        said.append({"role": "assistant", "content": [{"type": "text", "text": answer}]})
    return asked("https://api.anthropic.com/v1/messages", {"model": "m", "system": system, "messages": said})


def asked(url: str, body: dict[str, Any]) -> Reading:
    head = {"method": "POST", "url": url, "headers": [["content-type", "application/json"]]}
    found = read(head, json.dumps(body).encode(), {}, b"")
    assert found is not None
    return found


def digest(reading: Reading) -> bytes:
    return digest_of(lines_of(reading))


@given(WORDS, TURNS)
def test_two_protocols_say_the_same(system: str, turns: Any) -> None:
    assert digest(openai(system, turns)) == digest(anthropic(system, turns))


@given(WORDS, TURNS, st.data())
def test_anything_else_that_is_said_is_another_conversation(system: str, turns: Any, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(turns) - 1))
    user, tool, answer = turns[at]
    others = [(user + "x", tool, answer), (user, tool, answer + "x")]
    if tool is not None:
        name, arguments, result = tool
        others += [
            (user, None, answer),
            (user, (name + "x", arguments, result), answer),
            (user, (name, {**arguments, "further": 1}, result), answer),
            (user, (name, arguments, result + "x"), answer),
        ]
    other = [*turns[:at], data.draw(st.sampled_from(others)), *turns[at + 1 :]]
    assert digest(openai(system, turns)) != digest(openai(system, other))
    assert digest(openai(system, turns)) != digest(openai(system + "x", turns))
    assert digest(openai(system, turns)) != digest(openai(system, turns[:-1]))


@pytest.mark.parametrize(
    ("now", "told", "answered", "same"),
    [
        ("gpt-4o", "gpt-4o", "", True),
        ("gpt-4o", "openai/gpt-4o", "", True),
        ("gpt-4o", "", "gpt-4o-2024-08-06", True),
        ("gpt-4o", "", "", True),
        ("gpt-4o", "gpt-4o-mini", "gpt-4o-mini-2024-07-18", False),
        ("gpt-4", "gpt-4o", "", False),
        ("claude-sonnet-4", "", "claude-sonnet-4-20250514", True),
        ("claude-sonnet", "claude-sonnet-4-5", "", False),
    ],
)
def test_a_model_is_known_by_its_name_with_or_without_its_date(now: str, told: str, answered: str, same: bool) -> None:
    assert is_same_model(now, Reading("", model_asked=told, model_answered=answered)) is same
