"""Kinds of effect, as a table: each with a canary, and what a frozen replay does about it on both kinds of system."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from . import refusing
from .conftest import Agent, permitted

PREVENTED = "prevented"
"""It is not refused in words: it goes to scratch, or the system answers with an error. The world sees nothing."""
REFUSED = "refused"
"""The replay stops, names it, and has status 5. The world sees nothing."""
COPIED = "copied"
"""Where the system permits nothing: it goes to a scratch copy of what Python code writes. The world sees nothing."""
GAP = "gap"
"""Native code, where the system permits nothing: it happens, and the last line says that only Python calls are seen."""


@dataclass(frozen=True)
class Expected:
    """What comes of one kind.

    Attributes:
        within: Where the system permits namespaces, mounts and filters.
        without: Where it permits none of them.
        named: What a recording calls it, as a gap of the run; empty where native code does it, or a replay does it
            again in scratch.
    """

    within: str
    without: str
    named: str = ""


SCRATCH = Expected(PREVENTED, COPIED)
BEYOND = Expected(PREVENTED, REFUSED)
"""What no function that is redirected does."""
NATIVE = Expected(PREVENTED, GAP)
TABLE = {
    "kill": Expected(REFUSED, REFUSED, "signal"),
    "killpg": Expected(REFUSED, REFUSED, "signal"),
    "kill_through_pidfd": Expected(REFUSED, REFUSED, "signal"),
    "kill_asked_of_c": Expected(PREVENTED, REFUSED),
    "kill_raw": NATIVE,
    "fork_exec": Expected(REFUSED, REFUSED, "process"),
    "fork_raw": NATIVE,
    "create": SCRATCH,
    "create_by_descriptor": SCRATCH,
    "create_in_c": NATIVE,
    "append": SCRATCH,
    "unlink": SCRATCH,
    "rename": SCRATCH,
    "rename_folder": SCRATCH,
    "mkdir": SCRATCH,
    "rmdir": SCRATCH,
    "chmod": SCRATCH,
    "utime": SCRATCH,
    "truncate": SCRATCH,
    "symlink": SCRATCH,
    "hard_link": SCRATCH,
    "write_through_a_map": SCRATCH,
    "fifo": BEYOND,
    "unix_socket": BEYOND,
    "unix_connection_raw": NATIVE,
    "shared_memory": BEYOND,
    "message_queue_raw": NATIVE,
    "sqlite_attach": Expected(REFUSED, REFUSED, "database"),
    "sqlite_vacuum_into": Expected(REFUSED, REFUSED, "database"),
    "dbm_cache": BEYOND if any(map(find_spec, ("_gdbm", "_dbm", "dbm.sqlite3"))) else SCRATCH,
    "host_name": Expected(REFUSED, REFUSED, "host name"),
    "host_name_raw": NATIVE,
    "priority": Expected(REFUSED, REFUSED, "priority"),
    "priority_raw": NATIVE,
    "limit": Expected(REFUSED, REFUSED, "limit"),
    "oom_score": Expected(REFUSED, REFUSED, "kernel setting"),
    "unmount_the_cover_raw": NATIVE,
    "trace_raw": NATIVE,
    "mount_raw": NATIVE,
    "time_of_day_raw": NATIVE,
    "module_raw": NATIVE,
    "raw_network": NATIVE,
    "keyring_raw": NATIVE,
    "ring_raw": NATIVE,
}
ANSWERED = {"kill_raw", "host_name_raw", "priority_raw", "trace_raw", "mount_raw", "time_of_day_raw", "module_raw"}
ANSWERED |= {"raw_network", "keyring_raw", "unmount_the_cover_raw", "kill_asked_of_c"}
"""Those that the system answers with *not permitted*."""


Recorded = tuple[Agent, dict[str, str]]


class Surroundings:
    """What the agent acts on: a folder outside its own, a process, a listening socket, names that all can see.

    Args:
        folder: Where it is; made anew for each try.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = f"reenact-canary-{secrets.token_hex(4)}"
        self._process: subprocess.Popen[bytes] | None = None
        self._listening: socket.socket | None = None

    def begin(self, kinds: str) -> None:
        """All as it was, and the kinds that the agent is to perform."""
        self.end()
        self.folder.mkdir()
        for name in ("folder", "empty", "full"):
            (self.folder / name).mkdir()
        for name in (*(f"to-{each}" for each in TABLE), "full/inside"):
            (self.folder / name).write_text("there")
        (self.folder / "kinds").write_text(kinds)
        (self.folder / "mounts").write_text(os.readlink("/proc/self/ns/mnt"))
        self._process = subprocess.Popen(["sleep", "600"], start_new_session=True)
        (self.folder / "pid").write_text(str(self._process.pid))
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.folder / "listening"))
        self._listening.listen()
        self._listening.setblocking(False)

    def seen(self) -> dict[str, Any]:
        """All that can be seen of it."""
        assert self._process is not None and self._listening is not None
        found: dict[str, Any] = {"alive": self._process.poll() is None}
        if found["alive"]:
            found["priority"] = os.getpriority(os.PRIO_PROCESS, self._process.pid)
            found["oom"] = Path(f"/proc/{self._process.pid}/oom_score_adj").read_text()
            found["limits"] = Path(f"/proc/{self._process.pid}/limits").read_text()
        try:
            self._listening.accept()[0].close()
            found["reached"] = True
        except BlockingIOError:
            found["reached"] = False
        found["memory"] = os.path.exists(f"/dev/shm/{self.name}")
        found["queue"] = ctypes.CDLL(None).mq_unlink(f"/{self.name}".encode()) == 0
        for path in sorted(self.folder.rglob("*")):
            about = path.lstat()
            data = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else ""
            found[path.name] = (about.st_mode, about.st_nlink, int(about.st_mtime) == 1, data)
        return found

    def end(self) -> None:
        """Nothing of it is left."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._listening is not None:
            self._listening.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if os.path.exists(f"/dev/shm/{self.name}"):
            os.unlink(f"/dev/shm/{self.name}")
        ctypes.CDLL(None).mq_unlink(f"/{self.name}".encode())


@pytest.fixture(scope="module")
def world() -> Iterator[Surroundings]:
    """A world outside of every folder that a program usually writes to."""
    if sys.platform != "linux":
        pytest.skip("the canaries (queues, /proc, keyrings) exist on Linux alone")
    place = next((each for each in ("/opt", "/srv", "/var/lib") if os.access(each, os.W_OK)), "")
    if not place:
        pytest.skip("none of /opt, /srv, /var/lib can be written by this user")
    folder = tempfile.mkdtemp(dir=place)
    made = Surroundings(Path(folder) / "world")
    try:
        yield made
    finally:
        made.end()
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def recorded(world: Surroundings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """An agent that was recorded with every kind, and what it said of each."""
    agent = Agent(tmp_path_factory.mktemp("kinds"))
    shutil.copy(Path(__file__).with_name("acts.py"), agent.watched / "agent.py")
    world.begin("\n".join(sorted(TABLE, key=lambda name: (name.startswith(("kill", "trace")), name))))
    done = agent.record(WORLD=str(world.folder), NAME=world.name)
    yield agent, dict(line.split(" ", 1) for line in done.stdout.splitlines())
    agent.counting.close()


def test_every_kind_is_in_the_table(recorded: Recorded) -> None:
    assert set(recorded[1]) == set(TABLE)


def replayed(agent: Agent, world: Surroundings, system: str, kinds: str) -> tuple[dict[str, Any], str]:
    """Replay some kinds; gives the report and what the program said. What happened shows in the world."""
    if system == "within" and not permitted():
        pytest.skip("this system permits no namespaces")
    if system == "without" and not refusing.supported():
        pytest.skip("this system has no seccomp filter that would refuse namespaces")
    world.begin(kinds)
    command = [sys.executable, "-m", "reenact", "replay", "@", "--json"]
    if system == "without":
        command = [sys.executable, str(Path(refusing.__file__)), *command]
    done = agent.run(*command, WORLD=str(world.folder), NAME=world.name)
    report: dict[str, Any] = json.loads(done.stdout)
    if system == "without":
        assert report["enforcement"][2] == "Python calls only", report["enforcement"]
    return report, done.stderr


def alike(system: str, expected: str) -> list[str]:
    """The kinds of which one thing is expected."""
    return [name for name, each in TABLE.items() if getattr(each, system) == expected]


def test_what_the_system_prevents_leaves_the_world_as_it_is(world: Surroundings, recorded: Recorded) -> None:
    kinds = alike("within", PREVENTED)
    world.begin("")
    before = world.seen()
    report, said = replayed(recorded[0], world, "within", "\n".join(kinds))
    after = world.seen()
    assert {**after, "kinds": 0, "pid": 0} == {**before, "kinds": 0, "pid": 0}
    assert report["exit_code"] != 5 and not report["refused"], report
    answers = dict(line.split(" ", 1) for line in said.splitlines() if line.split(" ")[0] in TABLE)
    assert set(answers) == set(kinds), said
    assert {name: answers[name] for name in sorted(ANSWERED)} == dict.fromkeys(sorted(ANSWERED), "EPERM")
    done = {name for name in kinds if TABLE[name] in (SCRATCH, BEYOND)} - ANSWERED
    assert {name: answers[name] for name in sorted(done)} == dict.fromkeys(sorted(done), "done")


@pytest.mark.parametrize(
    ("kind", "system"), [(kind, system) for system in ("within", "without") for kind in alike(system, REFUSED)]
)
def test_a_replay_refuses_it_by_name(kind: str, system: str, world: Surroundings, recorded: Recorded) -> None:
    world.begin(kind)
    before = world.seen()
    report, said = replayed(recorded[0], world, system, kind)
    assert {**world.seen(), "pid": 0} == {**before, "pid": 0}
    assert report["exit_code"] == 5, said
    assert "agent.py:" in report["refused"][0], report


def test_without_any_means_what_python_code_writes_goes_to_a_copy(world: Surroundings, recorded: Recorded) -> None:
    kinds = alike("without", COPIED)
    world.begin("")
    before = world.seen()
    report, said = replayed(recorded[0], world, "without", "\n".join(kinds))
    after = world.seen()
    assert {**after, "kinds": 0, "pid": 0} == {**before, "kinds": 0, "pid": 0}
    assert report["exit_code"] != 5 and not report["refused"], report
    assert "scratch copy of what Python code writes" in report["enforcement"]
    answers = dict(line.split(" ", 1) for line in said.splitlines() if line.split(" ")[0] in TABLE)
    assert answers == dict.fromkeys(kinds, "done"), said


def test_without_any_means_native_code_is_said_not_to_be_seen(world: Surroundings, recorded: Recorded) -> None:
    gaps = alike("without", GAP)
    assert gaps and all(name.endswith(("_raw", "_in_c")) or name == "raw_network" for name in gaps)
    replayed(recorded[0], world, "without", "create_in_c")


def test_a_recording_names_each_that_a_replay_refuses(recorded: Recorded) -> None:
    agent, _ = recorded
    kit = agent.run(sys.executable, "-m", "reenact", "kit", "@").stdout
    for named in {each.named for each in TABLE.values() if each.named}:
        assert f"gap: {named} at agent.py" in kit, f"{named} in {kit}"
