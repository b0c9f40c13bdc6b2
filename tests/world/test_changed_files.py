"""Proves that a replay finds the files that its run made, changed or deleted as they were when the run began."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import read_program

from .conftest import Place

ASK = """
import json, os, pathlib, shutil, sys, time
import reenact
@reenact.tool(effect="read")
def ask(question):
    return [question, len(question)]
"""
LIMITED = ASK + "from reenact.seams import file_changes\nfile_changes.LARGEST = 1 << 20\n"

PROGRAMS = {
    "looks and makes": """
        if not os.path.exists("cache/data.json"):
            os.makedirs("cache", exist_ok=True)
            pathlib.Path("cache/data.json").write_text(json.dumps(ask("new")))
        print(pathlib.Path("cache/data.json").read_text(), os.path.getsize("cache/data.json"))
    """,
    "reads, changes and writes": """
        count = json.load(open("count.json")) if os.path.isfile("count.json") else 0
        with open("count.json", "w") as file:
            json.dump(ask("x" * count)[1] + 1, file)
        print(count, open("count.json").read())
    """,
    "appends": """
        with open("log.txt", "a") as file:
            file.write("a line\\n")
        print(ask(open("log.txt").read()), os.stat("log.txt").st_size)
    """,
    "deletes what is there": """
        open("made", "w").close()
        if os.path.exists("flag"):
            os.remove("flag")
            print(ask("flag"))
        else:
            print(ask("no flag"))
    """,
    "renames over": """
        before = pathlib.Path("state").read_text() if pathlib.Path("state").exists() else "nothing"
        pathlib.Path("state.part").write_text(before + "+")
        os.replace("state.part", "state")
        print(ask(before), sorted(os.listdir(".")))
    """,
    "makes folders and lists them": """
        for name in "abc":
            folder = pathlib.Path("out", name)
            if not folder.is_dir():
                ask(name)
                folder.mkdir(parents=True)
            (folder / f"{len(os.listdir(folder))}.txt").write_text(name)
        print([str(each) for each in sorted(pathlib.Path("out").rglob("*"))])
    """,
    "copies, moves and clears": """
        if os.path.isdir("work"):
            print(ask(sorted(os.listdir("work"))))
            shutil.rmtree("work")
        os.mkdir("work")
        pathlib.Path("work/a").write_text(str(ask("a")))
        shutil.copy("work/a", "work/b")
        shutil.move("work/b", "moved")
        os.symlink("a", "work/link")
        os.chmod("work/a", 0o600)
        print(open("work/link").read(), oct(os.stat("work/a").st_mode), os.path.exists("work/b"))
    """,
    "moves a folder": """
        print(ask(sorted(str(each) for each in pathlib.Path("kept").rglob("*"))), os.path.isdir("old"))
        if os.path.isdir("old"):
            shutil.rmtree("old")
        os.rename("kept", "old")
        os.makedirs("kept/deep")
        pathlib.Path("kept/deep/new").write_text(pathlib.Path("old/deep/file").read_text() + "!")
        os.rename("kept/deep/new", "kept/deep/file")
        print(pathlib.Path("kept/deep/file").read_text())
    """,
    "makes a database": """
        import sqlite3
        new = not os.path.exists("shop.db")
        with sqlite3.connect("shop.db") as shop:
            if new:
                shop.execute("create table sold(item)")
            shop.execute("insert into sold values (?)", [ask(str(new))[0]])
            print(new, os.path.exists("shop.db"), shop.execute("select * from sold").fetchall())
    """,
    "lets a file grow old": """
        fresh = os.path.exists("stamp") and os.path.getmtime("stamp") > 1_000_000_000
        print(ask(str(fresh)), os.path.getmtime("stamp") if fresh else None)
        pathlib.Path("stamp").touch()
        pathlib.Path("stamp").write_text("now")
    """,
}


def program(*names: str) -> str:
    """Programs one after another, all of them by default."""
    chosen = [PROGRAMS[name].replace("\n        ", "\n    ").strip() for name in names or PROGRAMS]
    return ASK + "".join(f"\ndef do_{n}():\n    {text}\ndo_{n}()\n" for n, text in enumerate(chosen))


@pytest.fixture
def changing(world: Place) -> Place:
    world.write("", "flag")
    world.write("deep", "kept/deep/file")
    world.write("old", "stamp")
    return world


def picture(world: Place) -> dict[str, bytes | None]:
    """Everything in the folder, but for databases, which have a number of their own."""
    return {
        str(path.relative_to(world.folder)): path.read_bytes() if path.is_file() and path.suffix != ".db" else None
        for path in sorted(world.folder.rglob("*"))
        if "__pycache__" not in path.parts
    }


def test_it_replays_the_same_each_time(changing: Place) -> None:
    for _ in range(2):  # the second time the run finds what the first one has left
        recorded = changing.record(program())
        before = picture(changing)
        changing.exact(recorded)
        assert picture(changing) == before


def test_what_was_done_to_a_file_afterwards_does_not_matter(world: Place) -> None:
    recorded = world.record(program("reads, changes and writes"))
    world.write("70", "count.json")
    world.exact(recorded)
    (world.folder / "count.json").unlink()
    world.exact(recorded)
    recorded = world.record(program("appends"))
    (world.folder / "log.txt").unlink()
    (world.folder / "log.txt").mkdir()
    world.exact(recorded)


def test_a_file_that_came_with_a_folder_was_not_there_before(world: Place) -> None:
    """The folder takes the place of another one, and the file is deleted from there."""
    for name in ("page/old", "next/kept", "next/deep/file", "more/x", "far/y"):
        world.write(name, name)
    (world.folder / "room").mkdir()
    text = """
