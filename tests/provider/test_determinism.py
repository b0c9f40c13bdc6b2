"""Proves on what an answer depends: on all of the request, and on chance only above temperature 0 without a seed."""

from __future__ import annotations

import json
from typing import Any

import httpx
from hypothesis import given
from hypothesis import strategies as st

from reenact.facts.answers.seeded_choices import pieces
from reenact.testing import SeededEntropy
from reenact.testing.provider import Reply, Route, Rule, Script, ScriptedProvider, Visit, When
from reenact.testing.provider.provider_decisions import HttpRequest, decide

TEXT = st.text(max_size=40)
PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")
ALTERNATIVES = Script(rules=(Rule(say=("one", "two", "three", "four")),))


def body_of(path: str, system: str, user: str, **more: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {"model": "m", **more}
    if path == PATHS[0]:
        return {**asked, "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}]}
    if path == PATHS[1]:
        return {**asked, "instructions": system, "input": user}
    return {**asked, "system": system, "messages": [{"role": "user", "content": user}], "max_tokens": 500}


def ask(script: Script, path: str, body: dict[str, Any], chance: int, call: int = 1, day: int = 1) -> Any:
    headers = {"authorization": "Bearer k"}
    request = HttpRequest("POST", path, headers, json.dumps(body).encode(), call, day)
    reply = decide(script, request, lambda _: None, SeededEntropy(chance).bytes(64), 1_760_000_000).reply
    assert reply.status == 200, reply.body
    return json.loads(reply.body)


def text_of(answer: Any) -> str:
    if "choices" in answer:
        return str(answer["choices"][0]["message"]["content"])
    content = answer["output"][0]["content"] if "output" in answer else answer["content"]
    return str(content[0]["text"])


@given(
    st.sampled_from(PATHS),
    TEXT,
    TEXT,
    st.sampled_from([{"temperature": 0}, {"seed": 7}, {"temperature": 1.5, "seed": 1}]),
)
def test_a_settled_request_gets_the_same_answer(path: str, system: str, user: str, settings: dict[str, Any]) -> None:
    body = body_of(path, system, user, **settings)
    for script in (Script(), ALTERNATIVES):
        first, second = (ask(script, path, body, chance) for chance in (1, 2))
        assert text_of(first) == text_of(second) and first["usage"] == second["usage"]
        assert first["id"] != second["id"]


@given(st.sampled_from(PATHS), TEXT, TEXT, st.sampled_from([{}, {"temperature": 0.7}]))
def test_an_open_request_varies_from_call_to_call(path: str, system: str, user: str, settings: dict[str, Any]) -> None:
    body = body_of(path, system, user, **settings)
    assert len({text_of(ask(Script(), path, body, chance)) for chance in range(8)}) > 1
    assert len({text_of(ask(ALTERNATIVES, path, body, chance)) for chance in range(24)}) > 1


@given(st.sampled_from(PATHS), TEXT, TEXT, TEXT)
def test_each_part_of_the_request_matters(path: str, system: str, user: str, other: str) -> None:
    base: dict[str, Any] = {"system": system, "user": user, "temperature": 0, "model": "m"}
    said = text_of(ask(Script(), path, body_of(path, **base), 1))
    changes: list[dict[str, Any]] = [
        {"system": system + other + "!"},
        {"user": "!" + user},
        {"model": "n"},
        {"seed": 3},
    ]
    for change in changes:
        assert text_of(ask(Script(), path, body_of(path, **{**base, **change}), 1)) != said, change


@given(TEXT)
def test_temperature_seed_and_tool_results_matter_too(user: str) -> None:
    def said(result: str = "a", **settings: Any) -> str:
        body = body_of(PATHS[0], "s", user, **settings)
        call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        body["messages"] += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": result},
        ]
        return text_of(ask(Script(), PATHS[0], body, 1))

    assert len({said(seed=1), said(seed=2), said(seed=1, temperature=0.5), said("b", seed=1)}) == 4


def test_ids_of_calls_do_not_matter() -> None:
    def said(identity: str) -> str:
        body = body_of(PATHS[0], "s", "u", temperature=0)
        call = {"id": identity, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        body["messages"] += [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": identity, "content": "r"},
        ]
        return text_of(ask(Script(), PATHS[0], body, 1))

    assert said("call_1") == said("call_2")


def test_stable_ids_make_a_settled_answer_the_same_to_the_byte() -> None:
    body = body_of(PATHS[2], "s", "u", temperature=0)
    assert ask(Script(stable_ids=True), PATHS[2], body, 1) == ask(Script(stable_ids=True), PATHS[2], body, 2)


def test_a_rule_is_greedy_at_temperature_zero_and_drifts_by_call_and_by_day() -> None:
    body = body_of(PATHS[0], "s", "u", temperature=0)
    assert text_of(ask(ALTERNATIVES, PATHS[0], body, 5)) == "one"
    drifting = Script(
        rules=(
            Rule(say="tomorrow", when=When(from_day=2)),
            Rule(say="early", when=When(to_call=2)),
            Rule(say="late"),
        )
    )
    said = [
        text_of(ask(drifting, PATHS[0], body, 1, call=call, day=day)) for call, day in ((1, 1), (2, 1), (3, 1), (3, 2))
    ]
    assert said == ["early", "early", "late", "tomorrow"]


def test_routes_answer_by_method_query_call_and_day() -> None:
    script = Script(
        routes=(
            Route("/orders", {"orders": ["new"]}, from_day=2),
            Route("/orders", {"orders": ["yours"]}, query={"user": "u"}),
            Route("/orders", {"orders": ["all"]}, query={"user": None}),
            Route("/orders", lambda visit: {"got": visit.body}, method="POST", status=201),
        )
    )
    with ScriptedProvider(script) as world:
        assert httpx.get(f"{world.url}/orders").json() == {"orders": ["all"]}
        assert httpx.get(f"{world.url}/orders?user=u").json() == {"orders": ["yours"]}
        assert httpx.get(f"{world.url}/orders?user=x").status_code == 404
        created = httpx.post(f"{world.url}/orders", json={"a": 1})
        assert created.status_code == 201 and created.json() == {"got": {"a": 1}}
        world.day = 2
        assert httpx.get(f"{world.url}/orders").json() == {"orders": ["new"]}
        assert world.counts == {"/orders": 5}


def test_a_route_may_stream_more_than_memory_should_hold() -> None:
    def endless(visit: Visit) -> Reply:
        return Reply(frames=(bytes(65536) for _ in range(int(visit.query["frames"]))))

    with ScriptedProvider(Script(routes=(Route("/big", endless),))) as world:
        headers = {"accept-encoding": "identity"}
        with httpx.stream("GET", f"{world.url}/big?frames=160", headers=headers) as answer:
            assert sum(len(part) for part in answer.iter_raw()) == 160 * 65536


@given(st.text())
def test_pieces_join_to_the_text(text: str) -> None:
    assert "".join(pieces(text)) == text
