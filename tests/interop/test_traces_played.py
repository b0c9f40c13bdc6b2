"""A trace answers an agent that it knows nothing of: on the real SDK, with its tools, and nothing to reach."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

import openai
import pytest

import reenact
from reenact.abc.store import Store
from reenact.errors import Divergence
from reenact.facts.ids import tail
from tests.interop.conftest import Bring, Tried
from tests.interop.spans import chat, span, text, tool
from tests.programs import read_program

PROGRAM = read_program("interop/order_asked_by_a_model.py")
QUESTION = "Where is order 7?"
ASKED: list[dict[str, Any]] = [
    {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
    {"role": "user", "parts": [{"type": "text", "content": QUESTION}]},
]


def wants(*calls: tuple[str, Any]) -> dict[str, Any]:
    """What an assistant says that wants the tool called."""
    parts = [{"type": "tool_call", "id": own, "name": "find_order", "arguments": given} for own, given in calls]
    return {"role": "assistant", "parts": parts, "finish_reason": "tool_calls"}


def gave(own: str, result: Any) -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": own, "response": result}]}


def model(number: int, messages: list[Any], answer: Any, **more: Any) -> dict[str, Any]:
    if isinstance(answer, str):
        answer = {"role": "assistant", "parts": [{"type": "text", "content": answer}], "finish_reason": "stop"}
    says = {"gen_ai.input.messages": json.dumps(messages), "gen_ai.output.messages": json.dumps([answer]), **more}
    return chat(number, 1, says=says)


def agent() -> dict[str, Any]:
    return span(1, "invoke_agent desk", took=90, says={"gen_ai.operation.name": "invoke_agent"})


def otel() -> str:
    """A model that wants a tool, the tool, and the model again, by OpenTelemetry's conventions."""
    wanted = wants(("call_3", {"order": 7}))
    return text(
        agent(),
        model(2, ASKED, wanted),
        tool(3, 1),
        model(4, [*ASKED, wanted, gave("call_3", {"state": "lost"})], "It is lost."),
    )


def openinference() -> str:
    """The same by OpenInference's, as its instrumentation of the SDK writes it."""
    call = {"tool_call.id": "call_3", "tool_call.function.name": "find_order",
            "tool_call.function.arguments": '{"order": 7}'}  # fmt: skip
    first = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]

    def told(name: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            f"llm.{name}_messages.{at}.message.{key}": value
            for at, message in enumerate(messages)
            for key, value in message.items()
        }

    wanted = {"role": "assistant", **{f"tool_calls.0.{key}": value for key, value in call.items()}}
    result = {"role": "tool", "tool_call_id": "call_3", "content": '{"state":"lost"}'}
    llm = {"openinference.span.kind": "LLM", "llm.model_name": "gpt-4o-mini-2024-07-18"}
    last = [{"role": "assistant", "content": "It is lost."}]
    return text(
        span(1, "desk", says={"openinference.span.kind": "AGENT"}, took=90),
        span(2, "ChatCompletion", 1, says={**llm, **told("input", first), **told("output", [wanted])}),
        span(3, "find_order", 1, says={
            "openinference.span.kind": "TOOL", "tool.name": "find_order", "input.value": '{"order": 7}',
            "output.value": '{"state": "lost"}'}),
        span(4, "ChatCompletion", 1, says={**llm, **told("input", [*first, wanted, result]), **told("output", last)}),
    )  # fmt: skip


def program(desk: Tried, returns: str = "dict") -> None:
    desk.writes("agent.py", PROGRAM.replace("-> dict:", f"-> {returns}:"))


def imported(desk: Tried, trace: str) -> str:
    desk.writes("trace.json", trace)
    done = desk.reenact("--json", "import", "otlp", "trace.json")
    assert done.code == 0, done.err.decode()
    return str(json.loads(done.out)["tail"])


