"""A replay is kept from the world by means it names: no network to be had, and files that go to scratch."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reenact.replaying.disk_cover import CoveredFiles, outermost
from reenact.replaying.isolation import Isolation, folders_of
from reenact.replaying.replay_report import enforced
from reenact.seams.boot.folders import Folder

from .conftest import Agent, in_force, permitted

WRITING = """
    import os, pathlib, tempfile
    for folder in (".", os.environ["HOME"], "below"):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "log"), "a") as file:
            file.write("a line\\n")
        print(pathlib.Path(folder, "log").read_text())
    os.rename("old", "renamed")
    os.unlink("gone")
    print(sorted(os.listdir(".")), os.getuid(), os.getcwd() == os.environ["PWD_THEN"])
"""


def test_what_a_program_writes_in_a_replay_goes_to_scratch(agent: Agent) -> None:
    agent.write(WRITING)
    for name in ("old", "gone"):
        (agent.watched / name).write_text(name)
    recorded = agent.record(PWD_THEN=str(agent.watched))
    (agent.watched / "log").unlink()
    (agent.watched / "below" / "log").unlink()
    (agent.home / "log").unlink()
    (agent.watched / "renamed").rename(agent.watched / "old")
    (agent.watched / "gone").write_text("gone")
    before = agent.picture()
    report = agent.report(PWD_THEN=str(agent.watched))
    in_force(report, "scratch overlay")
    assert report["verdict"] == "exact", report
    assert "a line" in recorded.stdout and agent.picture() == before


def test_temporary_files_that_the_recorded_run_left_behind_give_way_in_a_replay_alone(agent: Agent) -> None:
    agent.write("""
        import os, subprocess, sys, tempfile
        with tempfile.NamedTemporaryFile("w", suffix=".py", dir=".", delete=False) as script:
            script.write("print(6 * 7)")
        folder = tempfile.mkdtemp(dir=".")
        open(os.path.join(folder, "inside"), "w").close()
        print(script.name, folder, os.listdir(folder))
        print(subprocess.run([sys.executable, script.name], capture_output=True, text=True).stdout)
    """)
    recorded = agent.record()
    before = agent.picture()
    assert "42" in recorded.stdout and any(name.endswith(".py") and "tmp" in name for name in before), before
    report = agent.report()
    in_force(report, "scratch overlay")
    assert report["verdict"] == "exact", report
    assert agent.picture() == before


def test_the_last_line_and_the_report_name_what_is_in_force(agent: Agent) -> None:
    agent.write("print('hello')")
    agent.record()
    done, report = agent.replay(), agent.report()
    assert report["enforcement"][:2] == ["audit hook (connections, processes, signals)", "own process"]
    named, last = f"enforcement: {', '.join(report['enforcement'])}", done.stderr.splitlines()[-1]
    assert last.startswith("reenact: verdict: same (exact)  live calls made: 0")
    assert last.endswith(named) is not enforced(report["enforcement"]), "where it is whole, the line is short"
    assert agent.replay("-v").stderr.splitlines()[-1] == last.removesuffix(f"  {named}") + f"  {named}"
    assert len(report["enforcement"]) >= 4  # the network and the files, or why not


def test_descriptors_that_the_caller_left_open_are_kept_from_a_replay(agent: Agent, tmp_path: Path) -> None:
    agent.write("""
        import os
        try:
            print(os.write(int(os.environ["INHERITED"]), b"once "))
        except OSError as error:
            print(error)
    """)
    ours = (sys.executable, "-m", "reenact")
    with (tmp_path / "kept").open("wb") as kept:
        environment = {**os.environ, "INHERITED": str(kept.fileno()), "REENACT_STORE": str(tmp_path / "store")}
        for words in ((*ours, "record", "--", sys.executable, "agent.py"), (*ours, "replay", "@")):
            subprocess.run(
                words, cwd=agent.watched, env=environment, pass_fds=(kept.fileno(),), capture_output=True, check=False
            )
    assert (tmp_path / "kept").read_bytes() == b"once "


def test_native_code_of_a_replay_does_not_schedule_another_process(agent: Agent) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("with one processor there is nothing to choose")
    agent.write("""
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        mask = ctypes.c_ulong(1 << int(os.environ["ONTO"]))
        print(libc.sched_setaffinity(int(os.environ["VICTIM"]), ctypes.sizeof(mask), ctypes.byref(mask)))
        print(libc.sched_setaffinity(0, ctypes.sizeof(mask), ctypes.byref(mask)), os.sched_getaffinity(0))
    """)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as victim:
        assert victim.stdin is not None
        first = sorted(every := os.sched_getaffinity(0))[0]
        asked = {"VICTIM": str(victim.pid), "ONTO": str(first)}
        agent.record(**asked)
        assert os.sched_getaffinity(victim.pid) == {first}
        os.sched_setaffinity(victim.pid, every)
        report = agent.report(**asked)
        in_force(report, "system calls filtered")
        assert os.sched_getaffinity(victim.pid) == every and report["verdict"] == "exact", report
        victim.stdin.close()


def test_a_native_library_that_no_hook_sees_finds_no_network(agent: Agent) -> None:
    agent.write("""
        import ctypes, os, socket, struct
        libc = ctypes.CDLL(None)
        there = libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
        port = int(os.environ["PORT"])
        address = struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", port, bytes([127, 0, 0, 1]))
        libc.dlsym.restype = ctypes.c_void_p
        two = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)
        three = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int)
        connect, send = two(libc.dlsym(None, b"connect")), three(libc.dlsym(None, b"send"))
        if connect(there, address, len(address)) == 0:
            send(there, b"native\\n", 7, 0)
        libc.recv(there, ctypes.create_string_buffer(64), 64, 0)
    """)
    agent.record()
    assert agent.counting.seen() == ["native"]
    report = agent.report()
    in_force(report, "network namespace")
    assert report["exit_code"] == 0  # it says nothing of what it could not do
    assert agent.counting.seen() == ["native"]


def test_a_program_may_listen_to_itself_and_the_replay_can_be_kept(agent: Agent) -> None:
    agent.write("""
        import socket
        with socket.socket() as here:
            here.bind(("127.0.0.1", 0))
            here.listen()
            print("listening")
    """)
    recorded = agent.record()
    report = agent.report("--save")
    assert report["verdict"] == "exact" and report["saved"]
    assert recorded.stdout == "listening\n"
    assert (
        report["saved"] in agent.run(sys.executable, "-m", "reenact", "--json", "ls").stdout
    )  # kept in the store itself, not in scratch


def test_a_store_among_the_files_is_said_to_be_open(agent: Agent) -> None:
    agent.write("open('log', 'a').write('x')")
    store = f"sqlite:///{agent.watched}/runs.db"
    agent.record(REENACT_STORE=store)
    words = " ".join(agent.report(REENACT_STORE=store)["enforcement"])
    assert "files not isolated (" in words


ISOLATED = """
import os, sys
from reenact.replaying.isolation import isolate
here = os.getcwd()
keep = [os.path.join(here, "keep", "boot"), os.path.join(here, "keep"), os.path.dirname(sys.executable)]
print(isolate([here], keep, os.path.join(keep[0], "scratch")).words())
print(open("volume/data").read(), open("data").read())
for name in ("volume/data", "data", "keep/data", "keep/boot/data"):
    with open(name, "w") as file:
        file.write("changed")
