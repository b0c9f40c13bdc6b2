"""Proof that goldens run from warm interpreters come to what they come to in interpreters of their own, and that
nothing one of them does reaches the next."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from reenact.errors import UsageError
from reenact.seams.boot.fork_server_client import ForkServerClient, head_of
from reenact.testing.goldens.golden_batch import How, run_goldens
from reenact.testing.goldens.golden_execution import run_golden
from reenact.testing.goldens.golden_outcome import Outcome
from reenact.testing.goldens.opened_golden import open_golden
from tests.programs import read_program

from .yard import Yard

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

AGENT = read_program("goldens/leave_traces_behind.py")
OFTEN = ("calls(look) <= 3",)


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    made = Yard(tmp_path_factory.mktemp("yard"))
    made.write("agent.py", AGENT)
    for name, words, expect in (
        ("often", ["often"], OFTEN),
        ("raises", ["raise"], ('status == "ok"',)),
        ("exits", ["exit"], ("exit_status == 0",)),
        ("same", ["leave"], ()),
        ("leaves", ["leave", "often"], OFTEN),
        ("killed", ["kill", "often"], OFTEN),
        ("kills", ["kill", "parent", "often"], OFTEN),
    ):
        made.record("agent.py", name, *words)
        made.keep(name, expect)
        (made.project / "left.txt").unlink(missing_ok=True)
    yield made


@pytest.fixture
def here(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process as a command in the project would be."""
    yard.enter(monkeypatch)
    yield
    for mark in ("armed", "changed"):
        (yard.project / mark).unlink(missing_ok=True)


def above(process: int) -> int:
    """Its parent; 0 where it has gone."""
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def asks_for_it(process: int) -> bool:
    """Whether a process below this one has the name by which the agent asks for the end of its parent."""
    try:
        if Path(f"/proc/{process}/comm").read_text() != "end my parent\n":
            return False
    except OSError:
        return False
    while process not in (0, os.getpid()):
        process = above(process)
    return process == os.getpid()


@pytest.fixture
def killer() -> Iterator[None]:
    """Kills the parent of each process that asks for it."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            for each in filter(asks_for_it, [int(name) for name in os.listdir("/proc") if name.isdecimal()]):
                parent = above(each)
                if parent not in (0, 1, os.getpid()):
                    os.kill(parent, signal.SIGKILL)

    thread = threading.Thread(target=watch)
    thread.start()
    yield
    over.set()
    thread.join()


def told(outcome: Outcome) -> Outcome:
    """All of it but how long it took."""
    return replace(outcome, duration_us=0)


NAMES = ("often", "raises", "exits", "same", "leaves")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("changed", [False, True], ids=["as it was", "changed"])
def test_a_warm_run_comes_to_what_a_cold_one_does(yard: Yard, changed: bool) -> None:
    if changed:
        (yard.project / "changed").touch()
    seeds = [open_golden(yard.golden_dir.path(name)).golden.any_seed for name in NAMES]
    assert seeds == [True] * len(NAMES)
    cold = [told(run_golden(yard.golden_dir, name)) for name in NAMES]
    with ForkServerClient(1) as fork_server:
        warm = [told(run_golden(yard.golden_dir, name, start_it=fork_server)) for name in NAMES]
    assert warm == cold
    assert (fork_server.started, fork_server.served) == (1, len(NAMES))
    expected = ["stale"] * 3 + ["failed", "stale"] if changed else ["failed"] * 3 + ["passed", "failed"]
    assert [each.status for each in cold] == expected


@pytest.mark.usefixtures("here")
def test_nothing_is_left_for_the_next(yard: Yard) -> None:
    with ForkServerClient(1) as fork_server:
        every = [told(run_golden(yard.golden_dir, "leaves", start_it=fork_server)) for _ in range(3)]
    assert fork_server.started == 1
    assert every[0].status == "failed" and every[0].boundaries == 7
    assert every[1:] == every[:1] * 2


DEEP = """
import sys, traceback
import reenact

@reenact.tool(effect="read")
def look(what: str) -> str:
    return what

if len(sys.argv) > 1:
    print("".join(traceback.format_stack()))
else:
    look("".join(traceback.format_stack()))