@pytest.mark.parametrize("returns", ["dict", "str"])
@pytest.mark.parametrize("trace", [otel, openinference])
def test_a_trace_answers_an_agent_and_its_tools(desk: Tried, trace: Any, returns: str) -> None:
    program(desk, returns)
    run = imported(desk, trace())
    played = desk.reenact("replay", run, "--cmd", f"python agent.py '{QUESTION}'")
    said = played.err.decode()
    assert (played.out, played.code) == (b"It is lost.\n", 0), said
    assert "verdict: same (semantic), order not known" in said
    assert "live calls made: 0  matched 3 of 3" in said
    assert "2 model answers made from the trace" in said


@pytest.mark.parametrize(
    "how",
    [("--cmd", "python agent.py {input}"), ("--cmd", "python agent.py"), ("--entry", "agent:answer")],
)
def test_what_the_user_said_is_what_the_agent_is_given(desk: Tried, how: tuple[str, str]) -> None:
    program(desk)
    run = imported(desk, otel())
    played = desk.reenact("--json", "replay", run, *how)
    report = json.loads(played.out.splitlines()[-1])
    assert (report["exit_code"], report["matched"], report["verdict"]) == (0, 3, "same"), report
    assert f"input: {QUESTION} (turn 1 of 1)" in report["remarks"]


def test_what_an_agent_asks_besides_is_missing_and_what_it_leaves_out_is_unused(desk: Tried) -> None:
    program(desk)
    run = imported(desk, otel())
    other = desk.reenact("replay", run, "--cmd", "python agent.py 'Where is order 8?'")
    said = other.err.decode()
    assert other.code == 3, said
    assert "differs at arguments.conversation.1.1" in said
    assert "recorded  Where is order 7?" in said
    desk.writes("less.py", "print('nothing')")
    less = desk.reenact("replay", run, "--cmd", "python less.py")
    assert less.code == 1, less.err.decode()
    assert "3 recorded calls were not made: 1 gpt-4o-mini, 2 find_order, 3 gpt-4o-mini" in less.err.decode()


def test_a_tool_that_is_not_marked_is_named(desk: Tried) -> None:
    own = PROGRAM.replace("@reenact.tool", "#")
    desk.writes("agent.py", own.replace('raise AssertionError("the tool\'s own code ran")', 'return {"state": "lost"}'))
    run = imported(desk, otel())
    played = desk.reenact("replay", run, "--cmd", "python agent.py {input}")
    said = played.err.decode()
    assert played.code == 1 and "1 recorded call was not made: 2 find_order" in said, said
    assert "no call of find_order was seen: where the code makes it, mark the function with @reenact.tool" in said


def test_what_it_leads_to_names_the_program(desk: Tried) -> None:
    program(desk)
    run = imported(desk, otel())
    walked = desk.reenact("replay", run, "--events").err.decode()
    assert f"next: reenact replay {run} --cmd 'python agent.py'" in walked
    for how in (("--cmd", "python agent.py {input}"), ("--entry", "agent:answer")):
        played = desk.reenact("replay", run, *how).err.decode()
        onward = next(line for line in played.splitlines() if "next: " in line).partition("next: ")[2]
        assert onward.endswith(shlex.join(how)), played
        added = desk.reenact(*shlex.split(onward)[1:])
        assert added.code == 0 and b"passes on today's code" in added.err, added.err.decode()
        assert desk.reenact("golden", "rm", f"run-{run}").code == 0


def test_a_fork_is_refused_and_the_command_that_it_names_works(desk: Tried) -> None:
    program(desk)
    run = imported(desk, otel())
    forked = desk.reenact("fork", run, "--say", "1=Lost.")
    assert forked.code == 2, forked.err.decode()
    assert f"next: reenact replay {run} --cmd 'python agent.py'" in forked.err.decode()
    played = desk.reenact("replay", run, "--cmd", "python agent.py")
    assert (played.out, played.code) == (b"It is lost.\n", 0), played.err.decode()


