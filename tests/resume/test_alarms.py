"""Proves that a run which goes on has its alarms: those that were pending when it broke off, and those that it sets."""

from __future__ import annotations

import signal
import textwrap
from pathlib import Path

import pytest

from tests.desk import Desk
from tests.programs import read_program
from tests.ringing import ALARMS, RUNG

pytestmark = ALARMS

HEAD = (
    RUNG
    + """
    @reenact.tool(effect="read")
    def fall(order):
        if os.path.exists("fall"):
            time.sleep(0.5)  # for what has come to be kept
            os.kill(os.getpid(), signal.SIGKILL)
        return order
"""
)
PROGRAMS = {
    "one that was pending": """
        signal.alarm(2)
        print(work(0.2), fall(1), flush=True)
        try:
            print(work(50))
        except TimeoutError as error:
            print("late", error, signal.getitimer(signal.ITIMER_REAL))
    """,
    "one that had rung before, and another": """
        for limit in (0.3, 0.5):
            signal.setitimer(signal.ITIMER_REAL, limit)
            try:
                time.sleep(50)
            except TimeoutError as error:
                print("late", error, flush=True)
            print(fall(limit))
            time.sleep(0.8)
    """,
    "one that is taken back": """
        signal.setitimer(signal.ITIMER_REAL, 1.2)
        print(fall(1), signal.setitimer(signal.ITIMER_REAL, 0)[0] > 0, flush=True)
        print(work(1.5), signal.alarm(0))
    """,
    "one that repeats": """
        seen = []
        signal.signal(signal.SIGALRM, lambda number, frame: (seen.append(number), print("tick", len(seen))))
        signal.setitimer(signal.ITIMER_REAL, 0.4, 0.4)
        print(fall(1), flush=True)
        while len(seen) < 3:
            time.sleep(0.05)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(work(0.6), len(seen))
    """,
    "one that a loop hears": """
        async def main():
            stop = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGALRM, stop.set)
            signal.setitimer(signal.ITIMER_REAL, 1.0)
            print(fall(1), flush=True)
            await stop.wait()
            print("asked to stop")
        asyncio.run(main())
    """,
    "one that is waited for": """
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        print(fall(1), flush=True)
        signal.setitimer(signal.ITIMER_REAL, 0.4)
        print(int(signal.sigwait({signal.SIGALRM})))
        print(work(0.1))
    """,
    "those to itself, and from a thread": """
        signal.signal(signal.SIGUSR1, lambda number, frame: print("heard", number, flush=True))
        os.kill(os.getpid(), signal.SIGUSR1)
        print(fall(1), flush=True)
        os.kill(os.getpid(), signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        threading.Timer(0.3, os.kill, [os.getpid(), signal.SIGUSR1]).start()
        time.sleep(1.0)
        print(work(0.1))
    """,
}


def _broken(desk: Desk, program: str) -> None:
    """Record a program that is killed on its way."""
    (desk.folder / "agent.py").write_text(textwrap.dedent(HEAD) + textwrap.dedent(program))
    (desk.folder / "fall").touch()
    assert desk.record(["python", "agent.py"]).code == -signal.SIGKILL
    (desk.folder / "fall").unlink()


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_goes_on_as_the_program_does_by_itself(tmp_path: Path, name: str) -> None:
    desk = Desk(tmp_path)
    _broken(desk, PROGRAMS[name])
    bare, resumed = desk.run("python", "agent.py"), desk.run("reenact", "resume")
    assert (resumed.code, resumed.out) == (bare.code, bare.out) == (0, bare.out), resumed
    assert desk.differs(resumed) == ""


def test_one_that_nobody_handles_ends_it_as_it_ends_a_program(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    _broken(desk, "signal.signal(signal.SIGALRM, signal.SIG_DFL); signal.alarm(1); print(fall(1), flush=True); work(9)")
    assert desk.run("python", "agent.py").code == -signal.SIGALRM
    resumed = desk.run("reenact", "resume")
    assert resumed.code != 0 and b"ended by SIGALRM" in resumed.err and resumed.out == b"1\n", resumed


def test_those_of_the_processors_time_go_on(tmp_path: Path) -> None:
    """When one comes in the middle of a computation is not to be had again exactly; that it comes is."""
    desk = Desk(tmp_path)
    _broken(desk, """
        seen = []
        signal.signal(signal.SIGPROF, lambda number, frame: seen.append(number))
        signal.setitimer(signal.ITIMER_PROF, 0.6)
        print(fall(1), flush=True)
        while not seen:
            pass
        print(len(seen), signal.getitimer(signal.ITIMER_PROF))
    """)  # fmt: skip
    assert desk.run("reenact", "resume").out == b"1\n1 (0.0, 0.0)\n"
    assert b"verdict: same" in desk.replay().err


FORGOTTEN = read_program("resume/payment_that_is_cancelled.py")


def test_who_waits_for_what_never_comes_is_told_at_once(tmp_path: Path) -> None:
    """In real time too: time that passes brings nothing of it."""
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(textwrap.dedent(FORGOTTEN))
    assert desk.record(["python", "agent.py"]).out == b"cancelled\n"
    (desk.folder / "patient").touch()
    resumed = desk.run("reenact", "resume", "@:paying#1")
    assert resumed.code == 3 and b"given up before it ended" in resumed.err, resumed
