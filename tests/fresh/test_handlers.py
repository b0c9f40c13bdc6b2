"""Proves that what a signal handler reads, draws and asks is its own in a replay, whatever it interrupts."""

from __future__ import annotations

import signal
import textwrap
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from reenact.facts.order import Interruption, Tag, interruption, signal_tag
from tests.desk import Desk
from tests.programs import read_program

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="there are no signals to speak of")

HEAD = read_program("fresh/handler_that_draws_and_asks.py")
ALARM = "signal.setitimer(signal.ITIMER_REAL, 0.1)"
TAIL = """
    print(time.time(), random.random(), os.urandom(2).hex(), measure("end"), len(seen))
"""
WAITS = {
    "an exchange": "print(fetch())",
    "a process": 'print(subprocess.run(["sleep", "0.4"]).returncode)',
    "a process that was begun before": 'print(subprocess.Popen(["sleep", "0.4"]).wait())',
    "what a process says": 'print(subprocess.check_output(["sh", "-c", "sleep 0.4; echo said"]))',
    "a tool that asks": """
    @reenact.tool(effect="read")
    def ask():
        return fetch() + str(measure("tool"))
    print(ask())
    """,
    "a sleep": "time.sleep(0.4)",
    "an exchange of a coroutine": """
    import asyncio
    import httpx
    async def main():
        async with httpx.AsyncClient(verify=False) as client:
            asks = [client.get(os.environ["WORLD"]) for _ in range(2)]
            ALARM  # now, so that it rings while the answers are awaited, and not while httpx is imported
            print([each.text for each in await asyncio.gather(*asks)])
    asyncio.run(main())
    """,
}


class Slow(BaseHTTPRequestHandler):
    """Answers after a while, unless the world ends before."""

    ends = Event()

    def do_GET(self) -> None:
        """The one question."""
        self.ends.wait(0.5)
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
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk beside a server that takes its time."""
    Slow.ends.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        yield Desk(tmp_path, {"WORLD": f"http://127.0.0.1:{server.server_port}"})
        Slow.ends.set()
        server.shutdown()


def _write(desk: Desk, program: str) -> None:
    """Keep a program; it sets its alarm at the last of the places that are marked."""
    *before, after = program.split("ALARM")
    (desk.folder / "agent.py").write_text("pass".join(before) + ALARM + after)


@pytest.mark.parametrize("name", WAITS)
def test_a_handler_reads_and_asks_what_it_did_wherever_the_program_waits(desk: Desk, name: str) -> None:
    body = textwrap.dedent(WAITS[name])
    _write(desk, HEAD + "ALARM\n" + body + "\n" + textwrap.dedent(TAIL))
    recorded = desk.record(["python", "agent.py"])
    assert recorded.out.count(b"handles") == 1, recorded.err
    for _ in range(2):
        replayed = desk.replay()
        assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err


COMPUTES = """
    total, end = 0, time.monotonic() + 0.4
    while time.monotonic() < end:
        total += time.time_ns() + random.getrandbits(8)
        for _ in range(20_000):
            total += 1
    print(total)
"""


def test_a_handler_that_interrupts_a_computation_takes_nothing_of_its_clocks(desk: Desk) -> None:
    """It comes where the program looks at a clock for as often as it had then; that this is its place is not proven."""
    _write(desk, HEAD + "ALARM\n" + textwrap.dedent(COMPUTES + TAIL))
    recorded = desk.record(["python", "agent.py"])
    assert recorded.out.count(b"handles") == 1, recorded.err
    replayed = desk.replay()
    assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err


RAISES = """
    class Late(Exception):
        pass

    def ring(number, frame):
        seen.append(measure("late"))
        print("rings", time.time(), flush=True)
        raise Late(len(seen))

    signal.signal(signal.SIGALRM, ring)
    for turn in range(2):
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            print(fetch())
        except Late as error:
            print("late", error)
    print(seen)