def test_rows_of_evals_that_were_exported_replay_with_their_tools(desk: Tried) -> None:
    own = PROGRAM.replace("found if isinstance(found, str) else json.dumps", "json.dumps")
    desk.writes("agent.py", own)  # it needs the data, and would quote a text once more
    run = imported(desk, otel())
    assert desk.reenact("export", "evals", run, "-o", "rows.jsonl").code == 0
    back = json.loads(desk.reenact("--json", "import", "evals", "rows.jsonl").out)["tail"]
    played = desk.reenact("replay", back, "--cmd", "python agent.py {input}")
    assert (played.out, played.code) == (b"It is lost.\n", 0), played.err.decode()
    assert b"live calls made: 0  matched 3 of 3" in played.err


def test_a_trace_names_no_program_that_is_run(desk: Tried) -> None:
    desk.writes("bad.py", "open('ran', 'w').close()")
    document = json.loads(otel())
    resource = document["resourceSpans"][0]["resource"]["attributes"]
    resource += [{"key": "process.command_line", "value": {"stringValue": "python bad.py"}}]
    resource += [{"key": "process.command_args", "value": {"stringValue": "[python, bad.py]"}}]
    run = imported(desk, json.dumps(document))
    refused = desk.reenact("replay", run)
    assert (refused.code, (desk.folder / "ran").exists()) == (3, False)
    assert f"next: reenact replay {run} --cmd 'python agent.py'" in refused.err.decode()


# --- in this process -------------------------------------------------------------------------------------------------


def asked(said: list[Any], **more: Any) -> Any:
    client = openai.OpenAI(api_key="none", max_retries=0)
    return client.chat.completions.create(model="gpt-4o-mini", messages=said, **more)


SAID = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]


@reenact.tool
def find_order(order: int, depot: str = "main") -> dict[str, str]:
    raise AssertionError("the tool's own code ran")


@reenact.tool(effect="none")
def twice(number: int) -> int:
    return 2 * number


def played(store: Store, bring: Bring, trace: str, entry: Any) -> Any:
    (run,) = bring("otlp", trace)
    return reenact.replay(run, entry=entry, store=store)


def test_the_answer_is_written_in_the_protocol_of_whoever_asks(bring: Bring, store: Store) -> None:
    import anthropic

    def streamed() -> str:
        return "".join(part.choices[0].delta.content or "" for part in asked(SAID, stream=True) if part.choices)

    def other() -> tuple[str, str]:
        client = anthropic.Anthropic(api_key="none", max_retries=0)
        reply = client.messages.create(
            model="gpt-4o-mini", max_tokens=9, system="Be brief.", messages=[{"role": "user", "content": QUESTION}]
        )
        return reply.content[0].text, reply.stop_reason or ""  # type: ignore[union-attr]

    trace = text(agent(), model(2, ASKED, "It is lost."))
    assert played(store, bring, trace, streamed).output == "It is lost."
    assert played(store, bring, trace, other).output == ("It is lost.", "end_turn")


def test_the_ids_and_the_reason_to_stop_are_those_of_the_trace(bring: Bring, store: Store) -> None:
    cut = {"role": "assistant", "parts": [{"type": "text", "content": "It is"}], "finish_reason": "length"}
    says = {"gen_ai.response.finish_reasons": ["length"]}
    replayed = played(store, bring, text(agent(), model(2, ASKED, cut, **says)), lambda: asked(SAID).to_dict())
    answer = replayed.output
    assert (answer["id"], answer["model"]) == ("chatcmpl-2", "gpt-4o-mini-2024-07-18")
    assert answer["choices"][0]["finish_reason"] == "length"


