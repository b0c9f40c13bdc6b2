"""The sources that a bundle carries run when they are asked for in so many words, and see neither network, home nor
project; whatever they try, this machine is as it was."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from reenact.facts.record import EvidenceNoted
from reenact.facts.run import Entry
from reenact.replaying import system_call_filter
from reenact.replaying.isolation import Isolation
from reenact.store.bundles import write_bundle
from tests.bundles.conftest import SECRET, Place
from tests.bundles.forging import small
from tests.programs import read_program
from tests.store.records import new_run

NOT_HERE = "does not cut"

PROBE = read_program("bundles/probe_of_a_sandbox.py")


def forged(path: Path, texts: Mapping[str, str], *argv: str, cwd: str = "/elsewhere/proj", **note: Any) -> Path:
    """A bundle whose sources another hand has written."""
    entry = Entry("command", argv or ("python", "agent.py"), cwd=cwd, project="/elsewhere/proj")
    run = new_run(entry=entry, environment=note.pop("environment", {}))
    said = {"digest": "0" * 32, "packages": [], "sources": dict.fromkeys(texts, "0" * 32), "texts": dict(texts), **note}
    write_bundle(path, [small(run, EvidenceNoted(None, "kit.process", said))])
    return path


def ran(place: Place, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A replay of sources; skipped where this machine does not cut them off, which is said with exit status 3."""
    done = place.reenact("replay", *words, "--sources", **variables)
    if NOT_HERE in done.stderr:
        assert done.returncode == 3
        pytest.skip(done.stderr.partition(NOT_HERE)[2].splitlines()[0])
    return done


@pytest.fixture
def other(shop: Place, tmp_path: Path) -> Place:
    """A machine that has the bundle and nothing of the project; what belongs to its user lies in its own folders."""
    place = Place(tmp_path / "mine" / "proj", tmp_path / "home")
    shutil.copy(shop.folder / "run.reenact", place.folder)
    (tmp_path / "home" / ".keys").mkdir()
    (tmp_path / "home" / ".keys" / "id_test").write_text(SECRET)
    (place.folder / ".env").write_text(SECRET)
    (place.folder / ".git").mkdir()
    return place


def test_one_file_is_enough(other: Place) -> None:
    done = other.reenact("replay", "run.reenact")
    assert (done.returncode, "agent.py is not there any more" in done.stderr) == (3, True)
    assert "run.reenact --sources" in done.stderr
    for more in ((), ("--dry-run",)):
        forked = other.reenact("fork", "run.reenact:0", *more)
        assert "next: reenact replay run.reenact --sources" in forked.stderr, forked.stderr
    shutil.rmtree(other.folder / ".reenact")
    done = ran(other, "run.reenact")
    assert "code of the bundle: 1 source file" in done.stderr, done.stderr
    assert "'rate': 17" in done.stdout
    assert sorted(os.listdir(other.folder)) == [".env", ".git", "run.reenact"]


@pytest.mark.parametrize("more", [("--live", "http"), ("--events",), ("--rev", "main"), ("--cmd", "python x.py"),
                                  ("--entry", "a:b"), ("--save",)])  # fmt: skip
