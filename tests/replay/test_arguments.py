"""The arguments of a recorded entry point come back as what its parameters declare, those of a script too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.desk import Desk
from tests.programs import read_program

PROGRAM = read_program("replay/arguments_of_declared_types.py")
CALLS = {
    "placed": 'placed(Task("7", Haste.FAST, ["x"]))',
    "named": 'named(task=Task("7"))',
    "further": 'further("a", Task("1"), Task("2"), last=Task("3"))',
    "inside": 'inside({"new": [Task("1"), Task("2", Haste.FAST)]})',
    "later": 'import asyncio; asyncio.run(later(Task("7")))',
}


def called(folder: Path, call: str) -> Desk:
    desk = Desk(folder)
    (desk.folder / "agent.py").write_text(PROGRAM.replace('placed(Task("1"))', call))
    ended = desk.run("python", "agent.py")
    assert ended.code == 0, ended.err.decode()
    return desk


@pytest.mark.parametrize("name", CALLS)
def test_records_come_back_by_what_the_parameters_declare(tmp_path: Path, name: str) -> None:
    desk = called(tmp_path, CALLS[name])
    replayed = desk.replay()
    assert (replayed.code, b"verdict: same (exact)" in replayed.err) == (0, True), replayed.err.decode()
    assert b"verdict: replays as code" in desk.run("reenact", "kit", "@").out


def test_a_replay_in_the_process_has_them_too(tmp_path: Path) -> None:
    desk = called(tmp_path, "pass")
    (desk.folder / "again.py").write_text(
        "import agent, reenact\n"
        "agent.placed(agent.Task('7'))\n"
        "found = reenact.replay('@', entry=agent.placed)\n"
        "print(found.verdict, found.output)\n"
    )
    ended = desk.run("python", "again.py")
    assert ended.out.startswith(b"exact [Task(order='7'"), (ended.out + ended.err).decode()


def test_what_no_parameter_declares_is_said_when_it_is_recorded_and_in_its_replay(tmp_path: Path) -> None:
    desk = called(tmp_path, 'undeclared(Task("7"))')
    kit = desk.run("reenact", "kit", "@").out.decode()
    assert "verdict: replays as events" in kit
    assert "called with a type that is not declared, and comes back by that only: __main__.Task" in kit
    assert "annotate its parameter, as def undeclared(task: Task)" in kit
    replayed = desk.replay()
    assert replayed.code == 3 and b"verdict: cannot be replayed" in replayed.err and b"Traceback" not in replayed.err
    proposed = [line for line in replayed.err.decode().splitlines() if "  next: " in line]
    assert len(proposed) == 1 and "@" not in proposed[0], "there may be a newer run"
