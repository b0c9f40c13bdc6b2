"""Running a golden in a process of its own: today's code, kept from the world, answered from the bundle."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from typing import Any, Final

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.abc.store import Store
from reenact.facts.ids import make_run_id
from reenact.facts.keys import rules_of
from reenact.facts.policy import Policy
from reenact.facts.run import Entry, Run, Status
from reenact.recording.recording_opening import Opened
from reenact.replaying import replay_process as replaying
from reenact.replaying.isolation import Isolation
from reenact.replaying.reaching import Reaches
from reenact.replaying.replay_opening import redactor_of
from reenact.seams.boot.frame import FRAME
from reenact.store import open_store
from reenact.store.bundles.lines import line_of
from reenact.store.memory import MemoryStore
from reenact.store.records import records_of
from reenact.testing.goldens.answers import Answers, Overlay
from reenact.testing.goldens.golden import Scripted
from reenact.testing.goldens.golden_session import GoldenSession, Named, boundaries
from reenact.testing.goldens.result_file import ResultFile, in_result_file
from reenact.timetravel.forks.fork_process import ForkingProcess
from reenact.timetravel.forks.fork_report import ForkReport
from reenact.timetravel.forks.plan import Plan

__all__ = ["GoldenProcess", "begin", "rehearse"]

_ASKED: Final = "models may be asked"


class GoldenProcess(ForkingProcess):
    """This process, running one golden from its boot to its exit.

    Args:
        instructions: What a ``ForkingProcess`` takes, and ``into`` (URL of the store that the run of today goes to, or
            ``handed:PATH``), ``overlays`` (ids of runs in the bundle), ``scripted``, ``misses``, ``name``
            and ``again`` (see ``Golden.again``).
    """

    session: GoldenSession
    makes: type[GoldenSession] = GoldenSession
    """The session that it runs."""
    _handed: ResultFile | None = None

    def _isolate(self) -> Isolation:
        """Nothing goes out, unless answers that are missing may be recorded."""
        if self.instructions["misses"] != "stale" or self.plan.live != "none":
            return Isolation(no_network=_ASKED, no_files=_ASKED, no_calls=_ASKED)
        return replaying.ReplayingProcess._isolate(self)

    def _reaches(self) -> Reaches | None:
        """Nothing is changed, unless answers that are missing may be recorded."""
        if self.instructions["misses"] != "stale" or self.plan.live != "none":
            return None
        return replaying.ReplayingProcess._reaches(self)

    def _open(self) -> GoldenSession:
        told = self.instructions
        overlays = [self._store.open(self._store.run(each)) for each in told["overlays"]]
        answers = Answers(
            [Overlay(each, redactor_of(each.run, self._tree)) for each in overlays],
            [Scripted(**each) for each in told["scripted"]],
        )
        rules = rules_of(self.recording.run.capture)
        cleaned = redactor_of(self.recording.run, self._tree)
        named = Named(told["name"], lambda: str(told["again"]))
        session = self.makes(self.recording, cleaned, rules, self.options, answers, told["misses"], self.plan, named)
        self._placed_by_tree(session)
        return session

    @property
    def _gathers(self) -> bool:
        """Of a run that is only judged nobody wants evidence, unless it says so; one that has asked may be kept."""
        asked = self.instructions["misses"] != "stale" or self.plan.live != "none"
        return asked or bool(self.instructions.get("evidence"))

    def _kept_in(self) -> Store:
        into = self.instructions["into"]
        if not in_result_file(into):
            return open_store(into)
        self._handed = ResultFile(into)
        return self._handed.store

    def _release(self, store: Store) -> Callable[[], object] | None:
        return None if self._handed is not None else super()._release(store)

    def _leave_result(self, report: dict[str, Any]) -> None:
        """Today's run stands behind every report."""
        if self._handed is not None:
            self._handed.hand_over()
        super()._leave_result(report)

    def _ended(self) -> tuple[Status, str]:
        """A run that comes to where the recorded one was cut off has no more of an end than that one."""
        return (Status.RECORDING, "") if self.session.cut else super()._ended()

    def _told(self, report: ForkReport) -> dict[str, Any]:
        session = self.session
        return {
            **super()._told(report),
            "golden": {
                "used": dict(session.used),
                "boundaries": boundaries(session),
                "unused": len(session.unused()),
                "stale_at": session.stale_at,
                "stale_call": session.stale_call,
                "cut": session.cut,
                "saw": FRAME if FRAME.encode() in b64decode(str(session.stale_call.get("body", ""))) else "",
                "enforcement": list(self.enforcement),
            },
        }


def rehearse() -> None:
    """Do once, in an interpreter that others are forked from, what the run of today does alike in each of them: its
    surroundings are cleaned, and codecs and tables made ready."""
    store = MemoryStore()
    plan = {"fork": Plan(at=0, live="none").to_json()}
    run = Run(
        make_run_id(CLOCK.wall_us(), ENTROPY.bytes(8)),
        entry=Entry("command"),
        origin_us=CLOCK.mono_us(),
        environment=plan,
    )
    opened = Opened(run, store, Policy(), CLOCK, sealed=False, gathers=False)
    opened.close(Status.OK, CLOCK.wall_us())
    for record in records_of(store.open(run.id), ()):
        line_of(record, lambda data: "")


def begin(instructions: dict[str, Any]) -> None:
    """Start running a golden in this process. Called once, by the boot, before the program's first line."""
    replaying.start(GoldenProcess(instructions))
