"""Telemetry that a program hands over never makes its replay differ: missing, further, larger, in another order."""

from __future__ import annotations

import pytest

from tests.programs import read_program

from .conftest import Bench

AGENT = """
import json, sys, threading, time, urllib.request, uuid

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request("WORLD" + path, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)

def export(*names):
    spans = [{"name": name, "spanId": uuid.uuid4().hex, "at": time.time()} for name in names]
    return ask("/v1/traces", {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})

print(ask("/tool/1")["value"])
BETWEEN
print(ask("/tool/2")["value"])
print(ask("/ask", {"question": 1})["value"])
AFTER
"""

FEW = ("export('a')", "export('b', 'c')")


def agent(between: str, after: str = "") -> str:
    """The agent, with exports in its own strand."""
    return AGENT.replace("BETWEEN", between).replace("AFTER", after)


def test_the_same_exports_are_the_same_run(bench: Bench) -> None:
    """Recorded exports get their recorded answers, in their places."""
    bench.record(agent("print(export('a')['note'])", "print(export('b')['note'])"))
    assert bench.world.exports() == ["POST /v1/traces", "POST /ask", "POST /v1/traces"]
    last = bench.replay()
    assert "verdict: same (exact)" in last
    assert "matched 3 of 3, plumbing 2" in last


def test_a_kept_replay_has_the_answers_too(bench: Bench) -> None:
    """It is a run like any other: its own replay is the same."""
    bench.record(agent("print(export('a')['note'])", "print(export('b')['note'])"))
    assert "verdict: same (exact)" in bench.replay("--save")
    last = bench.replay()
    assert "verdict: same (exact)" in last and "matched 3 of 3, plumbing 2" in last


@pytest.mark.parametrize(
    ("between", "after", "count"),
    [
        ("", "", 0),
        ("export('a')", "", 1),
        ("export('other', 'names', 'and', 'more')", "export('z')", 2),
        ("export('a'); export('b'); export('c')", "export('d')", 4),
        ("", "export('b', 'c'); export('a')", 2),
    ],
    ids=["none", "fewer", "other bodies", "more", "later"],
)
def test_other_exports_are_the_same_run(bench: Bench, between: str, after: str, count: int) -> None:
    """Fewer, more, larger, later: the agent is the same."""
    bench.record(agent(*FEW))
    bench.write(agent(between, after))
    last = bench.replay()
    assert "verdict: same (exact)" in last, last
    assert "unused" not in last
    assert f", plumbing {count}" in last or (not count and "plumbing" not in last)


@pytest.mark.parametrize("how", ["thread", "pool", "tasks"])
def test_exports_from_strands_of_their_own(bench: Bench, how: str) -> None:
    """A queue in another strand that hands over at its end, in one batch or in many."""
    ways = {
        "thread": "t = threading.Thread(target=lambda: [export(n) for n in BATCHES]); t.start()",
        "pool": "import concurrent.futures as f; p = f.ThreadPoolExecutor(2); [p.submit(export, n) for n in BATCHES]",
        "tasks": "import asyncio; asyncio.run(_all(BATCHES))",
    }
    ends = {"thread": "t.join()", "pool": "p.shutdown()", "tasks": ""}
    helper = """
async def _all(names):
    await asyncio.gather(*[asyncio.to_thread(export, name) for name in names])
"""
    program = agent("exec('')\n" + helper + ways[how], ends[how])
    bench.record(program.replace("BATCHES", "'abc'"))
    assert "verdict: same (exact)" in bench.replay()
    for batches in ("'a'", "'abcdef'"):
        bench.write(program.replace("BATCHES", batches))
        last = bench.replay()
        assert "verdict: same" in last, last


def test_a_changed_question_is_still_caught(bench: Bench) -> None:
    """Beside plumbing everything is compared as ever."""
    bench.record(agent(*FEW))
    bench.write(agent(*FEW).replace('"question": 1', '"question": 2'))
    assert "verdict: different" in bench.replay(code=1)


def test_a_failed_export_fails_again(bench: Bench) -> None:
    """The recorded answer is given, whatever it is: what the program prints of it is the same."""
    bench.world.status = 503
    program = agent("try: export('a')\nexcept Exception as error: print(error, file=sys.stderr)")
    bench.record(program)
    assert "verdict: same (exact)" in bench.replay()


def test_a_form_of_another_protocol_is_no_plumbing(bench: Bench) -> None:
    """At a host that is not known the path alone says nothing."""
    program = agent("ask('/v1/traces', {'order': ORDER})")
    bench.record(program.replace("ORDER", "1"))
    assert "plumbing" not in bench.replay()
    bench.write(program.replace("ORDER", "2"))
    assert "verdict: different" in bench.replay(code=1)


def test_a_tool_of_the_agent_is_no_plumbing(bench: Bench) -> None:
    """What a tool hands over is what the agent does."""
    program = agent("""
import reenact
@reenact.tool(effect='none')
def report(name):
    export(name)
    return name
report('a')
""")
    bench.record(program)
    assert "plumbing" not in bench.replay()
    bench.write(program.replace("export(name)", "export(name, 'more')"))
    assert "verdict: different" in bench.replay(code=1)


def test_a_rule_can_be_turned_off(bench: Bench) -> None:
    """Then its exports are calls like any other."""
    bench.record(agent("export('a')"), plumbing="{ otlp = 'off' }")
    assert "plumbing" not in bench.replay()
    bench.write(agent("export('a', 'b')"))
    assert "verdict: different" in bench.replay(code=1)


def test_a_project_adds_a_rule(bench: Bench) -> None:
    """An endpoint of its own, with what it answers."""
    program = agent("print(ask('/audit/run7', {'line': LINES})['ok'])")
    program = program.replace("['ok']", ".get('ok', True)")
    bench.record(program.replace("LINES", "1"), plumbing="{ audit = 'POST 127.0.0.1/audit/* 200 {\"ok\": true}' }")
    bench.write(program.replace("LINES", "2") + "\nprint(ask('/audit/run8', {})['ok'], file=sys.stderr)\n")
    assert "plumbing 2" in bench.replay(code=1)


QUEUE = read_program("plumbing/queue_of_telemetry.py")


def test_a_queue_beside_a_thread_that_only_sleeps(bench: Bench) -> None:
    """What sleeps periodically does not keep an exporter, and who waits for it, from going on."""
    bench.record(QUEUE)
    assert "verdict: same" in bench.replay()
    for count in ("1", "9"):
        bench.write(QUEUE.replace("range(3)", f"range({count})"))
        last = bench.replay()
        assert "verdict: same" in last, last
        assert f"plumbing {count}" in last
