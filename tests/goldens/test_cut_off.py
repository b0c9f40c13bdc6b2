"""A run whose process was ended from outside is a golden up to that place, and goes on beyond it where models may."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import socket
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from reenact import open_store
from reenact.errors import RunNotFound
from reenact.recording.head_commit import REVISION
from tests.programs import read_program

from .project import Kept

AGENT = read_program("goldens/hang_within_or_between.py")


ONLY_CUT = "it fails there because the recorded run was cut off, and any code that goes on passes"
CASES = {"within": 5, "between": 4}
"""How many events each of the runs has: the last of the first is the call that it was ended in."""


class Cut(Kept):
    """A project with a run that was ended in a call of a model, and one that was ended between two calls."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.write(AGENT)
        (folder / ".gitignore").write_text(".reenact\nhome\nwithin\nbetween\n", encoding="utf-8")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "the agent")
        self.cases = {case: self._ended_in(case, events) for case, events in CASES.items()}

    def _ended_in(self, case: str, events: int) -> str:
        """Record one and end it where it hangs; gives its id."""
        recording = self.begin("record", "--", sys.executable, "agent.py", case)
        _until(lambda: (self.folder / case).exists() and _events(self.folder) == events)
        os.kill(int((self.folder / case).read_text()), signal.SIGTERM)
        said = recording.communicate(timeout=60)[1]
        assert f"interrupted at {events - 1}" in said, said
        return str(json.loads(self.run("ls", "--json", "-n", "1").stdout)["run"])

    def add_case(self, case: str, *options: str, name: str = "", status: int = 0) -> str:
        """``golden add``; gives what it says."""
        return self.run(
            "golden", "add", self.cases[case], "--as", name or case, "--force", *options, status=status
        ).stderr


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Cut:
    """The project. Tests put the agent's code back as they found it."""
    return Cut(tmp_path_factory.mktemp("project"))


@pytest.fixture(autouse=True)
def _as_it_was(cut: Cut) -> None:
    cut.write(AGENT)


@pytest.mark.parametrize("case", CASES)
def test_what_it_had_done_by_then_is_judged(cut: Cut, case: str) -> None:
    told = cut.add_case(case, "--expect", "calls(search) <= 1", "--holds", "calls(think) >= 1")
    assert "fails on today's code, as it should until you fix it: calls(search) = 2, expected <= 1" in told
    assert f"({CASES[case]} calls replayed, to where the recorded run was cut off)" in told
    assert "not proven" not in told and "(event 4)" not in told, "the call that was cut off has no answer to name"
    found = cut.outcome(case, status=1)
    assert found["cut"] and [each["holds"] for each in found["judged"]] == [False, True]
    assert f"the recorded run was cut off {'in' if case == 'within' else 'before'} think at " in found["message"]
    cut.write(AGENT.replace("while ", "while turn < 1 and "))
    assert (cut.outcome(case)["status"], cut.outcome(case)["cut"]) == ("passed", False)


def test_what_holds_up_to_there_passes_and_says_how_far(cut: Cut) -> None:
    assert "passes on today's code: 5 calls replayed, to where the recorded run was cut off" in cut.add_case(
        "within", "--holds", "calls(search) <= 2"
    )
    assert "to where the recorded run was cut off" in cut.run("golden", "run", "within").stdout
    assert cut.run("golden", "drift", "within").stdout.startswith("fresh")


def test_it_is_proven_on_the_commit_that_was_noted_while_it_ran(cut: Cut) -> None:
    cut.write(AGENT + "print('mended')\n")
    told = cut.add_case("between", "--expect", "calls(search) <= 1")
    assert f"proven on the recorded code, {cut.git('rev-parse', 'HEAD')[:12]}: it fails there, as it must" in told, told


def test_code_that_asks_something_else_before_it_comes_to_that_place_is_stale(cut: Cut) -> None:
    cut.add_case("between", "--expect", "calls(search) <= 1")
    looks = "@reenact.tool(effect='read')\ndef look():\n    return 1\n\nlook()\n"
    cut.write(AGENT.replace("turn = 0\n", looks + "turn = 0\n"))
    found = cut.outcome("between", status=3)
    assert (found["status"], found["stale_at"], found["cut"]) == ("stale", "look", False)


def test_its_end_is_what_models_are_asked_for(cut: Cut) -> None:
    told = cut.add_case("within", "--expect", "status == 'ok'", "--expect", "answer == 'done'")
    assert f"not proven on the recorded code: {ONLY_CUT}" in told and "as it should until you fix it" not in told
    found = cut.outcome("within", status=1)
    assert found["judged"][0]["seen"] == "status = 'interrupted', expected == 'ok'"
    assert "next: reenact golden run within --mode missing" in found["message"]
    cut.write(AGENT.replace("        hang()\n    return", "        return {'say': 'done'}\n    return"))
    assert cut.outcome("within", status=1)["cut"], "no model is asked for that unless it is said"
    done = cut.run("golden", "run", "within", "--mode", "missing")
    assert "1 live answer" in done.stdout and ONLY_CUT in done.stderr
    found = cut.outcome("within")
    assert (found["status"], found["used"], found["cut"]) == ("passed", {"overlay": 1}, False)
    assert ONLY_CUT in found["proves_nothing"] and ONLY_CUT in cut.run("golden", "run", "within").stdout


def test_what_any_code_that_goes_on_passes_is_not_proposed(cut: Cut) -> None:
    weak = cut.add_case("within", "--expect", "calls(search) <= 3", status=2)
    assert "try calls(search) <= 1\n" in weak, weak


def test_without_expectations_it_is_refused_by_what_would_help(cut: Cut) -> None:
    told = cut.add_case("within", name="same", status=3)
    assert "its process was ended from outside: it has no recorded end" in told
    assert (
        f"next: reenact golden add {cut.cases['within'][-8:]} --as same --force --holds 'calls(search) == 2'\n" in told
    )
    cut.run(*shlex.split(told.rpartition("next: reenact ")[2]))
    shutil.rmtree(cut.folder / "tests")
    assert not (cut.folder / "tests" / "goldens" / "same.reenact").exists()


def test_a_request_that_nobody_answered_stays_open_on_the_replay(tmp_path: Path) -> None:
    """What a client does when it is stopped is no part of a run whose process was ended."""
    asks = """
        import os, urllib.request
        open("pid", "w").write(str(os.getpid()))
        urllib.request.urlopen(os.environ["WORLD"])
    """
    project = Kept(tmp_path)
    project.write(textwrap.dedent(asks))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        project.environment["WORLD"] = f"http://127.0.0.1:{silent.getsockname()[1]}/silent"
        recording = project.begin("record", "--", sys.executable, "agent.py")
        _until(lambda: _events(tmp_path, revision=False) == 1)
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGTERM)
        assert "interrupted at 0" in recording.communicate(timeout=60)[1]
    said = project.add("silent", "--expect", "status == 'ok'").stderr
    assert "status = 'interrupted', expected == 'ok'" in said and f"not proven on the recorded code: {ONLY_CUT}" in said


def _events(folder: Path, *, revision: bool = True) -> int:
    """How many events of the newest run are in the store, once its commit is."""
    with suppress(RunNotFound), open_store(str(folder / ".reenact")) as store:  # which the program has yet to make
        newest = next(iter(store.runs()), None)
        if newest is None or (revision and REVISION not in store.open(newest).notes(None)):
            return 0
        return sum(1 for _ in store.events(newest))
    return 0


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it never comes to that"
        time.sleep(0.02)
