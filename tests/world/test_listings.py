"""Proves that listings of folders replay in the order they had, whatever lies in the folders now."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from .conftest import Place

LISTS = """
import asyncio, glob, os, pathlib, random
print(os.listdir("docs"), os.listdir(b"docs"), sorted(os.listdir()))
print([(e.name, e.path, e.is_dir(), e.is_file(), e.is_symlink()) for e in os.scandir("docs")])
with os.scandir("docs") as entries:
    print(next(entries).name)
print(glob.glob("docs/*.md"), glob.glob("**/*.md", recursive=True))
print(list(pathlib.Path("docs").iterdir()), list(pathlib.Path(".").rglob("*.md")))
print([(top, folders, files) for top, folders, files in os.walk("docs")])
try:
    os.listdir("not there")
except OSError as error:
    print(type(error).__name__, error)
async def main():
    print(await asyncio.gather(*[asyncio.to_thread(os.listdir, f"docs/{name}") for name in ("deep", "wide")]))
asyncio.run(main())
"""


@pytest.fixture
def library(world: Place) -> Place:
    for name in ("a.md", "z.md", "m.md", "deep/one.md", "wide/two.md", "wide/three.txt"):
        world.write("text", f"docs/{name}")
    if sys.platform != "win32":
        (world.folder / "docs" / "link.md").symlink_to("a.md")
        (world.folder / "docs" / "dangling").symlink_to("nowhere")
    return world


def test_folders_are_listed_again_as_they_were(library: Place) -> None:
    recorded = library.record(LISTS)
    assert "FileNotFoundError" in recorded.stdout and "three.txt" in recorded.stdout
    library.exact(recorded)
    shutil.rmtree(library.folder / "docs")
    library.write("text", "docs/b.md")
    library.write("text", "not there/x.md")
    library.exact(recorded)


def test_unrecorded_and_recorded_runs_give_the_same(library: Place) -> None:
    library.write(LISTS)
    bare = library.run(sys.executable, "agent.py")
    assert library.record().stdout == bare.stdout


def test_a_listing_that_is_new_sees_the_disk_of_today_and_disturbs_nothing(library: Place) -> None:
    library.record("import os\nprint(len(os.listdir('docs')))\n")
    library.write("import os\nos.listdir('docs/deep')\nos.listdir('docs/deep')\nprint(len(os.listdir('docs')))\n")
    (library.folder / "docs" / "new.md").touch()
    replayed = library.replay()
    assert replayed.returncode == 0, replayed.stderr


def test_what_a_program_clears_away_is_what_is_there(library: Place) -> None:
    recorded = library.record(
        """
        import os, pathlib, shutil, subprocess, tempfile
        with tempfile.TemporaryDirectory() as place:
            subprocess.run(["sh", "-c", f"echo x > {place}/made"])
            print(os.listdir(place))
        os.makedirs("work/deep")
        shutil.rmtree("work")
        print(os.path.exists("work"))
        """
    )
    assert recorded.stdout == "['made']\nFalse\n"
    library.exact(recorded)


def test_a_recorded_block_keeps_them(library: Place, tmp_path: Path) -> None:
    library.write(
        """
        import os
        import reenact
        @reenact.record
        def main():
            return os.listdir("docs")
        if __name__ == "__main__":
            main()
        """
    )
    assert library.run(sys.executable, "agent.py").returncode == 0
    (library.folder / "docs" / "new.md").touch()
    replayed = library.replay()
    assert replayed.returncode == 0, replayed.stderr
