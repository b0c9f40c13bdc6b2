"""A scratch copy in Python: what is done through it comes to what is done without it, and the disk stays as it is."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from reenact.replaying.file_redirection import Redirect
from reenact.replaying.scratch_copy import Copy
from reenact.replaying.temporaries import MadeFiles
from tests.programs import read_program

from . import refusing
from .conftest import Agent

if os.name != "posix":
    pytest.skip("there is none elsewhere", allow_module_level=True)

NAMES = ("a", "b", "folder", "folder/a", "folder/b", "folder/inner", "folder/inner/a", "other", "other/a", "link", "up")
PATHS = st.sampled_from([*NAMES, "link/a", "up/folder/a", "folder/../a", "a/", "folder/", "./b", "link/inner/../b"])
TEXTS = st.sampled_from([b"", b"one", b"something longer"])
FLAGS = st.sampled_from(
    [
        os.O_RDONLY,
        os.O_WRONLY,
        os.O_RDWR,
        os.O_WRONLY | os.O_CREAT,
        os.O_WRONLY | os.O_CREAT | os.O_EXCL,
        os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
        os.O_WRONLY | os.O_APPEND | os.O_CREAT,
        os.O_RDONLY | os.O_CREAT,
        os.O_RDWR | os.O_NOFOLLOW,
        os.O_RDONLY | os.O_NOFOLLOW,
    ]
)


def world(folder: str) -> None:
    """What is there at first."""
    for name in ("folder/inner", "other", "empty"):
        os.makedirs(os.path.join(folder, name))
    for name in ("a", "folder/a", "folder/inner/a"):
        Path(folder, name).write_text(name)
    os.symlink("folder", os.path.join(folder, "link"))
    os.symlink("..", os.path.join(folder, "other", "up"))
    os.symlink("other/up", os.path.join(folder, "up"))
    os.symlink("nowhere", os.path.join(folder, "dangling"))


def sort_of(entry: Any) -> tuple[bool, bool, bool]:
    """What an entry of a listing is; a link that leads in a circle is no file."""
    try:
        leads_to_a_file = entry.is_file()
    except OSError:
        leads_to_a_file = False
    return entry.is_dir(follow_symlinks=False), entry.is_symlink(), leads_to_a_file


def picture(folder: str, of: Any) -> dict[str, Any]:
    """All that a program sees below a folder, asked of the functions given."""
    found: dict[str, Any] = {}
    waiting = [folder]
    while waiting:
        above = waiting.pop()
        with of.scandir(above) as entries:
            sorts = {each.name: sort_of(each) for each in entries}
        assert sorted(sorts) == sorted(of.listdir(above))
        for name, sort in sorts.items():
            path = os.path.join(above, name)
            about = of.lstat(path)
            held: Any = ""
            if stat.S_ISLNK(about.st_mode):
                held = of.readlink(path)
            elif stat.S_ISREG(about.st_mode):
                with of.open(path, "rb") as file:
                    held = file.read()
            else:
                waiting.append(path)
            links = about.st_nlink if stat.S_ISREG(about.st_mode) else 0
            found[path.removeprefix(folder)] = (about.st_mode, sort, held, links)
    return found


class System:
    """The functions of the system, under the names that ``Redirect`` has."""

    os_open = staticmethod(os.open)
    open = staticmethod(open)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


class Machine(RuleBasedStateMachine):
    """The same done twice: in a folder, and through a copy in another one."""

    def __init__(self) -> None:
        super().__init__()
        self.top = os.path.realpath(tempfile.mkdtemp())
        self.plain, self.real = os.path.join(self.top, "plain"), os.path.join(self.top, "real_")
        world(self.plain)
        world(self.real)
        scratch = os.path.join(self.top, "scratch")
        os.mkdir(scratch)
        self.before = picture(self.real, System())
        self.copy = Copy(scratch, (scratch,), MadeFiles((self.top,)), lambda path: None)
        self.redirect = Redirect(self.copy)

    def both(self, act: Callable[[Any, str], Any]) -> None:
        """Do it on both sides; it comes to the same."""
        ends = []
        for of, folder in ((System(), self.plain), (self.redirect, self.real)):
            try:
                ends.append(act(of, folder))
            except OSError as error:
                paths = [str(each).replace(folder, "") for each in (error.filename, error.filename2) if each]
                ends.append((type(error), error.errno, paths))
        assert ends[0] == ends[1], ends

    @rule(path=PATHS, flags=FLAGS, text=TEXTS)
    def opened(self, path: str, flags: int, text: bytes) -> None:
        def act(of: Any, folder: str) -> Any:
            number = of.os_open(f"{folder}/{path}", flags, 0o640)
            try:
                if flags & (os.O_WRONLY | os.O_RDWR):
                    return os.write(number, text)
                return os.read(number, 100) if stat.S_ISREG(os.fstat(number).st_mode) else b""
            finally:
                os.close(number)

        self.both(act)

    @rule(path=PATHS, mode=st.sampled_from(["r", "w", "a", "x", "r+", "w+"]))
    def opened_as_text(self, path: str, mode: str) -> None:
        def act(of: Any, folder: str) -> Any:
            with of.open(f"{folder}/{path}", mode) as file:
                assert file.name == f"{folder}/{path}"
                return file.read() if mode == "r" else file.write("text")

        self.both(act)

    @rule(path=PATHS, does=st.sampled_from(["mkdir", "rmdir", "unlink", "stat", "lstat", "access", "listdir"]))
    def did(self, path: str, does: str) -> None:
        def act(of: Any, folder: str) -> Any:
            given = (os.R_OK,) if does == "access" else ()
            found = getattr(of, does)(f"{folder}/{path}", *given)
            return found.st_mode if isinstance(found, os.stat_result) else sorted(found) if does == "listdir" else found

        self.both(act)

    @rule(one=PATHS, two=PATHS, does=st.sampled_from(["rename", "rename", "link"]))
    def moved(self, one: str, two: str, does: str) -> None:
        self.both(lambda of, folder: getattr(of, does)(f"{folder}/{one}", f"{folder}/{two}"))

    @rule(path=PATHS, to=st.sampled_from(["a", "./b", "inner", "folder/inner", "."]))
    def linked(self, path: str, to: str) -> None:
        self.both(lambda of, folder: of.symlink(to, f"{folder}/{path}"))

    @rule(path=PATHS, mode=st.sampled_from([0o600, 0o755, 0o700]))
    def changed_mode(self, path: str, mode: int) -> None:
        self.both(lambda of, folder: of.chmod(f"{folder}/{path}", mode))

    @rule(path=PATHS, size=st.integers(0, 9))
    def cut(self, path: str, size: int) -> None:
        def act(of: Any, folder: str) -> Any:
            of.truncate(f"{folder}/{path}", size)
            of.utime(f"{folder}/{path}", (size, size))
            return of.stat(f"{folder}/{path}").st_mtime_ns

        self.both(act)

    @rule(above=PATHS, name=st.sampled_from(["a", "b", "inner"]), does=st.sampled_from(["unlink", "mkdir", "stat"]))
    def by_descriptor(self, above: str, name: str, does: str) -> None:
        def act(of: Any, folder: str) -> Any:
            number = of.os_open(f"{folder}/{above}", os.O_RDONLY)
            try:
                found = getattr(of, does)(name, dir_fd=number)
                return [*sorted(of.listdir(number)), found.st_mode if does == "stat" else ""]
            finally:
                os.close(number)

        self.both(act)

    @invariant()
    def alike(self) -> None:
        """The same is seen."""
        assert picture(self.real, self.redirect) == picture(self.plain, System())

    def teardown(self) -> None:
        """The disk is as it was."""
        assert picture(self.real, System()) == self.before
        shutil.rmtree(self.top)


TestTheSameIsSeen = Machine.TestCase
TestTheSameIsSeen.settings = settings(max_examples=settings().max_examples // 2, stateful_step_count=20, deadline=None)


REPLAY = (sys.executable, str(Path(refusing.__file__)), sys.executable, "-m", "reenact", "replay", "@", "--json")
"""On a system that permits nothing."""
AGENT = read_program("effects/files_made_moved_and_read.py")


def prepare(agent: Agent) -> None:
    """What the program finds."""
    (agent.watched / "folder" / "deep").mkdir(parents=True)
    (agent.watched / "folder" / "deep" / "file").write_text("deep")
    (agent.watched / "state").write_text("old state")
    (agent.home / "diary").write_text("dear")


def clear(agent: Agent) -> None:
    """Nothing of it is left."""
    for each in [*agent.watched.iterdir(), *agent.home.iterdir()]:
        if each.name != "agent.py":
            subprocess.run(["rm", "-r", str(each)], check=True)


@pytest.mark.skipif(not refusing.supported(), reason="nothing can be refused here")
def test_an_agent_writes_to_a_copy_and_reads_from_it(agent: Agent) -> None:
    agent.write(AGENT)
    prepare(agent)
    recorded = agent.record()
    clear(agent)
    prepare(agent)
    before = agent.picture()
    done = agent.run(*REPLAY)
    report = json.loads(done.stdout)
    assert agent.picture() == before
    assert report["verdict"] == "exact" and report["exit_code"] == 0, (report, recorded.stdout, done.stderr)
    assert report["enforcement"][2] == "Python calls only"
    assert "scratch copy of what Python code writes" in report["enforcement"]


@pytest.mark.skipif(not refusing.supported(), reason="nothing can be refused here")
def test_it_begins_as_the_run_began(agent: Agent) -> None:
    agent.write("""
        import os
        print(os.listdir("."), os.path.exists("made"))
        with open("count") as file:
            count = int(file.read())
        with open("count", "w") as file:
            file.write(str(count + 1))
        print(count, os.path.exists("made"))
        os.mkdir("made")
    """)
    (agent.watched / "count").write_text("3")
    agent.record()
    before = agent.picture()
    report = json.loads(agent.run(*REPLAY).stdout)
    assert report["verdict"] == "exact", report
    assert agent.picture() == before and (agent.watched / "count").read_text() == "4"


@pytest.mark.skipif(not refusing.supported(), reason="nothing can be refused here")
@pytest.mark.parametrize(
    "act",
    [
        "io.FileIO('state', 'w')",
        "os.mkfifo('state-too')",
        "socket.socket(socket.AF_UNIX).bind('state-too')",
    ],
)
def test_what_is_not_redirected_is_refused_by_name(agent: Agent, act: str) -> None:
    agent.write(f"""
        import io, os, socket
        if os.environ.get("ACT"):
            {act}
    """)
    prepare(agent)
    agent.record(ACT="1")
    clear(agent)
    prepare(agent)
    before = agent.picture()
    report = json.loads(agent.run(*REPLAY, ACT="1").stdout)
    assert report["exit_code"] == 5 and "change of the file" in report["refused"][0], report
    assert "state" in report["refused"][0] and "agent.py:" in report["refused"][0]
    assert agent.picture() == before