look("it")
"""


@pytest.mark.usefixtures("here")
def test_a_program_that_looks_below_its_own_frames_is_judged_by_itself(yard: Yard) -> None:
    yard.write("deep.py", DEEP)
    yard.record("deep.py", "print")
    yard.keep("prints", ())
    yard.record("deep.py")
    yard.keep("asks", ())
    yard.keep("judged", ("calls(look) == 2",))
    names = ("prints", "asks", "judged")
    with ForkServerClient(1) as fork_server:
        assert [run_golden(yard.golden_dir, name, start_it=fork_server).status for name in names] == ["passed"] * 3
    assert fork_server.served == 3
    yard.write("deep.py", DEEP.replace("it", "another"))
    with ForkServerClient(1) as fork_server:
        failed = run_golden(yard.golden_dir, "prints", start_it=fork_server)
    assert failed.status == "failed" and "program.py" not in "".join(failed.differences)


@pytest.mark.usefixtures("here")
def test_a_killed_program_breaks_its_golden_only(yard: Yard) -> None:
    (yard.project / "armed").touch()
    with ForkServerClient(1) as fork_server:
        killed = run_golden(yard.golden_dir, "killed", start_it=fork_server)
        after = run_golden(yard.golden_dir, "often", start_it=fork_server)
    assert (killed.status, killed.exit_code) == ("broken", 4)
    assert "ended by SIGKILL" in killed.message
    assert after.status == "failed"
    assert fork_server.started == 1


@pytest.mark.usefixtures("here", "killer")
@pytest.mark.skipif(sys.platform != "linux", reason="a parent is found in /proc")
def test_a_killed_interpreter_breaks_the_golden_in_it_only(yard: Yard) -> None:
    (yard.project / "armed").touch()
    with ForkServerClient(1) as fork_server:
        killed = run_golden(yard.golden_dir, "kills", start_it=fork_server)
        after = run_golden(yard.golden_dir, "often", start_it=fork_server)
    assert killed.status == "broken"
    assert "ended by SIGKILL" in killed.message
    assert after.status == "failed"
    assert fork_server.started == 2


@pytest.mark.usefixtures("here", "killer")
@pytest.mark.skipif(sys.platform != "linux", reason="a parent is found in /proc")
def test_many_at_a_time(yard: Yard) -> None:
    (yard.project / "armed").touch()
    names = ["often", "kills", "raises", "exits", "same"]
    done: list[str] = []
    found = run_goldens(yard.golden_dir, names, How(workers=2), done=lambda each: done.append(each.name))
    assert [each.name for each in found] == names
    assert sorted(done) == sorted(names)
    assert [each.status for each in found] == ["failed", "broken", "failed", "failed", "passed"]


@pytest.mark.usefixtures("here")
def test_programs_that_run_at_a_time_share_one_start(yard: Yard) -> None:
    names = [*NAMES, *NAMES]
    with ForkServerClient(3) as fork_server, ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda name: told(run_golden(yard.golden_dir, name, start_it=fork_server)), names))
    assert (fork_server.started, fork_server.served) == (1, len(names))
    assert found[: len(NAMES)] == found[len(NAMES) :]


@pytest.mark.usefixtures("here", "killer")
@pytest.mark.skipif(sys.platform != "linux", reason="a parent is found in /proc")
def test_a_killed_twin_is_known_by_its_status_while_another_goes_on(yard: Yard) -> None:
    (yard.project / "armed").touch()
    names = ["often", "kills", "often", "often"]
    with ForkServerClient(2) as fork_server, ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda name: run_golden(yard.golden_dir, name, start_it=fork_server), names))
    assert [each.status for each in found] == ["failed", "broken", "failed", "failed"]
    assert "ended by SIGKILL" in found[1].message


@pytest.mark.parametrize(
    ("argv", "head"),
    [
        (["python", "agent.py", "a", "-x"], 2),
        (["/usr/bin/python3.11", "-m", "agent", "a"], 3),
        (["python3", "-u", "-c", "print()", "b"], 4),
        (["python", "-X", "dev", "agent.py"], 0),
        (["python", "-"], 0),
        (["python"], 0),
        (["python", "-m"], 0),
        (["uvicorn", "app:app"], 0),
        ([], 0),
    ],
)
def test_how_much_of_a_command_is_the_program(argv: list[str], head: int) -> None:
    assert head_of(argv) == head


def test_a_program_of_another_kind_is_started_by_itself(tmp_path: Path) -> None:
    with ForkServerClient(1) as fork_server:
        status = fork_server(["/bin/sh", "-c", "exit 3"], os.environ, cwd=str(tmp_path), stdin=None)
    assert (status, fork_server.started) == (3, 0)


def test_a_program_that_is_not_there_is_refused_as_ever(tmp_path: Path) -> None:
    with ForkServerClient(1) as fork_server, pytest.raises(UsageError, match="cannot be started"):
        fork_server([str(tmp_path / "python"), "agent.py"], os.environ, cwd=str(tmp_path))


def test_an_interpreter_that_cannot_boot_costs_nothing_but_its_start(tmp_path: Path) -> None:
    with ForkServerClient(1) as fork_server:
        status = fork_server(
            [sys.executable, "-c", "raise SystemExit(5)"], {"PATH": "", "REENACT_BOOT": ""}, cwd=str(tmp_path)
        )
    assert (status, fork_server.started, fork_server.served) == (5, 1, 0)
