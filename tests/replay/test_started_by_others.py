"""What a shell or ``make`` does beside starting the recorded program is never done again."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import reenact
from reenact.errors import UnreplayableRun
from reenact.facts.run import Entry, Run
from reenact.replaying.options import Options
from reenact.replaying.program_start import interpreted, start_of
from reenact.seams.boot.parent import is_python
from tests.desk import Desk

AGENT = """
import sys
import reenact

@reenact.tool(effect="read")
def look(word):
    return word.upper()

with reenact.step("plan", {"word": sys.argv[1]}) as state:
    pass
print(look(state["word"]))
sys.exit(3)
"""
SCRIPT = "echo paid >> paid.txt\npython agent.py stock || echo it failed\n"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="there is no POSIX shell")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    (desk.folder / "agent.py").write_text(AGENT, encoding="utf-8")
    (desk.folder / "run.sh").write_text(SCRIPT, encoding="utf-8")
    return desk


def paid(desk: Desk) -> int:
    """How often the shell has paid."""
    return len((desk.folder / "paid.txt").read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("command", [("./run.sh",), ("env", "sh", "run.sh"), ("sh", "-c", ". ./run.sh")])
def test_the_program_alone_is_replayed(desk: Desk, command: tuple[str, ...]) -> None:
    script = desk.folder / "run.sh"
    script.write_text(f"#!{shutil.which('sh')}\n{SCRIPT}", encoding="utf-8")
    script.chmod(0o755)
    assert desk.record(command).out == b"STOCK\nit failed\n"
    replayed = desk.replay()
    assert (replayed.code, replayed.out) == (0, b"STOCK\n"), replayed
    assert f"{command[0]} ended with 0, the program that it started ends with 3" in "\n".join(replayed.said)
    assert paid(desk) == 1


def test_it_alone_is_forked_and_kept(desk: Desk) -> None:
    desk.record(("sh", "run.sh"))
    forked = desk.run("reenact", "fork", "@:plan#1", "--set", "word=bread")
    assert forked.out == b"BREAD\n", forked
    added = desk.run("reenact", "golden", "add", "@~1", "--as", "stock", "--expect", "calls(look) == 2")
    assert added.code == 0, added
    assert b"calls(look) = 1, expected == 2" in desk.run("reenact", "golden", "run").out
    assert paid(desk) == 1


def test_a_bundle_of_it_replays_where_its_program_lies_in_the_project(desk: Desk) -> None:
    desk.record(("sh", "run.sh"))
    assert desk.run("reenact", "pack", "@", "-o", "run.reenact").code == 0, "it is replayed once"
    assert desk.run("reenact", "replay", "run.reenact").out == b"STOCK\n"
    (desk.folder / "agent.py").rename(desk.folder.parent / "agent.py")
    refused = desk.run("reenact", "replay", "run.reenact")
    assert refused.code == 3 and b"agent.py is not there any more" in refused.err, refused
    assert paid(desk) == 1


def test_the_command_of_the_interpreter_is_under_the_seal_too(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.record(("sh", "run.sh"))
    for name, value in desk.environment.items():
        monkeypatch.setenv(name, value)
    with reenact.open_store(f"sqlite:///{desk.folder}/.reenact/store.db") as store:
        run = store.run("@")
    project = str(desk.folder)
    assert start_of(run, Options(), project).argv[1:] == ("agent.py", "stock")
    altered = replace(run, entry=replace(run.entry, own=("python", "-c", "print('pwned')")))
    with pytest.raises(UnreplayableRun, match="shown, not executed"):
        start_of(altered, Options(), project)
    with pytest.raises(UnreplayableRun, match="what else it does would be done again"):
        interpreted(replace(run, entry=replace(run.entry, own=())))


def test_a_script_is_looked_for_where_it_would_be_started(
    desk: Desk, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a run that does not say what it started, nothing is executed from another folder either."""
    (desk.folder / "run.sh").chmod(0o755)
    run = Run("0" * 18, entry=Entry("command", argv=("./run.sh",), cwd=str(desk.folder)))
    for folder in (desk.folder, tmp_path_factory.mktemp("elsewhere")):
        monkeypatch.chdir(folder)
        with pytest.raises(UnreplayableRun, match="shown, not executed"):
            interpreted(run)


def test_a_shell_script_is_no_python_program_for_its_name(tmp_path: Path) -> None:
    for name, first, found in (("run-python.sh", "#!/bin/sh", False), ("start", "#!/usr/bin/env python3", True)):
        (tmp_path / name).write_text(first + "\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
        assert is_python((str(tmp_path / name),)) is found
    assert is_python(("python3.11", "agent.py")) and not is_python(("python3", "-m", "poetry", "run", "agent"))
