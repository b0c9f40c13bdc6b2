"""Proves that an alarm rings in a fork when it is due there, wherever the agent is, and that the fork replays so."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest

import reenact
from tests.forks.conftest import Forks
from tests.ringing import ALARMS, RUNG

pytestmark = ALARMS

HEAD = (
    RUNG
    + """
    import urllib.request

    @reenact.tool(effect="read")
    def patient(seconds):
        try:
            return work(seconds)
        except TimeoutError:
            return "gave up"

    def ask(seconds):
        with urllib.request.urlopen(f"{os.environ['WORLD']}/{seconds}") as answer:
            return answer.read().decode()

    with reenact.step("plan", {"seconds": SECONDS, "limit": LIMIT}) as state:
        seconds, limit = state["seconds"], state["limit"]
"""
)
LIMITED = """
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        print(CALL(seconds))
    except TimeoutError as error:
        print("late", error)
    print("pending", signal.setitimer(signal.ITIMER_REAL, 0)[0] > 0)
    time.sleep(1)
    print("end", work(0.01))
"""
LATE, DONE = "late SIGALRM\npending False\nend worked 0.01\n", "pending True\nend worked 0.01\n"


class Slow(BaseHTTPRequestHandler):
    """Answers after as many seconds as it is asked for, unless the world ends before."""

    ends = Event()

    def do_GET(self) -> None:
        """The one question."""
        self.ends.wait(float(self.path.strip("/")))
        try:
            self.send_response(200)
            self.send_header("Content-Length", "8")
            self.end_headers()
            self.wfile.write(b"answered")
        except OSError:  # nobody waits for it any more
            pass

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def world(forks: Forks) -> Iterator[Forks]:
    """A desk beside a server that takes its time."""
    Slow.ends.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        forks.desk.environ["WORLD"] = f"http://127.0.0.1:{server.server_port}"
        yield forks
        Slow.ends.set()
        server.shutdown()


def _program(body: str, seconds: float, limit: float) -> str:
    return (HEAD + body).replace("SECONDS", str(seconds)).replace("LIMIT", str(limit))


CASES = {
    "it rings in a tool that takes longer": ("work", (0.05, 2.0), ("seconds=9.0", "limit=0.5"), "all", LATE),
    "it rings before a recorded answer": ("work", (1.5, 9.0), ("limit=0.2",), "none", LATE),
    "it does not ring in what ends before": ("work", (9.0, 0.5), ("seconds=0.05",), "all", "worked 0.05\n" + DONE),
    "it rings later, and what it cut short is made again": ("work", (1.0, 0.3), ("limit=9.0",), "all",
                                                            "worked 1.0\n" + DONE),
    "what a tool made of it is no answer either": ("patient", (1.0, 0.3), ("limit=9.0",), "all", "worked 1.0\n" + DONE),
    "it rings in an exchange that takes longer": ("ask", (0.05, 2.0), ("seconds=9.0", "limit=0.5"), "all", LATE),
    "it rings before a recorded exchange is answered": ("ask", (1.5, 9.0), ("limit=0.2",), "none", LATE),
    "an exchange that it cut short is made again": ("ask", (1.0, 0.3), ("limit=9.0",), "all", "answered\n" + DONE),
    "it rings in a sleep": ("time.sleep", (1.0, 9.0), ("limit=0.2",), "none", LATE),
    "it does not ring in a shorter sleep": ("time.sleep", (4.0, 2.5), ("seconds=0.1",), "none", "None\n" + DONE),
    "it rings as late as it is set": ("time.sleep", (0.3, 2.0), ("seconds=70.0", "limit=60.0"), "none", LATE),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_rings_when_it_is_due(world: Forks, name: str) -> None:
    call, (seconds, limit), changes, live, expected = CASES[name]
    recorded = world.record(_program(LIMITED.replace("CALL", call), seconds, limit))
    assert recorded != expected
    same = world.fork("plan#1", "--live", "none")
    assert same["printed"] == recorded
    world.replays_exactly(same["run"])
    sets = [word for change in changes for word in ("--set", change)]
    fork = world.fork("plan#1", *sets, "--live", live)
    assert fork["printed"] == expected, fork["said"]
    world.replays_exactly(fork["run"])
    world.parent = fork["run"]
    again = world.fork("plan#1", "--live", "none")
    assert again["printed"] == expected, again["said"]


LATE_TOOL = """
    @reenact.tool(effect="read")
    def deaf(seconds):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        try:
            time.sleep(seconds)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
        return "heard nothing"