def polled(results: list[str], ids: bool = True, parallel: bool = False) -> str:
    """An agent that looks for one order as often as there are results."""
    spans, messages = [agent()], [*ASKED]
    turns = [results] if parallel else [[each] for each in results]
    number = 2
    for turn in turns:
        calls = [(f"call_{number + 1 + at}" if ids else "", {"order": 7}) for at in range(len(turn))]
        spans.append(model(number, messages, wants(*calls)))
        messages = [*messages, wants(*calls), *(gave(own, each) for (own, _), each in zip(calls, turn, strict=True))]
        for at, result in enumerate(turn):
            says = {"gen_ai.tool.call.result": json.dumps({"state": result})}
            says |= {} if ids else {"gen_ai.tool.call.id": None}  # type: ignore[dict-item]
            spans.append(tool(number + 1 + at, 1, says=says))
        number += 1 + len(turn)
    return text(*spans)


def polls(times: int) -> Any:
    def entry() -> list[str]:
        said: list[Any] = [*SAID]
        states = []
        for _ in range(times):
            message = asked(said).choices[0].message
            said.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls or ():
                states.append(find_order(**json.loads(call.function.arguments))["state"])
                said.append({"role": "tool", "tool_call_id": call.id, "content": states[-1]})
        return states

    return entry


def test_equal_calls_of_a_tool_are_told_apart_by_the_answers_that_asked_for_them(bring: Bring, store: Store) -> None:
    assert played(store, bring, polled(["packed", "lost"]), polls(2)).output == ["packed", "lost"]
    for unclear in (polled(["packed", "lost"], ids=False), polled(["packed", "lost"], parallel=True)):
        with pytest.raises(Divergence, match="fits several recorded calls that hold different outcomes"):
            played(store, bring, unclear, polls(1))
    alike = played(store, bring, polled(["lost", "lost"], ids=False), polls(2))
    assert (alike.output, alike.verdict, alike.fidelity) == (["lost", "lost"], "same", "semantic")


@pytest.mark.parametrize(
    ("told", "given", "found"),
    [
        ({"order": 7}, {"order": 7}, True),
        ({"order": 7, "depot": "main"}, {"order": 7}, True),
        ({"order": 7}, {"order": 7, "depot": "north"}, False),
        ({"order": 7, "depot": "north"}, {"order": 7}, False),
        ({"order": 8}, {"order": 7}, False),
        (7, {"order": 7}, True),
        (None, {"order": 7}, False),
    ],
)
def test_a_tool_is_found_by_its_name_and_its_arguments(
    bring: Bring, store: Store, told: Any, given: Mapping[str, Any], found: bool
) -> None:
    says = {"gen_ai.tool.call.arguments": None if told is None else json.dumps(told)}
    trace = text(agent(), tool(3, 1, says=says))
    if found:
        assert played(store, bring, trace, lambda: find_order(**given)).output == {"state": "lost"}
    else:
        with pytest.raises(Divergence, match="find_order"):
            played(store, bring, trace, lambda: find_order(**given))


def test_arguments_that_only_the_model_told_belong_to_the_call_by_its_id(bring: Bring, store: Store) -> None:
    trace = text(
        agent(),
        model(2, ASKED, wants(("call_3", {"order": 7}))),
        tool(3, 1, says={"gen_ai.tool.call.arguments": None}),
    )
    assert played(store, bring, trace, polls(1)).output == ["lost"]


def test_what_a_tool_raised_is_raised(bring: Bring, store: Store) -> None:
    failed = tool(3, 1, says={"error.type": "KeyError", "gen_ai.tool.call.result": None}, error="no order 7")
    with pytest.raises(KeyError, match="no order 7"):
        played(store, bring, text(agent(), failed), lambda: find_order(7))


def failed(number: int, **more: Any) -> dict[str, Any]:
    """A call of the tool that raised."""
    says = {"error.type": "ConnectionError", "gen_ai.tool.call.result": None, **more.pop("says", {})}
    return tool(number, 1, says=says, error="the line is down", **more)


def persists() -> str:
    """Look for the order, and again while the line is down."""
    said: list[Any] = [*SAID]
    message = asked(said).choices[0].message
    said.append(message.model_dump(exclude_none=True))
    for call in message.tool_calls:
        while True:
            try:
                found = find_order(**json.loads(call.function.arguments))
                break
            except ConnectionError:
                continue
        said.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(found)})
    return str(asked(said).choices[0].message.content)