"""


def test_what_is_mounted_below_a_folder_is_seen_and_goes_to_scratch_too(tmp_path: Path) -> None:
    if not permitted():
        pytest.skip("this system does not permit mounts in a namespace")
    for folder in ("volume", "keep/boot/scratch"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "data").write_text("outer")
    (tmp_path / "isolated.py").write_text(ISOLATED)
    mount = "mount -t tmpfs none volume && echo -n inner > volume/data"
    script = f"{mount} && '{sys.executable}' isolated.py && cat volume/data data keep/data keep/boot/data"
    words = ["unshare", "-rm", "sh", "-c", script]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said, seen, after = done.stdout.split("\n")
    kept = " ".join(sorted((f"{tmp_path}/keep", os.path.dirname(sys.executable))))
    assert f"scratch overlay (every folder; open: {kept} devices)" in said and "not isolated" not in said
    assert seen == "inner outer" and after == "innerouterchangedchanged"


PATHS = st.lists(st.text("ab/", min_size=1, max_size=8).map(lambda text: "/" + text.strip("/").replace("//", "/")))


@given(PATHS)
def test_of_nested_folders_the_outer_one_stays(folders: list[str]) -> None:
    kept = outermost(folders)
    assert "/" not in kept
    for each in set(folders) - {"/"}:
        assert sum(each == outer or each.startswith(outer + "/") for outer in kept) == 1


def test_the_folders_are_those_a_program_may_write(agent: Agent) -> None:
    here, home = str(agent.watched), str(agent.home)
    assert {here, home} <= set(folders_of(here, "", {"HOME": home, "TMPDIR": "/nowhere"}))
    assert here not in folders_of(here, str(agent.watched.parent), {})  # its project covers it
    assert folders_of("/", "/", {"HOME": "relative", "TMPDIR": "/nowhere"}) in ((), ("/var/tmp",))


def test_what_is_not_in_force_is_said_with_its_reason(tmp_path: Path) -> None:
    some = CoveredFiles((("/a", 1), ("/b", 1)), True, ("/a/store",))
    found = Isolation(True, some, calls=True)
    assert found.words() == ("network namespace", "scratch overlay (/a /b)", "system calls filtered")
    assert found.hides("/a/x") and not found.hides("/a/store/x") and not found.hides("/c")
    whole = Isolation(True, replace(some, sealed=True), no_calls="not on s390x", no_privileges="not permitted").words()
    reach, calls = "every folder; open: /a/store devices", "system calls not filtered (not on s390x)"
    assert whole == ("network namespace", f"scratch overlay ({reach})", calls, "privileges kept (not permitted)")
    refused = Isolation(no_network="not permitted", no_files="read only", no_calls="not here").words()
    files = "files not isolated (read only)"
    network = "no network namespace (not permitted)"
    assert refused == ("Python calls only", network, files, "system calls not filtered (not here)")


def test_only_a_folder_of_ours_is_named_without_what_was_drawn(tmp_path: Path) -> None:
    theirs = tmp_path / "reenact-recordings"
    theirs.mkdir()
    with Folder(within=str(tmp_path)) as ours:
        cover = CoveredFiles((("/", 1),), True, (str(theirs), ours), sealed=True)
        words = " ".join(Isolation(network=True, cover=cover, calls=True).words())
    assert str(theirs) in words and f"{tmp_path}/reenact-*" in words and ours not in words
