"""The steps of a failed run are ranked with reasons, shown as a hint, and a model is asked only with consent, once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bench.suspicion.attribution import best_positions, report
from bench.suspicion.halves import halves
from bench.suspicion.rates import rate, wilson
from reenact.facts.suspicions import Act, Course, suspicions
from reenact.facts.suspicions.healthy_runs import profile, unheard_of
from reenact.facts.suspicions.ranking import Suspect, ranked
from reenact.store.back_ends import open_store
from tests.desk import Desk
from tests.programs import read_program
from tests.suspicions.test_rules import model, tool

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "suspicious-events.md"


def rank(*acts: Act, **more: Any) -> list[Suspect]:
    course = Course(acts, failed=True, **more)
    return ranked(course, suspicions(course))


def test_the_step_that_a_run_ended_with_comes_first() -> None:
    steps = rank(tool(1, args=1), tool(2, args=2), tool(3, args=3, error="ValueError: no"))
    assert steps[0].event == 3 and "the run ended with it" in steps[0].reasons
    steps = rank(tool(1, args=1), tool(2, args=2), error="KeyError: 'price'")
    assert (steps[0].event, steps[0].reasons) == (2, ("the last step before the exception",))
    assert rank(tool(1, args=1), error="exit status 3") == []


def test_an_ignored_error_is_the_doing_of_the_answer() -> None:
    asked, bad, answer = (
        model(1, "", ("refund", {})),
        tool(2, "refund", result="Error: declined"),
        model(3, "Refunded."),
    )
    assert rank(asked, bad, answer)[0].event == 3


def test_early_steps_that_act_come_first_and_plans_ends_and_tasks_do_not_count() -> None:
    plan = Act(1, asked.sort, "model", "Planner (thought)", said=asked.said) if (asked := model(1, "first")) else None
    assert plan is not None
    steps = rank(
        plan, model(2, "You are given a task"), model(3, "I search"), model(4, "I answer"), model(5, "TERMINATE")
    )
    assert [step.event for step in steps] == [3, 4]
    assert not any(step.evident for step in steps), "nothing but their places speaks for them"
    guessed = rank(model(1, "I search"), model(2, "Let us assume it is 12"))
    assert guessed[1].evident and 'it says "assume"' in guessed[1].reasons


def test_code_that_nothing_has_run_and_calls_without_fruit_are_reasons() -> None:
    code = "Run this:\n```python\nprint(1)\n```"
    steps = {step.event: step.reasons for step in rank(model(1, code), model(2, "It is 1."))}
    assert "the code of #1 was not run before it" in steps[2]
    failed = {step.event: step.reasons for step in rank(model(1, code), tool(2, "terminal", result="exitcode: 1 (no)"))}
    assert "terminal #2 failed at once" in failed[1]
    empty = {
        step.event: step.reasons
        for step in rank(model(1, code), tool(2, "sh", result="exitcode: 0 (ok)\nCode output: "))
    }
    assert "sh #2 gave nothing" in empty[1]


def test_what_healthy_runs_never_do_is_strange_from_three_of_them_on() -> None:
    fine = Course((tool(1, "find", result=["x"]), tool(2, "pay", result="paid")))
    wrong = Course(
        (tool(1, "find", result=[]), tool(2, "pay", result="paid"), tool(3, "pay", result="paid")), failed=True
    )
    healthy = [profile(fine)] * 3
    assert unheard_of(fine, healthy) == {}
    assert unheard_of(wrong, healthy) == {
        1: "find gives nothing (in none of 3 healthy runs)",
        3: "pay comes after pay (in none of 3 healthy runs)",
    }
    assert unheard_of(wrong, healthy[:2]) == {}
    assert ranked(wrong, (), healthy)[0].event == 1


def test_the_split_is_fixed_and_the_intervals_are_those_of_wilson() -> None:
    build, test = halves("Hand-Crafted", [f"{n}.json" for n in range(7)])
    assert (build, test) == halves("Hand-Crafted", [f"{n}.json" for n in reversed(range(7))])
    assert "0.json" in build and len(build) == 4 and sorted(build + test) == [f"{n}.json" for n in range(7)]
    assert halves("Algorithm-Generated", [f"{n}.json" for n in range(7)]) != (build, test)
    assert tuple(round(each, 4) for each in wilson(8, 10)) == (0.4902, 0.9433)
    assert rate(0, 10) == "0/10 = 0.00 (0.00 to 0.28)" and rate(0, 0) == "-"


def test_the_docs_print_the_rates_that_are_measured(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not (shared_data / "trajectories" / "who-and-when").is_dir():
        pytest.skip("no trajectories in the shared data")
    monkeypatch.setenv("REENACT_SHARED", str(shared_data.parent))
    assert report() in PAGE.read_text(encoding="utf-8"), "python -m bench.suspicion prints the table again"
    assert best_positions([]) == ()


AGENT = read_program("suspicions/price_that_is_not_there.py")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk with three healthy runs and one that failed."""
    found = Desk(tmp_path)
    (found.folder / "agent.py").write_text(AGENT)
    for sku in ("cup", "cup", "cup", "lamp"):
        found.run("python", "agent.py", sku)
    return found