def tried(*attempts: dict[str, Any], **more: Any) -> str:
    """A model call that failed before it was answered, and the attempts at a tool."""
    wanted = wants(*(more.get("wants") or [("call_9", {"order": 7})]))
    busy = {"error.type": "503", "gen_ai.output.messages": None, "gen_ai.input.messages": json.dumps(ASKED)}
    then = [*ASKED, wanted, gave("call_9", {"state": "lost"})]
    last = more.get("last", "It is lost.")
    return text(
        agent(),
        chat(2, 1, says=busy, error="busy"),
        model(3, ASKED, wanted),
        *attempts,
        model(9, then, last),
    )


NO_ID: dict[str, Any] = {"gen_ai.tool.call.id": None}
ONE_ID = {"gen_ai.tool.call.id": "call_9"}


@pytest.mark.parametrize("ids", [NO_ID, ONE_ID])
def test_a_call_that_was_tried_again_is_one_call(bring: Bring, store: Store, ids: dict[str, Any]) -> None:
    attempts = failed(4, says=ids), failed(6, says=ids), tool(8, 1, says=ids)
    replayed = played(store, bring, tried(*attempts), persists)
    assert (replayed.output, replayed.verdict, replayed.unused) == ("It is lost.", "same", 0)
    assert replayed.matched == 5


def test_a_call_that_a_model_asks_for_later_is_no_attempt(bring: Bring, store: Store) -> None:
    again = {**wants(("call_12", {"order": 7})), "finish_reason": "tool_calls"}

    def looks() -> str:
        asked(SAID)
        with pytest.raises(ConnectionError):
            find_order(7)
        return find_order(7)["state"]

    replayed = played(store, bring, tried(failed(4, says=NO_ID), tool(6, 1, says=NO_ID), last=again), looks)
    assert replayed.output == "lost"


@pytest.mark.parametrize(
    "trace",
    [
        tried(failed(4, says=NO_ID, took=9), tool(6, 1, says=NO_ID)),
        tried(tool(4, 1, says=NO_ID), failed(6, says=NO_ID)),
        tried(failed(4, says=NO_ID), tool(6, 1, says=NO_ID), wants=[("", {"order": 7}), ("", {"order": 7})]),
        tried(failed(4, says=NO_ID), tool(6, 1, says=NO_ID), wants=[("", {"order": 8})]),
    ],
    ids=["at a time", "failed last", "asked for twice", "not asked for"],
)
def test_what_may_be_two_calls_of_a_tool_is_refused(bring: Bring, store: Store, trace: str) -> None:
    def looks() -> None:
        asked(SAID)
        find_order(7)

    with pytest.raises(Divergence, match="fits several recorded calls that hold different outcomes"):
        played(store, bring, trace, looks)


@reenact.tool
def find_text(order: int) -> str:
    raise AssertionError("the tool's own code ran")


@pytest.mark.parametrize(
    ("says", "output"),
    [
        ({"gen_ai.tool.call.result": "null"}, None),
        ({"gen_ai.tool.call.result": 3}, 3),
        ({"gen_ai.tool.call.result": "3"}, "3"),
        ({"gen_ai.tool.call.result": '""'}, ""),
        ({"gen_ai.tool.call.result": None, "output.value": "3", "output.mime_type": "application/json"}, 3),
        ({"gen_ai.tool.call.result": None, "mlflow.spanOutputs": "3"}, 3),
        ({"gen_ai.tool.call.result": None, "mlflow.spanOutputs": "null"}, None),
        ({"gen_ai.tool.call.result": None, "output.value": "null", "output.mime_type": "application/json"}, None),
        ({"gen_ai.tool.call.result": None, "output.value": "{", "output.mime_type": "application/json"}, "{"),
        ({"gen_ai.tool.call.result": None, "output.value": "3", "output.mime_type": "text/plain"}, "3"),
    ],
)
def test_results_that_are_no_object_come_back(bring: Bring, store: Store, says: dict[str, Any], output: Any) -> None:
    assert played(store, bring, text(agent(), tool(3, 1, says=says)), lambda: find_order(7)).output == output


