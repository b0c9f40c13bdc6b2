"""Proves that files read below the root are named by content, and one that has changed as the likely cause."""

from __future__ import annotations

import re
import sys

import pytest

from .conftest import Place

READS = """
import codecs, io, json, os, pathlib, threading
from concurrent.futures import ThreadPoolExecutor
with open("data/a.json") as file:
    print(json.load(file)["n"])
print(pathlib.Path("data/b.txt").read_text(), io.open(b"data/c.bin", "rb").read())
fd = os.open("data/d.txt", os.O_RDONLY)
print(os.read(fd, 100))
os.close(fd)
print(codecs.open("data/e.txt", encoding="utf-8").read())
with ThreadPoolExecutor(2) as pool:
    print(list(pool.map(lambda name: open(f"data/{name}.txt").read(), "fg")))
try:
    open("data/none.txt")
except OSError as error:
    print(error)
with open("out.txt", "w") as file:
    file.write("made here")
print(open("out.txt").read())
"""


@pytest.fixture
def files(world: Place) -> Place:
    world.write('{"n": 1}', "data/a.json")
    for name in ("b.txt", "c.bin", "d.txt", "e.txt", "f.txt", "g.txt"):
        world.write(f"this is {name}", f"data/{name}")
    return world


def item(kit: str, name: str) -> str:
    found = re.search(rf"^ +(\w+ +{name} .*)$", kit, re.MULTILINE)
    return found[1] if found else ""


def test_the_kit_names_every_file_that_was_read(files: Place) -> None:
    recorded = files.record(READS)
    kit = files.reenact("--json", "kit", "@").stdout
    for name in ("a.json", "b.txt", "c.bin", "d.txt", "e.txt", "f.txt", "g.txt"):
        assert f'"data/{name}":{{"digests":["' in kit
    assert "out.txt" not in kit and 'agent.py": {"digests' not in kit
    assert re.search(r"pinned +files_read +7 by their hash: data/a.json", files.kit())
    files.exact(recorded)


def test_a_file_that_has_changed_is_named(files: Place) -> None:
    files.record(READS)
    files.write('{"n": 2}', "data/a.json")
    files.write("other", "data/f.txt")
    (files.folder / "data" / "g.txt").unlink()
    files.write("now here", "data/none.txt")
    replayed = files.replay()
    assert replayed.returncode == 1
    assert "the file data/a.json has changed since it was recorded" in replayed.stderr
    assert "the file data/f.txt has changed since it was recorded" in replayed.stderr
    assert "the file data/g.txt is not there any more" in replayed.stderr
    assert "b.txt" not in replayed.stderr


def test_it_is_the_likely_cause_of_a_divergence(files: Place) -> None:
    files.record(
        """
        import reenact
        @reenact.tool(effect="read")
        def search(query):
            return [query]
        print(search(open("data/b.txt").read()))
        """
    )
    files.write("other", "data/b.txt")
    replayed = files.replay()
    assert replayed.returncode == 1
    assert "likely cause: the file data/b.txt has changed since it was recorded; " in replayed.stderr
    assert replayed.stderr.count("data/b.txt has changed") == 1, "it is named once"


def test_a_change_without_consequence_is_told_and_no_difference(files: Place) -> None:
    recorded = files.record('print(len(open("data/b.txt").read()))\n')
    files.write("that is b.txt", "data/b.txt")
    replayed = files.replay()
    assert (replayed.returncode, replayed.stdout) == (0, recorded.stdout)
    assert "the file data/b.txt has changed since it was recorded" in replayed.stderr


def test_a_path_that_was_only_looked_at_is_named_where_that_comes_to_something_else(files: Place) -> None:
    files.record(
        """
        import os, pathlib
        import reenact
        @reenact.tool(effect="read")
        def search(query):
            return [query]
        names = [name for name in ("data", "data/b.txt", "flag", "other") if os.path.exists(name)]
        print(pathlib.Path("data/c.bin").is_file(), os.access("data/d.txt", os.R_OK), os.path.getsize("data/e.txt"))
        print(search(str(names)))
        """
    )
    files.exact(files.run(sys.executable, "agent.py"))
    files.write("now here", "flag")
    (files.folder / "data" / "d.txt").unlink()
    replayed = files.replay()
    assert replayed.returncode == 1
    assert "likely cause: the file flag was not there when it was recorded; " in replayed.stderr
    assert "the file data/d.txt is not there any more" in replayed.stderr
    (files.folder / "flag").unlink()
    files.write("this is d.txt", "data/d.txt")
    (files.folder / "data" / "b.txt").unlink()
    replayed = files.replay()
    assert replayed.returncode == 1
    assert "likely cause: the file data/b.txt is not there any more; " in replayed.stderr