for place in ("page/kept", "page/deep", "room/x", "new", "new/y", "page/old"):
    print(place, os.path.exists(place))
shutil.rmtree("page")
os.rename("next", "page")
os.remove("page/kept")
os.remove("page/deep/file")
os.rename("more", "room")
pathlib.Path("room/x").write_text("other")
os.mkdir("new")
os.rmdir("new")
os.rename("far", "new")
os.remove("new/y")
print(ask(sorted(str(each) for each in pathlib.Path(".").glob("[nr]*"))))
"""
    recorded = world.record(ASK + text)
    before = picture(world)
    world.exact(recorded)
    assert picture(world) == before


def test_beside_files_whose_content_is_kept(world: Place) -> None:
    world.write('file_contents = ["data/*"]\n', "reenact.toml")
    world.write("kept", "data/kept.txt")
    recorded = world.record(
        program("looks and makes", "reads, changes and writes") + "print(open('data/kept.txt').read())"
    )
    world.exact(recorded)


def test_a_file_that_a_fix_adds_is_seen(world: Place) -> None:
    program = (
        ASK
        + """
os.makedirs("out", exist_ok=True)
for place in ("prompt.txt", "out/prompt.txt"):
    if os.path.exists(place):
        print(pathlib.Path(place).read_text())
pathlib.Path("out/answer").write_text(str(ask("x")))
"""
    )
    recorded = world.record(program)
    world.write("a fixed prompt", "prompt.txt")
    world.write("one among what it made", "out/prompt.txt")
    replayed = world.replay()
    assert recorded.stdout == ""
    assert replayed.stdout == "a fixed prompt\none among what it made\n"


def test_many_files_in_a_folder_that_it_has_made(world: Place) -> None:
    recorded = world.record(
        ASK
        + """
if not os.path.isdir("many"):
    ask("many")
    os.mkdir("many")
for number in range(500):
    with open(f"many/{number}", "x") as file:
        file.write("x")
print(len(os.listdir("many")))
"""
    )
    world.exact(recorded)
    assert world.kit().count("many/") < 80


def test_what_is_too_large_is_a_gap_by_name(world: Place) -> None:
    (world.folder / "large.bin").write_bytes(b"x" * ((1 << 20) + 1))
    (world.folder / "small.bin").write_bytes(b"y" * 100)
    world.record(
        LIMITED
        + """
for name in ("large.bin", "small.bin"):
    with open(name, "ab") as file:
        file.write(b"more")
    print(name, ask("x" * os.path.getsize(name))[1])
"""
    )
    assert "large.bin (it held more than 1 MiB)" in world.kit()
    replayed = world.replay()
    assert replayed.returncode == 1
    assert "the file large.bin is not as it was when the run began: it held more than 1 MiB" in replayed.stderr
    assert "small.bin is not as it was" not in replayed.stderr


def test_what_a_tool_has_changed_stays_what_it_came_to(world: Place) -> None:
    recorded = world.record(
        ASK
        + """
@reenact.tool(effect="write")
def build():
    pathlib.Path("index").write_text("built")
build()
print(pathlib.Path("index").read_text())
"""
    )
    world.exact(recorded)


def test_a_credential_in_such_a_file_is_not_stored(world: Place) -> None:
    secret = "sk-live-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"
    world.write(f"API_KEY={secret}\n", "settings.env")
    world.record(
        ASK
        + """