def test_nothing_else_is_asked_for_with_it(other: Place, more: tuple[str, ...]) -> None:
    done = other.reenact("replay", "run.reenact", "--sources", *more)
    assert (done.returncode, f"--sources and {more[0]} exclude each other" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("verb", [("fork", "run.reenact:1"), ("resume", "run.reenact")])
def test_neither_a_fork_nor_a_resumption_runs_them(other: Place, verb: tuple[str, ...]) -> None:
    done = other.reenact(*verb, "--sources")
    assert (done.returncode, "--sources is only for replay" in done.stderr) == (2, True), done.stderr


def test_a_run_of_a_store_is_packed_first(shop: Place) -> None:
    done = shop.reenact("replay", "@", "--sources")
    assert (done.returncode, "reenact pack" in done.stderr) == (2, True), done.stderr


def test_a_bundle_without_sources_says_so(other: Place) -> None:
    forged(other.folder / "x.reenact", {})
    done = other.reenact("replay", "x.reenact", "--sources")
    assert (done.returncode, "carries no sources" in done.stderr) == (3, True)
    assert "record the whole program to its end and pack that run" in done.stderr
    assert "--sources" not in other.reenact("replay", "x.reenact").stderr


def test_foreign_code_meets_nothing_of_this_machine(other: Place, tmp_path: Path) -> None:
    home, outside = tmp_path / "home", tmp_path / "outside"
    outside.mkdir()
    service = str(tmp_path / "s")
    written = [str(each / "pwned") for each in (home, other.folder, outside, Path("/var/tmp"))]
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(service)
        listening.listen()
        targets = {
            "key": str(home / ".keys" / "id_test"), "dotenv": str(other.folder / ".env"), "home": str(home),
            "project": str(other.folder), "seal": str(home / "state" / "reenact" / "key"), "service": service,
            "port": server.getsockname()[1], "written": written,
        }  # fmt: skip
        bundle = forged(
            other.folder / "x.reenact", {"agent.py": textwrap.dedent(PROBE), "targets.json.py": json.dumps(targets)}
        )
        done = ran(other, bundle.name, SHOP_TODAY="today", SHOP_API_KEY=SECRET)
        assert SECRET not in done.stdout + done.stderr
        assert "{" in done.stdout, done.stderr
        found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()
    for name in ("key", "key natively", "dotenv", "dotenv natively", "seal", "socket", "service"):
        assert str(found[name]).startswith("refused"), (name, found)
    assert (found["by a process"], found["by a descriptor"]) == ([], []), found
    assert (found["process"], found["natively"], found["exec"]) == (127 << 8, -1, -1), found  # 127: no shell began
    assert (found["variable"], found["secret variable"], found["HOME"]) == (None, None, None)
    assert set(found["disk"]) <= {"null", "zero", "full", "random", "urandom", "shm"}
    assert SECRET not in str(found)
    for each in ("home", "project"):
        assert not {".keys", ".env", ".git", "x.reenact"} & set(found[each]), found
    assert not any(Path(each).exists() for each in written)


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.create_connection(('127.0.0.1', {port}), 2)",
        "import subprocess, sys; subprocess.run(['touch', {path!r}])",
        "import os; os.system('touch ' + {path!r})",
        "import os; os.fork() or open({path!r}, 'w').write('x')",
        "import os, sys; os.execv('/bin/touch', ['touch', {path!r}])",
        "open({path!r}, 'w').write('pwned')",
        "import os; os.symlink('/etc', {path!r})",
        "import os; os.kill(os.getppid(), 9)",
    ],
)
def test_nor_does_it_by_python(other: Place, tmp_path: Path, code: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        path = tmp_path / "pwned"
        said = code.format(port=server.getsockname()[1], path=str(path))
        forged(other.folder / "x.reenact", {"agent.py": said})
        done = ran(other, "x.reenact")
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert (done.returncode in (1, 3, 5), os.path.lexists(path)) == (True, False), done


@pytest.mark.parametrize(
    "name",
    ["../agent.py", "/tmp/agent.py", "a/../../agent.py", "./agent.py", "a//b.py", "a\\b.py", "a\nb.py", "C:x.py", ".."],
)
def test_a_name_that_leads_out_is_refused(other: Place, tmp_path: Path, name: str) -> None:
    forged(other.folder / "x.reenact", {"agent.py": "print('ran')", name: "pwned"})
    done = other.reenact("replay", "x.reenact", "--sources")
    assert (done.returncode, "does not lie below the recorded project" in done.stderr) == (3, True), done.stderr
    assert "ran" not in done.stdout.split()


def test_so_is_a_working_directory_that_does(other: Place) -> None:
    forged(other.folder / "x.reenact", {"agent.py": "print('ran')"}, cwd="/elsewhere")
    note = {"root": "/elsewhere/proj/deep"}
    entry = Entry("command", ("python", "agent.py"), cwd="/elsewhere", project="/elsewhere/proj")
    said = {"digest": "0", "sources": {}, "texts": {"agent.py": "print('ran')"}}
    more = (EvidenceNoted(None, "kit.process", said), EvidenceNoted(None, "kit.revision", note))
    write_bundle(other.folder / "y.reenact", [small(new_run(entry=entry), *more)])
    done = other.reenact("replay", "y.reenact", "--sources")
    assert (done.returncode, "does not lie below" in done.stderr, done.stdout) == (3, True, ""), done.stderr


@pytest.mark.parametrize(
    "texts",
    [
        {"agent.py": "#" * (300 << 10)},
        {f"m{n}.py": "" for n in range(401)},
        {f"m{n}.py": "#" * (200 << 10) for n in range(11)},
    ],
)
def test_more_than_a_recording_keeps_is_refused(other: Place, texts: Mapping[str, str]) -> None:
    forged(other.folder / "x.reenact", texts)
    done = other.reenact("replay", "x.reenact", "--sources")
    assert (done.returncode, "more than a recording keeps" in done.stderr) == (3, True), done.stderr


def test_a_name_below_a_file_is_refused(other: Place) -> None:
    forged(other.folder / "x.reenact", {"a.py": "1", "a.py/b.py": "2"})
    done = other.reenact("replay", "x.reenact", "--sources")
    assert (done.returncode, "cannot be laid out" in done.stderr) == (3, True), done.stderr


def test_no_source_runs_before_the_cut(other: Place, tmp_path: Path) -> None:
    """What Python imports by itself is looked for where the interpreter is, not among the sources."""
    trap = f"open({str(tmp_path / 'outside')!r}, 'w').write('pwned'); print('trapped')"
    names = ("sitecustomize.py", "usercustomize.py", "src/sitecustomize.py")
    environment = {"env": {"PYTHONPATH": "src", "PYTHONSTARTUP": "sitecustomize.py", "PYTHONHOME": "/elsewhere/proj"}}
    forged(other.folder / "x.reenact", {**dict.fromkeys(names, trap), "agent.py": "print('ran')"},
           environment=environment)  # fmt: skip
    done = ran(other, "x.reenact", PYTHONPATH_TODAY="x")
    assert done.stdout.split() == ["ran"], done
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("argv", [("sh", "-c", "touch pwned"), ("python", "-c", "1"), ("python", "-m", "pip"),
                                  ("python", "-i", "agent.py"), ("python", "/etc/hostname")])  # fmt: skip
def test_a_command_that_is_no_source_of_it_is_shown(other: Place, argv: tuple[str, ...]) -> None:
    forged(other.folder / "x.reenact", {"agent.py": "print('ran')"}, *argv)
    done = other.reenact("replay", "x.reenact", "--sources")
    assert (done.returncode, "shown, not executed" in done.stderr, done.stdout) == (3, True, ""), done.stderr


@pytest.mark.parametrize("left", ["[]", "{", "link", "pipe"])
def test_a_report_that_the_code_has_forged_leads_nowhere(other: Place, left: str) -> None:
    """The process writes its report itself: one that is none is said, and nothing is followed or waited for."""
    code = f"""
        import gc, os
        from reenact.replaying import replay_process
        place = replay_process.current()._place
        result = place / "result"
        if {left!r} == "link":
            os.symlink("/dev/zero", result)
        elif {left!r} == "pipe":
            os.mkfifo(result)
        else:
            result.write_text({left!r})
        replay_process.current()._finished = True
        """
    forged(other.folder / "x.reenact", {"agent.py": textwrap.dedent(code)})
    done = ran(other, "x.reenact")
    assert done.returncode >= 2, done
    assert "unexpected" not in done.stderr, done.stderr


def test_where_something_is_not_cut_it_is_refused() -> None:
    assert Isolation(no_network="not permitted", no_files="not on this system", no_calls="not here").missing.startswith(
        "the network (not permitted), files (not on this system), processes (not here)"
    )


def test_where_the_system_cuts_nothing_nothing_is_run(other: Place) -> None:
    forged(other.folder / "x.reenact", {"agent.py": "print('ran')"})
    denied = system_call_filter.program(os.uname().machine, 0, rules=[system_call_filter.Ban("unshare", 272, 97)])
    if not denied:
        pytest.skip("no filter for this machine")
    wrapper = f"""
        import ctypes, struct, sys
        code = bytes.fromhex({denied.hex()!r})
        libc = ctypes.CDLL(None, use_errno=True)
        held = ctypes.create_string_buffer(code, len(code))
        given = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(held)))
        none = [ctypes.c_ulong(0)] * 3
        assert libc.prctl(38, ctypes.c_ulong(1), *none) == 0
        assert libc.prctl(22, ctypes.c_ulong(2), ctypes.byref(given), *none[:2]) == 0
        from reenact.interfaces.cli.main import main
        sys.argv = ["reenact", "replay", "x.reenact", "--sources"]
        main()
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(wrapper)], cwd=other.folder, env=other.environment,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, NOT_HERE in done.stderr, done.stdout) == (3, True, ""), done.stderr
