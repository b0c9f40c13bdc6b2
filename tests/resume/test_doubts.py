"""A write in doubt that comes up on the way stops a resumption: it asks on a terminal, else names what to type."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import reenact
from reenact.errors import EffectInDoubt, UsageError
from reenact.facts.call import Call, Effect, Kind
from reenact.facts.effects import Claim, Identities
from tests.kit.recorded import Workbench
from tests.resume.conftest import Scene, at_a_terminal
from tests.resume.test_resume_points import WHOLE


def test_from_a_step_it_names_what_to_type_and_asks_at_a_terminal(scene: Scene) -> None:
    scene.mark("die 3")
    scene.record()
    scene.mark("die 3", False)
    told = json.loads(scene.reenact("--json", "resume", "@:paying#1", code=3).out)
    command = told["doubted"]["next_command"].split()
    run = scene.runs()[-1]["run"]
    assert command[:2] == ["reenact", "resume"] and command[2].startswith(f"{run[-8:]}:")
    assert command[3:] == ["--settle", "retry"] and told["doubted"]["name"] == "pay"
    assert f"next: {' '.join(command)}" in told["message"]
    code, out, err = at_a_terminal(scene.desk, "retry\n", "resume", f"{run}:paying#1")
    assert (code, out.splitlines()) == (0, [*WHOLE[:2], *WHOLE]), err
    assert "pay is in doubt: it was begun as event" in err
    assert list(scene.counts()["asked"].values()) == [1, 1, 2, 1, 1]
    scene.replays_exactly("@")


def test_a_write_that_raised_is_said_to_have_raised(scene: Scene) -> None:
    agent, jam = scene.folder / "agent.py", "    if os.path.exists('jam'): raise OSError('the printer is jammed')\n"
    agent.write_text(agent.read_text().replace("    return receipt\n", jam + "    return receipt\n"))
    scene.mark("jam")
    assert scene.record().code == 1
    scene.mark("jam", False)
    said = scene.reenact("resume", code=3).err.decode()
    assert "raised OSError: the printer is jammed: whether it happened is not known" in said
    assert "the error does not tell whether it had acted before; --settle" in said and "under way" not in said
    number = said.partition("pay (event ")[2].partition(",")[0]
    code, out, err = at_a_terminal(scene.desk, "done\n1\n", "resume")
    assert (code, out.splitlines()) == (0, WHOLE), err
    assert f"reenact: pay (event {number}) raised OSError: the printer is jammed.\n" in err
    assert set(scene.counts()["asked"].values()) == {1}


def test_what_was_done_before_the_question_is_not_done_again(scene: Scene) -> None:
    scene.mark("die 2")
    scene.record()
    scene.mark("die 2", False)
    run = scene.runs()[0]["run"]
    scene.mark("die 4")  # a fork writes on, and is killed in the middle of a write
    scene.desk.run("reenact", "fork", f"{run}:0", "--allow-write", "pay", "--settle", "retry")
    scene.mark("die 4", False)
    code, out, err = at_a_terminal(scene.desk, "retry\nstop\n", "resume", run)
    assert (code, out.splitlines()) == (3, WHOLE[:3]), err
    assert "was under way when the run broke off" in err and "pay is in doubt" in err
    assert list(scene.counts()["asked"].values()) == [1, 2, 1, 1], "a word on one write is none on another"
    told = json.loads(scene.reenact("--json", "resume", run, "--settle", "retry").out)
    asked = [answer["name"] for answer in told["answers"] if answer["how"] == "live"]
    assert asked.count("price") == 1, "what the stopped attempt has read is answered from it"
    assert told["run"] == run
    assert list(scene.counts()["asked"].values()) == [1, 2, 1, 2, 1]
    scene.replays_exactly(run)


def test_what_happened_is_said_with_its_result(scene: Scene) -> None:
    scene.mark("die 3")
    scene.record()
    scene.mark("die 3", False)
    run = scene.runs()[-1]["run"]
    told = json.loads(scene.reenact("--json", "resume", f"{run}:paying#1", "--settle", "done", code=3).out)
    command = told["doubted"]["next_command"]
    assert "--settle done --result " in command and command in told["message"]
    words = [word.replace("'{…}'", "3") for word in command.split()[1:]]
    done = scene.reenact(*words)
    assert done.out.decode().splitlines() == WHOLE
    assert set(scene.counts()["asked"].values()) == {1}, "nothing is paid twice"
    scene.replays_exactly("@")


def test_at_a_terminal_the_result_is_asked_for(scene: Scene) -> None:
    scene.mark("die 3")
    scene.record()
    scene.mark("die 3", False)
    code, out, err = at_a_terminal(scene.desk, "done\n3\n", "resume")
    assert (code, out.splitlines()) == (0, WHOLE), err
    assert "What was its result?" in err
    assert set(scene.counts()["asked"].values()) == {1}


def test_in_code_the_error_names_what_to_type() -> None:
    @reenact.tool
    def send(text: str) -> int:
        return len(text)

    fails = [True]

    @reenact.record(store="memory:doubts")
    def agent() -> int:
        if fails:
            raise ConnectionError
        return send("a")

    with pytest.raises(ConnectionError):
        agent()
    with reenact.open_store("memory:doubts") as store:
        run = store.run("@")
        fails.clear()
        asked = Call(Kind.TOOL, "send", Effect.WRITE, "tool/1", {"tool": "send", "effect": "write"}, b'{"text":"a"}')
        assert store.claim(Claim(Identities(run.id, {}).of(asked), "gone", 4))
        with pytest.raises(EffectInDoubt) as raised:
            reenact.resume(run, entry=agent, store=store)
        assert raised.value.next_command == f"reenact resume {run.id[-8:]} --settle retry"


@pytest.fixture
def failed_write() -> Iterator[tuple[reenact.Store, reenact.Run, Callable[[], str], list[str]]]:
    """A run that a write failed in, in a store in memory; its function, and what it has sent."""
    sent: list[str] = []
    fails = [True]

    @reenact.tool
    def send(text: str) -> dict[str, str]:
        sent.append(text)
        if fails:
            raise TimeoutError("no answer")
        return {"id": "new"}

    @reenact.record(store="memory:settled-in-code")
    def agent() -> str:
        return send("a")["id"]

    with pytest.raises(TimeoutError):
        agent()
    fails.clear()
    with reenact.open_store("memory:settled-in-code") as store:
        yield store, store.run("@"), agent, sent


def answers(store: Any, run: reenact.Run) -> list[bytes]:
    return [store.open(run).body(event.answer) for event in store.events(run) if event.name == "send"]


def test_code_says_what_a_write_in_doubt_gave(failed_write: Any) -> None:
    store, run, agent, sent = failed_write
    number = store.event(f"{run.id}:send#1").number
    with pytest.raises(UsageError, match="what was it answered"):
        reenact.resume(run, entry=agent, store=store, settle="done")
    with pytest.raises(UsageError, match="there is no settle='perhaps'"):
        reenact.resume(run, entry=agent, store=store, settle="perhaps")
    again = reenact.resume(run, entry=agent, store=store, settle="done", result={"send#1": {"id": "old"}})
    assert (again.id, again.status, sent) == (run.id, "ok", ["a"]), "it was not sent again"
    assert answers(store, again) == [b'{"id":"old"}']
    other = reenact.resume(run.id, entry=agent, store=store, settle="done", result={number: {"id": "older"}})
    assert answers(store, other) == [b'{"id":"older"}'], "what was said wrong is said again"


def test_code_has_a_write_in_doubt_made_again(failed_write: Any) -> None:
    store, run, agent, sent = failed_write
    again = reenact.resume(run, entry=agent, store=store, settle="retry")
    assert (again.id, again.status, sent) == (run.id, "ok", ["a", "a"])


def test_a_result_is_asked_for_as_what_the_tool_has_given_before(tmp_path: Path) -> None:
    desk = Workbench(tmp_path)
    desk.script(
        "import os, signal\nimport reenact\n\n\n@reenact.tool\ndef pay(order):\n    if order:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n    return 'receipt'\n\n\npay(0)\npay(1)\n"
    )
    desk.record("agent.py", status=None)
    said = desk.run("resume", "@", "--settle", "done", status=2).stderr
    assert """--settle done --result 1='"…"'""" in said, said
