"""A trace becomes a run: model calls, tools and retrievals with what was asked and answered, and how sure each is."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.abc.sources import CLOCK, ENTROPY
from reenact.abc.store import Store
from reenact.errors import ForkError
from reenact.facts.call import Failure
from reenact.facts.event import Event
from reenact.facts.features import Case, fingerprint
from reenact.facts.ids import made_us, tail
from reenact.facts.kit import Hold, ItemState, ReplayUse
from reenact.facts.policy import Policy
from reenact.facts.run import Status
from reenact.facts.trace_runs import Grade, graded
from reenact.interop.file_formats import read
from reenact.interop.importing import import_runs
from reenact.interop.otlp.trace_columns import CLOCKS, DIFFERING, MERGED, ORPHANS, REPEATED, ROOTS
from reenact.interop.readers import ReaderOptions
from reenact.interop.trace_import import EARLIER
from reenact.recording.recording_opening import Who
from reenact.timetravel.forks.fork_launch import require_ended
from reenact.timetravel.gist import answer_of, question_of
from reenact.timetravel.model_readings import decision_of, reading_of
from reenact.triage.budget import budget_of
from reenact.triage.cold_reasons import reasons
from reenact.triage.featured_runs import seen
from reenact.triage.kit_of_run import kit_of
from reenact.triage.run_features import features_of
from tests.interop.conftest import Bring, Tried
from tests.interop.spans import START, TRACE, chat, lines, span, text, tool


def events(store: Store, run: object) -> list[Event]:
    """What the trace tells; behind it stands what came in."""
    *found, original = store.open(run).events()  # type: ignore[arg-type]
    assert (original.kind, original.name) == ("note", "original")
    return found


def agent(number: int = 1, **more: object) -> dict[str, object]:
    says = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk"}
    return span(number, "invoke_agent desk", took=90, says={**says, **more})


@pytest.mark.parametrize("written", [text, lines])
def test_an_agent_with_a_model_and_a_tool_is_one_run(bring: Bring, store: Store, written: object) -> None:
    (run,) = bring("otlp", written(agent(), chat(2, 1), tool(3, 1), chat(4, 1)))  # type: ignore[operator]
    assert (run.agent, run.status, run.totals.models, run.totals.tools) == ("desk", Status.OK, 2, 1)
    assert (run.totals.tokens_in, run.totals.tokens_out) == (24, 10)
    assert run.tags["trace"] == TRACE
    root, model, called, last = events(store, run)
    assert [each.kind for each in (root, model, called, last)] == ["step", "model", "tool", "model"]
    assert [each.parent for each in (root, model, called, last)] == [None, 0, 0, 0]
    assert [each.issued_us for each in (root, model, called, last)] == [0, 1000, 2000, 3000]
    assert called.name == "find_order"
    recording = store.open(run)
    assert json.loads(recording.body(called.request)) == {"order": 7}
    assert json.loads(recording.body(called.answer)) == {"state": "lost"}
    reading = reading_of(model)
    assert reading is not None
    assert (reading["provider"], reading["model_asked"], reading["params"]) == (
        "openai",
        "gpt-4o-mini",
        {"temperature": 0.5},
    )
    decision = decision_of(model)
    assert decision is not None
    assert (decision.text, decision.finish) == ("It is lost.", "stop")
    assert (question_of(recording), answer_of(recording)) == ("Where is order 7?", "It is lost.")


def test_the_kit_says_of_each_item_whether_it_is_exact_semantic_or_absent(bring: Bring, store: Store) -> None:
    says = {"gen_ai.tool.call.result": None, "user.id": "u-7"}
    (run,) = bring("otlp", text(agent(), chat(2, 1), tool(3, 1, says=says), tool(4, 1)))
    kit = kit_of(store, run)
    said = {item.name: (item.fidelity, item.standing) for item in kit.items}
    assert said["model"] == said["tokens"] == said["timestamps"] == ("exact", ItemState.CAPTURED)
    assert said["history"] == said["system_prompt"] == said["model_calls"] == ("semantic", ItemState.CAPTURED)
    assert said["entry"] == ("absent", ItemState.MISSING)
    assert said["input"] == ("semantic", ItemState.CAPTURED), "the model was told what the user said"
    assert said["tool_calls"] == ("absent", ItemState.PARTIAL)
    assert said["user"] == ("exact", ItemState.CAPTURED)
    assert {item.fidelity for item in kit.items} == {"exact", "semantic", "absent"}
    assert kit.verdict is ReplayUse.EVENTS, "a trace has no program"


def test_a_trace_without_content_is_a_cold_case_with_the_setting_that_captures_it(bring: Bring, store: Store) -> None:
    bare = {"gen_ai.input.messages": None, "gen_ai.output.messages": None}
    (run,) = bring("otlp", text(agent(), chat(2, 1, says=bare)))
    kit = kit_of(store, run)
    assert kit.verdict is ReplayUse.COLD
    given, history = kit.item("input"), kit.item("history")
    assert given is not None and given.standing is ItemState.MISSING
    assert history is not None
    assert history.capture[0] == (
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY in the agent's environment"
    )


def test_a_trace_that_tells_no_answer_of_any_tool_is_a_cold_case(bring: Bring, store: Store) -> None:
    bare = {"gen_ai.tool.call.result": None}
    (run,) = bring("otlp", text(agent(), chat(2, 1), tool(3, 1, says=bare), tool(4, 1, says=bare)))
    (why,) = reasons(kit_of(store, run))
    assert (why.item, why.about) == ("tool_calls", "absent in 2 of 2 (told by otel.genai)")
    assert why.capture[0] == ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY in the agent's environment")
    (found,) = seen(store)
    assert (found.case, found.features.cold) == (Case.COLD, ("tool_calls",))


@pytest.mark.parametrize("says", [{"gen_ai.tool.call.arguments": None}, {"error.type": "KeyError"}])
def test_tools_of_which_the_trace_tells_what_came_of_them_make_no_cold_case(
    bring: Bring, store: Store, says: dict[str, object]
) -> None:
    more = {"says": {"gen_ai.tool.call.result": None, **says}, "error": "no order 7"} if "error.type" in says else {}
    (run,) = bring("otlp", text(agent(), chat(2, 1), tool(3, 1, **(more or {"says": says}))))
    assert kit_of(store, run).verdict is ReplayUse.EVENTS


def test_the_budget_of_a_trace_claims_no_more_than_the_trace_knows(bring: Bring, store: Store) -> None:
    (run,) = bring(
        "otlp", text(agent(), chat(2, 1, took=9), tool(5, 1, took=9, says={"gen_ai.tool.call.result": None}))
    )
    lines_of = {line.name: line for line in budget_of(store, run)}
    assert "a trace does not say" in lines_of["clock logic"].about
    assert lines_of["clock logic"].replay is Hold.ACCEPTED
    assert lines_of["tool drift"].replay is Hold.ACCEPTED, "its result is not in the trace"
    assert "#1 and #2 were under way together" in lines_of["tool latency and races"].about
    assert lines_of["sampling"].about == "temperature 0.5 at #1"
    assert "gpt-4o-mini is an alias" in lines_of["model drift"].about


def test_content_of_some_calls_alone_is_partial(bring: Bring, store: Store) -> None:
    bare = {"gen_ai.input.messages": None, "gen_ai.output.messages": None}
    (run,) = bring("otlp", text(agent(), chat(2, 1), chat(3, 1, says=bare)))
    history = kit_of(store, run).item("history")
    assert history is not None
    assert (history.standing, history.fidelity, history.events) == (ItemState.PARTIAL, "absent", (2,))


def test_a_walk_over_the_events_of_a_trace_is_never_exact(bring: Bring, store: Store) -> None:
    (run,) = bring("otlp", text(agent(), chat(2, 1)))
    walked = reenact.replay(run, mode="events", store=store)
    assert (walked.verdict, walked.fidelity) == ("same", "semantic")
    assert "verdict: same (semantic), order not known" in walked.report.last_line


def test_a_fork_of_a_trace_is_refused_with_the_replay_of_a_command_next(bring: Bring, store: Store) -> None:
    (run,) = bring("otlp", text(agent(), chat(2, 1)))
    with pytest.raises(ForkError) as raised:
        require_ended(run)
    assert raised.value.next_command == f"reenact replay {tail(run.id)} --cmd 'python agent.py'"


def test_the_same_trace_imported_twice_is_one_run(bring: Bring, store: Store) -> None:
    spans = agent(), chat(2, 1), tool(3, 1)
    (first,) = bring("otlp", text(*spans))
    (again,) = bring("otlp", lines(*reversed(spans)))
    assert again.id == first.id
    assert len(list(store.runs())) == 1


def test_another_state_of_a_trace_is_a_run_of_its_own_that_says_so(bring: Bring, store: Store) -> None:
    (first,) = bring("otlp", text(agent(), chat(2, 1)))
    (later,) = bring("otlp", text(agent(), chat(2, 1), tool(3, 1)))
    assert later.id != first.id
    assert EARLIER in later.capture["import"]["remarks"]
    assert [run.id for run in store.runs(tag={"trace": TRACE})] == [later.id, first.id]


def test_what_came_in_is_kept_without_its_credentials(bring: Bring, store: Store, tmp_path: Path) -> None:
    key = "sk-" + "a1B2c3D4e5F6g7H8" * 3
    (run,) = bring("otlp", text(agent(), tool(2, 1, says={"gen_ai.tool.call.result": f"the key is {key}"})))
    recording = store.open(run)
    *_, original = recording.events()
    kept = recording.body(original.answer)
    assert json.loads(kept)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"] == TRACE
    assert b"the key is ~rx" in kept
    for path in (tmp_path / ".reenact").rglob("*"):
        assert not path.is_file() or key.encode() not in path.read_bytes()


def test_a_comparison_is_of_the_calls_and_not_of_what_came_in(bring: Bring, store: Store) -> None:
    (left,) = bring("otlp", text(agent(), chat(2, 1), tool(3, 1)))
    (right,) = bring("otlp", text(*(each | {"traceId": "ab" * 16} for each in (agent(), chat(2, 1), tool(3, 1)))))
    assert left.id != right.id
    assert reenact.compare(left, right, store=store).first_difference is None


def test_one_call_told_in_two_dialects_asks_the_same(bring: Bring, store: Store) -> None:
    told = {
        "openinference.span.kind": "LLM",
        "llm.provider": "openai",
        "llm.model_name": "gpt-4o-mini",
        "llm.invocation_parameters": '{"temperature": 0.5}',
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "Be brief.",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": "Where is order 7?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "It is lost.",
    }
    (left,) = bring("otlp", text(chat(1)))
    (right,) = bring("otlp", text(span(1, "ChatCompletion", trace="ab" * 16, says=told)))
    (pair,) = reenact.compare(left, right, store=store).pairs
    assert [str(change.value) for change in pair.changes] == ["changed answer"], "they tell the same question"


def test_the_original_of_a_trace_imports_as_that_trace(bring: Bring, store: Store) -> None:
    first, other = bring("otlp", lines(agent(), chat(2, 1), span(3, "alone", trace="ab" * 16)))
    recording = store.open(first)
    *_, original = recording.events()
    kept = recording.body(original.answer)
    (again,) = bring("otlp", kept.decode())
    assert again.id == first.id != other.id


# --- spans that disagree ------------------------------------------------------------------------------------------


def test_a_document_of_one_trace_is_kept_as_it_came_beside_those_of_others(bring: Bring, store: Store) -> None:
    alone = json.dumps(json.loads(text(agent(), chat(2, parent=1))), indent=1).replace("\n", "")
    mixed = text(span(3, "one"), span(4, "other", trace="a" * 32))
    first, second = bring("otlp", alone + "\n" + mixed + "\n")
    for run, whole in ((first, True), (second, False)):
        (*_, original) = store.open(run).events()
        body = store.payload(original.answer)  # type: ignore[arg-type]  # there is one
        assert ((alone + "\n").encode() in body) is whole
        assert body.count(b"\n") == 1 + whole and (mixed + "\n").encode() not in body


def test_spans_of_one_call_are_one_event(bring: Bring, store: Store) -> None:
    inner: dict[str, Any] = {"gen_ai.input.messages": None, "gen_ai.usage.reasoning.output_tokens": 3}
    inner |= {"gen_ai.response.id": "chatcmpl-2"}
    (run,) = bring("otlp", text(agent(), chat(2, 1, took=9), chat(3, 2, says=inner)))
    _, model = events(store, run)
    reading = reading_of(model)
    assert reading is not None
    assert (reading["text"], reading["usage"]["reasoning"]) == ("It is lost.", 3)
    assert run.totals.models == 1
    assert run.totals.tokens_in == 12, "counted once"
    assert model.attributes["span"]["merged"] == [f"{3:016x}"]
    assert run.capture["import"]["remarks"][MERGED] == 1


def test_calls_beside_each_other_are_merged_by_the_id_of_their_response_only(bring: Bring, store: Store) -> None:
    same = {"gen_ai.response.id": "chatcmpl-2"}
    spans = chat(2, 1, took=9), chat(3, 1, says=same), chat(4, 1), chat(60, 1, says=same)
    (run,) = bring("otlp", text(agent(), *spans))
    assert run.totals.models == 3, "the last one was asked when the first had been answered: a cache"


def test_a_call_around_several_calls_is_none_of_them(bring: Bring, store: Store) -> None:
    outer = {"gen_ai.response.id": None, "gen_ai.input.messages": None, "gen_ai.output.messages": None}
    (run,) = bring("otlp", text(chat(1, took=50, says=outer), chat(2, 1), chat(3, 1)))
    assert run.totals.models == 3


def test_repeated_late_and_disordered_spans_are_one_trace_in_order(bring: Bring, store: Store) -> None:
    spans = [agent(), chat(2, 1), tool(3, 1), chat(4, 1)]
    (run,) = bring("otlp", lines(spans[3], spans[1], spans[0], spans[1], spans[2]))
    assert [each.name for each in events(store, run)] == [
        "invoke_agent desk",
        "gpt-4o-mini",
        "find_order",
        "gpt-4o-mini",
    ]
    assert run.capture["import"]["remarks"] == {REPEATED: 1}


def test_spans_that_share_an_id_and_differ_are_both_kept(bring: Bring, store: Store) -> None:
    (run,) = bring("otlp", text(agent(), tool(2, 1), tool(2, 1, says={"gen_ai.tool.name": "other"}, at=5)))
    assert [each.name for each in events(store, run)][1:] == ["find_order", "other"]
    assert run.capture["import"]["remarks"][DIFFERING] == 1


def test_orphans_stand_by_themselves_and_are_counted(bring: Bring, store: Store) -> None:
    (run,) = bring("otlp", text(agent(), tool(2, 99)))
    assert [each.parent for each in events(store, run)] == [None, None]
    assert run.capture["import"]["remarks"] == {ORPHANS: 1}


def test_parents_in_a_circle_lose_no_span(bring: Bring, store: Store) -> None:
    (run,) = bring("otlp", text(span(1, "a", 2), span(2, "b", 1), span(3, "c", 3)))
    assert sorted(each.name for each in events(store, run)) == ["a", "b", "c"]


def test_a_child_whose_clock_is_behind_comes_after_its_parent(bring: Bring, store: Store) -> None:
    (run,) = bring("otlp", text(span(10, "parent", took=9), tool(2, 10)))
    parent, child = events(store, run)
    assert (parent.name, child.parent) == ("parent", 0)
    assert run.capture["import"]["remarks"] == {CLOCKS: 1}


def test_two_roots_of_one_id_are_said(bring: Bring, store: Store) -> None:
    (run,) = bring("otlp", text(agent(1), agent(2)))
    assert run.capture["import"]["remarks"] == {ROOTS: 1}


def test_traces_of_one_session_keep_their_order(bring: Bring, store: Store) -> None:
    made = [span(n, f"turn {n}", trace=f"{n:032x}", says={"session.id": "s"}) for n in (3, 1, 2)]
    runs = bring("otlp", lines(*made))
    listed = [run.id for run in store.runs(session="s")]
    assert listed == [run.id for run in reversed(runs)], "newest first"
    assert [next(iter(events(store, run))).name for run in runs] == ["turn 1", "turn 2", "turn 3"]


class Still:
    """A clock that stands still, as the real one seems to while a small trace is written."""

    def wall_us(self) -> int:
        return CLOCK.wall_us() // 10**9 * 10**9

    def mono_us(self) -> int:
        return 0


def test_traces_that_are_written_within_a_millisecond_keep_their_order(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_text(lines(*(span(n, f"turn {n}", trace=f"{n:032x}") for n in range(1, 9))))
    found, origin = read("otlp", path, ReaderOptions())
    arrived = import_runs(store, found, origin, who=Who(), policy=Policy(), clock=Still(), entropy=ENTROPY)
    ids = [each.run.id for each in arrived]
    assert ids == sorted(ids)
    assert made_us(ids[-1]) <= CLOCK.wall_us(), "no run is made in the future"


@pytest.mark.parametrize("form", ["otlp", "openai"])
def test_how_far_a_file_is_read_is_told_in_bytes(tmp_path: Path, form: str) -> None:
    row = json.dumps({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m"}})
    file = tmp_path / "recorded"
    file.write_text(lines(agent(), *(chat(number, 1) for number in range(2, 9))) if form == "otlp" else f"{row}\n" * 8)
    told: list[tuple[int, int]] = []
    read(form, file, ReaderOptions(), lambda done, total: told.append((done, total)))
    assert len(told) == 8 and {total for _, total in told} == {file.stat().st_size}
    assert told == sorted(told) and told[-1][0] < file.stat().st_size


def _append(said: list[tuple[int, int]], done: int, total: int) -> None:
    said.append((done, total))


def test_how_far_an_import_is_is_told_in_spans(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_text(lines(*(span(n, f"turn {n}", trace=f"{1 + n // 300:032x}") for n in range(1, 400))))
    for _ in ("once", "again"):
        said: list[tuple[int, int]] = []
        found, origin = read("otlp", path, ReaderOptions())
        import_runs(
            store, found, origin, who=Who(), policy=Policy(), clock=CLOCK, entropy=ENTROPY,
            progress=partial(_append, said),
        )  # fmt: skip
        assert said == sorted(said) and said[-1] == (399, 399), said
    assert len({done for done, _ in said}) == 2, "traces that are here already are passed over as a whole"


def test_an_error_is_told_with_its_type_and_words(bring: Bring, store: Store) -> None:
    failed = span(1, "invoke_agent desk", error="it broke", says={"gen_ai.operation.name": "invoke_agent"})
    (run,) = bring("otlp", text(failed, tool(2, 1, error="no such order", says={"error.type": "KeyError"})))
    assert (run.status, run.error) == (Status.FAILED, "Error: it broke")
    outcome = events(store, run)[1].outcome
    assert isinstance(outcome, Failure)
    assert (outcome.error.type, outcome.error.text) == ("KeyError", "no such order")


@pytest.mark.parametrize(
    ("status", "message", "told"),
    [
        ("ConnectionError: bank down", "bank down", "bank down"),
        ("ConnectionError: bank down", "", "bank down"),
        ("", "bank down", "bank down"),
        ("bank down", "tried in vain", "bank down"),
        ("ConnectionError: ", "", "ConnectionError"),
    ],
    ids=["as the SDK says it", "status alone", "exception alone", "an exception before", "no words"],
)
def test_what_was_raised_is_told_in_its_own_words(
    bring: Bring, store: Store, status: str, message: str, told: str
) -> None:
    exception = {"exception.type": "ConnectionError", "exception.message": message}
    (run,) = bring("otlp", text(tool(2, error=status, events=[("exception", exception)])))
    outcome = events(store, run)[0].outcome
    assert isinstance(outcome, Failure)
    assert (outcome.error.type, outcome.error.text) == ("ConnectionError", told)


def test_calls_of_tools_without_a_span_are_known_by_what_the_next_call_is_told(bring: Bring, store: Store) -> None:
    wanted = {"type": "tool_call", "id": "call_9", "name": "find_order", "arguments": {"order": 7}}
    told = {"type": "tool_call_response", "id": "call_9", "response": "lost"}
    first = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [wanted]}])}
    second = {"gen_ai.input.messages": json.dumps([{"role": "tool", "parts": [told]}])}
    (run,) = bring("otlp", text(agent(), chat(2, 1, says=first), chat(3, 1, says=second)))
    called = events(store, run)[2]
    assert (called.kind, called.name, called.call.ordinal) == ("tool", "find_order", "call_9")
    assert graded(called)["times"] is Grade.ABSENT
    (spanned,) = bring("otlp", text(agent(), chat(2, 1, says=first), tool(9, 1), chat(30, 1, says=second)))
    assert spanned.totals.tools == 1, "it has a span"


def test_what_no_table_knows_is_kept(bring: Bring, store: Store) -> None:
    (run,) = bring("otlp", text(chat(2, says={"my.own": {"__proto__": {"x": 1}}, "__proto__": "y"})))
    (model,) = events(store, run)
    assert model.attributes["span"]["attributes"] == {"my.own": {"__proto__": {"x": 1}}, "__proto__": "y"}


# --- by the commands ----------------------------------------------------------------------------------------------


def test_a_trace_is_imported_listed_shown_and_audited_by_the_commands(desk: Tried) -> None:
    (desk.folder / "traces.jsonl").write_text(lines(agent(), chat(2, 1), tool(3, 1)) + "{half")
    tried = desk.reenact("--json", "import", "otlp", "traces.jsonl", "--dry-run")
    assert json.loads(tried.out)["spans"] == 3
    assert not (desk.folder / ".reenact").exists()
    first = desk.reenact("--json", "import", "otlp", "traces.jsonl", "--agent", "bot@2", "--tag", "from=prod")
    run = json.loads(first.out)
    assert (run["agent"], run["version"], run["new"]) == ("bot", "2", True)
    assert run["tags"] == {"trace": TRACE, "from": "prod"}
    assert b"left out: line 4: this is no JSON" in first.err
    again = desk.reenact("import", "otlp", "traces.jsonl")
    assert b"is here already" in again.err
    assert len(desk.reenact("--json", "ls").out.splitlines()) == 1
    assert b"Where is order 7?" in desk.reenact("show", "@").out
    assert b"find_order(order=7)" in desk.reenact("show", "@").out
    assert b"It is lost." in desk.reenact("timeline", "@").out
    kit = [json.loads(line) for line in desk.reenact("--json", "kit", "@").out.splitlines()]
    assert {item["fidelity"] for item in kit if item["type"] == "item"} == {"exact", "semantic", "absent"}
    walked = desk.reenact("replay", "@", "--events")
    assert (walked.code, b"same (semantic)" in walked.err) == (0, True)


@pytest.mark.parametrize("words", [("fork", "@:1", "--say", "1=no"), ("resume", "@"), ("replay", "@")])
def test_what_needs_the_program_is_refused_with_the_replay_of_a_command_next(
    desk: Tried, words: tuple[str, ...]
) -> None:
    failed = span(1, "invoke_agent desk", error="it broke", says={"gen_ai.operation.name": "invoke_agent"})
    (desk.folder / "traces.json").write_text(text(failed, chat(2, 1)))
    desk.reenact("import", "otlp", "traces.json")
    refused = desk.reenact(*words)
    assert refused.code in (2, 3)
    assert b"was imported" in refused.err
    assert b"--cmd 'python agent.py'" in refused.err


@pytest.mark.parametrize("command", ["ls", "ls --cold", "stats", "kit", "triage"])
def test_every_command_chooses_an_imported_run_by_the_time_at_which_it_began(desk: Tried, command: str) -> None:
    week_ago = (CLOCK.wall_us() * 1000 - START) // 1_000_000 - 7 * 86_400_000
    (desk.folder / "traces.json").write_text(text(chat(1, at=week_ago, says={"gen_ai.input.messages": None})))
    desk.reenact("import", "otlp", "traces.json")
    older, newer = (desk.reenact("--json", *command.split(), option, "1d").out for option in ("--before", "--since"))
    found, none = (_runs(command, [json.loads(line) for line in out.splitlines()]) for out in (older, newer))
    assert (found, none) == (1, 0)
    if command == "ls":
        at = datetime.now(UTC) - timedelta(days=1)
        desk.reenact("mark", "yesterday", "--at", f"{at:%Y-%m-%dT%H:%MZ}")
        assert json.loads(desk.reenact("--json", "ls").out)["period"] == "before yesterday"
        assert b"yesterday" not in desk.reenact("ls").out, "it stands where it came, not behind the line of the mark"


def _runs(command: str, lines: list[dict[str, Any]]) -> int:
    """Of how many runs a command has told."""
    if command.startswith("ls"):
        return len(lines)
    kind = {"stats": "total", "triage": "triage", "kit": "audit"}[command]
    return next((int(line["runs"]) for line in lines if line["type"] == kind), 0)


def test_a_program_that_asks_nothing_is_never_the_same_as_a_trace(desk: Tried) -> None:
    (desk.folder / "traces.json").write_text(text(chat(1)))
    desk.reenact("import", "otlp", "traces.json")
    (desk.folder / "agent.py").write_text("print('It is lost.')\n")
    replayed = desk.reenact("replay", "@", "--cmd", "python agent.py")
    assert (replayed.code, b"verdict: different" in replayed.err) == (1, True)


def test_a_failure_in_a_trace_is_the_same_case_as_in_a_recording(bring: Bring, store: Store) -> None:
    """The span of the agent is the run itself, and no step of it."""
    failed = agent(1, **{"error.type": "KeyError"}) | {"status": {"code": 2, "message": "'id'"}}
    (run,) = bring("otlp", text(failed, chat(2, 1), tool(3, 1)))
    found = features_of(store.open(run))
    assert (found.error, found.template, found.tool, found.steps) == ("KeyError", "'id'", "", ("model", "find_order"))
    (one,) = seen(store)
    assert one.started_us * 1000 == START + 1_000_000, "not when it was imported"
    recorded = replace(found, asked=("other",), commit="0123")
    assert fingerprint(Case.FAILED, found) == fingerprint(Case.FAILED, recorded)
    (run,) = bring("otlp", text(agent(), span(2, "plan", 1), span(3, "act", 1)))
    assert features_of(store.open(run)).steps == ("plan", "act")
    (run,) = bring("otlp", text(span(1, "plan"), span(2, "act")))
    assert features_of(store.open(run)).steps == ("plan", "act"), "neither holds the other"
