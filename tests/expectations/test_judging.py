"""Each sort of expectation fails where it should, says what was seen and expected, and names the first bad event."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reenact
from reenact.abc.store import Recording
from reenact.errors import UsageError
from reenact.facts.call import Call, Effect, Kind
from reenact.facts.event import Event, Payload
from reenact.facts.run import Run
from reenact.testing.expectations.expectation import Expectation, expect
from reenact.testing.expectations.judgement import _lost_with
from reenact.testing.expectations.prefixes import Prefixes, Upto
from reenact.testing.provider import Route, Script, ScriptedProvider
from tests.expectations.conftest import get_order, recorded, refund, search_docs, write

ANSWER = "matches(answer, '(?i)documents?')"


@pytest.mark.parametrize(
    ("text", "seen", "event"),
    [
        ("calls(search_docs) <= 3", "calls(search_docs) = 20, expected <= 3", 7),
        ("calls(search_docs) == 0", "calls(search_docs) = 20, expected == 0", 1),
        ("3 >= calls(search_docs)", "calls(search_docs) = 20, expected 3 >= it", 7),
        ("not calls(search_docs) > 3", "calls(search_docs) = 20, expected not > 3", 7),
        ("1 <= calls(search_docs) <= 3", "1 <= calls(search_docs) <= 3 = False", 7),
        ("calls(search_docs) <= 3 and calls(refund) == 1", "calls(search_docs) = 20, expected <= 3", 7),
        ("calls(get_order) == 0 or calls(refund) == 0",
         "calls(get_order) = 2, expected == 0 and calls(refund) = 1, expected == 0", 42),
        ("repeats <= 3", "repeats = 20 (search_docs), expected <= 3", 7),
        ("repeats() <= 3", "repeats() = 20 (search_docs), expected <= 3", 7),
        ("repeats(search_docs) <= 19", "repeats(search_docs) = 20, expected <= 19", 39),
        ("all(a['user_id'] == user for a in args(get_order))",
         "args(get_order)[1]: a['user_id'] = 'u2', expected == user = 'u1'", 41),
        ("any(a['user_id'] == 'u9' for a in args(get_order))",
         "2 in args(get_order), expected one with a['user_id'] == 'u9'", 41),
        ("not any(a['user_id'] == 'u2' for a in args(get_order))",
         "args(get_order)[1]: a['user_id'] = 'u2', expected not == 'u2'", 41),
        ("before(refund, get_order)", "get_order was called at #40, refund not before it", 40),
        ("order(refund, get_order)", "order(refund, get_order): no call of get_order after refund at #42", None),
        ("order(get_order, pay)", "order(get_order, pay): no call of pay after get_order at #40", None),
        ("state(search)['searches'] == 1", "state(search)['searches'] = 20, expected == 1", 2),
        ("state(search)['docs']", "state(search)['docs'] = []", 38),
        ("len(result(search_docs)) < 5", "len(result(search_docs)) = 20, expected < 5", 9),
        ("'documents' in answer", "answer is unknown, expected to contain 'documents'", None),
        (ANSWER, "answer is unknown, expected to match '(?i)documents?'", None),
        ("answer == 'done'", "answer is unknown, expected == 'done'", None),
        ("conforms(args(get_order), {'items': {'properties': {'user_id': {'const': 'u1'}}}})",
         "args(get_order): 1.user_id: \"u2\" is not \"u1\", expected to conform to ", 41),
        ("matches(result(refund)[0], '^paid')", "result(refund)[0] = 'refunded 6', expected to match '^paid'", 42),
        ("not matches(result(refund)[0], 'refunded')", "expected not to match 'refunded'", 42),
        ("all(a['args']['user_id'] == user for a in acts if a['tool'] == 'get_order')",
         "acts[21]: a['args']['user_id'] = 'u2', expected == user = 'u1'", 41),
        ("len(acts) < 10", "expected < 10", 19),
        ("tools <= 5", "tools = 23, expected <= 5", 11),
        ("events < 30", "events = 43, expected < 30", 29),
        ("calls(serch_docs) >= 1", "nothing is called serch_docs there, did you mean search_docs?", None),
        ("calls(pay) >= 1", "calls(pay) = 0, expected >= 1; nothing is called pay there; the names are ", None),
        ("state(nothing) != None", "nothing is called nothing there; the names are search", None),
        ("user == 'u7'", "user = 'u1', expected == 'u7'", None),
        ("user in ['u7', 'u8']", "user = 'u1', expected in ['u7', 'u8']", None),
    ],
)  # fmt: skip
def test_what_fails_says_what_was_seen_and_where(bad: Recording, text: str, seen: str, event: int | None) -> None:
    verdict = expect(text).judge(bad)
    assert verdict.holds is False
    assert seen in verdict.seen
    assert verdict.event == event
    if event is not None:
        assert str(verdict).endswith(f"; first bad event #{event}") and bad.event(event).number == event
        assert verdict.reference == f"{bad.run.id[10:]}:{event}"


@pytest.mark.parametrize(
    "text",
    [
        "calls(search_docs) == 20", "calls(pay) == 0", "repeats(get_order) == 1", "repeats(pay) == 0", "repeats == 20",
        "before(search_docs, get_order)", "before(search_docs, get_order, refund)", "before(pay, pay)",
        "order(search_docs, get_order, get_order, refund)", "order(search, search_docs, refund)",
        "state(search)['searches'] == 20", "state['searches'] == 20", "state(nothing) == None", "unanswered == 0",
        "any(a['user_id'] != user for a in args(get_order))",
        "all(a['query'] == 'refund policy' for a in args(search_docs))",
        "conforms(result(get_order)[0], {'required': ['owner'], 'properties': {'number': {'const': 5}}})",
        "not conforms(result(refund), {'maxItems': 0})", "matches(result(refund)[0], '^refunded \\\\d$')",
        "answer == None", "acts[0]['kind'] == 'tool' and acts[22]['result'] == 'refunded 6' and acts[0]['event'] == 1",
        "all(a['error'] == None for a in acts)",
    ],
)  # fmt: skip
def test_what_holds_holds(bad: Recording, text: str) -> None:
    verdict = expect(text).judge(bad)
    assert verdict.holds is True and verdict.event is None and str(verdict) == f"holds: {text}"


@pytest.mark.parametrize("text", ["'documents' in answer", ANSWER, "status == 'ok'", "calls(search_docs) <= 3"])
def test_the_mended_run_fulfils_what_the_bad_one_does_not(fixed: Recording, text: str) -> None:
    assert expect(text).judge(fixed).holds is True


def test_what_nobody_knows_is_neither(bad: Recording) -> None:
    def asks() -> None:
        write([{"role": "user", "text": "hello"}])

    unpriced = expect("cost < 1").judge(recorded(asks))
    assert unpriced.holds is None and str(unpriced) == "cannot be judged: cost is unknown, expected < 1"
    assert expect("tokens < 5").judge(recorded(asks)).holds is None
    assert expect("cost < 1 and calls(writer) == 0").judge(recorded(asks)).holds is False, "decided whatever it cost"
    assert expect("calls(search_docs) <= 3 and cost < 1").judge(bad).holds is False


def test_limits_of_tokens_name_the_call_that_broke_them() -> None:
    def asks() -> None:
        for tokens in (100, 200, 400):
            search_docs("between")
            spends(tokens)

    @reenact.model(name="spender")
    def spends(tokens: int) -> str:
        reenact.note("reading", {"usage": {"tokens_in": tokens, "tokens_out": 1, "input": tokens, "output": 1}})
        return "said"

    run = recorded(asks)
    verdict = expect("tokens <= 350").judge(_with_tokens(run, 703))
    assert (verdict.seen, verdict.event) == ("tokens = 703, expected <= 350", 5)


def _with_tokens(recording: Recording, tokens: int) -> Recording:
    """The same run with the totals that a provider's own counts would have given it."""
    run = replace(recording.run, totals=replace(recording.run.totals, tokens_in=tokens))
    return Upto(recording, 10**6, run)