class _Judge(BaseHTTPRequestHandler):
    """Answers every question with the same opinion, and counts them."""

    asked: list[Any]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(body)
        text = json.dumps({"choices": [{"message": {"content": '{"steps": [3, 99], "reason": "no \\u001b[31mlamp"}'}}]})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def judge() -> Iterator[tuple[str, list[Any]]]:
    """A model on loopback that judges: its address, and what it was asked."""
    asked: list[Any] = []
    handler = type("Handler", (_Judge,), {"asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
        server.shutdown()
        thread.join()


def test_show_ends_a_failed_run_with_a_hint_and_a_healthy_one_without(desk: Desk) -> None:
    shown = desk.run("reenact", "show", "@failed", more={"COLUMNS": "140"}).out.decode()
    assert "  hint      look at #3 first: the last step before the exception; price gives nothing (in " in shown
    assert b"hint" not in desk.run("reenact", "show", "@~1").out
    (desk.folder / "short.py").write_text(AGENT.replace('("cup", "jug", "pan")', "()"))
    assert desk.run("python", "short.py", "lamp").code == 1
    assert b"hint" not in desk.run("reenact", "show", "@").out, "three steps would all be named"
    lines = [json.loads(line) for line in desk.run("reenact", "--json", "show", "@~1").out.splitlines()]
    (hint,) = [line for line in lines if line.get("type") == "hint"]
    assert [step["event"] for step in hint["steps"]] == [3] and len(hint["steps"][0]["reasons"]) == 2


def test_a_thinned_run_is_no_pattern_of_health(desk: Desk) -> None:
    """What it did is not known: what it seems not to do is nothing strange."""
    strange = b"(in none of 3 healthy runs)"
    assert strange in desk.run("reenact", "show", "@failed", more={"COLUMNS": "400"}).out
    with open_store(desk.folder / ".reenact") as store:
        (newest, *_) = store.runs(status="ok")
        assert store.thin(newest.id, "sample 0.1")
    shown = desk.run("reenact", "show", "@failed", more={"COLUMNS": "400"}).out
    assert b"hint" in shown and b"healthy runs)" not in shown, "two are too few"
    assert desk.run("python", "agent.py", "cup").code == 0
    assert strange in desk.run("reenact", "show", "@failed", more={"COLUMNS": "400"}).out


def test_a_judge_is_asked_with_consent_alone_and_once(desk: Desk, judge: tuple[str, list[Any]]) -> None:
    address, asked = judge
    desk.environment |= {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "sk-tried-at-a-desk", "COLUMNS": "140"}
    failed = json.loads(desk.run("reenact", "--json", "show", "@failed").out.splitlines()[0])["run"]
    told = desk.run("reenact", "show", failed, "--judge", "gpt-4o")
    assert (told.code, asked) == (0, [])
    assert "nothing was sent, add --live to ask" in told.err.decode() and address in told.err.decode()
    for _ in range(2):
        shown = desk.run("reenact", "show", failed, "--judge", "gpt-4o", "--live")
        assert shown.code == 0 and "  judge     gpt-4o: #3 (run " in shown.out.decode(), shown.err
        assert "no \\x1b[31mlamp" in shown.out.decode() and b"\x1b" not in shown.out
    assert len(asked) == 1, "the answer is kept"
    (_, message) = asked[0]["messages"]
    steps = json.loads(message["content"])["steps"]
    assert [step["step"] for step in steps] == [0, 1, 2, 3] and steps[3]["tool"] == "price"
    line = json.loads(desk.run("reenact", "--json", "show", failed, "--judge", "gpt-4o").out.splitlines()[-1])
    assert (line["type"], line["steps"]) == ("judge", [3]) and line["run"]
    assert json.loads(desk.run("reenact", "--json", "show", line["run"]).out.splitlines()[0])["agent"] == "judge"
    assert desk.run("reenact", "show", "@", "--live").code == 2
