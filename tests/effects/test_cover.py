"""The cover of a replay changes nothing that a program sees, with privileges and without them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import read_program

from .conftest import Agent, in_force, permitted

UNPRIVILEGED = ("setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-all")
"""Takes the privilege over mounts from whoever runs a command: what is then permitted is a user namespace."""

SEEN = read_program("effects/links_folders_and_modes.py")


def prepare(agent: Agent) -> None:
    """What the program finds."""
    here = agent.watched
    for name in ("folder/inner", "full", "empty", "gone/inner"):
        (here / name).mkdir(parents=True)
    for name in ("one", "alone", "folder/inner/deep", "full/something"):
        (here / name).write_text(name)
        os.utime(here / name, (1_700_000_000, 1_700_000_000))
    os.link(here / "one", here / "two")
    (here / "alone").chmod(0o640)


@pytest.mark.parametrize("privileged", [True, False], ids=["privileged", "unprivileged"])
def test_a_program_sees_its_files_as_they_are(agent: Agent, privileged: bool) -> None:
    rights = () if privileged else UNPRIVILEGED
    if not permitted() or (not privileged and subprocess.run([*rights, "true"], check=False).returncode):
        pytest.skip("this system permits no namespaces, or no user namespace without the privilege over mounts")
    agent.write(SEEN)
    prepare(agent)
    inode = os.stat(agent.watched / "one").st_ino
    recorded = agent.record()
    assert f"linked (2, True, True, {inode})" in recorded.stdout and "Error 18" not in recorded.stdout
    for each in [*agent.watched.iterdir(), *agent.home.iterdir()]:
        if each.name != "agent.py":
            subprocess.run(["rm", "-r", str(each)], check=True)
    prepare(agent)
    inode = os.stat(agent.watched / "one").st_ino
    before = agent.picture()
    done = agent.run(*rights, sys.executable, "-m", "reenact", "replay", "@", "--json")
    report = json.loads(done.stdout)
    in_force(report, "scratch overlay")
    assert "every folder" in " ".join(report["enforcement"])
    assert f"linked (2, True, True, {inode})" in done.stderr
    known = recorded.stdout.splitlines()
    differing = [each for each in done.stderr.splitlines() if each not in known and not each.startswith("reenact:")]
    gap = ("written", "link ") if not privileged else ()  # hard links are kept apart in a user namespace
    assert not [each for each in differing if not each.startswith(("linked", *gap))], differing
    assert agent.picture() == before


def test_what_is_far_from_the_program_goes_to_scratch_as_well(agent: Agent) -> None:
    place = next((each for each in ("/opt", "/srv") if os.access(each, os.W_OK)), "")
    if not place:
        pytest.skip("neither /opt nor /srv can be written by this user")
    agent.write("""
        import os
        path = os.path.join(os.environ["FAR"], f"reenact-far-{os.getppid()}")
        with open(path, "w") as file:
            file.write("far")
        print(open(path).read(), os.path.basename(path) in os.listdir(os.environ["FAR"]))
        os.unlink(path)
    """)
    agent.record(FAR=place)
    before = set(os.listdir(place))
    report = agent.report(FAR=place)
    in_force(report, "scratch overlay")
    assert report["verdict"] == "exact", report
    assert set(os.listdir(place)) == before


def test_a_folder_that_cannot_be_covered_is_read_only(agent: Agent) -> None:
    name = Path("/reenact-canary-of-the-root")
    if not os.access("/", os.W_OK):
        pytest.skip("this user cannot write to /, so that the canary could not show")
    agent.write("""
        import ctypes, os
        name = open("go").read()
        print(ctypes.CDLL(None).creat(os.fsencode(name), 0o600) if name else "no")
    """)
    (agent.watched / "go").write_text("")
    agent.record()
    (agent.watched / "go").write_text(str(name))
    report = agent.report()
    in_force(report, "scratch overlay")
    assert not name.exists()
