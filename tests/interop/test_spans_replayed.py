"""A run that left as spans replays elsewhere with an agent that is given: retries, results of every sort, no miss."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.http.server import Request, Server, as_json
from tests.interop.conftest import Tried
from tests.interop.spans_out import Receiver, said
from tests.programs import read_program

AGENT = read_program("interop/refund_with_a_judge.py")
RESULT = "gen_ai.tool.call.result"
SAID = b"('Paid.', 'polite', 8, [None, 3, 0.5, True, '', [], 'sp\xc3\xa4ter'])\n"


def chat(request: Request) -> Any:
    """A model that is busy once, wants the tool, and answers."""
    asked = json.loads(request.body)["messages"]
    chat.asked = getattr(chat, "asked", 0) + 1  # type: ignore[attr-defined]
    if chat.asked == 1:  # type: ignore[attr-defined]
        return as_json({"error": {"message": "too busy"}}, "503 Busy")
    call = {"id": "call_1", "type": "function", "function": {"name": "refund", "arguments": '{"order": "7"}'}}
    message: dict[str, Any] = {"role": "assistant", "content": "Paid."}
    if asked[-1]["role"] == "user":
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return as_json({"id": "r1", "object": "chat.completion", "created": 1, "model": "gpt-test-1", "choices": choices})


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Tried:
    """A desk with a run of the agent; the model is gone."""
    desk = Tried(tmp_path_factory.mktemp("recorded"))
    server = Server()
    server.routes["/v1/chat/completions"] = chat
    receiver = Receiver()
    desk.writes("reenact.toml", f'[otel]\nendpoint = "{receiver.server.url}"\ncontent = "inline"\n')
    desk.writes("agent.py", AGENT)
    base = {"OPENAI_BASE_URL": f"{server.url}/v1"}
    done = desk.run("reenact", "record", "--", "python", "agent.py", "Pay back 7", more=base)
    server.close()
    receiver.server.close()
    desk.environment["RESULTS"] = json.dumps(
        [said(each).get(RESULT) for each in receiver.spans if RESULT in said(each)]
    )
    assert (done.code, done.out) == (0, SAID), done.err.decode()
    return desk


def test_what_tools_gave_is_sent_as_it_happens(recorded: Tried) -> None:
    sent = json.loads(recorded.environment["RESULTS"])
    assert sent == ["order 7 is paid back", 8, "null", 3, 0.5, True, '""', "[]", "später"]


@pytest.mark.parametrize("dialect", ["otel", "otel-before", "openinference"])
def test_nothing_is_missed_and_nothing_is_left(recorded: Tried, desk: Tried, dialect: str) -> None:
    file = recorded.folder / f"{dialect}.json"
    words = ("--content", "inline", "--dialect", dialect, "-o", str(file))
    left = recorded.reenact("export", "otel", "@", *words)
    assert left.code == 0 and b"not in the spans: exchanges, without their headers and bytes (3)" in left.err, left
    desk.writes("agent.py", AGENT)
    assert desk.reenact("import", "otlp", str(file)).code == 0
    replayed = desk.reenact("replay", "@", "--cmd", "python agent.py {input}")
    told = replayed.err.decode()
    assert (replayed.code, replayed.out) == (0, SAID), told
    assert "1 failed attempt at a model call left out: the trace has the answer that followed" in told
    assert "verdict: same (semantic)" in told and "live calls made: 0  matched 12 of 12" in told
