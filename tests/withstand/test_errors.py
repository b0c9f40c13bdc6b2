"""Proves that what is missing or damaged is said in the contract's words and exit code, and loses nothing."""

from __future__ import annotations

import re
import resource
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import reenact
from reenact.errors import BlobCorrupt, FormatTooNew, RunNotFound, StoreError, UnreplayableRun, UsageError
from reenact.store import open_store
from tests.withstand.stage import Ended, Recorded, run
from tests.withstand.stage import reenact as command

Recording = Callable[[str], Recorded]
Copy = Callable[[Recorded], Recorded]


def _says(ended: Ended, code: int, *words: str) -> None:
    """The three parts of every message, no traceback, nothing on standard output."""
    text = ended.err.decode()
    assert ended.status == code, text
    assert ended.out == b"" and "Traceback" not in text
    assert text.count("reenact: ") >= 1 and "\n  likely cause: " in text and "\n  next: " in text, text
    for word in words:
        assert word in text, text


def _untouched(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / ".reenact").iterdir() if path.suffix == ".db"}


@pytest.mark.parametrize(
    "words", [("show", "zzzz"), ("replay", "zzzz"), ("cat", "@:99"), ("show", "@~7"), ("tag", "zz", "a=b")]
)
def test_a_bad_reference(recorded: Recording, words: tuple[str, ...]) -> None:
    folder = recorded("tools").folder
    before = _untouched(folder)
    _says(command(*words, cwd=folder), 2)
    assert _untouched(folder) == before


def test_the_classes_of_bad_references(tmp_path: Path) -> None:
    run_id = _block(str(tmp_path))
    with open_store(str(tmp_path)) as store, pytest.raises(RunNotFound) as caught:
        store.run("zzzz")
    assert isinstance(caught.value, LookupError) and isinstance(caught.value, StoreError) and caught.value.next_command
    with pytest.raises(UnreplayableRun) as unreplayable:
        reenact.replay(run_id, store=str(tmp_path))
    assert unreplayable.value.next_command.startswith("reenact record -- ")
    with pytest.raises(UsageError):
        open_store("gopher://somewhere")


def _block(url: str) -> str:
    """A run that began in the middle of a program: nothing says how to start it."""
    with reenact.record(store=url) as opened:
        pass
    return str(opened.id)


@pytest.mark.parametrize("words", [("ls",), ("show", "@"), ("replay", "@"), ("cat", "@:0"), ("flag", "@")])
def test_a_missing_store(tmp_path: Path, words: tuple[str, ...]) -> None:
    ended = command(*words, cwd=tmp_path)
    _says(ended, 2, "next: reenact record")
    assert not (tmp_path / ".reenact").exists(), "looking makes nothing"


