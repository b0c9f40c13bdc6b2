"""Proof that nothing is left of a command that is killed or told to end, and that a recorded program goes on."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from reenact.seams.boot import folder_lock, folders
from reenact.seams.boot.folders import Folder
from reenact.seams.boot.fork_server_client import ForkServerClient
from reenact.seams.boot.parent import Boot
from reenact.testing.goldens.golden_execution import run_golden
from tests.goldens.yard import Yard

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a pipe sends no signal that ends a process")

AGENT = """
import ctypes, os, sys
import reenact

@reenact.tool(effect="read")
def look(what):
    return what.upper()

print(look(sys.argv[1]))
if os.path.exists("hold"):
    ctypes.CDLL(None).prctl(15, b"held-here")
    os.read(os.pipe()[0], 1)
print(look("end"))
"""
SHARED = Path("/dev/shm")


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """A project with a program that can be made to stand still, its runs, and goldens of them."""
    folder = tmp_path_factory.mktemp("left")
    (folder / "temporary").mkdir()
    made = Yard(folder, {"TMPDIR": str(folder / "temporary")})
    made.write("agent.py", AGENT)
    for name in ("one", "two", "three"):
        made.record("agent.py", name)
        done = made.reenact("golden", "add", "@", "--as", name)
        assert done.returncode == 0, done.stderr
        assert made.reenact("tag", "@", f"name={name}").returncode == 0
    yield made
    (made.project / "hold").unlink(missing_ok=True)


COMMANDS = {
    "replay": (("replay", "{one}"), 1),
    "fork": (("fork", "{one}:0", "--live", "none"), 1),
    "golden": (("golden", "run", "one"), 1),
    "goldens": (("golden", "run", "-j", "3"), 3),
    "interpreter of its own": (("golden", "run", "one", "--live", "model"), 1),
}


TOLD = (
    *(("SIGKILL", command) for command in COMMANDS),
    *(("SIGTERM", command) for command in ("replay", "goldens", "interpreter of its own")),
    *(("SIGINT", command) for command in ("fork", "goldens")),
)


@pytest.mark.parametrize(("name", "command"), TOLD)
def test_processes_end_with_the_one_that_started_them(yard: Yard, command: str, name: str) -> None:
    words, many = COMMANDS[command]
    words = tuple(each.format(one=_run(yard, "one")) for each in words)
    before = _folders(yard)
    with _held(yard, words, many) as (started, others):
        made = _folders(yard) - before
        assert made, "each has a folder while it runs"
        started.send_signal(getattr(signal, name))
        _ended(others, started)
    left = _folders(yard) & made
    if name != "SIGKILL":
        assert not left
        return
    assert left, "whoever is killed removes nothing"
    assert yard.run("python", "-m", "reenact", "record", "--", "python", "-c", "").returncode == 0
    assert not _folders(yard) & made, "the next start has removed it"


def test_several_that_are_killed_at_once_leave_nothing_to_those_that_go_on(yard: Yard) -> None:
    before, one = _folders(yard), _run(yard, "one")
    with _held(yard, ("replay", one), 1) as (killed, its), _held(yard, ("replay", one), 2) as (goes_on, _):
        made = _folders(yard) - before
        killed.kill()
        _ended({pid: fd for pid, fd in its.items() if pid != goes_on.pid}, killed)
        (yard.project / "hold").unlink()
        assert yard.reenact("replay", one).returncode == 0
        swept = made - _folders(yard)
        assert len(swept) == 1, "that of the killed one, and not that of the other"
        assert goes_on.poll() is None
        goes_on.terminate()
        _ended({}, goes_on)
    assert not _folders(yard) - before


def test_a_recorded_program_does_not_end_because_its_recorder_does(yard: Yard) -> None:
    yard.write("asks.py", AGENT + "print(look(input()))\n")
    command = [sys.executable, "-m", "reenact", "record", "--", sys.executable, "asks.py", "begun"]
    recorder = subprocess.Popen(
        command, cwd=yard.project, env=yard.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert recorder.stdin is not None and recorder.stdout is not None
    said = b""
    while b"END" not in said:
        said += os.read(recorder.stdout.fileno(), 100)
    used = _folders(yard)
    recorder.kill()
    recorder.wait()
    assert yard.reenact("replay", _run(yard, "one")).returncode == 0
    assert _folders(yard) & used, "it is used by the program"
    recorder.stdin.write(b"still here\n")
    recorder.stdin.close()
    assert recorder.stdout.read() == b"STILL HERE\n"
    shown = yard.reenact("show", "@").stdout
    assert "still here" in shown, shown
    assert yard.reenact("replay", _run(yard, "one")).returncode == 0
    assert not _folders(yard) & used


def test_an_interpreter_outlives_the_thread_that_started_it(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    from reenact.testing.goldens.golden_dir import open_golden_dir

    yard.enter(monkeypatch)
    golden_dir = open_golden_dir()
    found: list[str] = []
    with ForkServerClient(1) as fork_server:
        for _ in range(3):
            one = threading.Thread(
                target=lambda: found.append(run_golden(golden_dir, "one", start_it=fork_server).status),
                name="of a pool",
            )
            one.start()
            one.join()
        assert (fork_server.started, fork_server.served) == (1, 3)
    assert found == ["passed"] * 3


@pytest.mark.parametrize("mode", ["replay", "fork", "golden"])
def test_a_program_does_not_run_where_its_boot_has_gone(tmp_path: Path, mode: str) -> None:
    boot = Boot({"mode": mode}, {"PATH": os.environ["PATH"]})
    boot.close()
    (tmp_path / "agent.py").write_text("open('ran', 'w')")
    done = subprocess.run([sys.executable, "agent.py"], cwd=tmp_path, env=boot.environment, capture_output=True)
    assert done.returncode == 3 and not (tmp_path / "ran").exists(), done


def test_a_recorded_program_runs_where_its_boot_has_gone(tmp_path: Path) -> None:
    boot = Boot({"mode": "record"}, {"PATH": os.environ["PATH"]})
    boot.close()
    done = subprocess.run([sys.executable, "-c", "print('ran')"], env=boot.environment, capture_output=True)
    assert (done.stdout, done.stderr) == (b"ran\n", b"")


# --- folders ---------------------------------------------------------------------------------------------------------


def test_a_sweep_removes_what_no_process_uses_and_nothing_else(tmp_path: Path) -> None:
    used, stale = Folder(within=str(tmp_path)), tmp_path / "reenact-stale"
    for name in ("reenact-stale", "reenact-of-old", "another"):
        (tmp_path / name / "below").mkdir(parents=True)
    os.close(folder_lock.shared(str(stale), make=True))
    os.close(folder_lock.shared(str(tmp_path / "another"), make=True))
    (tmp_path / "reenact-link").symlink_to(tmp_path / "another")
    folders.sweep(str(tmp_path))
    left = {each.name for each in tmp_path.iterdir()}
    assert left == {used.path.name, "reenact-of-old", "another", "reenact-link"}
    used.close()
    assert not used.path.exists()


def test_a_folder_that_is_swept_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = folder_lock.shared
    swept: list[str] = []

    def late(path: str, *, make: bool = False) -> int:
        if not swept:  # another process holds it alone, and removes it
            swept.append(path)
            os.close(lock(path, make=True))
            folders.sweep(str(tmp_path))
            Path(path).mkdir()
            (Path(path) / ".reenact-lock").touch()
            held = folder_lock.alone(path)
            try:
                return lock(path)
            finally:
                os.close(held)
        return lock(path, make=make)

    monkeypatch.setattr(folder_lock, "shared", late)
    with Folder(within=str(tmp_path)) as path:
        assert path != swept[0] and os.path.isdir(path)


# --- processes that stand still --------------------------------------------------------------------------------------


class _held:
    """A command whose programs stand still; and it and each process that it has started, by a descriptor that tells
    when that has ended. What still runs at the end of the block is killed."""

    def __init__(self, yard: Yard, words: Sequence[str], many: int) -> None:
        self._yard, self._words, self._many = yard, words, many
        self._others: dict[int, int] = {}

    def __enter__(self) -> tuple[subprocess.Popen[bytes], dict[int, int]]:
        (self._yard.project / "hold").touch()
        command = [sys.executable, "-m", "reenact", *self._words]
        self._started = subprocess.Popen(
            command,
            cwd=self._yard.project,
            env=self._yard.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        until = time.monotonic() + 90
        while sum(comm == "held-here" for comm in self._processes().values()) < self._many:
            assert self._started.poll() is None, self._started.stdout and self._started.stdout.read().decode()
            assert time.monotonic() < until, self._processes()
            time.sleep(0.02)
        for pid in self._processes():
            try:
                self._others[pid] = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
        return self._started, self._others

    def __exit__(self, *exc: object) -> None:
        (self._yard.project / "hold").unlink(missing_ok=True)
        self._started.kill()
        self._started.wait()
        assert self._started.stdout is not None
        self._started.stdout.close()
        for descriptor in self._others.values():
            try:
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            except ProcessLookupError:
                continue
            finally:
                os.close(descriptor)

    def _processes(self) -> dict[int, str]:
        """Processes in the environment of this yard, with their names."""
        found = {}
        for place in Path("/proc").iterdir():
            try:
                if place.name.isdigit() and os.fsencode(self._yard.folder) in (place / "environ").read_bytes():
                    found[int(place.name)] = (place / "comm").read_text().strip()
            except OSError:
                continue
        return found


def _ended(others: dict[int, int], started: subprocess.Popen[bytes]) -> None:
    """Wait until all of them have."""
    until = time.monotonic() + 60
    for pid, descriptor in others.items():
        if pid != started.pid:
            ready, _, _ = select.select([descriptor], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"{pid} goes on"
    started.communicate(timeout=60)


def _run(yard: Yard, name: str) -> str:
    """The id of a run of the yard."""
    found = yard.reenact("ls", "--json", "--tag", f"name={name}").stdout.splitlines()
    return str(json.loads(found[-1])["run"])


def _folders(yard: Yard) -> set[Path]:
    """Folders of ours, of this yard: temporary ones, and in memory those whose boot says so."""
    found = {each for each in (yard.folder / "temporary").iterdir() if each.name.startswith("reenact-")}
    for each in SHARED.glob("reenact-*"):
        try:
            if str(yard.project) in (each / "boot" / "instructions.json").read_text():
                found.add(each)
        except OSError:
            continue
    return found
