"""Proves that each question to a person gets its own answer again, whatever standard input is, in any order."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from .conftest import Place

ASKS = """
name = input("Name? ")
print("approve", input("Delete 3 files? [y/n] ") == "y")
print(repr(name), repr(input()), repr(input("Name? ")))
try:
    input("More? ")
except EOFError as error:
    print("nobody", error)
"""

BLOCK = """
import reenact

@reenact.record
def ask():
    name = input("Name? ")
    try:
        input("More? ")
    except EOFError as error:
        print("nobody", error)
    return name

if __name__ == "__main__":
    print(ask())
"""
HERE = "import agent, reenact; print(reenact.replay('@', entry=agent.ask).output)"


def test_questions_to_a_pipe_are_answered_again(world: Place) -> None:
    lines = "Ada Lovelace\ny\n\n\u00fcber"
    world.write(ASKS)
    bare = world.run(sys.executable, "agent.py", stdin=lines)
    recorded = world.record(stdin=lines)
    assert recorded.stdout == bare.stdout
    assert "'Ada Lovelace' '' '\u00fcber'" in recorded.stdout
    world.exact(recorded)
    shown = world.shown()
    assert shown.count("human  input") == 5
    assert '"Delete 3 files? [y/n] " -> "y"' in shown and '"More? " -> "(no answer)"' in shown


def test_answers_belong_to_questions_and_not_to_places(world: Place) -> None:
    world.record('print(input("Name? "), input("Delete? "), input("Colour? "))\n', stdin="Ada\nno\nred\n")
    world.write('print(input("Colour? "), input("Delete? "), input("Name? "))\n')
    replayed = world.replay()
    assert replayed.stdout.endswith("red no Ada\n"), replayed.stdout + replayed.stderr
    assert "reordered" in replayed.stderr


def test_what_is_read_after_questions_in_another_order_is_what_followed_them(world: Place) -> None:
    world.record('import sys\nprint(input("Name? "), input("Delete? "), sys.stdin.read())\n', stdin="Ada\nno\nred\n")
    world.write('import sys\nb = input("Delete? ")\nprint(input("Name? "), b, sys.stdin.read())\n')
    replayed = world.replay()
    assert replayed.stdout.endswith("Ada no red\n\n"), replayed.stdout + replayed.stderr


def test_a_question_that_was_never_asked_diverges_and_is_named(world: Place) -> None:
    world.record('print(input("Delete 3 files? "))\n', stdin="y\n")
    world.write('print(input("Delete 4000 files? "))\n')
    replayed = world.replay()
    assert replayed.returncode == 1
    assert "Delete 4000 files?" in replayed.stderr and "Delete 3 files?" in replayed.stderr
    assert "y" not in replayed.stdout.replace("Delete 4000 files? ", "")


@pytest.mark.parametrize(
    "program",
    [
        "import sys\nprint(repr(input('a')), repr(input('b')), repr(sys.stdin.read()))\n",
        "import sys\nprint(repr(sys.stdin.readline()), repr(input('b')), repr(input('c')), repr(sys.stdin.read()))\n",
        "import os\nprint(repr(input('a')), os.read(0, 3), os.read(0, 100))\n",
        "import sys\nprint(repr(input('a')), [line for line in sys.stdin])\n",
        "import sys\nprint(repr(input('a')), sys.stdin.buffer.read(7), sys.stdin.buffer.readline())\n",
    ],
    ids=["then the rest", "after a read", "by descriptor", "lines", "buffer"],
)
def test_questions_and_reads_may_be_mixed(world: Place, program: str) -> None:
    lines = "one\ntwo\r\nthree\nfour\n" * 2
    world.write(program)
    bare = world.run(sys.executable, "agent.py", stdin=lines)
    recorded = world.record(stdin=lines)
    assert (recorded.stdout, recorded.returncode) == (bare.stdout, bare.returncode)
    world.exact(recorded)


def test_a_line_that_is_no_text_fails_as_it_does_anywhere(world: Place) -> None:
    world.write(
        """
        import sys
        sys.stdin.reconfigure(encoding="ascii", errors="strict")
        try:
            print(input("a"))
        except UnicodeDecodeError as error:
            print(error)
        """
    )
    bare = world.run(sys.executable, "agent.py", stdin="\u00fcber\n")
    recorded = world.record(stdin="\u00fcber\n")
    assert recorded.stdout == bare.stdout and "decode" in bare.stdout
    world.exact(recorded)


def test_strands_that_ask_get_their_own_answers(world: Place) -> None:
    recorded = world.record(
        """
        import threading
        said = {}
        lock = threading.Lock()
        def ask(n):
            with lock:
                said[n] = input(f"question {n}? ")
        threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print(said)
        """,
        stdin="a\nb\nc\nd\n",
    )
    world.exact(recorded)


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal of a POSIX system")
def test_a_person_at_a_terminal_is_asked_once(world: Place) -> None:
    world.write(
        'import getpass\nprint("deleted" if input("Delete? ") == "yes" else "kept", len(getpass.getpass()) > 3)\n'
    )
    environment = {"REENACT_STORE": str(world.folder.parent / "store.sqlite")}
    master, slave = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "reenact", "record", "--", sys.executable, "agent.py"],
        cwd=world.folder,
        env={**os.environ, **environment},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    seen = b""
    for question, answer in ((b"Delete? ", b"yes\n"), (b"Password: ", b"tr0ub4dor&3horse\n")):
        while question not in seen:
            seen += os.read(master, 1000)
        os.write(master, answer)
    while b"deleted True" not in seen:
        seen += os.read(master, 1000)
    while b"-> reenact show" not in seen:
        seen += os.read(master, 1000)
    process.wait(30)
    os.close(master)
    assert b"tr0ub4dor" not in world.kept()
    replayed = world.replay()
    assert replayed.returncode in (0, 1) and "deleted True" in replayed.stdout, replayed.stderr
    assert "matched 2 of 2" in replayed.stderr


def test_a_question_in_a_recorded_block_is_answered_again(world: Place) -> None:
    world.write(BLOCK)
    ran = world.run(sys.executable, "agent.py", stdin="Ada\n")
    assert ran.stdout == "Name? More? nobody EOF when reading a line\nAda\n", ran.stderr
    assert '"Name? " -> "Ada"' in world.shown() and '"More? " -> "(no answer)"' in world.shown()
    replayed = world.replay()
    assert replayed.returncode == 0 and "same (exact)" in replayed.stderr, replayed.stdout + replayed.stderr
    here = world.run(sys.executable, "-c", HERE, stdin="Bob\nNo\n")
    assert here.stdout == ran.stdout, here.stderr
