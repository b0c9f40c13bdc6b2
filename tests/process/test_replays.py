"""Proves that a process replays its standard input, its terminal, its clocks and its entropy, in a new interpreter."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Ended, Programs

READERS = {
    "read": "import sys; print(repr(sys.stdin.read()))",
    "lines": "import sys\nfor line in sys.stdin: print(repr(line))",
    "readline twice": "import sys; print(repr(sys.stdin.readline()), repr(sys.stdin.readline()))",
    "input": (
        "print(input('name? '))\nprint(input())\ntry:\n    while True: input('more ')\nexcept EOFError: print('end')"
    ),
    "input, then the rest": "import sys; print(repr(input('> ')), repr(sys.stdin.read()))",
    "buffer": "import sys; print(sys.stdin.buffer.read(5), sys.stdin.buffer.read1(7), sys.stdin.buffer.read())",
    "os.read": "import os; print(os.read(0, 4), os.read(0, 4), os.read(0, 100000)[:9])",
    "fileinput": "import fileinput\nfor line in fileinput.input(): print(len(line))",
    "nothing": "print('no input')",
    "in a thread": (
        "import sys, threading\nt = threading.Thread(target=lambda: print(len(sys.stdin.read())))\nt.start(); t.join()"
    ),
    "json": "import json, sys; print(sorted(json.load(sys.stdin)))",
}


@pytest.mark.parametrize("name", READERS)
def test_standard_input_is_supplied_again(programs: Programs, name: str) -> None:
    stdin = b'{"a": 1, "b\xc3\xa9": 2}' if name == "json" else b"first\r\nsecond\nlast \xff without end" * 700
    agent = programs.script(READERS[name])
    bare = programs.bare(sys.executable, agent, stdin=stdin)
    booted = programs.booted(sys.executable, agent, stdin=stdin)
    assert booted.visible == bare.visible
    replayed = programs.replayed(booted, sys.executable, agent)
    assert replayed.visible == bare.visible
    assert replayed.session["calls"] == booted.session["calls"]
    assert bool(booted.session["calls"]) == (name != "nothing")


def test_input_is_read_when_it_is_asked_for_and_not_before(programs: Programs) -> None:
    agent = programs.script("for _ in range(3): print('got', input(), flush=True)")
    command, _ = programs.command((sys.executable, agent))
    process = subprocess.Popen(
        command, cwd=programs.folder, env=programs.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None and process.stdout is not None
    for line in (b"a", b"b", b"c"):
        process.stdin.write(line + b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"got " + line + b"\n"
    assert process.wait(timeout=30) == 0
    process.stdin.close()
    process.stdout.close()


def _on_terminal(programs: Programs, argv: tuple[str, ...], typed: bytes) -> tuple[bytes, int]:
    """Run a command on a terminal of its own, with something typed ahead."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        argv, cwd=programs.folder, env=programs.environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.write(ours, typed)
    os.close(theirs)
    shown = bytearray()
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the terminal is gone with its last user
            break
        if not part:
            break
        shown += part
    os.close(ours)
    return bytes(shown), process.wait(timeout=30)


def test_a_person_who_answers_at_a_terminal_is_recorded_and_played_without_one(programs: Programs) -> None:
    agent = programs.script(
        "import os, shutil, sys\n"
        "print('tty', sys.stdin.isatty(), sys.stdout.isatty(), os.isatty(1), shutil.get_terminal_size(), "
        "sys.stdout.line_buffering)\n"
        "name = input('your name? ')\n"
        "print('hello', name)\n"
        "try:\n    input('again? ')\nexcept EOFError:\n    print('bye')\n"
    )
    bare = _on_terminal(programs, (sys.executable, agent), b"Ada\n\x04")
    command, said = programs.command((sys.executable, agent))
    booted = _on_terminal(programs, tuple(command), b"Ada\n\x04")
    assert booted == bare
    assert b"hello Ada" in booted[0] and b"bye" in booted[0]
    report = json.loads(said.read_text())
    calls = report["session"]["calls"]
    assert [call[:2] for call in calls] == [["input", "your name? "], ["input", "again? "]]
    replayed = programs.replayed(Ended(b"", b"", 0, report), sys.executable, agent)
    assert replayed.status == 0
    assert replayed.session["out"] == report["session"]["out"]
    assert "tty True True True" in replayed.session["out"]


def test_clocks_and_entropy_of_a_process_replay_in_another(programs: Programs) -> None:
    agent = programs.script(
        "import os, random, secrets, tempfile, time, uuid\n"
        "from datetime import datetime, timezone\n"
        "from random import choice\n"
        "from time import monotonic, perf_counter\n"
        "class Timer:\n    clock = perf_counter\n"
        "def late(now=time.time): return now()\n"
        "print(datetime.now(), datetime.now(timezone.utc), time.time(), late(), monotonic(), Timer().clock())\n"
        "print(random.random(), choice(range(99)), random.Random().random(), random.gauss(0, 1))\n"
        "print(uuid.uuid1(), uuid.uuid4(), secrets.token_hex(), os.urandom(3))\n"
        "random.seed(42); print(random.random(), random.sample(range(100), 5))\n"
        "with tempfile.TemporaryDirectory() as folder: print(folder)\n"
        "print(sorted({'a', 'b'}), {'x', 'y', 'z'})\n"
    )
    booted = programs.booted(sys.executable, agent, PYTHONHASHSEED="3")
    assert booted.status == 0, booted.err
    assert programs.replayed(booted, sys.executable, agent, PYTHONHASHSEED="3").visible == booted.visible
    assert programs.booted(sys.executable, agent, PYTHONHASHSEED="3").out != booted.out
    seeded = programs.bare(sys.executable, "-c", "import random; random.seed(42); print(random.random())").out
    assert seeded.split()[0] in booted.out


def test_a_replay_with_different_output_can_be_told(programs: Programs, tmp_path: Path) -> None:
    agent = programs.script("import time; print(time.time())")
    booted = programs.booted(sys.executable, agent)
    programs.script("import time; print(time.time(), 'edited')")
    assert programs.replayed(booted, sys.executable, agent).session["out"] != booted.session["out"]
