"""A secret in what a program computes itself makes no unchanged replay different, and is never printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import reenact
from reenact.store.run_records import records_of

SECRET = "sk-proj-Zq3vT9xKb7LmW2nRc4Yd8sPf6HgJ1uQer5Ta0oEi"
PLAIN = "zebra-hut-Zq3v"

PROGRAMS = {
    "state": """
        import reenact
        with reenact.step("a", {"api_key": SECRET, "n": 1}) as state:
            state["n"] = N
    """,
    "state by name": """
        import reenact
        with reenact.step("a", {"password": PLAIN, "token": SECRET, "n": 1}) as state:
            state["n"] = N
    """,
    "state after": """
        import reenact
        with reenact.step("a", {"n": 1}) as state:
            state["client_secret"] = PLAIN
            state["n"] = N
    """,
    "state that is one value": """
        import reenact
        with reenact.step("a", [SECRET, N]):
            pass
    """,
    "decorated step": """
        import reenact
        @reenact.step("a")
        def a(state):
            return {**state, "password": PLAIN, "n": N}
        a({"n": 1})
    """,
    "error in a step": """
        import reenact
        try:
            with reenact.step("a", {"n": 1}):
                raise ValueError(f"401: bad key {SECRET} {N}")
        except ValueError:
            pass
    """,
    "result of a tool that runs again": """
        import reenact
        @reenact.tool(effect="none")
        def a(n):
            return {"password": PLAIN, "key": SECRET, "n": n + N}
        a(1)
    """,
    "argument of a tool": """
        import reenact
        @reenact.tool(effect="read")
        def a(n, password):
            return n
        a(N, PLAIN)
        a(N, password=SECRET)
    """,
    "note": """
        import reenact
        with reenact.step("a", {"n": N}):
            reenact.note("password", PLAIN)
            reenact.note("x", {"api_key": SECRET})
    """,
    "output": """
        import sys
        print(f"the key is {SECRET}, and password={PLAIN}!", N)
        print(f"Authorization: Bearer {SECRET}", N, file=sys.stderr)
    """,
    "uncaught error": """
        print(N)
        raise SystemExit(3) if N == 1 else ValueError(f"no such key: {SECRET}")
    """,
    "name of a step": """
        import reenact
        with reenact.step(f"with {SECRET}", {"n": N}):
            pass
    """,
    "name of a function that is a task": """
        import asyncio, reenact
        async def work(n):
            with reenact.step("a", {"n": n}):
                pass
        work.__qualname__ = SECRET
        async def main():
            task = asyncio.create_task(work(N))
            await task
        asyncio.run(main())
    """,
    "url": """
        import urllib.request
        try:
            urllib.request.urlopen(f"http://127.0.0.1:9/bot123456789:AA{BOT}/send?n={N}", timeout=5)
        except OSError:
            pass
        try:
            urllib.request.urlopen(f"http://127.0.0.1:9/v1/keys/{SECRET}/usage?n={N}", timeout=5)
        except OSError:
            pass
    """,
    "arguments of a process": """
        import subprocess
        for words in (["--password", PLAIN], ["-u", f"user:{PLAIN}"], [f"-p{PLAIN}"], [f"--token={SECRET}"]):
            subprocess.run(["echo", *words, str(N)], stdout=subprocess.DEVNULL)
    """,
}


COUNTED = ("state", "state by name", "state after", "error in a step", "name of a step")
"""Those in which one event holds the secret."""


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "REENACT_STORE": str(folder / "store.sqlite"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "reenact", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def kept(folder: Path) -> str:
    """All that the store holds of its runs."""
    with reenact.open_store(str(folder / "store.sqlite")) as store:
        return repr([list(records_of(store.open(each))) for each in store.runs()])


def leaked(text: str) -> list[str]:
    return [each for each in (SECRET, PLAIN, SECRET[8:41]) if each in text]


def source(number: int, program: str) -> str:
    """A program that holds its secrets in two halves: the sources of a program are its own."""
    halves = f"SECRET = {SECRET[:12]!r} + {SECRET[12:]!r}\nPLAIN = {PLAIN[:5]!r} + {PLAIN[5:]!r}\n"
    return f"{halves}BOT = SECRET[8:41]\nN = {number}\n{program}"


@pytest.mark.parametrize("place", PROGRAMS)
def test_a_secret_in_every_place_replays_and_is_never_printed(place: str, tmp_path: Path) -> None:
    program = textwrap.dedent(PROGRAMS[place])
    agent = tmp_path / "agent.py"
    agent.write_text(source(1, program))
    recorded = run(tmp_path, "record", "--", sys.executable, "agent.py")
    assert not leaked(kept(tmp_path))
    replayed = run(tmp_path, "replay", "@", "--json")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    again = json.loads(run(tmp_path, "replay", "@", "--json").stdout)["digest_chain"] if place == "state" else ""
    assert again in ("", json.loads(replayed.stdout)["digest_chain"])
    if place in COUNTED:
        assert ", 1 redacted" in json.loads(replayed.stdout)["last_line"]
    agent.write_text(source(2, program))
    for words in (["replay", "@"], ["replay", "@", "--json", "--on-divergence", "observe"]):
        changed = run(tmp_path, *words)
        assert changed.returncode == 1 or (place == "note" and not changed.returncode), changed.stdout + changed.stderr
        ours = changed.stdout + changed.stderr if "--json" in words else changed.stderr
        if place in ("output", "uncaught error"):  # what the program prints is the program's own
            ours = changed.stdout if "--json" in words else ours.partition("live calls made")[2]
        assert not leaked(ours), ours
    shown = run(tmp_path, "show", "@")
    assert not leaked(shown.stdout + shown.stderr)
    assert not leaked(recorded.stderr) or place in ("output", "uncaught error")
