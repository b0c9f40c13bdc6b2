"""An imported recording is never guessed at: what is not certain in it ends in a named divergence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.interop.conftest import Tried

BASE = "http://api.example.test"


def cassette(desk: Tried, *exchanges: tuple[str, str, str], name: str = "cassette.json") -> None:
    """A cassette of ``(method, path, answer)``."""
    interactions: list[dict[str, Any]] = [
        {
            "request": {"method": method, "uri": BASE + path, "body": None, "headers": {}},
            "response": {
                "status": {"code": 200, "message": "OK"},
                "headers": {"Content-Length": [str(len(answer))]},
                "body": {"string": answer},
            },
        }
        for method, path, answer in exchanges
    ]
    (desk.folder / name).write_text(json.dumps({"version": 1, "interactions": interactions}))
    assert desk.reenact("import", "vcr", name).code == 0


def replay(desk: Tried, program: str) -> tuple[int, str, str]:
    """Exit status, what the program printed, and what was said."""
    desk.writes("agent.py", f"import asyncio, threading, time, httpx, reenact\nBASE = {BASE!r}\n" + program)
    ended = desk.replay("--cmd", "python agent.py")
    return ended.code, ended.out.decode(), ended.err.decode()


def test_one_strand_gets_different_answers_in_the_order_of_the_file(desk: Tried) -> None:
    cassette(desk, ("GET", "/job", "queued"), ("GET", "/job", "running"), ("GET", "/job", "done"))
    program = "print([httpx.get(BASE + '/job').text for _ in range(3)])"
    code, out, said = replay(desk, program)
    assert (code, out) == (0, "['queued', 'running', 'done']\n"), said
    assert "verdict: same, order not known: the run was imported" in said


def test_several_strands_that_ask_the_same_get_answers_only_if_all_are_alike(desk: Tried) -> None:
    program = """
async def main():
    async with httpx.AsyncClient() as client:
        got = await asyncio.gather(*(client.get(BASE + '/job') for _ in range(2)))
    print([each.text for each in got])
asyncio.run(main())
"""
    cassette(desk, ("GET", "/job", "same"), ("GET", "/job", "same"))
    code, out, said = replay(desk, program)
    assert (code, out) == (0, "['same', 'same']\n"), said
    cassette(desk, ("GET", "/job", "one"), ("GET", "/job", "other"))
    code, out, said = replay(desk, program)
    assert (code, out) == (1, ""), said
    assert "fits several recorded calls that hold different outcomes" in said


@pytest.mark.parametrize("second", ["thread", "task"])
def test_the_last_of_different_answers_is_no_certainty_for_another_strand(desk: Tried, second: str) -> None:
    cassette(desk, ("GET", "/job", "one"), ("GET", "/job", "other"))
    program = {
        "thread": """
print(httpx.get(BASE + '/job').text)
other = threading.Thread(target=lambda: print(httpx.get(BASE + '/job').text))
other.start()
other.join()
""",
        "task": """
async def ask():
    async with httpx.AsyncClient() as client:
        print((await client.get(BASE + '/job')).text)
async def main():
    await ask()
    await asyncio.create_task(ask())
asyncio.run(main())
""",
    }[second]
    code, out, said = replay(desk, program)
    assert (code, out) == (1, "one\n"), said
    assert "fits several recorded calls" in said


def test_an_answer_from_before_a_write_is_not_given_after_it(desk: Tried) -> None:
    cassette(desk, ("GET", "/total", "0"), ("POST", "/add", "ok"), ("GET", "/total", "1"))
    code, out, said = replay(desk, "httpx.post(BASE + '/add')\nprint(httpx.get(BASE + '/total').text)")
    assert (code, out) == (1, ""), said
    assert "fits several recorded calls" in said
    whole = "print(httpx.get(BASE + '/total').text)\nhttpx.post(BASE + '/add')\nprint(httpx.get(BASE + '/total').text)"
    code, out, said = replay(desk, whole)
    assert (code, out) == (0, "0\n1\n"), said


def test_each_recording_is_used_once_and_what_is_left_is_said(desk: Tried) -> None:
    cassette(desk, ("GET", "/a", "A"), ("GET", "/b", "B"))
    code, _, said = replay(desk, "httpx.get(BASE + '/a')\nhttpx.get(BASE + '/a')")
    assert code == 1
    assert "GET api.example.test/a was not made in the recording" in said
    assert "holds no such exchange, or fewer of them" in said
    code, _, said = replay(desk, "httpx.get(BASE + '/b')")
    assert code == 1
    assert "1 recorded calls were not made: 0 GET api.example.test/a" in said


def test_a_changed_question_is_shown_beside_the_nearest_one(desk: Tried) -> None:
    cassette(desk, ("POST", "/ask", "A"))
    code, _, said = replay(desk, "httpx.post(BASE + '/ask', json={'q': 'x'})")
    assert code == 1
    assert "diverged at event 0: http POST api.example.test/ask differs at body" in said


def test_the_agents_own_code_runs_and_only_the_wire_is_frozen(desk: Tried) -> None:
    cassette(desk, ("GET", "/a", "A"))
    program = """
@reenact.tool
def look():
    return httpx.get(BASE + '/a').text

@reenact.step("first")
def first(state):
    state["found"] = look()

state = {}
first(state)
started = time.monotonic()
time.sleep(3600)
print(state, time.monotonic() - started >= 3600)
"""
    code, out, said = replay(desk, program)
    assert (code, out) == (0, "{'found': 'A'} True\n"), said


def test_what_an_import_cannot_hold_is_a_divergence_and_not_done(desk: Tried) -> None:
    cassette(desk, ("GET", "/a", "A"))
    code, _, said = replay(desk, "import subprocess\nsubprocess.run(['touch', 'made'])")
    assert code == 1
    assert "an imported file holds HTTP exchanges only" in said
    assert not (Path(desk.folder) / "made").exists()
    code, _, said = replay(desk, "httpx.get(BASE + '/a')\nhttpx.get('http://127.0.0.1:9/elsewhere')")
    assert code == 1
    assert "was not made in the recording" in said
