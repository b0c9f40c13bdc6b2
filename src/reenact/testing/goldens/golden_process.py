"""Running a golden in a process of its own: today's code, kept from the world, answered from the bundle."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Any, Final

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.abc.store import Store
from reenact.facts.ids import make_run_id
from reenact.facts.policy import Policy
from reenact.facts.run import Entry, Run, Status
from reenact.recording.recording_opening import OpenRun
from reenact.replaying import replay_process as replaying
from reenact.replaying.isolation import Isolation
from reenact.replaying.replay_opening import redactor_of
from reenact.replaying.worktree import Tree
from reenact.seams.boot.frame import FRAME
from reenact.store import open_store
from reenact.store.bundles.record_lines import line_of
from reenact.store.memory_store import MemoryStore
from reenact.store.run_records import records_of
from reenact.testing.goldens.golden_answers import Answers, Overlay
from reenact.testing.goldens.golden_misses import GoldenMisses, NamedGolden, boundaries
from reenact.testing.goldens.golden_trace import ScriptedAnswer
from reenact.testing.goldens.result_file import ResultFile, in_result_file
from reenact.timetravel.forks.fork_misses import ForkMisses
from reenact.timetravel.forks.fork_process import ForkingProcess, ForkRole
from reenact.timetravel.forks.fork_report import ForkReport
from reenact.timetravel.forks.fork_session import ForkSession
from reenact.timetravel.forks.plan import Plan

__all__ = ["GoldenRole", "begin", "rehearse"]

_ASKED: Final = "models may be asked"


class GoldenRole(ForkRole):
    """A process that runs one golden.

    Args:
        instructions: The instructions of a ``ForkingProcess``, and ``into`` (URL of the store that the run of today
            goes to, or ``handed:PATH``), ``overlays`` (ids of runs in the bundle), ``scripted``, ``misses``, ``name``
            and ``again`` (see ``Golden.again``).
        around: Wraps another policy around the golden's.
    """

    def __init__(
        self,
        instructions: dict[str, Any],
        around: Callable[[GoldenMisses, Tree | None], ForkMisses] = lambda golden, tree: golden,
    ) -> None:
        super().__init__(instructions)
        self._around = around
        self._result: ResultFile | None = None
        self._asks = instructions["misses"] != "stale" or Plan.from_json(instructions["plan"]).live != "none"
        # A run that is only judged needs no evidence, unless an option asks for it; a run with live calls may be kept.
        self.gathers = self._asks or bool(instructions.get("evidence"))

    def isolation(self) -> Isolation | None:
        """The isolation of the process: no call goes out and no file is changed, unless missing answers may be
        recorded."""
        return Isolation(no_network=_ASKED, no_files=_ASKED, no_calls=_ASKED) if self._asks else None

    def misses(self, store: Store, tree: Tree | None) -> ForkMisses:
        """The golden's rule for calls without an answer."""
        told = self.instructions
        overlays = [store.open(store.run(each)) for each in told["overlays"]]
        answers = Answers(
            [Overlay(each, redactor_of(each.run, tree)) for each in overlays],
            [ScriptedAnswer(**each) for each in told["scripted"]],
        )
        self._golden = GoldenMisses(answers, told["misses"], NamedGolden(told["name"], lambda: str(told["again"])))
        return self._around(self._golden, tree)

    def opened(self) -> tuple[Store, Callable[[], object] | None]:
        """The store for today's run, and the function that closes it. The store of a result file has no such
        function."""
        into = self.instructions["into"]
        if in_result_file(into):
            self._result = ResultFile(into)
            return self._result.store, None
        store = open_store(into)
        return store, store.close

    def ended(self) -> tuple[Status, str] | None:
        """The end of today's run. If it comes to the place where the recorded run is cut off, it has no end either."""
        return (Status.RECORDING, "") if self._golden.cut else None

    def told(self, session: ForkSession, report: ForkReport, enforcement: Sequence[str]) -> dict[str, Any]:
        """Hand today's run over, and add the golden's facts to the report."""
        if self._result is not None:
            self._result.hand_over()
        golden = self._golden
        return {
            **super().told(session, report, enforcement),
            "golden": {
                "used": dict(golden.used),
                "boundaries": boundaries(session.course),
                "unused": len(session.unused()),
                "stale_at": golden.stale_at,
                "stale_call": golden.stale_call,
                "cut": golden.cut,
                "unfelt": sorted(set(session.plan.flags) - session.course.given),
                "saw": FRAME if FRAME.encode() in b64decode(str(golden.stale_call.get("body", ""))) else "",
                "enforcement": list(enforcement),
            },
        }


def rehearse() -> None:
    """Prepare an interpreter from which others are forked: clean the surroundings of today's run, and make codecs and
    tables ready, once for all."""
    store = MemoryStore()
    plan = {"fork": Plan(at=0, live="none").to_json()}
    run = Run(
        make_run_id(CLOCK.wall_us(), ENTROPY.bytes(8)),
        entry=Entry("command"),
        origin_us=CLOCK.mono_us(),
        environment=plan,
    )
    opened = OpenRun(run, store, Policy(), CLOCK, sealed=False, gathers=False)
    opened.close(Status.OK, CLOCK.wall_us())
    for record in records_of(store.open(run.id), ()):
        line_of(record, lambda data: "")


def begin(instructions: dict[str, Any]) -> None:
    """Start running a golden in this process. Called once, by the boot, before the program's first line."""
    replaying.start(ForkingProcess(instructions, GoldenRole(instructions)))
