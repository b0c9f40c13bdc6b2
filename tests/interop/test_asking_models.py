"""An imported run in which models may go live: asked is what the import does not tell, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from reenact.testing import ScriptedProvider
from tests.interop.conftest import Tried
from tests.interop.spans import chat, text
from tests.interop.test_traces_played import ASKED, QUESTION, agent, imported, model, program, wants
from tests.programs import read_program

LIVE = ("--live", "model")


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    """A provider that answers."""
    with ScriptedProvider() as answering:
        yield answering


def reenact(
    desk: Tried, provider: ScriptedProvider, *words: str, key: str = "sk-today-31f9a2c4d5e6"
) -> tuple[int, str, str]:
    known = {"OPENAI_BASE_URL": f"{provider.url}/v1", "OPENAI_API_KEY": key}
    done = desk.run("reenact", *words, more={name: value for name, value in known.items() if value})
    return done.code, done.out.decode(), done.err.decode()


def two_turns() -> str:
    """A model that says where the order is; that is all."""
    return text(agent(), model(2, ASKED, "It is lost."))


TWICE = """
import sys

import openai


def answer(question):
    client = openai.OpenAI(max_retries=0)
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": question}]
    first = client.chat.completions.create(model="gpt-4o-mini", messages=said).choices[0].message.content
    said += [{"role": "assistant", "content": first}, {"role": "user", "content": "Sure?"}]
    return first, client.chat.completions.create(model="gpt-4o-mini", messages=said).choices[0].message.content


if __name__ == "__main__":
    first, second = answer(sys.argv[1] if sys.argv[1:] else input())
    print(first)
    print(len(second) > 0)
"""


def test_what_the_trace_does_not_tell_is_asked_and_the_rest_is_not(desk: Tried, provider: ScriptedProvider) -> None:
    desk.writes("agent.py", TWICE)
    run = imported(desk, two_turns())
    code, out, said = reenact(desk, provider, "replay", run, "--cmd", "python agent.py", *LIVE)
    assert (code, out, provider.calls) == (0, "It is lost.\nTrue\n", 1), said
    assert "live calls allowed: model" in said
    assert "verdict: live, where the import has no answer, order not known" in said
    assert "live calls made: 1  matched 1 of 1" in said
    assert "live gpt-4o-mini at 127.0.0.1:" in said
    assert "the import has no further model call; " in said
    assert "tokens in" in said


def test_nothing_goes_live_unless_it_is_said(desk: Tried, provider: ScriptedProvider) -> None:
    desk.writes("agent.py", TWICE)
    run = imported(desk, two_turns())
    code, _, said = reenact(desk, provider, "replay", run, "--cmd", "python agent.py")
    assert (code, provider.calls) == (3, 0), said
    assert "live calls made: 0" in said


@pytest.mark.parametrize("shape", ["async", "thread", "stream", "limit"])
def test_agents_of_every_shape_wait_for_the_model(desk: Tried, shape: str) -> None:
    """A limit on the wait that is shorter than the time of the model is not passed: time stands still for the agent.
    The answer comes in some twenty pieces, so it takes more than half a second."""
    from reenact.testing.provider.script import Rule, Script, slow

    desk.writes("agent.py", SHAPES)
    run = imported(desk, two_turns())
    with ScriptedProvider(Script(rules=(Rule(fault=slow(0.03)),))) as provider:
        code, out, said = reenact(desk, provider, "replay", run, "--cmd", f"python agent.py {shape}", *LIVE)
        assert (code, provider.calls) == (1, 1), said  # what the trace tells was not asked for
    assert out.startswith("said "), (out, said)
    assert "live calls made: 1  matched 0 of 1, unused 1" in said


SHAPES = read_program("interop/model_asked_in_every_shape.py")


def test_an_answer_that_was_not_captured_is_asked_for(desk: Tried, provider: ScriptedProvider) -> None:
    desk.writes("agent.py", TWICE)
    untold = chat(2, 1, says={"gen_ai.input.messages": json.dumps(ASKED), "gen_ai.output.messages": None})
    run = imported(desk, text(agent(), untold))
    code, _, said = reenact(desk, provider, "replay", run, "--cmd", "python agent.py", *LIVE)
    assert (code, provider.calls) == (0, 2), said
    assert "the import does not have the answer" in said


def test_a_tool_that_is_not_told_stays_a_divergence(desk: Tried, provider: ScriptedProvider) -> None:
    program(desk)
    run = imported(desk, text(agent(), model(2, ASKED, wants(("call_3", {"order": 7})))))
    code, _, said = reenact(desk, provider, "replay", run, "--cmd", f"python agent.py '{QUESTION}'", *LIVE)
    assert provider.calls == 0
    assert code == 3, said


def test_nothing_is_sent_with_a_placeholder_or_to_be_kept(desk: Tried, provider: ScriptedProvider) -> None:
    desk.writes("agent.py", TWICE)
    desk.writes("trace.json", two_turns())
    code, out, said = reenact(desk, provider, "--json", "import", "otlp", "trace.json")  # the key is known by its name
    run = json.loads(out)["tail"]
    code, _, said = reenact(desk, provider, "replay", run, "--cmd", "python agent.py", *LIVE, key="")
    assert (code, provider.calls) == (3, 0), said
    assert "OPENAI_API_KEY is not set, and this replay goes live" in said
    desk.writes("kept.py", TWICE.replace("messages=said)", "messages=said, store=True)"))
    code, _, said = reenact(desk, provider, "replay", run, "--cmd", "python kept.py", *LIVE)
    assert (code, provider.calls) == (5, 0), said
    assert "is not sent: it does not say store=false" in said


def test_only_models_go_live_and_nothing_else_reaches_the_world(desk: Tried, provider: ScriptedProvider) -> None:
    desk.writes("agent.py", TWICE)
    run = imported(desk, two_turns())
    code, _, said = reenact(desk, provider, "replay", run, "--cmd", "python agent.py", "--live", "tool")
    assert code == 2, said
    assert "of an imported run only models go live, and not tool" in said
    desk.writes("other.py", TWICE + OTHER)
    code, out, said = reenact(desk, provider, "replay", run, "--cmd", "python other.py", *LIVE)
    assert "reached" not in out, said
    assert not (desk.folder / "left").exists()
    assert code == 5, said
    assert "connection to 127.0.0.1" in said, said


OTHER = """
    import os, socket
    open("left", "w").write("in scratch")
    try:
        socket.create_connection(("127.0.0.1", int(os.environ["OPENAI_BASE_URL"].rpartition(":")[2].partition("/")[0])))
        print("reached")
    except OSError:
        print("kept")
