"""Running a cell in a process of its own: begun by the boot, answered from the row, recorded as a run in scratch."""

from __future__ import annotations

from typing import Any

from reenact.replaying import replay_process as replaying
from reenact.replaying.replay_opening import redactor_of
from reenact.store import open_store
from reenact.testing.experiments.cell_session import CellSession
from reenact.testing.goldens.answers import Answers, Overlay
from reenact.testing.goldens.golden import Scripted
from reenact.testing.goldens.golden_process import GoldenProcess
from reenact.timetravel.forks.fork_report import ForkReport


class CellProcess(GoldenProcess):
    """This process, running one cell from its boot to its exit.

    Args:
        instructions: What a ``GoldenProcess`` takes, and ``earlier`` (URL of the store and id of the run of an attempt
            that was broken off; empty without one) and ``first`` (scripted answers of the candidate).
    """

    session: CellSession
    makes = CellSession

    def _open(self) -> CellSession:
        session = super()._open()
        assert isinstance(session, CellSession)
        session.first = (("scripted", Answers((), self._scripted())), ("resumed", Answers(self._earlier(), ())))
        return session

    @property
    def _gathers(self) -> bool:
        return True

    def _earlier(self) -> list[Overlay]:
        told = self.instructions["earlier"]
        if not told:
            return []
        url, run = told
        store = open_store(url)  # open until the process ends, as the row's own
        recording = store.open(store.run(run))
        return [Overlay(recording, redactor_of(recording.run, self._tree))]

    def _scripted(self) -> list[Scripted]:
        return [Scripted(**each) for each in self.instructions["first"]]

    def _told(self, report: ForkReport) -> dict[str, Any]:
        told = super()._told(report)
        unfelt = self.session.unfelt
        told["golden"]["boundaries"] -= len(unfelt)
        told["golden"]["unfelt"] = list(unfelt)
        return told


def begin(instructions: dict[str, Any]) -> None:
    """Start running a cell in this process. Called once, by the boot, before the program's first line."""
    replaying.start(CellProcess(instructions))
