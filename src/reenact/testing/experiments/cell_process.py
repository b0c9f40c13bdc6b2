"""Running a cell in a process of its own: begun by the boot, answered from the row, recorded as a run in scratch."""

from __future__ import annotations

from typing import Any

from reenact.replaying import replay_process as replaying
from reenact.replaying.replay_opening import redactor_of
from reenact.replaying.worktree import Tree
from reenact.store import open_store
from reenact.testing.experiments.cell_misses import CellMisses
from reenact.testing.goldens.golden_answers import Answers, Overlay
from reenact.testing.goldens.golden_misses import GoldenMisses
from reenact.testing.goldens.golden_process import GoldenRole
from reenact.testing.goldens.golden_trace import ScriptedAnswer
from reenact.timetravel.forks.fork_process import ForkingProcess


def _earlier(told: list[str], tree: Tree | None) -> list[Overlay]:
    """The answers of an attempt that was broken off."""
    if not told:
        return []
    url, run = told
    store = open_store(url)  # it stays open until the process ends, like the row's store
    recording = store.open(store.run(run))
    return [Overlay(recording, redactor_of(recording.run, tree))]


def begin(instructions: dict[str, Any]) -> None:
    """Start running a cell in this process. Called once, by the boot, before the program's first line.

    Args:
        instructions: The instructions of a ``GoldenRole``, and ``earlier`` (URL of the store and id of the run of an
            attempt that was broken off; empty without one) and ``first`` (scripted answers of the candidate).
    """

    def around(row: GoldenMisses, tree: Tree | None) -> CellMisses:
        scripted = Answers((), [ScriptedAnswer(**each) for each in instructions["first"]])
        earlier = Answers(_earlier(instructions["earlier"], tree), ())
        return CellMisses(row, (("scripted", scripted), ("resumed", earlier)))

    role = GoldenRole({**instructions, "evidence": True}, around)
    replaying.start(ForkingProcess(instructions, role))
