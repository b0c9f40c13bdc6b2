"""Each thing in which a first user's program once differed in a replay, as a program of a few lines."""

from __future__ import annotations

import signal
import subprocess
import textwrap
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.desk import Desk, Ended

PROGRAMS = {
    "the age of a line of the log": """
        import logging, time
        logging.basicConfig(level="INFO", format="%(relativeCreated)d %(asctime)s %(message)s")
        time.sleep(0.01)
        logging.info("hello")
    """,
    "a tool that prints": """
        import sys, reenact
        @reenact.tool(effect="read")
        def search(query):
            print("searching", query, end=" ... ")
            print("careful", file=sys.stderr)
            print("found", flush=True)
            return query * 2
        print("before", search("a"), search("b"), "after")
        search("last")
    """,
    "tools that log, in threads and in a step": """
        import logging, sys, reenact
        from concurrent.futures import ThreadPoolExecutor
        logging.basicConfig(level="INFO", stream=sys.stdout, format="%(asctime)s %(message)s")
        @reenact.tool(effect="read")
        def search(number):
            logging.info("start %d", number)
            with reenact.step("inside"):
                print("looking", number)
            logging.info("stop %d", number)
            return number
        with reenact.step("fan out"), ThreadPoolExecutor(3) as pool:
            print("own line")
            for number in pool.map(search, range(9)):
                print("got", number)
    """,
    "tools that print while others wait": """
        import asyncio, reenact
        @reenact.tool(effect="read")
        async def search(number):
            print("start", number)
            await asyncio.sleep(0.002 * (number % 3))
            print("stop", number)
            return number
        async def ask(number):
            print("asking", number)
            print("answer", await search(number))
        async def main():
            await asyncio.gather(*(ask(number) for number in range(6)))
        asyncio.run(main())
    """,
    "a tool that only computes, and prints": """
        import reenact
        @reenact.tool(effect="none")
        def total(prices):
            print("adding", prices)
            return sum(prices)
        @reenact.tool(effect="read")
        def fetch():
            print("fetching", total([1, 2]))
            return [3, 4]
        print(total(fetch()))
    """,
    "a tool that calls sys.exit": """
        import sys, reenact
        @reenact.tool(effect="read")
        def give_up():
            print("giving up")
            sys.exit(0)
        try:
            give_up()
        finally:
            print("cleaning")
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_replays_exactly(tmp_path: Path, name: str) -> None:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(textwrap.dedent(PROGRAMS[name]))
    recorded = desk.record(["python", "agent.py"])
    assert recorded.code == 0, recorded.err
    assert desk.differs(recorded) == ""


STOPPED = {
    "in a tool": (
        "import os, signal, time, reenact",
        "reenact.tool(effect='read')(lambda: (os.kill(os.getpid(), signal.SIGINT), time.sleep(60)))()",
    ),
    "requests": ("import requests", "requests.get(URL)"),
    "httpx": ("import httpx", "httpx.get(URL)"),
    "urllib": ("import urllib.request", "urllib.request.urlopen(URL)"),
    "openai": ("import openai", "openai.OpenAI(base_url=URL, api_key='k', max_retries=0).models.list()"),
}


def test_a_tool_whose_own_code_runs_prints_for_itself(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(textwrap.dedent(PROGRAMS["a tool that prints"]))
    recorded = desk.record(["python", "agent.py"])
    assert b"searching a ... found" in recorded.out
    assert desk.differs(recorded, "--through", "search") == ""
    assert "searching last" not in desk.run("reenact", "replay", "@", "--events").out.decode()


@pytest.fixture
def silent() -> Iterator[tuple[str, threading.Event]]:
    """A server that takes a request and then never answers."""
    asked, over = threading.Event(), threading.Event()

    class Silent(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None: ...

        def do_GET(self) -> None:
            asked.set()
            over.wait(60)

    with ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        over.set()
        server.shutdown()


@pytest.mark.parametrize("name", STOPPED)
def test_ctrl_c_where_the_program_waits_ends_it_again(
    tmp_path: Path, name: str, silent: tuple[str, threading.Event]
) -> None:
    desk = Desk(tmp_path)
    url, asked = silent
    first, call = STOPPED[name]
    agent = f"{first}\nURL = {url!r}\nprint('before', flush=True)\ntry:\n    {call}\nfinally:\n    print('after')\n"
    (desk.folder / "agent.py").write_text(agent)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = ["reenact", "record", "--", "python", "agent.py"]
    with subprocess.Popen(command, cwd=desk.folder, env=desk.environment, start_new_session=True, **pipes) as process:  # type: ignore[call-overload]
        out = b""
        if name != "in a tool":  # that one goes on by itself: what is read ahead of the line would be lost
            out = process.stdout.readline()
            assert out == b"before\n"
            assert asked.wait(30)
            process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=30)
    recorded = Ended(process.returncode, out + rest, err)
    assert recorded.code == -signal.SIGINT and b"after" in recorded.out
    assert desk.differs(recorded) == ""


@pytest.mark.parametrize("outlet", [">&-", "2>&-", "| true", "> /dev/full"])
def test_nobody_reading_a_replay_is_nothing_that_the_program_meets(tmp_path: Path, outlet: str) -> None:
    desk = Desk(tmp_path)
    if outlet.endswith("full") and not Path("/dev/full").exists():
        pytest.skip("there is no device that is always full")
    lines = "import os, sys\nfor n in range(20_000): print(n)\nsys.stdout.flush()\nos.write(1, b'raw')\nprint('end')\n"
    (desk.folder / "agent.py").write_text(lines)
    assert desk.record(["python", "agent.py"]).code == 0
    shell = f"{{ reenact replay @ 2>&3; echo status $? >&3; }} 3> said {outlet}"
    if outlet == "2>&-":
        shell = "reenact replay @ 2>&- >/dev/null; echo status $? > said"
    desk.run("sh", "-c", shell)
    said = (desk.folder / "said").read_text()
    assert "status 0" in said and "differs" not in said, said


@pytest.mark.parametrize("command", ["ls", "show @", "replay @ --events"])
def test_a_command_whose_output_is_closed_from_the_start_says_nothing_of_a_fault(tmp_path: Path, command: str) -> None:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text("print('hello')")
    assert desk.record(["python", "agent.py"]).code == 0
    done = desk.run("sh", "-c", f"reenact {command} >&-")
    assert done.code == 0 and b"unexpected" not in done.err, done.err
