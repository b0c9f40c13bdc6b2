"""Proves that a candidate is read as it is written, survives its JSON, and that nothing else is taken for one."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.errors import UsageError
from reenact.testing.experiments.candidates import Candidate, parse_candidate
from reenact.testing.experiments.cell import identity

FILES = {
    "short.txt": "Be brief, a=b, always.",
    "said.json": '[{"call": "look", "value": 1}]',
    "bad.json": '{"call": 1}',
}


def parsed(text: str) -> Candidate:
    return parse_candidate(text, FILES.__getitem__, lambda rev: f"commit of {rev}")


def test_everything_that_can_be_changed() -> None:
    text = (
        "a.b-2:model=gpt-5.4,prompt=@short.txt,rev=fix/it,temperature=0.5,param.stop=[1,2],flag.new-look=true,"
        'flag.words={"a":1,"b":2},answers=@said.json'
    )
    found = parsed(text)
    assert (found.name, found.model, found.prompt) == ("a.b-2", "gpt-5.4", FILES["short.txt"])
    assert found.params == {"temperature": 0.5, "stop": [1, 2]}
    assert found.flags == {"new-look": True, "words": {"a": 1, "b": 2}}
    assert found.rev == "commit of fix/it"
    assert [(each.call, each.value) for each in found.answers] == [("look", 1)]
    assert Candidate.from_json(json.loads(json.dumps(found.to_json()))) == found


@pytest.mark.parametrize(
    ("text", "live", "misses"),
    [
        ("now:", "none", "stale"),
        ("now", "none", "stale"),
        ("now:rev=x", "none", "stale"),
        ("now:rev=x,live=missing", "none", "models"),
        ("now:live=model", "model", "models"),
        ("now:model=x", "reads", "models"),
        ("now:prompt=Be brief, please.", "reads", "models"),
        ("now:seed=4", "reads", "models"),
        ("now:seed=4,live=model", "model", "models"),
    ],
)
def test_models_go_live_only_where_a_candidate_says_so(text: str, live: str, misses: str) -> None:
    found = parsed(text)
    assert (found.plan.live, found.misses, found.plan.at) == (live, misses, 0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":model=x",
        "two words:model=x",
        "a:model",
        "a:=x",
        "a:modell=x",
        "a:flag.=1",
        "a:live=tools",
        "a:rev=",
        "a:answers=@bad.json",
        "a:answers=nothing",
        "a:model=x,live=none",
        "a:live=missing,temperature=0",
    ],
)
def test_what_is_no_candidate_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        parsed(text)
    assert refused.value.next_command == "reenact experiment --help"


_WORDS = st.text(string.ascii_letters + string.digits + " =:@.", max_size=20).filter(
    lambda text: not text.startswith("@")
)


@given(model=_WORDS, prompt=_WORDS, temperature=st.floats(0, 2), flag=st.booleans())
def test_any_value_comes_through(model: str, prompt: str, temperature: float, flag: bool) -> None:
    found = parsed(f"x:model={model},prompt={prompt},temperature={temperature},flag.f={json.dumps(flag)}")
    assert (found.model, found.prompt, found.params, found.flags) == (
        model,
        prompt,
        {"temperature": temperature},
        {"f": flag},
    )


def test_a_cell_is_known_by_all_that_decides_it_and_by_no_name() -> None:
    one = identity("row", parsed("a:model=x").to_json(), 1, "code")
    assert one == identity("row", parsed("b:model=x").to_json(), 1, "code")
    others = [
        identity("row 2", parsed("a:model=x").to_json(), 1, "code"),
        identity("row", parsed("a:model=y").to_json(), 1, "code"),
        identity("row", parsed("a:model=x,temperature=0").to_json(), 1, "code"),
        identity("row", parsed("a:model=x,flag.f=1").to_json(), 1, "code"),
        identity("row", parsed("a:model=x,answers=@said.json").to_json(), 1, "code"),
        identity("row", parsed("a:model=x").to_json(), 2, "code"),
        identity("row", parsed("a:model=x").to_json(), 1, "other code"),
    ]
    assert len({one, *others}) == 1 + len(others)