def test_a_result_is_text_where_the_tool_declares_that(bring: Bring, store: Store) -> None:
    trace = text(agent(), tool(3, 1, says={"gen_ai.tool.name": "find_text"}))
    assert played(store, bring, trace, lambda: find_text(7)).output == '{"state": "lost"}'


def test_another_model_is_not_answered(bring: Bring, store: Store) -> None:
    trace = text(agent(), model(2, ASKED, "It is lost.", **{"gen_ai.request.model": "gpt-4o"}))
    with pytest.raises(Divergence) as diverged:
        played(store, bring, trace, lambda: asked(SAID))
    assert (diverged.value.path, diverged.value.reason) == ("arguments.model", "changed")


def test_a_tool_that_computes_runs_and_is_not_missed(bring: Bring, store: Store) -> None:
    says = {"gen_ai.tool.name": "twice", "gen_ai.tool.call.arguments": '{"number": 4}', "gen_ai.tool.call.result": "8"}
    replayed = played(store, bring, text(agent(), tool(3, 1, says=says)), lambda: twice(4))
    assert (replayed.output, replayed.unused, replayed.verdict) == (8, 0, "same")


def test_what_happened_inside_a_tool_is_answered_with_it(bring: Bring, store: Store) -> None:
    inner = chat(4, 3)
    replayed = played(store, bring, text(agent(), tool(3, 1), inner), lambda: find_order(7))
    assert (replayed.unused, replayed.report.inside, replayed.verdict) == (0, 1, "same")


@pytest.mark.parametrize(
    ("spans", "entry", "why"),
    [
        ([tool(3, 1, says={"gen_ai.tool.call.result": None})], lambda: find_order(7), "find_order returned at event 1"),
        ([chat(2, 1, says={"gen_ai.output.messages": None})], lambda: asked(SAID), "gpt-4o-mini was answered at event"),
        (
            [chat(2, 1, says={"gen_ai.input.messages": None, "gen_ai.output.messages": None})],
            lambda: asked(SAID),
            "gpt-4o-mini was asked at event 1, and not what",
        ),
        (
            [chat(2, 1, error="429", says={"error.type": "RateLimit"})],
            lambda: asked(SAID),
            "gpt-4o-mini failed at event 1 (RateLimit: 429)",
        ),
    ],
)
def test_what_a_trace_does_not_tell_is_missing_and_never_made_up(
    bring: Bring, store: Store, spans: list[Any], entry: Any, why: str
) -> None:
    (run,) = bring("otlp", text(agent(), *spans))
    report = reenact.replay(run, entry=entry, store=store).report
    assert report.exit_code == 3
    assert why in report.differences[0].text
    assert f"next: reenact {'show' if 'failed' in why else 'kit'} {tail(run.id)}" in report.differences[0].text


def test_no_other_call_is_answered_and_none_leaves(bring: Bring, store: Store) -> None:
    import httpx

    with pytest.raises(Divergence) as diverged:
        played(store, bring, otel(), lambda: httpx.get("http://127.0.0.1:9/orders"))
    assert "mark the function that makes it with @reenact.tool" in str(diverged.value.cause)
    with pytest.raises(Divergence) as diverged:
        played(store, bring, otel(), lambda: asked(SAID[1:]))
    assert diverged.value.path.startswith("arguments.conversation")


def test_a_function_that_takes_more_than_a_text_says_what_to_do(bring: Bring, store: Store) -> None:
    def entry(question: str, client: Any) -> None:
        raise AssertionError

    report = played(store, bring, otel(), entry).report
    assert (report.exit_code, report.verdict) == (3, "different")
    assert "does not take what the user said as its only argument" in report.differences[0].text
