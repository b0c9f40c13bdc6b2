"""A run goes on from where it broke off: what was finished is never done again, what is in doubt waits for a word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import reenact
from reenact.errors import EffectInDoubt, UsageError
from tests.resume.conftest import Scene

RECEIVE = "RECEIPTS[order] = pay(order, amount)"
WHOLE = [f"order {n} receipt {n}" for n in range(1, 6)] + ["paid 140"]


def test_a_write_in_doubt_stops_it_and_is_made_again_under_its_own_key(scene: Scene) -> None:
    scene.mark("die 3")
    scene.record()
    scene.mark("die 3", False)
    before = scene.runs()[0]
    refused = scene.reenact("resume", code=3)
    assert b"pay (event" in refused.err and b"whether it happened is not known" in refused.err and refused.out == b""
    assert scene.runs() == [before]
    done = scene.reenact("resume", "--settle", "retry")
    assert done.out.decode().splitlines() == WHOLE
    asked = scene.counts()["asked"]
    assert [key.split()[0] for key in asked] == ["1", "2", "3", "4", "5"]
    assert list(asked.values()) == [1, 1, 2, 1, 1], "the third is asked for again under the key that it had"
    runs = scene.runs()
    assert [(run["run"] == before["run"], run["relation"], run["status"]) for run in runs] == [
        (False, "attempt", "interrupted"),
        (True, "", "ok"),
    ]
    assert runs[1]["started_us"] == before["started_us"]
    scene.replays_exactly("@")
    assert b"ended well" in scene.reenact("resume", code=2).err


@pytest.mark.parametrize("what", ["price", "price in no tool", "pay"])
def test_an_answer_that_was_cut_off_in_the_middle_is_asked_for_again(scene: Scene, what: str) -> None:
    what, _, in_no_tool = what.partition(" ")
    agent = scene.folder / "agent.py"
    if in_no_tool:
        agent.write_text(agent.read_text().replace('@reenact.tool(effect="read")\ndef price', "def price"))
    scene.mark(f"fall at {what} 2")
    scene.record()
    scene.mark(f"fall at {what} 2", False)
    assert "broken off" in scene.reenact("show").out.decode(), "its head had come"
    done = scene.reenact("resume", *(("--settle", "retry") if what == "pay" else ()))
    assert done.out.decode().splitlines() == WHOLE
    assert list(scene.counts()["asked"].values()) == [1, 2 if what == "pay" else 1, 1, 1, 1]
    scene.replays_exactly("@")


def test_what_is_said_to_be_done_is_not_made_again(scene: Scene) -> None:
    scene.mark("die 2")
    scene.record()
    scene.mark("die 2", False)
    number = next(
        line.split()[0]
        for line in scene.reenact("show", "--all").out.decode().splitlines()
        if "(order=2" in line and "pay" in line
    )
    asked = scene.reenact("resume", code=3).err.decode()
    assert f"--settle done --result {number}=" in asked
    asked = scene.reenact("resume", "--settle", "done", code=2).err.decode()
    assert "what was it answered?" in asked and f"--settle done --result {number}='…'" in asked
    for pasted in ("…", '"…"', "{…}"):
        scene.reenact("resume", "--settle", "done", "--result", f"{number}={pasted}", code=2)
    done = scene.reenact("resume", "--settle", "done", "--result", f"{number}=9")
    assert done.out.decode().splitlines() == [WHOLE[0], "order 2 receipt 9", *WHOLE[2:]]
    done = scene.reenact("resume", "--settle", "done", "--result", f"{number}=2")
    assert done.out.decode().splitlines() == WHOLE, "a wrong result is settled again, though the run has ended well"
    assert set(scene.counts()["asked"].values()) == {1}
    assert b"ended well" in scene.reenact("resume", code=2).err
    scene.replays_exactly("@")


def test_a_wrong_result_is_settled_again_where_the_run_has_failed_since(scene: Scene) -> None:
    agent = scene.folder / "agent.py"
    agent.write_text(agent.read_text().replace("    total += amount\n", "    total += amount + RECEIPTS[order]\n"))
    program = agent.read_text().replace('print("order", order, "receipt", pay(order, amount), flush=True)', RECEIVE)
    agent.write_text(program.replace("total = 0\n", "total, RECEIPTS = 0, {}\n"))
    scene.mark("die 2")
    scene.record()
    scene.mark("die 2", False)
    asked = scene.reenact("resume", "--settle", "done", code=2).err.decode()
    number = asked.partition("--result ")[2].partition("=")[0]
    failed = scene.reenact("resume", "--settle", "done", "--result", f'{number}="two"', code=1)
    assert b"unsupported operand" in failed.err
    done = scene.reenact("resume", "--settle", "done", "--result", f"{number}=2")
    assert done.out.decode().splitlines()[-1] == "paid 155"
    assert set(scene.counts()["asked"].values()) == {1}
    scene.replays_exactly("@")


def test_a_failed_run_makes_the_call_again_that_it_failed_with(scene: Scene) -> None:
    scene.mark("down")
    assert scene.record().code == 1
    assert scene.reenact("resume", code=1).out.decode().splitlines() == WHOLE[:-1]
    scene.mark("down", False)
    assert scene.reenact("resume").out.decode().splitlines() == WHOLE
    assert set(scene.counts()["asked"].values()) == {1}
    attempt, run = scene.runs()[-2:]
    assert (attempt["relation"], run["relation"], run["status"]) == ("attempt", "", "ok")
    scene.replays_exactly(run["run"])


def test_a_mended_failure_is_still_the_last_failure_and_can_be_forked(scene: Scene) -> None:
    scene.mark("down")
    assert scene.record().code == 1
    failed = scene.runs()[0]
    assert json.loads(scene.reenact("show", "@failed", "--json").out.splitlines()[0])["run"] == failed["run"]
    scene.mark("down", False)
    scene.reenact("resume")
    run = scene.runs()[-1]
    lay_us = run["environment"]["idle_us"]
    assert lay_us > 100_000, "a Python was started between the two"
    worked = (run["ended_us"] - run["started_us"] - lay_us) / 1e6
    near = f"duration > {worked - 0.001} and duration < {worked + 0.001}"
    assert run["tail"] in scene.reenact("ls", "--where", near).out.decode()
    attempt = json.loads(scene.reenact("show", "@failed", "--json").out.splitlines()[0])
    assert (attempt["relation"], attempt["error"]) == ("attempt", failed["error"])
    scene.desk.run("reenact", "fork", "@failed:0", "--live", "none")
    assert scene.runs()[0]["parent"] == attempt["run"], "it branches from what failed"


def test_from_a_step_it_is_a_run_of_its_own_and_repeats_no_write(scene: Scene) -> None:
    scene.record()
    before = scene.runs()[0]
    done = scene.reenact("resume", "@:paying#3")
    assert done.out.decode().splitlines() == WHOLE
    child, parent = scene.runs()
    kept = ("expires_us", "kept_for")
    assert {name: value for name, value in parent.items() if name not in kept} == {
        name: value for name, value in before.items() if name not in kept
    }
    assert parent["kept_for"].startswith(f"run {child['tail']} needs it")
    assert (child["relation"], child["parent"]) == ("resume", before["run"])
    assert set(scene.counts()["asked"].values()) == {1}
    scene.replays_exactly(child["run"])


def test_a_refusal_speaks_of_the_resumption_and_its_next_command_works(scene: Scene) -> None:
    scene.mark("down")
    scene.record()
    inside = next(
        line.split()[0]
        for line in scene.reenact("show", "--all").out.decode().splitlines()
        if " http " in line and "POST" in line
    )
    agent = scene.folder / "agent.py"
    code = agent.read_text()
    refusals = [scene.reenact("resume", f"@:{inside}", code=2).err.decode()]
    agent.write_text(code.replace("range(1, 6)", "range(2, 7)"))
    refusals.append(scene.reenact("resume", code=1).err.decode())
    assert "the code no longer reproduces the events before event" in refusals[-1]
    assert "reenact: the code has changed since the recording (agent.py)\n" in refusals[-1]
    agent.write_text(code)
    scene.mark("down", False)
    scene.reenact("resume")
    refusals.append(scene.reenact("resume", code=2).err.decode())
    for said in refusals:
        assert "fork" not in said, said
    for said in (refusals[0], refusals[-1]):
        *_, line = (each for each in said.splitlines() if "next: " in each)
        scene.reenact(*line.partition("next: reenact ")[2].split())


def test_in_this_process_and_with_words_for_what_cannot_be(tmp_path: Path) -> None:
    sent, broken = tmp_path / "sent", tmp_path / "broken"
    broken.touch()

    @reenact.tool
    def send(text: str) -> int:
        with sent.open("a") as file:
            file.write(text)
        return len(text)

    @reenact.tool(effect="read")
    def ask() -> str:
        if broken.exists():
            raise ConnectionError("no")
        return "yes"

    @reenact.record(store="memory:resumed")
    def agent(name: str) -> str:
        return f"{name} {send('a')} {ask()} {send('b')}"

    with pytest.raises(ConnectionError):
        agent("Ann")
    with reenact.open_store("memory:resumed") as store:
        run = store.run("@")
        broken.unlink()
        again = reenact.resume(run, entry=agent, store=store)
        assert (again.id, again.status, sent.read_text()) == (run.id, "ok", "ab")
        with pytest.raises(UsageError, match="ended well"):
            reenact.resume(run.id, entry=agent, store=store)


def test_a_write_that_failed_is_in_doubt() -> None:
    @reenact.tool
    def send(text: str) -> int:
        raise TimeoutError("no answer")

    @reenact.record(store="memory:doubted")
    def agent() -> int:
        return send("a")

    with pytest.raises(TimeoutError):
        agent()
    with reenact.open_store("memory:doubted") as store, pytest.raises(EffectInDoubt):
        reenact.resume("@", entry=agent, store=store)


CLOCKED = """
import hashlib, os, signal, time
import reenact

@reenact.tool(effect="read")
def look(query):
    return query

look("a")
began, today = time.monotonic(), time.time()
time.sleep(0.4)
if os.path.exists("fall"):
    hashlib.pbkdf2_hmac("sha256", b"", b"", 500_000)  # while it works, what has come is kept
    os.kill(os.getpid(), signal.SIGKILL)
print(time.monotonic() - began > 0.35, time.time() - today > 0.35)
print(look("b"))
"""


def test_a_clock_that_was_read_no_more_is_not_behind_what_had_come(scene: Scene) -> None:
    (scene.folder / "agent.py").write_text(CLOCKED)
    scene.mark("fall")
    scene.record()
    scene.mark("fall", False)
    assert b"next: reenact resume " in scene.reenact("show").err
    assert scene.reenact("resume").out == b"True True\nb\n"
    assert b"next: reenact replay " in scene.reenact("show").err
    scene.replays_exactly("@")