"""


def test_what_a_handler_does_before_it_raises_in_an_exchange_is_done_again(desk: Desk) -> None:
    _write(desk, HEAD + "ALARM\n" + textwrap.dedent(RAISES + TAIL))
    recorded = desk.record(["python", "agent.py"])
    assert b"late 2" in recorded.out and b"rings" in recorded.out, recorded.err
    for _ in range(2):
        replayed = desk.replay()
        assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err


BETWEEN = read_program("fresh/alarm_between_calls.py")


def test_a_handler_that_raises_before_a_call_is_made_raises_there_again(desk: Desk) -> None:
    """However fast the replay computes, it does not make a call that was not made."""
    (desk.folder / "agent.py").write_text(BETWEEN)
    recorded = desk.record(["python", "agent.py"])
    assert recorded.out.count(b"late") == 2 and b"answered" in recorded.out, recorded.err
    quicker = (desk.folder / "agent.py").read_text().replace("range(rounds)", "range(1)")
    (desk.folder / "agent.py").write_text(quicker)
    replayed = desk.replay()
    assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err


WHILE_IT_IS_MADE = read_program("fresh/alarm_while_a_request_is_made.py")


AMID_A_TASK = """
    signal.setitimer(signal.ITIMER_REAL, 0)
    import asyncio
    import aiohttp

    async def ask():
        async with aiohttp.ClientSession() as session:
            async with session.get(os.environ["WORLD"]) as answer:
                os.kill(os.getpid(), signal.SIGALRM)
                return await answer.text()

    async def main():
        print(await asyncio.gather(ask(), ask()), len(seen))

    asyncio.run(main())
"""


def test_a_handler_that_interrupts_a_task_reads_what_it_did(desk: Desk) -> None:
    pytest.importorskip("aiohttp")
    _write(desk, HEAD + "ALARM\n" + textwrap.dedent(AMID_A_TASK + TAIL))
    recorded = desk.record(["python", "agent.py"])
    assert recorded.out.count(b"handles") == 2, recorded.err
    replayed = desk.replay()
    assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err


def test_a_handler_that_raises_while_a_request_is_put_together_ends_that_call_again(desk: Desk) -> None:
    """The call has been issued, and its client does not wait for anything yet."""
    pytest.importorskip("requests")
    (desk.folder / "agent.py").write_text(WHILE_IT_IS_MADE)
    recorded = desk.record(["python", "agent.py"])
    assert recorded.out.count(b"late") == recorded.out.count(b"rings") == 2, recorded.err
    for _ in range(2):
        replayed = desk.replay()
        assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err


@pytest.mark.parametrize(
    ("place", "kept"),
    [
        (Interruption(1, 0, 0), Interruption(1, 0, 0)),
        (Interruption(7, 12, -1), Interruption(7, 12, -1)),
        (Interruption(3, 999_999, 1_000_000), Interruption(3, 999_999, 1_000_000)),
        (Interruption(3, 5, 1 << 20), Interruption(3, 0, -1)),
        (Interruption(3, 1 << 20, 5), Interruption(3, 0, -1)),
    ],
)
def test_where_a_signal_came_is_kept_in_its_turn(place: Interruption, kept: Interruption) -> None:
    packed = place.packed()
    assert packed < 1 << 63 and interruption(Tag("i", "root", 14, packed)) == kept


def test_recordings_of_before_do_not_say_where_a_signal_came() -> None:
    assert interruption(Tag("i", "root", 14, 0)) is None
    assert interruption(Tag("i", "root", 14, 4_000)) is None
    assert interruption(signal_tag("root", 14, 3)) is None


IN_AN_EXCHANGE = """
    signal.setitimer(signal.ITIMER_REAL, 0)
    import asyncio
    import httpx

    async def connects(name, info):
        if name == "connection.connect_tcp.started" and not seen:
            os.kill(os.getpid(), signal.SIGALRM)

    async def ask(client):
        return (await client.get(os.environ["WORLD"], extensions={"trace": connects})).text

    async def main():
        async with httpx.AsyncClient(verify=False) as client:
            print(await asyncio.gather(ask(client)))
    asyncio.run(main())
"""


def test_a_handler_asks_in_an_exchange_of_a_task_while_its_loop_waits(desk: Desk) -> None:
    """In the replay it runs in the wait of the loop itself, which has to hear that an answer has come meanwhile."""
    _write(desk, HEAD + "ALARM\n" + textwrap.dedent(IN_AN_EXCHANGE + TAIL))
    recorded = desk.record(["python", "agent.py"])
    assert recorded.out.count(b"handles") == 1 and recorded.out.count(b"answered") == 1, recorded.err
    replayed = desk.replay()
    assert (replayed.code, replayed.out) == (0, recorded.out), replayed.err
