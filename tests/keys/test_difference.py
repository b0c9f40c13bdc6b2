"""The structural difference names each change once, where it is, and its patch turns the left value into the right."""

from __future__ import annotations

import copy
import json
import time
from typing import Any

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.difference import between, differences, first, patch, render, words

leaves = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 1.5]) | st.text("ab./~", max_size=3)
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text("ab./~", max_size=2), inner, max_size=4),
    max_leaves=15,
)


def conversation(count: int) -> dict[str, Any]:
    messages = [
        {"role": ("user", "assistant")[n % 2], "content": f"message {n} " + "text " * 100} for n in range(count)
    ]
    return {"model": "m", "messages": messages}


@given(values, values)
def test_the_patch_turns_left_into_right(left: Any, right: Any) -> None:
    result = jsonpatch.apply_patch(copy.deepcopy(left), patch(differences(left, right)))
    assert json.dumps(result, sort_keys=True) == json.dumps(right, sort_keys=True)


@given(values, values)
def test_no_difference_means_equal(left: Any, right: Any) -> None:
    equal = json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
    assert (first(left, right) is None) is equal
    assert differences(left, left) == []


def test_one_inserted_message_is_one_difference() -> None:
    left = conversation(200)
    right = copy.deepcopy(left)
    right["messages"].insert(7, {"role": "user", "content": "new"})
    found = differences(left, right)
    assert [(one.kind, one.path) for one in found] == [("added", "messages.7")]


def spent(messages: int) -> float:
    """Seconds of the processor that it takes to find every tenth message different, the least of several tries."""
    left = conversation(messages)
    right = copy.deepcopy(left)
    for n in range(0, messages, 10):
        right["messages"][n]["content"] += "!"
    tries = []
    for _ in range(9):
        begun = time.process_time()
        found = differences(left, right)
        tries.append(time.process_time() - begun)
        assert len(found) == messages // 10
    return min(tries)


def test_two_hundred_messages_take_ten_times_as_long_as_twenty() -> None:
    assert spent(200) < 40 * spent(20), "not a hundred times"


def test_the_first_difference_has_a_path_with_dots() -> None:
    found = first({"a": [{"b.c": 1}]}, {"a": [{"b.c": 2}]})
    assert found is not None
    assert (found.kind, found.path, found.left, found.right) == ("changed", "a.0.b~1c", 1, 2)


def test_types_of_numbers_differ() -> None:
    assert [one.path for one in differences([1, True, 1.0], [1, 1, 1.0])] == ["1"]


@given(st.text("ab ,\n", max_size=30), st.text("ab ,\n", max_size=30))
def test_words_rebuild_both_texts(left: str, right: str) -> None:
    found = words(left, right)
    assert "".join(text for verb, text in found if verb != "+") == left
    assert "".join(text for verb, text in found if verb != "-") == right


def test_bodies_that_are_no_json_are_compared_by_lines() -> None:
    assert [(one.kind, one.path) for one in between(b"a\nb\nc", b"a\nx\nb\nc")] == [("added", "1")]
    assert between(b"x", b"x") == []


def test_rendering_is_short_and_shows_the_words() -> None:
    text = "It is the third of May. " * 40
    shown = render(differences({"p": text + "Noon."}, {"p": text + "Night."}))
    assert "[-Noon-]{+Night+}" in shown
    assert len(shown) < 400
    many = render(differences(list(range(50)), list(range(50, 100))))
    assert many.endswith("and 45 more")