"""


ELSEWHERE = read_program("interop/model_of_another_provider.py")


@pytest.mark.parametrize("how", ["whole", "stream", "anthropic"])
def test_what_a_cassette_tells_is_not_asked_for_at_another_address(
    desk: Tried, provider: ScriptedProvider, how: str
) -> None:
    answer = {"role": "assistant", "content": "It is lost."}
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
    body = {"model": "gpt-4o-mini", "temperature": 0, "messages": said}
    reply = {"id": "r1", "object": "chat.completion", "created": 1, "model": "gpt-4o-mini-2024-07-18",
             "choices": [{"index": 0, "message": answer, "finish_reason": "stop"}]}  # fmt: skip
    kind = {"content-type": ["application/json"]}
    asked = {"method": "POST", "uri": "https://api.openai.com/v1/chat/completions", "body": json.dumps(body)}
    came = {"status": {"code": 200, "message": "OK"}, "headers": kind, "body": {"string": json.dumps(reply)}}
    interactions = [{"request": {**asked, "headers": kind}, "response": came}]
    desk.writes("cassette.json", json.dumps({"version": 1, "interactions": interactions}))
    run = json.loads(desk.reenact("--json", "import", "vcr", "cassette.json").out)["tail"]
    desk.writes("agent.py", ELSEWHERE)
    code, out, told = reenact(desk, provider, "replay", run, "--cmd", f"python agent.py {how}", *LIVE)
    assert (code, out) == (0, "It is lost.\n"), told
    assert "1 model answer found by model and messages: address, protocol and parameters were not compared" in told
    assert "live calls made: 0  matched 1 of 1" in told
    code, _, told = reenact(desk, provider, "replay", run, "--cmd", f"python agent.py {how}")
    assert code == 1 and "diverged" in told, told


def test_a_failed_answer_is_said_and_a_chat_file_may_ask_too(desk: Tried) -> None:
    from reenact.testing.provider.script import Rule, Script, server_error

    desk.writes("chats.jsonl", json.dumps({"messages": [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": "It is lost."}]}))  # fmt: skip
    desk.writes("agent.py", TWICE)
    with ScriptedProvider(Script(rules=(Rule(fault=server_error(500)),))) as provider:
        where = ("--param", "model=gpt-4o-mini", "--url", f"{provider.url}/v1/chat/completions")
        run = json.loads(desk.reenact("--json", "import", "messages", "chats.jsonl", *where).out)["tail"]
        code, _, said = reenact(desk, provider, "replay", run, "--cmd", f"python agent.py '{QUESTION}'", *LIVE)
    assert "answered with status 500" in said, said
    assert "the program ended with exit status 1" in said
    assert (code, "live calls made: 1  matched 1 of 1" in said) == (0, True), said
