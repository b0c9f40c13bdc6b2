"""Trees of spans that other tools keep as JSON become runs: whole, once, in order, and an agent plays against them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import openai
import pytest
import zstandard

import reenact
from reenact.abc.store import Store
from reenact.errors import InteropError
from reenact.facts.call import Failure
from reenact.facts.run import Run
from reenact.facts.trace_runs import Grade, graded, is_original, reading_in
from reenact.interop.file_formats import read, write
from reenact.interop.originals import LARGEST_HELD
from reenact.interop.otlp.otlp_documents import LARGEST
from reenact.interop.readers import HEAD, ReaderOptions, readers
from reenact.interop.trees import conversation_turns
from reenact.triage.kit_of_run import kit_of
from tests.interop.conftest import Bring
from tests.interop.trees import (
    GAVE,
    INSPECT,
    LANGFUSE,
    LANGSMITH,
    MADE,
    QUESTION,
    SAID,
    SAMPLE,
    SWE,
    TAU,
    TELLS,
    TRACE,
    WANTS,
    WHO,
    at,
    event,
    observation,
    run,
)  # fmt: skip

WRITTEN = Path(__file__).parent / "written"
"""Files that other tools wrote here, of a program and a provider of our own."""
TOLD = ("langfuse", "langsmith", "inspect", "tau-bench", "swe-agent")
DEEP = 100_000


def brought(bring: Bring, name: str) -> Run:
    form, made = MADE[name]
    (found,) = bring(form, json.dumps(made))
    return found


def answer(question: str) -> str:
    """An agent that looks for an order."""
    client = openai.OpenAI(api_key="none", max_retries=0)
    said: list[Any] = [SAID[0], {"role": "user", "content": question}]
    while True:
        message = client.chat.completions.create(model="gpt-4o-mini", messages=said).choices[0].message
        if not message.tool_calls:
            return str(message.content)
        said.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            found = find_order(**json.loads(call.function.arguments))  # type: ignore[union-attr]
            said.append({"role": "tool", "tool_call_id": call.id, "content": found})


@reenact.tool
def find_order(order: int) -> str:
    raise AssertionError("the tool's own code ran")


# --- whole -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TOLD)
def test_a_run_tells_its_calls_in_order_and_an_agent_replays_against_it(bring: Bring, store: Store, name: str) -> None:
    found = brought(bring, name)
    recording = store.open(found)
    events = [each for each in recording.events() if each.kind in ("model", "tool")]
    assert [each.kind for each in events] == ["model", "tool", "model"]
    first, tool, last = events
    asked = reading_in(recording.body(first.request), recording.body(first.answer))
    assert (asked.system, asked.messages[-1]["text"]) == ("Be brief.", QUESTION)
    assert asked.tool_calls[0]["id"] == tool.call.ordinal == "call_7"
    assert (tool.name, json.loads(recording.body(tool.request))) == ("find_order", {"order": 7})
    assert reading_in(recording.body(last.request), recording.body(last.answer)).text == "It is lost."
    assert graded(first)["messages"] is Grade.SEMANTIC
    replayed = reenact.replay(found, entry=answer, store=store)
    assert (replayed.output, replayed.matched, replayed.unused) == ("It is lost.", 3, 0)
    assert (replayed.verdict, replayed.fidelity) == ("same", "semantic")
    assert reenact.replay(found, mode="events", store=store).matched == found.totals.events


@pytest.mark.parametrize("name", MADE)
def test_the_same_file_in_another_form_is_the_run_that_is_there(bring: Bring, store: Store, name: str) -> None:
    form, made = MADE[name]
    found = brought(bring, name)
    rows = made if isinstance(made, list) else [made]
    lines = "".join(json.dumps(each) + "\n" for each in rows)
    assert [each.id for each in bring(form, lines)] == [found.id]
    assert [each.id for each in bring(form, json.dumps(made, indent=1))] == [found.id]
    assert len(list(store.runs())) == 1


@pytest.mark.parametrize("name", MADE)
def test_what_came_in_stays_cleaned_and_is_read_again(bring: Bring, store: Store, name: str, tmp_path: Path) -> None:
    form, made = MADE[name]
    secret = "sk-live-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"
    (found,) = bring(form, json.dumps(made).replace("It is lost.", f"It is lost, {secret}"))
    recording = store.open(found)
    (original,) = (each for each in recording.events() if is_original(each.call))
    kept = recording.body(original.answer)
    assert b"It is lost, " in kept
    assert secret.encode() not in kept
    again = tmp_path / "again"
    again.write_bytes(kept)
    traces, _ = read(form, again, ReaderOptions())
    assert [each.spans for each in traces] == [found.capture["import"]["trace"]["spans"]]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", MADE)
def test_a_file_is_known_by_its_head(name: str) -> None:
    form, made = MADE[name]
    for text in (json.dumps(made), json.dumps(made, indent=2)):
        fitting = [key for key, each in readers().items() if each.fits(text.encode()[:HEAD])]
        assert fitting[0] == form, f"the first of {fitting} is what a refusal names"


# --- Langfuse --------------------------------------------------------------------------------------------------------


def test_langfuse_says_whose_run_it_is(bring: Bring, store: Store) -> None:
    found = brought(bring, "langfuse")
    assert (found.user, found.session, found.agent) == ("u1", "s1", "desk")
    assert (found.totals.tokens_in, found.totals.tokens_out, found.totals.tools) == (40, 10, 1)
    (model, *_) = (each for each in store.open(found).events() if each.kind == "model")
    assert {part: grade.value for part, grade in graded(model).items()} == {
        "model": "exact", "provider": "absent", "system": "semantic", "messages": "semantic", "tools": "semantic",
        "parameters": "semantic", "answer": "semantic", "usage": "exact", "times": "exact",
    }  # fmt: skip


def test_rows_of_observations_and_batches_of_ingestion_are_the_same_run(bring: Bring, store: Store) -> None:
    rows = [{**each, "userId": "u1", "traceName": "desk"} for each in LANGFUSE["observations"]]
    (found,) = bring("langfuse", json.dumps({"data": rows, "meta": {}}))
    assert (found.user, found.agent, found.totals.models, found.totals.tools) == ("u1", "desk", 2, 1)
    snake = [{_snake(key): value for key, value in each.items()} for each in rows]
    (other,) = bring("langfuse", "".join(json.dumps(each) + "\n" for each in snake))
    assert other.id == found.id

    def sent(kind: str, body: Any) -> dict[str, Any]:
        return {"id": "e", "type": kind, "timestamp": at(0), "body": body}

    root = {"id": "g", "traceId": TRACE, "name": "chat", "startTime": at(1), "input": SAID, "model": "gpt-4o-mini"}
    batch = [
        sent("generation-create", root),
        sent("generation-update", {"id": "g", "endTime": at(2), "output": TELLS}),
        sent("trace-create", {"id": TRACE, "name": "desk", "userId": "u1"}),
        sent("score-create", {"traceId": TRACE, "name": "good", "value": 1}),
    ]
    (third,) = bring("langfuse", json.dumps({"batch": batch}))
    (model, _) = store.open(third).events()
    assert (third.user, graded(model)["answer"], graded(model)["times"]) == ("u1", Grade.SEMANTIC, Grade.EXACT)
    assert model.attributes["span"]["attributes"]["langfuse.trace.scores"][0]["name"] == "good"


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def test_a_trace_without_a_single_root_is_one_of_its_observations(bring: Bring, store: Store) -> None:
    apart = [{**each, "parentObservationId": None} for each in LANGFUSE["observations"]]
    (found,) = bring("langfuse", json.dumps({**LANGFUSE["trace"], "observations": apart}))
    events = [*store.open(found).events()]
    assert [each.parent for each in events[:5]] == [None, 0, 0, 0, 0]
    assert (events[0].name, found.capture["import"]["remarks"]) == ("desk", {})


def test_a_failed_observation_is_a_failure(bring: Bring, store: Store) -> None:
    broken = observation(3, "TOOL", "find_order", {"order": 8}, None, level="ERROR", statusMessage="no such order")
    (found,) = bring("langfuse", json.dumps({**LANGFUSE, "observations": [broken]}))
    (_, tool, _) = store.open(found).events()
    assert isinstance(tool.outcome, Failure)
    assert tool.outcome.error.text == "no such order"


@pytest.mark.parametrize(
    ("name", "models", "tools"), [("koog-2025-08-26", 2, 2), ("pydantic-ai-tools-2025-12-04", 4, 3)]
)
def test_real_traces_of_langfuse(
    bring: Bring, store: Store, shared_data: Path, name: str, models: int, tools: int
) -> None:
    path = shared_data / "formats" / "langfuse" / f"{name}.json"
    (found,) = bring("langfuse", path)
    assert (found.totals.models, found.totals.tools) == (models, tools)
    recording = store.open(found)
    events = [*recording.events()]
    called = {each.call.ordinal for each in events if each.kind == "tool"}
    asked = {
        call["id"]
        for each in events
        if each.kind == "model"
        for call in reading_in(recording.body(each.request), recording.body(each.answer)).tool_calls
    }
    assert called <= asked, "each call of a tool is known by the answer that asked for it"
    assert found.capture["import"]["left"] == []
    assert [each.id for each in bring("langfuse", path)] == [found.id]


# --- LangSmith -------------------------------------------------------------------------------------------------------


def test_langsmith_orders_by_dotted_order_and_nests_child_runs(bring: Bring, store: Store) -> None:
    flat = brought(bring, "langsmith")
    assert (flat.agent, flat.session, flat.tags["commit"]) == ("desk", "s1", "abc")
    bare = [
        {key: each[key] for key in ("id", "name", "run_type", "inputs", "outputs", "dotted_order")}
        for each in LANGSMITH
    ]
    *children, root = bare
    (nested,) = bring("langsmith", json.dumps({**root, "child_runs": children}))
    assert [each.parent for each in store.open(nested).events()][:4] == [None, 0, 0, 0]
    assert [each.name for each in store.open(nested).events()][:4] == [
        "desk",
        "gpt-4o-mini",
        "find_order",
        "gpt-4o-mini",
    ]


def test_a_patch_completes_its_post(bring: Bring, store: Store) -> None:
    whole = run(1, "llm", "ChatOpenAI", {"model": "gpt-4o-mini", "messages": SAID}, {"choices": [{"message": TELLS}]})
    posted = {key: value for key, value in whole.items() if key not in ("outputs", "end_time")}
    patched = {key: whole[key] for key in ("dotted_order", "trace_id", "outputs", "end_time")}
    (found,) = bring("langsmith", json.dumps([{"post": [posted]}, {"patch": [patched]}]))
    (model, _) = store.open(found).events()
    assert (graded(model)["answer"], graded(model)["times"]) == (Grade.SEMANTIC, Grade.EXACT)


def test_messages_of_langchain_and_arguments_of_python_are_read(bring: Bring, store: Store) -> None:
    def told(kind: str, **said: Any) -> dict[str, Any]:
        return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": said}

    calls = [{"name": "find_order", "args": {"order": 7}, "id": "call_7", "type": "tool_call"}]
    asked = {"messages": [[told("SystemMessage", content="Be brief."), told("HumanMessage", content=QUESTION)]]}
    came = {"generations": [[{"text": "", "message": told("AIMessage", content="", tool_calls=calls)}]]}
    gave = {"output": told("ToolMessage", content="lost", tool_call_id="call_7")}
    params = {"invocation_params": {"model": "gpt-4o-mini", "temperature": 0.5, "tools": [{"type": "function"}]}}
    rows = [
        run(1, "llm", "ChatOpenAI", asked, came, extra=params),
        run(2, "tool", "find_order", {"input": "{'order': 7}"}, gave),
        run(3, "retriever", "shelf", {"query": "7"}, {"documents": [{"page_content": "a", "metadata": {}}]}),
    ]
    (found,) = bring("langsmith", json.dumps(rows))
    recording = store.open(found)
    model, tool, search, _ = recording.events()
    reading = reading_in(recording.body(model.request), recording.body(model.answer))
    assert (reading.system, [each["role"] for each in reading.messages]) == ("Be brief.", ["user"])
    assert (reading.model_asked, reading.params["temperature"]) == ("gpt-4o-mini", 0.5)
    assert (reading.tool_calls[0]["id"], tool.call.ordinal) == ("call_7", "call_7")
    assert json.loads(recording.body(tool.request)) == {"order": 7}
    assert json.loads(recording.body(tool.answer)) == "lost"
    assert (search.kind, graded(search)["content"]) == ("retrieval", Grade.SEMANTIC)


@pytest.mark.parametrize("bomb", ["{'a': " * 300 + "1" + "}" * 300, "{'a': (1, 2), 'b': {3}}", "{'a': " + "9" * 9000])
def test_arguments_that_python_would_not_read_stay_a_text(bring: Bring, store: Store, bomb: str) -> None:
    (found,) = bring("langsmith", json.dumps([run(1, "tool", "t", {"input": bomb}, {"output": 1})]))
    recording = store.open(found)
    (tool, _) = recording.events()
    assert json.loads(recording.body(tool.request)) == bomb


def test_what_its_client_sends_is_a_run(bring: Bring, store: Store) -> None:
    (found,) = bring("langsmith", WRITTEN / "langsmith-0.15.1.json")
    assert [each.kind for each in store.open(found).events()] == ["step", "retrieval", "model", "tool", "model", "note"]
    assert (found.agent, found.user, found.session, found.totals.tokens_in) == ("desk", "u1", "s1", 40)
    assert found.capture["import"]["remarks"] == {}


def test_a_real_run_of_langsmith(bring: Bring, store: Store, shared_data: Path) -> None:
    (found,) = bring("langsmith", shared_data / "formats" / "langsmith" / "langsmith_js_wrap_openai_stream.json")
    recording = store.open(found)
    (model, _) = recording.events()
    reading = reading_in(recording.body(model.request), recording.body(model.answer))
    assert (reading.text, reading.finish, reading.streamed) == ("Howdy! How can I assist you today?", "stop", True)
    assert (found.totals.tokens_in, found.totals.tokens_out) == (9, 9)


# --- Inspect ---------------------------------------------------------------------------------------------------------


def archive(path: Path, method: int, *samples: Any, head: Any = None) -> Path:
    """An archive as Inspect writes it."""
    with zipfile.ZipFile(path, "w", method) as made:
        header = {key: value for key, value in INSPECT.items() if key != "samples"}
        made.writestr("_journal/start.json", json.dumps(header if head is None else head))
        for number, each in enumerate(samples):
            made.writestr(f"samples/{number}_epoch_1.json", each if isinstance(each, str) else json.dumps(each))
    return path


def test_inspect_says_task_commit_and_scores(bring: Bring, store: Store) -> None:
    found = brought(bring, "inspect")
    assert (found.agent, found.session, found.tags["commit"]) == ("desk", "R", "abc")
    recording = store.open(found)
    root, solver, model, *_ = recording.events()
    assert json.loads(recording.body(root.answer))["scores"] == {"includes": {"value": "C"}}
    assert (solver.name, model.parent) == ("solve", solver.number)
    reading = reading_in(recording.body(model.request), recording.body(model.answer))
    assert (reading.provider, reading.model_asked, reading.params["temperature"]) == ("openai", "gpt-4o-mini", 0)
    assert found.capture["import"]["remarks"] == {}


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_archive_holds_a_run_for_each_sample(bring: Bring, store: Store, tmp_path: Path, method: int) -> None:
    (known,) = bring("inspect", json.dumps(INSPECT))
    path = archive(tmp_path / "log.eval", method, SAMPLE, {**SAMPLE, "epoch": 2}, "7", '{"id"', "[" * DEEP)
    runs = bring("inspect", path)
    assert len(runs) == 2
    assert known.id in {each.id for each in runs}
    left = runs[1].capture["import"]["left"]
    assert [each.partition(":")[0] for each in left] == [
        "samples/2_epoch_1.json, event 1", "samples/3_epoch_1.json", "samples/4_epoch_1.json",
    ]  # fmt: skip


def test_archives_that_inspect_writes_today_are_read(bring: Bring, store: Store) -> None:
    path = WRITTEN / "inspect-0.3.285.eval"
    with path.open("rb") as file, zipfile.ZipFile(file) as made:
        assert {each.compress_type for each in made.infolist()} == {93}, "zstandard"
    good, bad = bring("inspect", path)
    for each in (good, bad):
        assert (each.totals.models, each.totals.tools, each.tags.get("commit")) == (2, 1, None)
    recording = store.open(bad)
    (tool,) = (each for each in recording.events() if each.kind == "tool")
    assert isinstance(tool.outcome, Failure)
    first, _ = (each for each in recording.events() if each.kind == "model")
    reading = reading_in(recording.body(first.request), recording.body(first.answer))
    assert reading.system.startswith("You are a desk. Be kind. ")
    assert (reading.params["seed"], reading.params["temperature"], len(reading.tools)) == (3, 0.5, 1)
    assert (first.ended_us or 0) > first.issued_us


def test_an_archive_without_zstandard_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    with pytest.raises(InteropError) as raised:
        read("inspect", WRITTEN / "inspect-0.3.285.eval", ReaderOptions())
    assert raised.value.next_command == "pip install zstandard"


def test_steps_of_older_logs_and_events_inside_tools_are_nested(bring: Bring, store: Store) -> None:
    def old(number: int, kind: str, **more: Any) -> dict[str, Any]:
        return {"timestamp": at(number), "event": kind, **more}

    inner = old(4, "tool", id="inner", function="inner", arguments={}, result="x")
    events = [
        old(1, "step", action="begin", type="solver", name="solve"),
        old(2, "tool", id="outer", function="outer", arguments={}, result="y", events=[inner]),
        old(5, "step", action="end", type="solver", name="solve"),
        old(6, "info", data="after"),
    ]
    (found,) = bring("inspect", json.dumps({**INSPECT, "samples": [{**SAMPLE, "events": events}]}))
    told = {each.name: each for each in store.open(found).events()}
    assert told["inner"].parent == told["outer"].number
    assert told["outer"].parent == told["solve"].number
    assert told["info"].parent == told["sample"].number
    assert told["solve"].ended_us == 4_000_000


@pytest.mark.parametrize(("name", "models", "tools"), [("log_formats.eval", 1, 0), ("log_tool_call_error.json", 0, 11)])
def test_real_logs_of_inspect(bring: Bring, shared_data: Path, name: str, models: int, tools: int) -> None:
    (found,) = bring("inspect", shared_data / "formats" / "inspect" / name)
    assert (found.totals.models, found.totals.tools) == (models, tools)
    assert found.capture["import"]["left"] == []


# --- trajectories ----------------------------------------------------------------------------------------------------


def test_a_task_of_tau_bench_keeps_calls_that_share_an_id(bring: Bring, store: Store) -> None:
    other = {"id": "call_7", "type": "function", "function": {"name": "refund", "arguments": "{}"}}
    more = [{**WANTS, "tool_calls": [other]}, {**GAVE, "name": "refund", "content": "done"}]
    (found,) = bring("messages", json.dumps([{**TAU[0], "traj": [*SAID, WANTS, GAVE, *more, TELLS]}]))
    tools = [each for each in store.open(found).events() if each.kind == "tool"]
    assert [each.name for each in tools] == ["find_order", "refund"]


def test_the_kit_of_a_log_does_not_ask_its_spans_to_say_more(bring: Bring, store: Store) -> None:
    (run,) = bring("messages", json.dumps(TAU))
    items = [item for item in kit_of(store, run).items if not item.there and item.expected]
    assert {"provider", "tokens", "timestamps", "tool_schemas"} <= {item.name for item in items}
    assert not [way for item in items for way in item.capture if "span" in way or "gen_ai" in way]


def test_labels_of_who_and_when_stay_and_what_agents_heard_is_told(bring: Bring, store: Store) -> None:
    found = brought(bring, "who-and-when")
    recording = store.open(found)
    root, first, terminal, last, _ = recording.events()
    assert json.loads(recording.body(root.answer))["mistake_agent"] == "Clerk"
    heard = reading_in(recording.body(last.request), recording.body(last.answer))
    assert (heard.system, [each["role"] for each in heard.messages]) == ("Be brief.", ["assistant", "user"])
    assert (terminal.kind, graded(terminal)["arguments"], graded(first)["model"]) == (
        "tool",
        Grade.ABSENT,
        Grade.ABSENT,
    )
    (bare,) = bring("messages", json.dumps({key: value for key, value in WHO.items() if key != "system_prompt"}))
    (_, first, *_) = store.open(bare).events()
    assert graded(first)["messages"] is Grade.ABSENT


def test_swe_agent_without_calls_names_a_tool_by_its_command(bring: Bring, store: Store) -> None:
    steps = [{**SWE["trajectory"][0], "query": []}]
    history = [*SAID, {"role": "assistant", "content": "I look.", "action": "find_order 7"}]
    (found,) = bring("messages", json.dumps({**SWE, "trajectory": steps, "history": history}))
    recording = store.open(found)
    _, model, tool, _ = recording.events()
    assert (found.version, found.tags["commit"]) == ("1.1.0", "abc")
    assert json.loads(recording.body(tool.request)) == {"command": "find_order 7"}
    assert reading_in(recording.body(model.request), b"").messages[0]["text"] == QUESTION


def test_real_trajectories(bring: Bring, shared_data: Path) -> None:
    path = shared_data / "trajectories" / "tau-bench-airline-tasks-0-3.json"
    runs = bring("messages", path)
    said = [row["traj"] for row in json.loads(path.read_bytes())]
    assert len(runs) == 16
    assert [each.totals.tools for each in runs] == [sum(one["role"] == "tool" for one in each) for each in said]
    assert [each.totals.models for each in runs] == [sum(one["role"] == "assistant" for one in each) for each in said]
    for kind in ("Algorithm-Generated", "Hand-Crafted"):
        (found,) = bring("messages", shared_data / "trajectories" / "who-and-when" / kind / "1.json")
        assert found.totals.models > 3


# --- damaged and hostile ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize(
    "bad", ["[" * DEEP + "]" * DEEP, "7", '{"__proto__": {"a": 1}}', '{"resourceSpans": []}', '{"a']
)
def test_a_line_that_is_none_costs_that_line(bring: Bring, name: str, bad: str) -> None:
    form, made = MADE[name]
    lines = "".join(json.dumps(each) + "\n" for each in (made if isinstance(made, list) else [made]))
    (found,) = bring(form, lines + bad + "\n")
    assert found.totals.models >= 2
    assert len(found.capture["import"]["left"]) == 1
    assert found.capture["import"]["left"][0].startswith(f"line {lines.count(chr(10)) + 1}")


@pytest.mark.parametrize("name", MADE)
def test_half_a_document_and_another_format_are_refused(tmp_path: Path, name: str) -> None:
    form, made = MADE[name]
    path = tmp_path / "half"
    path.write_text(json.dumps(made, indent=1)[:-20])
    with pytest.raises(InteropError, match="that can be read"):
        read(form, path, ReaderOptions())
    path.write_text('{"interactions": [], "request": 1}')
    with pytest.raises(InteropError) as raised:
        read(form, path, ReaderOptions())
    assert "looks like vcr" in str(raised.value.cause)


ODD: list[Any] = [
    7, "text", None, [7], [[]], {"messages": 7}, {"__proto__": {"a": 1}}, {"messages": [7, None, {"role": 7}]},
    {"role": "assistant", "content": [None, 7, {"type": 7, "text": {}}], "tool_calls": [7, {"id": 7, "function": 7}]},
    {"choices": 7}, {"generations": [[7]]}, "[" * DEEP,
]  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_no_shape_in_place_of_another_costs_the_file(bring: Bring, name: str, sweep: bool) -> None:
    form, made = MADE[name]
    for number, value in enumerate(ODD):
        for odd in _altered(made, value)[0 if sweep else number % 4 :: 1 if sweep else 4]:
            try:
                runs = bring(form, json.dumps(odd))
            except InteropError:
                continue
            else:
                assert all(each.totals.events >= 1 for each in runs)


_ENTERED = (
    *("extra", "metadata", "trace", "eval", "info", "observations", "samples", "events", "traj", "query", "history"),
    *("trajectory", "events_data", "attachments"),
)


def _altered(data: Any, value: Any, depth: int = 4) -> list[Any]:
    """The data with a value in the place of one of its parts, each in turn, a few levels deep."""
    found: list[Any] = []
    if depth and isinstance(data, dict):
        for key in data:
            found.append({**data, key: value})
            if key in _ENTERED:
                found += [{**data, key: each} for each in _altered(data[key], value, depth - 1)]
    elif depth and isinstance(data, list) and data:
        found.append([value, *data[1:]])
        found += [[each, *data[1:]] for each in _altered(data[0], value, depth - 1)]
    return found[:40]


def test_conversations_that_would_come_to_too_much_are_told_in_part(
    bring: Bring, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation_turns, "ROOM", 2000)
    said = [message for number in range(40) for message in ({"role": "user", "content": "x" * 40}, TELLS)]
    pool = [{"role": "user", "content": "y" * 100}]
    many = event(5, "model", model="m", input_refs=[[0, 1]] * 50, output={})
    for form, made in (
        ("messages", [{**TAU[0], "traj": said}]),
        ("inspect", {**INSPECT, "samples": [{**SAMPLE, "events": [many], "events_data": {"messages": pool}}]}),
    ):
        (found,) = bring(form, json.dumps(made))
        models = [each for each in store.open(found).events() if each.kind == "model"]
        assert graded(models[-1])["messages"] is Grade.ABSENT
        assert any("come to more than" in str(each) for each in models[-1].attributes["span"]["attributes"].values())


def test_bombs_and_broken_archives_are_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.eval"
    zeros = "[" + " " * LARGEST + "]"
    archive(path, zipfile.ZIP_DEFLATED, zeros, SAMPLE)
    (trace,), _ = read("inspect", path, ReaderOptions())
    assert trace.left == (f"samples/0_epoch_1.json: it is larger than {LARGEST >> 20} MiB",)  # type: ignore[union-attr]
    data = bytearray(path.read_bytes())
    at_size = data.find(b"PK\x01\x02", data.find(b"samples/0_epoch_1.json", 200)) + 24
    for place in range(data.find(b"PK\x01\x02"), len(data)):  # a size that is not true, in each entry of the list
        if data[place : place + 4] == b"PK\x01\x02":
            data[place + 24 : place + 28] = (100).to_bytes(4, "little")
    assert at_size
    path.write_bytes(data)
    (trace,), _ = read("inspect", path, ReaderOptions())
    assert "larger than" in trace.left[0]  # type: ignore[union-attr]
    for broken in (bytes(data[:-30]), bytes(data[:50]), b"PK\x03\x04" + b"\0" * 100):
        path.write_bytes(broken)
        with pytest.raises(InteropError, match="archive"):
            read("inspect", path, ReaderOptions())


def test_a_bomb_of_zstandard_is_left_by_name(tmp_path: Path) -> None:
    raw = zstandard.ZstdCompressor(level=19).compress(b"[" + b" " * (LARGEST_HELD + 2) + b"]")
    path = archive(tmp_path / "bomb.eval", zipfile.ZIP_STORED, raw.decode("latin-1"), SAMPLE)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("header.json", json.dumps({key: INSPECT[key] for key in ("version", "eval")}))
        made.writestr("samples/a_epoch_1.json", raw)
        made.writestr("samples/b_epoch_1.json", json.dumps(SAMPLE))
    data = bytearray(path.read_bytes())
    start = data.find(b"samples/a_epoch_1.json") - 30
    data[start + 8 : start + 10] = (93).to_bytes(2, "little")
    path.write_bytes(data)
    (trace,), _ = read("inspect", path, ReaderOptions())
    assert trace.left == (f"samples/a_epoch_1.json: it is larger than {LARGEST >> 20} MiB",)  # type: ignore[union-attr]


def test_options_that_are_about_exchanges_are_refused_for_trajectories(tmp_path: Path) -> None:
    path = tmp_path / "tau.json"
    path.write_text(json.dumps(TAU))
    with pytest.raises(reenact.ReenactError, match="have no effect on messages"):
        read("messages", path, ReaderOptions(params={"model": "m"}))


def test_a_wide_and_a_deep_tree_are_read(bring: Bring, store: Store) -> None:
    root: dict[str, Any] = {"id": "r0", "run_type": "chain", "name": "deep", "start_time": at(1), "end_time": at(2)}
    rows = [root, *({**root, "id": f"r{n}", "parent_run_id": f"r{n - 1}", "trace_id": "r0"} for n in range(1, 1500))]
    (found,) = bring("langsmith", "".join(json.dumps(each) + "\n" for each in reversed(rows)))
    parents = [each.parent for each in store.open(found).events() if each.kind == "step"]
    assert parents == [None, *range(1499)]
    wide = [
        root,
        *({**root, "id": f"r{n}", "parent_run_id": "r0", "trace_id": "r0", "name": "w"} for n in range(1, 900)),
    ]
    (other,) = bring("langsmith", json.dumps(wide))
    assert [each.parent for each in store.open(other).events()][1:900] == [0] * 899


def test_two_traces_in_one_document_are_two_runs_each_with_its_own_original(bring: Bring, store: Store) -> None:
    second = json.loads(json.dumps(LANGFUSE).replace(TRACE, "f" * 32).replace("Where is order", "Whose is order"))
    runs = bring("langfuse", json.dumps([LANGFUSE, second]))
    assert len(runs) == 2
    for found, mine, other in zip(runs, ("Where is", "Whose is"), ("Whose is", "Where is"), strict=True):
        recording = store.open(found)
        *_, original = recording.events()
        kept = recording.body(original.answer).decode()
        assert (mine in kept, other in kept) == (True, False)


def test_what_is_exported_as_rows_of_evaluations_replays_without_a_miss(bring: Bring, store: Store) -> None:
    found = brought(bring, "langsmith")
    written = write("evals", store.open(found))
    assert (written.exchanges, written.what) == (2, "row")
    assert "calls of tools as events: their arguments and results are in the rows around them" in written.lost
    (again,) = bring("evals", written.data.decode())
    replayed = reenact.replay(again, entry=answer, store=store)
    assert (replayed.output, replayed.matched, replayed.unused, replayed.fidelity) == ("It is lost.", 3, 0, "semantic")
    assert [each.id for each in bring("evals", written.data.decode())] == [again.id]