def test_a_tool_call_that_a_model_asked_for_and_nobody_made_is_unanswered() -> None:
    def asking(*tools: str) -> None:
        @reenact.model(name="planner")
        def plan() -> str:
            calls = [{"name": name, "arguments": {}} for name in tools]
            reenact.note("reading", {"tool_calls": calls, "text": ""})
            return "planned"

        plan()

    def answered() -> None:
        asking("search_docs", "get_order")
        get_order(1, "u1")
        search_docs("a")

    def forgotten() -> None:
        asking("search_docs", "refund")
        search_docs("a")
        asking("search_docs")
        search_docs("b")
        refund(3)
        asking("refund")

    def unmarked() -> None:
        asking("lookup")
        asking()

    assert expect("unanswered == 0").judge(recorded(answered)).holds
    assert expect("unanswered == 0").judge(recorded(unmarked)).holds
    verdict = expect("unanswered == 0").judge(recorded(forgotten))
    assert verdict.seen == "unanswered = 1 (refund at #5), expected == 0"


def test_a_call_that_never_returned_is_unanswered() -> None:
    @reenact.tool(effect="read")
    async def slow() -> None:
        await asyncio.Event().wait()

    async def agent() -> None:
        task = asyncio.create_task(slow())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()

    run = recorded(lambda: asyncio.run(agent()))
    verdict = expect("unanswered == 0").judge(run)
    assert verdict.holds is False and "slow at #0" in verdict.seen and verdict.event == 0


