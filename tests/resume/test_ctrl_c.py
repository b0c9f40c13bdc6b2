"""A run that was ended by Ctrl-C goes on where that was typed: the interrupt is not had again, nor what came of it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.desk import KEYS, Desk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent to a process as a signal")

BEGINNING = """
import asyncio, os, time, urllib.request
import reenact

def here():
    open("here", "w").close()

@reenact.tool(effect="read")
def look(number):
    return number * 2

@reenact.tool
def write(text):
    with open("written", "a") as file:
        file.write(text + "\\n")

"""
PLACES = {
    "between two calls": """
        print(look(1), flush=True)
        write("one")
        here()
        time.sleep(2)
        print(look(2))
    """,
    "in a tool": """
        @reenact.tool(effect="read")
        def wait(seconds):
            here()
            time.sleep(seconds)
            return "waited"

        write("one")
        print(look(1), flush=True)
        print(wait(2), look(2))
    """,
    "in a request": """
        write("one")
        print(look(1), flush=True)
        here()
        try:
            urllib.request.urlopen(os.environ["SILENT"], timeout=2)
        except TimeoutError:
            print("no answer")
        print(look(2))
    """,
    "in tasks, which are cancelled and clean up": """
        @reenact.tool(effect="read")
        async def wait(number):
            try:
                await asyncio.sleep(1 + number / 10)
            finally:
                print("closed", look(10 + number))
            return number

        async def main():
            write("one")
            asyncio.get_running_loop().call_later(0.2, here)
            print(await asyncio.gather(*map(wait, range(3))))

        asyncio.run(main())
        print(look(2))
    """,
    "twice": """
        write("one")
        for number in range(2):
            here()
            time.sleep(1.5)
            print(look(number), flush=True)
    """,
}


def interrupted(desk: Desk, *argv: str) -> str:
    """Run one of our commands, and interrupt the program when it is there; gives what was said."""
    place = desk.folder / "here"
    place.unlink(missing_ok=True)
    with subprocess.Popen(
        argv, cwd=desk.folder, env={**desk.environment, **KEYS}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        limit = time.monotonic() + 40
        while not place.exists():
            assert time.monotonic() < limit and process.poll() is None
            time.sleep(0.01)
        time.sleep(0.1)  # it is about to wait there
        os.kill(_child(process.pid), signal.SIGINT)
        return process.stdout.read().decode()


def _child(parent: int) -> int:
    told = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    (found,) = [int(pid) for pid, above in map(str.split, told.splitlines()) if int(above) == parent]
    return found


@pytest.mark.parametrize("place", PLACES)
def test_it_goes_on_as_if_nothing_had_been_typed(tmp_path: Path, place: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        desk = Desk(tmp_path, {"SILENT": f"http://127.0.0.1:{silent.getsockname()[1]}/"})
        _goes_on(desk, place)


def _goes_on(desk: Desk, place: str) -> None:
    body = "\n".join(line.removeprefix("        ") for line in PLACES[place].splitlines())
    (desk.folder / "agent.py").write_text(BEGINNING + body)
    whole = desk.run("python", "agent.py")
    assert whole.code == 0, whole.err
    (desk.folder / "written").unlink()
    said = interrupted(desk, "reenact", "record", "--", "python", "agent.py")
    assert "failed: KeyboardInterrupt" in said, said
    if place == "twice":
        assert "KeyboardInterrupt" in interrupted(desk, "reenact", "resume", "@")
    done = desk.run("reenact", "resume", "@")
    assert (done.code, done.out) == (0, whole.out), done.err.decode()
    assert (desk.folder / "written").read_text() == "one\n", "no write is made twice"
    assert b"same (exact)" in desk.replay().err
