"""A cassette or an archive becomes a golden: what it says in the end is judged where it holds a model call, and refused
by name where it holds none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.interop.conftest import Tried

HOST = "http://api.example.test"
ASKS = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Where is order 7?"}]}
SAYS = {
    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-4o",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "It is lost."}}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13},
}  # fmt: skip
PLAIN = ("GET", f"{HOST}/orders/7", "", json.dumps({"state": "lost"}))
MODEL = ("POST", f"{HOST}/v1/chat/completions", json.dumps(ASKS), json.dumps(SAYS))
READS = f"""
import json, urllib.request

with urllib.request.urlopen("{PLAIN[1]}") as response:
    print("It is", json.load(response)["state"])
"""
ASKS_A_MODEL = f"""
import json, urllib.request

head = {{"content-type": "application/json"}}
with urllib.request.urlopen(urllib.request.Request("{MODEL[1]}", {MODEL[2].encode()!r}, head)) as response:
    print(json.load(response)["choices"][0]["message"]["content"])
"""
FORMS = ("har", "vcr")
RUNS = ("--cmd", "python agent.py")


def written(desk: Tried, form: str, exchange: tuple[str, str, str, str]) -> str:
    """Imports a file of one exchange; the run's last digits."""
    method, url, asked, said = exchange
    told: dict[str, Any]
    if form == "har":
        request: dict[str, Any] = {"method": method, "url": url, "headers": [], "httpVersion": "HTTP/1.1"}
        if asked:
            request["postData"] = {"mimeType": "application/json", "text": asked}
        content = {"mimeType": "application/json", "text": said, "size": len(said)}
        response = {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "headers": [], "content": content}
        entry = {"startedDateTime": "2026-01-01T00:00:00Z", "time": 1, "request": request, "response": response}
        told = {"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": [entry]}}
    else:
        asks: dict[str, Any] = {"method": method, "uri": url, "body": asked or None, "headers": {}}
        gives = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": said}}
        told = {"version": 1, "interactions": [{"request": asks, "response": gives}]}
    desk.writes("recorded.json", json.dumps(told))
    brought = desk.reenact("--json", "import", form, "recorded.json")
    assert brought.code == 0, brought.err.decode()
    return str(json.loads(desk.reenact("--json", "ls").out.splitlines()[0])["tail"])


@pytest.mark.timeout(300)
@pytest.mark.parametrize("form", FORMS)
def test_no_answer_is_expected_of_exchanges_without_a_model_call(desk: Tried, form: str) -> None:
    desk.writes("agent.py", READS)
    run = written(desk, form, PLAIN)
    for option, text in (
        ("--expect", "'lost' not in answer"), ("--expect", "answer != 'lost'"), ("--holds", "'lost' in answer"),
        ("--expect", "judge('it names the state', 'gpt-4o')"),
    ):  # fmt: skip
        refused = desk.reenact("golden", "add", run, "--as", "x", option, text, *RUNS)
        said = refused.err.decode()
        assert refused.code == 2 and "has no answer to judge" in said and text in said, said
        assert "holds no words of a model" in said and f"next: reenact replay {run} --cmd 'python agent.py'" in said
    assert not (desk.folder / "tests" / "goldens" / "x.reenact").exists()
    replayed = desk.reenact("replay", run, *RUNS)
    assert (replayed.code, replayed.out) == (0, b"It is lost\n"), replayed.err.decode()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("form", FORMS)
def test_exchanges_without_a_model_call_keep_what_the_code_asks(desk: Tried, form: str) -> None:
    desk.writes("agent.py", READS)
    run = written(desk, form, PLAIN)
    added = desk.reenact("golden", "add", run, "--as", "same", *RUNS)
    assert added.code == 0, added.err.decode()
    cell = experiment(desk)
    assert (cell["status"], cell["output"], cell["live"]) == ("passed", "It is lost", 0), "today's output is judged"
    desk.writes("agent.py", READS.replace("/orders/7", "/orders/8"))
    failed = desk.reenact("golden", "run", "same")
    assert failed.code == 1 and b"made no call that the import answers" in failed.out, failed.out.decode()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("form", FORMS)
def test_exchanges_with_a_model_call_are_judged_by_their_answer(desk: Tried, form: str) -> None:
    desk.writes("agent.py", ASKS_A_MODEL)
    run = written(desk, form, MODEL)
    weak = desk.reenact("golden", "add", run, "--as", "weak", "--expect", "'lost' in answer", *RUNS)
    assert weak.code == 2 and b"too weak to be a test" in weak.err, weak.err.decode()
    added = desk.reenact("golden", "add", run, "--as", "lost", "--expect", "'lost' not in answer", *RUNS)
    assert added.code == 0 and b"--expect fails on the imported answer" in added.err, added.err.decode()
    assert desk.reenact("golden", "run", "lost").code == 1
    assert experiment(desk)["status"] == "passed"
    desk.writes("agent.py", f"{ASKS_A_MODEL}print('I ask a colleague.')\n".replace("    print(json", "    (json"))
    assert desk.reenact("golden", "run", "lost").code == 1, "the words of a model come before what is printed"
    assert experiment(desk)["tokens"] == 13


def experiment(desk: Tried) -> dict[str, Any]:
    """The one cell of an experiment over the imported run."""
    words = ("--where", "events > 0", "--expect", "'lost' in answer", "--candidate", "now:", *RUNS)
    done = desk.reenact("--json", "experiment", *words)
    assert done.code == 0, done.err.decode()
    (cell,) = [line for line in map(json.loads, done.out.splitlines()) if line["type"] == "cell"]
    return dict(cell)