def test_what_is_repeated_over_plain_http_counts_and_model_calls_do_not() -> None:
    question = json.dumps({"model": "m", "temperature": 0, "messages": [{"role": "user", "content": "again"}]}).encode()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer any"}

    @reenact.tool(effect="read")
    def fetch(what: str) -> bytes:
        with urllib.request.urlopen(url + "/inside") as response:
            return bytes(response.read())

    def agent() -> None:
        for path in ("/docs", "/docs", "/docs", "/other"):
            with urllib.request.urlopen(url + path):
                pass
        for n in range(5):
            with urllib.request.urlopen(urllib.request.Request(url + "/v1/chat/completions", question, headers)):
                pass
            fetch(f"part {n}")  # the same exchange inside each, which is the tool's affair

    with ScriptedProvider(Script(routes=(Route("/docs", {}), Route("/other", {}), Route("/inside", {})))) as world:
        url = world.url
        run = recorded(agent)
    assert run.run.totals.models == 5
    verdict = expect("repeats <= 2").judge(run)
    assert verdict.seen == f"repeats = 3 (GET {url.removeprefix('http://')}/docs), expected <= 2" and verdict.event == 2


def test_the_arguments_of_an_mcp_servers_tool_are_its_own() -> None:
    call = Call(Kind.MCP, "search", Effect.READ, "mcp/1", {"method": "tools/call"})
    asked = json.dumps({"name": "search", "arguments": {"user_id": "u2"}, "_meta": None}).encode()
    event = Event("r", 0, "root", 0, None, call, Payload("d", len(asked)))

    class Log:
        run = Run("0" * 18, user="u1")

        def events(self, **choice: Any) -> Any:
            return iter([event])

        def body(self, payload: Payload | None) -> bytes:
            return asked if payload else b""

    verdict = expect("all(a['user_id'] == user for a in args(search))").judge(Log())  # type: ignore[arg-type]
    assert verdict.seen == "args(search)[0]: a['user_id'] = 'u2', expected == user = 'u1'"


def test_calls_with_values_that_cannot_be_kept_are_not_called_the_same() -> None:
    @reenact.tool(effect="read")
    def give(thing: object) -> int:
        return 1

    def agent() -> None:
        for _ in range(5):
            give(object())
            search_docs("same")

    assert expect("repeats(give) == 0 and repeats(search_docs) == 5").judge(recorded(agent)).holds


