"""Proves that a signal ends, or turns, a replay where it did so in the recording: wherever the program was waiting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.desk import Desk, Ended
from tests.programs import read_program

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="there are no signals to speak of")

RAISES = "signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(9))"
TELLS = "stop = threading.Event(); signal.signal(signal.SIGTERM, lambda number, frame: stop.set())"
FLAG = "seen = []; signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))"
BLOCKS = "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}); "
WORKS = "threading.Thread(target=lambda: [time.sleep(0.01) for turn in range(20)]).start()"
LOOP = """
async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    print('asked to stop')
"""
WAITS = {
    "sleep": (signal.SIGINT, "", "time.sleep(60)"),
    "lock": (signal.SIGINT, "lock = threading.Lock(); lock.acquire()", "lock.acquire()"),
    "queue": (signal.SIGINT, "", "queue.Queue().get()"),
    "thread": (signal.SIGINT, "", "list(ThreadPoolExecutor(2).map(time.sleep, [0.6, 0.7]))"),
    "coroutine": (signal.SIGINT, "", "asyncio.run(asyncio.sleep(60))"),
    "question": (signal.SIGINT, "", "input('? ')"),
    "process": (signal.SIGINT, "", "subprocess.run(['sleep', '60'])"),
    "handler that raises": (signal.SIGTERM, RAISES, "time.sleep(60)"),
    "handler that wakes": (signal.SIGTERM, TELLS, "while not stop.wait(0.05): pass"),
    "handler that notes": (signal.SIGTERM, FLAG, "while not seen: time.sleep(0.05)"),
    "handler of a loop": (signal.SIGTERM, LOOP, "asyncio.run(main())"),
    "pause": (signal.SIGTERM, FLAG, "signal.pause(); print(seen)"),
    "pause that is broken off": (signal.SIGINT, "", "signal.pause()"),
    "wait for the signal itself": (signal.SIGTERM, BLOCKS, "print(signal.sigwait({signal.SIGTERM, signal.SIGHUP}))"),
    "wait beside a thread": (signal.SIGTERM, BLOCKS + WORKS, "print(signal.sigwaitinfo([signal.SIGTERM]).si_signo)"),
}


def _waits(pid: int) -> None:
    """Return when every thread of a process sleeps and has done so for a moment; elsewhere than on Linux, guess."""
    if not os.path.isdir(f"/proc/{pid}"):
        time.sleep(1)
        return
    calm = 0
    before: list[str] = []
    for _ in range(1000):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        calm = calm + 1 if fields[0] == "S" and fields[11:13] == before else 0
        before = fields[11:13]
        if calm > 10:
            return
        time.sleep(0.02)
    raise AssertionError("it never waits")


def _interrupted(desk: Desk, sent: int, prepare: str, wait: str) -> Ended:
    imports = "import asyncio, os, queue, signal, subprocess, sys, threading, time\n"
    imports += "from concurrent.futures import ThreadPoolExecutor\n"
    body = f"print(os.getpid(), flush=True)\ntry:\n    {wait}\nfinally:\n    print('after')\n"
    (desk.folder / "agent.py").write_text(imports + textwrap.dedent(prepare) + "\n" + body)
    asked, answers = os.pipe()  # nobody answers, and it stays open: an end of input is no signal
    pipes = {"stdin": asked, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "bufsize": 0}
    command = ["reenact", "record", "--", "python", "agent.py"]
    try:
        with subprocess.Popen(
            command, cwd=desk.folder, env=desk.environment, start_new_session=True, **pipes
        ) as process:  # type: ignore[call-overload]
            first = process.stdout.readline()
            _waits(int(first))
            process.send_signal(sent)
            rest, err = process.communicate(timeout=30)
    finally:
        os.close(asked)
        os.close(answers)
    return Ended(process.returncode, first + rest, err)


@pytest.mark.parametrize("name", WAITS)
def test_a_signal_is_had_again_where_the_program_waited(tmp_path: Path, name: str) -> None:
    desk = Desk(tmp_path)
    recorded = _interrupted(desk, *WAITS[name])
    assert b"after" in recorded.out, recorded.err
    assert desk.differs(recorded) == ""


OWN = {
    "an alarm": """
        import signal, time
        def ring(number, frame):
            raise TimeoutError(signal.Signals(number).name)
        signal.signal(signal.SIGALRM, ring)
        print(signal.setitimer(signal.ITIMER_REAL, 0.3))
        try:
            time.sleep(1)
        except TimeoutError as error:
            print("rung", error, signal.alarm(0))
        print("slept on", time.sleep(0.5))
    """,
    "to itself": """
        import os, signal
        print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
        before = signal.signal(signal.SIGUSR1, lambda number, frame: print("first", number))
        os.kill(os.getpid(), signal.SIGUSR1)
        print(before, signal.getsignal(signal.SIGUSR1).__name__)
        signal.raise_signal(signal.SIGUSR1)
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            print("interrupted")
    """,
    "from a thread": """
        import os, signal, threading, time
        threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT]).start()
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            print("interrupted")
    """,
    "in the middle of work": """
        import signal
        seen = []
        signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        while not seen:
            pass
        print("done")
    """,
}


WAITED_FOR = read_program("fresh/signals_waited_for.py")


@pytest.mark.skipif(not hasattr(signal, "sigtimedwait"), reason="the system has no such waits")
def test_which_signal_a_program_waited_for_is_told_again(tmp_path: Path) -> None:
    """What it has sent itself is taken up, too: unblocked, it would end the process. No thread of ours catches it."""
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(WAITED_FOR)
    bare, recorded = desk.run("python", "agent.py"), desk.record(["python", "agent.py"])
    assert (recorded.code, recorded.out) == (bare.code, bare.out) == (0, bare.out), recorded.err
    for _ in range(2):
        assert desk.differs(recorded) == ""


@pytest.mark.parametrize("name", OWN)
def test_what_a_program_sends_to_itself_comes_once_and_in_its_place(tmp_path: Path, name: str) -> None:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(textwrap.dedent(OWN[name]))
    bare = desk.run("python", "agent.py")
    recorded = desk.record(["python", "agent.py"])
    assert (recorded.code, recorded.out) == (bare.code, bare.out) == (0, bare.out), recorded.err
    replayed = desk.replay()
    assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err


def test_no_frame_of_ours_stands_between_a_handler_and_what_it_interrupts(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    bare, recorded = desk.run("python", "agent.py"), desk.record(["python", "agent.py"])
    assert recorded.code == bare.code == -signal.SIGINT
    assert recorded.err.startswith(bare.err)


def test_a_program_that_waits_on_beyond_its_recording_is_stopped(tmp_path: Path) -> None:
    """A replay never hangs, whatever has been changed."""
    desk = Desk(tmp_path)
    agent = desk.folder / "agent.py"
    agent.write_text("import time\nfor _ in range(3): time.sleep(0.01)\n")
    assert desk.record(["python", "agent.py"]).code == 0
    agent.write_text("import time\nwhile True: time.sleep(0.01)\n")
    replayed = desk.replay()
    assert replayed.code == 1 and b"never handed over" in replayed.err, (sys.platform, replayed.err)


BESIDE = read_program("fresh/signal_beside_a_thread.py")


def test_what_a_handler_does_beside_a_thread_that_is_waited_for_is_in_order(tmp_path: Path) -> None:
    """The main thread waits, and so does not count; its handler does."""
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(BESIDE)
    recorded = desk.record(["python", "agent.py"])
    assert recorded.out.count(b"heard") == recorded.out.count(b"over") == 3, recorded.err
    for _ in range(2):
        assert desk.differs(recorded) == ""


RAISES_BESIDE = read_program("fresh/signal_that_raises_beside_a_thread.py")


def test_a_handler_that_raises_beside_a_thread_leaves_the_order_whole(tmp_path: Path) -> None:
    """What was counted for the handler is its strand's again: neither too much is held, nor too little."""
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(RAISES_BESIDE)
    recorded = desk.record(["python", "agent.py"])
    assert b"heard" in recorded.out, recorded.err
    for _ in range(2):
        assert desk.differs(recorded) == ""


WITHIN = """
import os, signal, time, reenact
seen = []

def handle(number, frame):
    seen.append(number)

@reenact.tool(effect="read")
def look(turn):
    signal.signal(signal.SIGTERM, handle)
    if turn == 1:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.05)
    return turn

turn = 0
while not seen:
    print(look(turn))
    turn += 1
"""


def test_a_handler_that_a_tool_set_for_the_agent_is_named_where_the_replay_differs(tmp_path: Path) -> None:
    """It is part of the call. Others are told of in ``test_interrupted_tools``."""
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(WITHIN)
    recorded = desk.record(["python", "agent.py"])
    assert recorded.out == b"0\n1\n", recorded.err
    replayed = desk.replay()
    assert replayed.code == 1
    assert b"SIGTERM came during a call that is answered as a whole: its handler did not run" in replayed.err