def _damage(file: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        assert connection.execute(sql, values).rowcount > 0


def test_a_damaged_blob(recorded: Recording, copy: Copy) -> None:
    altered = copy(recorded("tools"))
    file = altered.folder / ".reenact" / "store.db"
    _damage(file, "UPDATE payload SET data = X'00112233' WHERE id = (SELECT answer FROM event WHERE name = 'price')")
    store = ("--store", str(file.parent))
    _says(
        command(*store, "cat", "@:0.response.body", cwd=altered.folder),
        4,
        "corrupt",
        "next: reenact --store ",
        " show ",
    )
    ended = command(*store, "replay", "@", cwd=altered.folder)
    assert ended.status == 4 and "corrupt" in ended.err.decode(), ended.err
    with open_store(str(file.parent)) as opened, pytest.raises(BlobCorrupt):
        opened.open("@").body(opened.open("@").event(0).answer)
    assert command(*store, "show", "@", "--oneline", cwd=altered.folder).status == 0, "the rest is of use"
    assert command(*store, "cat", "@:1.response.body", cwd=altered.folder).status == 0


def test_a_damaged_row_of_a_call_that_the_code_does_not_make_any_more(recorded: Recording, copy: Copy) -> None:
    altered = copy(recorded("tools"))
    (altered.folder / "agent.py").write_text("print('nothing')")
    _damage(altered.folder / ".reenact" / "store.db", "UPDATE event SET asked = asked || ' '")
    ended = command("--store", str(altered.folder / ".reenact"), "replay", "@", cwd=altered.folder)
    assert ended.status == 4, ended.err
    assert "is damaged" in ended.err.decode() and "please report" not in ended.err.decode()


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    (tmp_path / ".reenact").mkdir()
    (tmp_path / ".reenact" / "store.db").write_bytes(b"this is no database at all" * 400)
    _says(command("ls", cwd=tmp_path), 4)
    done = command("record", "--", sys.executable, "-c", "print('ran')", cwd=tmp_path)
    assert (tmp_path / ".reenact" / "store.db").read_bytes().startswith(b"this is no"), "nothing is lost"
    assert done.status in (0, 4)


def test_a_store_of_a_newer_version(recorded: Recording, copy: Copy) -> None:
    altered = copy(recorded("tools"))
    file = altered.folder / ".reenact" / "store.db"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA user_version")
        names = [row[0] for row in connection.execute("SELECT name FROM meta")]
        for name in names:
            if name in ("written", "oldest_reader"):
                connection.execute("UPDATE meta SET value = 99 WHERE name = ?", (name,))
        assert {"written", "oldest_reader"} <= set(names), names
    before = _untouched(altered.folder)
    store = ("--store", str(file.parent))
    for words in (("ls",), ("show", "@"), ("replay", "@")):
        _says(command(*store, *words, cwd=altered.folder), 4, "99", "pip install --upgrade reenact")
    with open_store(str(file.parent)) as opened, pytest.raises(FormatTooNew):
        opened.run("@")
    assert _untouched(altered.folder) == before


def test_a_run_without_an_entry_point(tmp_path: Path) -> None:
    run_id = _block(str(tmp_path / ".reenact"))
    before = _untouched(tmp_path)
    _says(command("replay", run_id, cwd=tmp_path), 3, "next: reenact record -- ")
    assert _untouched(tmp_path) == before


@pytest.mark.parametrize(
    "words",
    [
        ("erase",),
        ("vault", "unlock"),
    ],
)
def test_what_is_not_available_yet(recorded: Recording, words: tuple[str, ...]) -> None:
    ended = command(*words, cwd=recorded("tools").folder)
    assert ended.status == 2 and b"not available yet" in ended.err and b"Traceback" not in ended.err, ended.err


@pytest.mark.parametrize("ref", ["@golden/x", "x.reenact"])
def test_a_file_that_is_not_there(recorded: Recording, ref: str) -> None:
    ended = command("show", ref, cwd=recorded("tools").folder)
    assert ended.status == 2 and b"next: " in ended.err and b"Traceback" not in ended.err, ended.err


def test_an_unknown_command(tmp_path: Path) -> None:
    ended = command("rewind", cwd=tmp_path)
    assert ended.status == 2 and b"rewind" in ended.err and b"Traceback" not in ended.err


def test_disabled_means_untouched(tmp_path: Path) -> None:
    script = "import reenact\nwith reenact.record() as run: print('id', repr(run.id))\n"
    (tmp_path / "agent.py").write_text(script)
    words = ("-m", "reenact", "record", "--", sys.executable, "agent.py")
    ended = run(sys.executable, *words, cwd=tmp_path, variables={"REENACT_DISABLE": "1"})
    assert (ended.out, ended.err, ended.status) == (b"id ''\n", b"", 0)
    assert not (tmp_path / ".reenact").exists()


FULL = """
import resource, sys
import reenact

@reenact.tool(effect="read")
def look(number):
    return "%d " % number * 20000

import hashlib
for number in range(60):
    text = look(number) + hashlib.sha512(b"%d" % number).hexdigest() * 300
    print(number, len(text))
print("done")
sys.exit(5)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="this system limits no file sizes")
def test_a_full_disk_costs_the_recording_alone(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: SQLite is refused in the same place."""
    limited = FULL.replace(
        '    return "%d " % number * 20000', "    import random\n    return random.randbytes(9000).hex()"
    )
    limited = limited.replace(
        "import reenact\n", "import reenact\nresource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))\n", 1
    )
    (tmp_path / "agent.py").write_text(limited)
    bare = run(sys.executable, "agent.py", cwd=tmp_path)
    assert bare.status == 5 and bare.out.endswith(b"done\n")
    ended = command("record", "--", sys.executable, "agent.py", cwd=tmp_path)
    assert (ended.out, ended.status) == (bare.out, bare.status), ended.err
    assert b"Traceback" not in ended.err
    with open_store(str(tmp_path / ".reenact")) as store:
        found = store.run("@")
        assert found.degraded or found.status.value in ("interrupted", "recording")
        assert len([*store.events("@")]) < 60, "what did not fit is not there"
    shown = command("show", "@", cwd=tmp_path)
    assert shown.status == 0, "what was written can be read"
    assert re.search(rb"degraded|interrupted", shown.out + shown.err)