def test_a_file_touched_but_the_same_is_the_same(files: Place) -> None:
    files.record('print(len(open("data/b.txt").read()))\n')
    text = (files.folder / "data" / "b.txt").read_text()
    (files.folder / "data" / "b.txt").unlink()
    files.write(text, "data/b.txt")
    assert "data/b.txt" not in files.replay().stderr


def test_what_lies_elsewhere_or_is_source_is_not_named(files: Place) -> None:
    files.write("VALUE = 1\n", "helper.py")
    files.write("x", "../outside.txt")
    files.record(
        """
        import helper, sys, traceback
        open("../outside.txt").read()
        try:
            raise ValueError
        except ValueError:
            traceback.print_exc(file=sys.stdout)
        """
    )
    assert item(files.kit(), "files_read") == ""


def test_a_recorded_block_names_them_too(files: Place) -> None:
    files.write(
        """
        import reenact
        open("data/c.bin").read()
        @reenact.record
        def main():
            return open("data/b.txt").read()
        if __name__ == "__main__":
            main()
        """
    )
    assert files.run(sys.executable, "agent.py").returncode == 0
    assert "1 by their hash: data/b.txt" in files.kit()
    files.write("other", "data/b.txt")
    replayed = files.replay()
    assert replayed.returncode == 1 and "the file data/b.txt has changed" in replayed.stderr


CONTENTS = """
import asyncio, io, json, os, pathlib
print(json.load(open("data/a.json")), pathlib.Path("data/b.txt").read_text(), io.open("data/c.bin", mode="rb").read(4))
with open("data/d.txt", encoding="utf-8") as file:
    print(file.name, file.readline(), file.seek(0), file.read(4), os.fstat(file.fileno()).st_size)
try:
    open("data/none.txt")
except OSError as error:
    print(type(error).__name__, error, error.filename)
with open("data/made.txt", "w") as file:
    file.write("made here")
print(open("data/made.txt").read(), open("other.txt").read())
async def main():
    print(await asyncio.gather(*[asyncio.to_thread(pathlib.Path(f"data/{n}.txt").read_bytes) for n in "efgfe"]))
asyncio.run(main())
"""


def test_contents_that_the_policy_keeps_are_supplied(files: Place) -> None:
    files.write("elsewhere", "other.txt")
    files.write('file_contents = ["data/*"]\n', "reenact.toml")
    files.write(CONTENTS)
    bare = files.run(sys.executable, "agent.py")
    (files.folder / "data" / "made.txt").unlink()
    recorded = files.record()
    assert recorded.stdout == bare.stdout
    assert re.search(r"files_read +7 with their content: .*; 1 by their hash: other.txt", files.kit())
    files.exact(recorded)
    for path in (files.folder / "data").iterdir():
        path.unlink()
    files.write("now here", "data/none.txt")
    files.write("other", "data/f.txt")
    files.exact(recorded)


def test_a_file_that_is_read_anew_diverges_where_contents_are_kept(files: Place) -> None:
    files.write('file_contents = ["data/*.txt"]\n', "reenact.toml")
    files.record("print(open('data/b.txt').read())\n")
    files.write("print(open('data/d.txt').read())\n")
    replayed = files.replay()
    assert replayed.returncode == 1 and "data/d.txt" in replayed.stderr


def test_credentials_in_a_kept_file_are_not_stored(files: Place) -> None:
    secret = "sk-live-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"
    files.write('file_contents = ["data/*"]\n', "reenact.toml")
    files.write(f"API_KEY={secret}\n", "data/.env")
    files.record("print(len(open('data/.env').read()) > 10)\n")
    assert secret.encode() not in files.kept()
    assert files.replay().stdout == "True\n"