text = open("settings.env").read()
print(len(ask("x" * len(text))))
open("settings.env", "a").write("MORE=1\\n")
"""
    )
    assert secret.encode() not in world.kept()
    replayed = world.replay()
    assert replayed.returncode == 1 and "settings.env is not as it was when the run began: it held a" in replayed.stderr
    world.write(f"API_KEY={secret}\n", "settings.env")
    assert world.replay().returncode == 0


def test_it_goes_with_a_bundle(world: Place, tmp_path: Path) -> None:
    world.write("[1, 2]", "data/list.json")
    world.write("x = 1\n", "data/made.py")
    recorded = world.record(
        ASK
        + """
for name in ("data/list.json", "new.json"):
    found = json.load(open(name)) if os.path.exists(name) else []
    json.dump(found + ask(str(found)), open(name, "w"))
    print(found, open(name).read())
with open("data/made.py", "a") as file:
    file.write("y = 2\\n")
"""
    )
    done = world.reenact("pack", "@", "-o", str(tmp_path / "run.reenact"))
    assert done.returncode == 0, done.stderr
    elsewhere = Place(tmp_path / "elsewhere")
    shutil.copytree(world.folder, elsewhere.folder)
    replayed = elsewhere.reenact(
        "replay", str(tmp_path / "run.reenact"), REENACT_STORE=str(tmp_path / "other.sqlite"), HOME=str(tmp_path)
    )
    assert replayed.returncode == 0, replayed.stderr
    assert replayed.stdout == recorded.stdout


def test_a_saved_replay_replays(world: Place) -> None:
    recorded = world.record(program("looks and makes"))
    assert world.replay("--save").returncode == 0
    world.exact(recorded)


def test_a_golden_of_it_passes(world: Place) -> None:
    world.record(program("looks and makes"))
    added = world.reenact("golden", "add", "@", "--as", "cached")
    assert added.returncode == 0, added.stderr
    for _ in range(2):
        done = world.reenact("golden", "run", "cached")
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_fork_names_the_file_that_was_not_there_when_the_run_began(world: Place) -> None:
    recorded = world.record(program("reads, changes and writes") + "\nprint(ask('then'))\n")
    forked = world.reenact("fork", "@:1", "--result", '1="x"')
    assert forked.returncode == 1, forked.stdout + forked.stderr
    line = "the file count.json is not as it was when the run began: it was not there, and a fork begins with the disk"
    assert line in forked.stderr
    (world.folder / "count.json").unlink()
    forked = world.reenact("fork", "@~1:1", "--result", '1="x"')
    assert forked.returncode == 0, forked.stdout + forked.stderr
    assert recorded.stdout.splitlines()[0] in forked.stdout


def test_a_fork_whose_change_has_changed_nothing_names_the_file(world: Place) -> None:
    """The code asks something else at the branching event, because it has read what the run itself has written."""
    (world.folder / "count.txt").write_text("1", encoding="utf-8")
    world.record(
        ASK
        + """
ask("hello")
number = int(open("count.txt").read())
print(ask("turn %d" % number))
with open("count.txt", "w") as file:
    file.write(str(number + 1))
"""
    )
    forked = world.reenact("fork", "@:1", "--result", '1="x"')
    assert forked.returncode == 1 and "its change had no effect" in forked.stderr, forked.stderr
    assert "the file count.txt is not as it was when the run began" in forked.stderr, forked.stderr


IN_PROCESS = read_program("world/log_that_grows.py")


def test_a_replay_in_the_process_of_its_caller_names_what_is_not_as_it_was(world: Place) -> None:
    world.write(IN_PROCESS)
    first = world.run(sys.executable, "agent.py", "record")
    assert first.returncode == 0, first.stderr
    for how in ("diverges", "short"):  # the second only leaves out a call
        again = world.run(sys.executable, "agent.py", how)
        told = again.stdout + again.stderr
        assert ("diverged at event 1" if how == "diverges" else "different None") in told
        for name in ("cache", "log"):
            line = f"the file {name} is not as it was when the run began: it was not there, and a replay in its caller"
            assert line in told
    (world.folder / "cache").rmdir()
    (world.folder / "log").unlink()
    again = world.run(sys.executable, "agent.py", "as then")
    assert again.stdout.startswith("exact None"), again.stdout + again.stderr
    assert "is not as it was" not in again.stdout


def test_recording_changes_nothing_for_the_agent(changing: Place) -> None:
    changing.write(program())
    bare = changing.folder.parent / "bare"
    shutil.copytree(changing.folder, bare)
    plain = subprocess.run([sys.executable, "agent.py"], cwd=bare, capture_output=True, text=True, check=True)
    assert changing.record().stdout == plain.stdout
    assert picture(changing) == picture(Place(bare))