"""


def _alarm_of(world: Forks, run: str) -> tuple[int, int]:
    """For how long the one alarm of a run was set, and how late its signal came, in milliseconds."""
    with reenact.open_store(str(world.desk.folder / ".reenact")) as store:
        ((at_us, times),) = [(each.at_us, each.times) for each in store.open(run).deliveries() if each.tag.kind == "i"]
    assert times is not None
    return (times.due_us - times.set_us) // 1000, (at_us - times.due_us) // 1000


def test_one_that_rang_late_rings_again_in_forks_that_change_nothing(world: Forks) -> None:
    """A busy machine is late by chance; here the tool itself blocks the signal for half a second."""
    program = _program(LATE_TOOL + LIMITED.replace("CALL", "deaf"), 0.7, 0.2)
    assert world.record(program) == LATE
    same = world.fork("plan#1", "--live", "none")
    assert same["printed"] == LATE, same["said"]
    fork = world.fork("plan#1", "--set", "seconds=0.9", "--set", "limit=0.3", "--live", "all")
    assert fork["printed"] == LATE, fork["said"]
    for run, limit_ms in ((world.parent, 200), (same["run"], 200), (fork["run"], 300)):
        set_for_ms, late_ms = _alarm_of(world, run)
        assert set_for_ms == limit_ms and late_ms > 400
    for run in (same["run"], fork["run"]):
        world.replays_exactly(run)
        world.parent = run
        again = world.fork("plan#1", "--live", "none")
        assert again["printed"] == LATE, again["said"]


WORKED = """
    signal.setitimer(signal.ITIMER_REAL, 50)
    sum(range(20_000_000))
    print(round(signal.getitimer(signal.ITIMER_REAL)[0], 3), limit)
"""


def test_what_is_left_of_it_behind_work_is_as_it_was_where_nothing_is_different(forks: Forks) -> None:
    recorded = forks.record(_program(WORKED, 0, 1))
    assert float(recorded.split()[0]) < 49.9, "the code has worked for longer than is put down to chance"
    assert forks.fork("plan#1", "--live", "none")["printed"] == recorded


@pytest.mark.parametrize("call", ["work", "ask"])
def test_what_it_cut_short_is_no_answer_where_nobody_may_be_asked(world: Forks, call: str) -> None:
    world.record(_program(LIMITED.replace("CALL", call), 1.0, 0.3))
    fork = world.fork("plan#1", "--set", "limit=9.0", "--live", "none", status=5)
    assert fork["printed"] == "" and fork["refused"], fork["said"]
    world.replays_exactly(fork["run"])


TICKS = """
    seen = []
    signal.signal(signal.SIGALRM, lambda number, frame: (seen.append(number), print("tick", len(seen))))
    signal.setitimer(signal.ITIMER_REAL, limit, limit)
    while len(seen) < seconds:
        time.sleep(0.11)
    print(signal.setitimer(signal.ITIMER_REAL, 0)[1] == limit, signal.getitimer(signal.ITIMER_REAL))
    time.sleep(1)
"""


@pytest.mark.parametrize("change", ["seconds=5", "seconds=2", "limit=20.0"])
def test_one_that_repeats_goes_on_until_it_is_taken_back(forks: Forks, change: str) -> None:
    forks.record(_program(TICKS, 3, 0.3))
    fork = forks.fork("plan#1", "--set", change, "--live", "none")
    ticks = range(1, 1 + (int(change[-1]) if change.startswith("seconds") else 3))
    assert fork["printed"] == "".join(f"tick {n}\n" for n in ticks) + "True (0.0, 0.0)\n", fork["said"]
    forks.replays_exactly(fork["run"])


LOOP = """
    async def main():
        stop = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGALRM, stop.set)
        signal.setitimer(signal.ITIMER_REAL, limit)
        try:
            await asyncio.wait_for(stop.wait(), seconds)
            print("asked to stop")
        except asyncio.TimeoutError:
            print("nobody asked")
        print("pending", signal.setitimer(signal.ITIMER_REAL, 0)[0] > 0)
    asyncio.run(main())
