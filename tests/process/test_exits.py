"""Proves that each way out of the interpreter is the same recorded, unrecorded and replayed, even in mid-call."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.servers.conftest import Upstream

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals end a program otherwise there")

ASK = """
import asyncio, atexit, os, signal, sys, threading, urllib.request
import httpx
URL = os.environ["UPSTREAM"]
def ask(path):
    return httpx.get(URL + path).json()["path"]
print(ask("/first"), flush=True)
"""
WAYS = {
    "the end": "print(ask('/last'))",
    "sys.exit with a status": "sys.exit(3)",
    "sys.exit with a text": "sys.exit('no more ' + ask('/last'))",
    "os._exit": "print(ask('/last'), flush=True); os._exit(4)",
    "an exception": "raise LookupError(ask('/last'))",
    "SystemExit in a coroutine": """
        async def main():
            async with httpx.AsyncClient() as client:
                other = asyncio.create_task(asyncio.sleep(30))
                sys.exit((await client.get(URL + "/last")).status_code - 195)
        asyncio.run(main())
        """,
    "an exception in a thread": """
        def work(): raise LookupError(ask('/thread'))
        thread = threading.Thread(target=work); thread.start(); thread.join()
        """,
    "a thread that outlives the main one": """
        go = threading.Event()
        def work():
            go.wait(); print(ask('/thread'), flush=True)
        threading.Thread(target=work).start(); go.set()
        """,
    "a daemon that is alive": """
        begun = threading.Event()
        def work():
            ask('/thread'); begun.set(); threading.Event().wait()
        threading.Thread(target=work, daemon=True).start(); begun.wait(); print(ask('/last'))
        """,
    "atexit asks a model": """
        atexit.register(lambda: print('at exit', ask('/exit'), flush=True)); sys.exit(2)
        """,
    "a thread starts at exit": """
        def late():
            try:
                thread = threading.Thread(target=lambda: print(ask('/late'), flush=True))
                thread.start(); thread.join()
            except RuntimeError as error:
                print(error)
        atexit.register(late)
        """,
    "SIGTERM that is handled": """
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(ask('/handler') and 5))
        os.kill(os.getpid(), signal.SIGTERM); threading.Event().wait(20)
        """,
    "a generator that is never exhausted": """
        def pieces():
            with httpx.stream("GET", URL + "/stream") as response:
                for piece in response.iter_bytes(6): yield piece
        left = pieces(); print(next(left)); print(ask('/last'))
        """,
    "an async generator that is never exhausted": """
        async def pieces(client):
            async with client.stream("GET", URL + "/stream") as response:
                async for piece in response.aiter_bytes(6): yield piece
        async def main():
            async with httpx.AsyncClient() as client:
                async for piece in pieces(client):
                    print(piece); break
                print((await client.get(URL + "/last")).json()["path"])
        asyncio.run(main())
        """,
    "KeyboardInterrupt": "raise KeyboardInterrupt",
}


def _run(folder: Path, upstream: Upstream, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        "UPSTREAM": upstream.url,
        "REENACT_STORE": f"sqlite:///{folder / 'runs.db'}",
    }
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False)


def _told(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Standard error without the frames of tracebacks: a thread's passes through one of ours."""
    return [line for line in done.stderr.splitlines() if not line.startswith("  ")]


@pytest.mark.parametrize("way", WAYS)
def test_the_way_out_is_the_same(way: str, tmp_path: Path, upstream: Upstream) -> None:
    (tmp_path / "agent.py").write_text(ASK + textwrap.dedent(WAYS[way]))
    reenact = (sys.executable, "-m", "reenact")
    bare = _run(tmp_path, upstream, sys.executable, "agent.py")
    recorded = _run(tmp_path, upstream, *reenact, "record", "--", sys.executable, "agent.py")
    told = [line for line in _told(recorded) if not line.startswith("reenact: ")]
    assert (recorded.stdout, told, recorded.returncode) == (bare.stdout, _told(bare), bare.returncode)
    asked = len(upstream.asked)
    replayed = _run(tmp_path, upstream, *reenact, "--json", "replay", "@")
    assert replayed.stdout, replayed.stderr
    report = json.loads(replayed.stdout.splitlines()[-1])
    assert (replayed.returncode, report["verdict"]) == (0, "exact"), report
    assert len(upstream.asked) == asked


def test_sigterm_that_nobody_handles_ends_it_as_always(tmp_path: Path, upstream: Upstream) -> None:
    (tmp_path / "agent.py").write_text(ASK + "os.kill(os.getpid(), signal.SIGTERM)\nprint('never')\n")
    bare = _run(tmp_path, upstream, sys.executable, "agent.py")
    recorded = _run(tmp_path, upstream, sys.executable, "-m", "reenact", "record", "--", sys.executable, "agent.py")
    assert (recorded.stdout, recorded.returncode) == (bare.stdout, bare.returncode) == ("/first\n", -15)
    shown = _run(tmp_path, upstream, sys.executable, "-m", "reenact", "--json", "ls")
    (run,) = map(json.loads, shown.stdout.splitlines())
    assert run["status"] == "interrupted"


def test_the_last_line_is_printed_however_often_both_are_told_to_end(tmp_path: Path) -> None:
    """``timeout`` signals the group: the program, and ``reenact`` beside it and behind it."""
    (tmp_path / "agent.py").write_text("import time; print('ready', flush=True); time.sleep(60)")
    process = subprocess.Popen(
        (sys.executable, "-m", "reenact", "--store", "runs", "record", "--", sys.executable, "agent.py"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline() == b"ready\n"
    until = time.monotonic() + 30
    os.killpg(process.pid, signal.SIGTERM)
    while process.poll() is None and time.monotonic() < until:
        process.send_signal(signal.SIGTERM)
        time.sleep(0.002)
    said = process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    assert process.wait(1) == -signal.SIGTERM
    assert b"interrupted" in said and b"-> reenact --store runs show" in said
