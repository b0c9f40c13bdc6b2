"""Running a golden in a process of its own: today's code, kept from the world, answered from the bundle."""

from __future__ import annotations

from typing import Any

from reenact.abc.store import Store
from reenact.facts.keys import Rules
from reenact.replaying import process as replaying
from reenact.replaying.isolation import Isolation
from reenact.replaying.opening import redactor_of
from reenact.store import open_store
from reenact.testing.goldens.answers import Answers, Overlay
from reenact.testing.goldens.golden import Scripted
from reenact.testing.goldens.session import GoldenSession, boundaries
from reenact.timetravel.forks.process import ForkingProcess
from reenact.timetravel.forks.report import ForkReport


class GoldenProcess(ForkingProcess):
    """This process, running one golden from its boot to its exit.

    Args:
        instructions: What a ``ForkingProcess`` takes, and ``into`` (URL of the store that the run of today goes to),
            ``overlays`` (ids of runs in the bundle), ``scripted``, ``misses`` and ``name``.
    """

    session: GoldenSession
    makes: type[GoldenSession] = GoldenSession
    """The session that it runs."""

    def _isolate(self) -> Isolation:
        """Nothing goes out, unless answers that are missing may be recorded."""
        if self.instructions["misses"] != "stale" or self.plan.live != "none":
            return Isolation(no_network="models may be asked", no_files="models may be asked")
        return replaying.ReplayingProcess._isolate(self)

    def _open(self) -> GoldenSession:
        told = self.instructions
        overlays = [self._store.open(self._store.run(each)) for each in told["overlays"]]
        answers = Answers(
            [Overlay(each, redactor_of(each.run, self._tree)) for each in overlays],
            [Scripted(**each) for each in told["scripted"]],
        )
        rules = Rules(self.recording.run.capture.get("ignore") or {})
        cleaned = redactor_of(self.recording.run, self._tree)
        session = self.makes(
            self.recording, cleaned, rules, self.options, answers, told["misses"], self.plan, told["name"]
        )
        self._placed_by_tree(session)
        return session

    def _kept_in(self) -> Store:
        return open_store(self.instructions["into"])

    def _told(self, report: ForkReport) -> dict[str, Any]:
        session = self.session
        return {
            **super()._told(report),
            "golden": {
                "used": dict(session.used),
                "boundaries": boundaries(session),
                "stale_at": session.stale_at,
                "stale_call": session.stale_call,
                "enforcement": [*replaying.ENFORCEMENT, *self._isolation.words()],
            },
        }


def begin(instructions: dict[str, Any]) -> None:
    """Start running a golden in this process. Called once, by the boot, before the program's first line."""
    replaying.start(GoldenProcess(instructions))