"""


@pytest.mark.parametrize(("change", "expected"), [
    ("limit=9.0", "nobody asked\npending True\n"),
    ("seconds=40.0", "asked to stop\npending False\n"),
])  # fmt: skip
def test_a_loop_is_told_by_its_own_handler(forks: Forks, change: str, expected: str) -> None:
    assert forks.record(_program(LOOP, 2.0, 0.4)) == "asked to stop\npending False\n"
    fork = forks.fork("plan#1", "--set", change, "--live", "none")
    assert fork["printed"] == expected, fork["said"]
    forks.replays_exactly(fork["run"])


BESIDE = """
    done = threading.Event()

    def beside():
        print(work(seconds))
        done.set()

    threading.Thread(target=beside).start()
    try:
        signal.setitimer(signal.ITIMER_REAL, limit)
        done.wait()
        print("done")
    except TimeoutError as error:
        print("late", error)
    done.wait()
    print(signal.alarm(0))
"""


@pytest.mark.parametrize(("changes", "expected"), [
    (("limit=400",), "worked 2.5\ndone\n398\n"),
    (("seconds=3.5", "limit=1.0"), "late SIGALRM\nworked 3.5\n0\n"),
    (("seconds=0.2", "limit=300"), "worked 0.2\ndone\n300\n"),
])  # fmt: skip
def test_a_wait_for_a_thread_that_works_in_the_world_is_given_up(
    forks: Forks, changes: tuple[str, ...], expected: str
) -> None:
    """The work is done in the world, so the alarm is as much nearer as the machine takes for it."""
    assert forks.record(_program(BESIDE, 2.5, 0.5)) == "late SIGALRM\nworked 2.5\n0\n"
    sets = [word for change in changes for word in ("--set", change)]
    fork = forks.fork("plan#1", *sets, "--live", "all")
    assert fork["printed"].splitlines()[:-1] == expected.splitlines()[:-1], fork["said"]
    at_most = int(expected.split()[-1])
    assert at_most // 2 <= int(fork["printed"].split()[-1]) <= at_most
    forks.replays_exactly(fork["run"])


ASKING = """
    def handle(number, frame):
        print("handler", work(0.3))

    signal.signal(signal.SIGALRM, handle)
    done = threading.Event()
    threading.Timer(seconds, done.set).start()
    signal.setitimer(signal.ITIMER_REAL, limit)
    done.wait()
    print("done", work(0.01))
"""


def test_a_handler_that_asks_ends_before_the_wait_that_it_interrupts(forks: Forks) -> None:
    forks.record(_program(ASKING, 0.2, 5.0))
    fork = forks.fork("plan#1", "--set", "seconds=0.6", "--set", "limit=0.4", "--live", "all")
    assert fork["printed"] == "handler worked 0.3\ndone worked 0.01\n", fork["said"]
    assert "verdict: same" in forks.desk.run("replay", fork["run"]).stderr  # a thread may have run when it came


VAIN = """
    signal.signal(signal.SIGALRM, lambda number, frame: None)
    signal.setitimer(signal.ITIMER_REAL, limit, limit)
    done = threading.Event()
    if seconds == 1:
        done.set()
    done.wait()
    print("done")
"""


def test_one_that_rings_for_ever_and_moves_nothing_is_no_hope(forks: Forks) -> None:
    assert forks.record(_program(VAIN, 1, 0.5)) == "done\n"
    fork = forks.fork("plan#1", "--set", "seconds=2", "--live", "all", status=1)
    assert "waits for something that will never come" in fork["message"]