@given(st.lists(st.booleans(), max_size=30))
def test_the_first_bad_event_is_the_one_after_which_it_never_held_again(held: list[bool]) -> None:
    numbers = list(range(10, 10 + 2 * len(held), 2))
    truth = {-1: True, **dict(zip(numbers, held, strict=True))}
    if not numbers or truth[numbers[-1]]:
        return
    lost = _lost_with(numbers, lambda end: truth[end])
    assert lost is not None
    at = numbers.index(lost)
    assert truth[numbers[at - 1] if at else -1] and not any(truth[each] for each in numbers[at:])


def test_long_runs_are_searched_by_halves() -> None:
    asked: list[int] = []

    def holds(end: int) -> bool:
        asked.append(end)
        return end < 7_001

    assert _lost_with(list(range(100_000)), holds) == 7_001
    assert len(asked) < 25


def test_what_is_much_work_is_not_done_again_and_again(monkeypatch: pytest.MonkeyPatch, bad: Recording) -> None:
    text = (
        "len(args(search_docs)) < 5 or any(any(any(a == b for b in args(search_docs)) for a in [1, 2]) for c in [3, 4])"
    )
    asked: list[int] = []
    upto = Prefixes.upto

    def counted(self: Prefixes, last: int) -> Recording:
        asked.append(last)
        return upto(self, last)

    monkeypatch.setattr(Prefixes, "upto", counted)
    for allowed, most in ((1_000_000, 20), (2_000, 6), (100, 0)):
        monkeypatch.setattr("reenact.testing.expectations.judgement.MAX_WORK", allowed)
        asked.clear()
        verdict = expect(text).judge(bad)
        assert verdict.event == (9 if most else 39) and len(asked) <= most, asked


def test_an_expression_that_needs_too_much_work_is_refused(bad: Recording) -> None:
    text = "a == 1"
    for name in "abcdef":
        text = f"any({text} for {name} in args(search_docs))"
    with pytest.raises(UsageError, match="units of work"):
        expect(text).judge(bad)


TEXTS = st.text(alphabet="ab'\"\\\n é{}%", max_size=10)


@given(TEXTS)
def test_an_expectation_survives_being_kept(text: str) -> None:
    expectation = Expectation(f"answer == {text!r}", {"@a.json": {"const": text}})
    assert Expectation.from_json(json.loads(json.dumps(expectation.to_json()))) == expectation


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "it is no object"),
        ({"kind": "expression", "text": "user"}, "its version is None"),
        ({"version": 2, "kind": "expression", "text": "user"}, "its version is 2, this program reads up to 1"),
        ({"version": 1, "kind": "python", "text": "user"}, "its kind is 'python', known is 'expression'"),
        ({"version": 1, "kind": "expression", "text": 5}, "its text is no text"),
        ({"version": 1, "kind": "expression", "text": "user", "files": [1]}, "its files are no object"),
        ({"version": 1, "kind": "expression", "text": "user", "run": "rm -rf /"}, "it has unknown members: run"),
        ({"version": 1, "kind": "expression", "text": "__import__('os')"}, "unknown name __import__"),
        ({"version": 1, "kind": "expression", "text": "conforms(answer, '@/etc/passwd')"}, "no schema @/etc/passwd"),
        (
            {"version": 1, "kind": "expression", "text": "conforms(answer, '@a')", "files": {"@a": {"x": 1}}},
            "at x: the",
        ),
    ],
)
def test_what_is_no_expectation_is_refused_by_name(data: Any, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        Expectation.from_json(data)
    assert words in str(caught.value)


def test_schemas_are_read_when_they_are_named_and_travel(tmp_path: Any, fixed: Recording) -> None:
    (tmp_path / "said.json").write_text('{"type": "string", "maxLength": 5}')
    expectation = expect("conforms(answer, '@said.json')", folder=tmp_path)
    (tmp_path / "said.json").unlink()
    verdict = Expectation.from_json(expectation.to_json()).judge(fixed)
    assert "answer: it has 38 characters, at most 5 are asked for" in verdict.seen
    with pytest.raises(UsageError, match="cannot be read"):
        expect("conforms(answer, '@said.json')", folder=tmp_path)
