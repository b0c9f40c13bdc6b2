"""A fork in a process of its own, which the boot begins and which is recorded as a run from its first event on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from reenact.abc.sources import CLOCK
from reenact.abc.store import Store
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Status
from reenact.facts.served_requests import failure_of
from reenact.recording.recorded_speech import StreamListener
from reenact.recording.recording_opening import status_of
from reenact.replaying import guard
from reenact.replaying import replay_process as replaying
from reenact.replaying.agent_process import BASES, LENT
from reenact.replaying.isolation import Isolation
from reenact.replaying.worktree import Tree
from reenact.replaying.world_changes import Reaches
from reenact.seams import stdio
from reenact.seams.declared_files import file_digests
from reenact.store import in_process as _in_process  # noqa: F401 - loaded before the agent begins
from reenact.store import open_store
from reenact.timetravel.forks.fork_misses import ForkMisses
from reenact.timetravel.forks.fork_opening import open_child, open_session
from reenact.timetravel.forks.fork_report import ForkReport, conclude
from reenact.timetravel.forks.fork_session import ForkSession
from reenact.timetravel.forks.fork_speech import ForkSpeech
from reenact.timetravel.forks.ledger import Ledger
from reenact.timetravel.forks.plan import Plan


class ForkRole:
    """The role of a forking process: it makes a run that is kept.

    Args:
        instructions: The instructions to the process.
    """

    gathers = True
    """Whether the new run gathers evidence of its surroundings."""

    def __init__(self, instructions: dict[str, Any]) -> None:
        self.instructions = instructions

    def isolation(self) -> Isolation | None:
        """The isolation of the process; None: that of a replay. Live calls need the network and the real files."""
        return Isolation()

    def misses(self, store: Store, tree: Tree | None) -> ForkMisses:
        """Decides about calls without an answer. ``store`` has the parent, ``tree`` its project."""
        return ForkMisses()

    def opened(self) -> tuple[Store, Callable[[], object] | None]:
        """The store for the new run, and the function that closes it; None if it is to stay open."""
        store = open_store(self.instructions["store"])
        return store, store.close

    def ended(self) -> tuple[Status, str] | None:
        """The end of the run, if it differs from the program's."""
        return None

    def told(self, session: ForkSession, report: ForkReport, enforcement: Sequence[str]) -> dict[str, Any]:
        """The report to the parent of this process, after the run was closed."""
        return report.to_json()


class ForkingProcess(replaying.ReplayingProcess):
    """A process that forks one run, from its boot to its exit.

    Args:
        instructions: The instructions of a ``ReplayingProcess``, with ``plan`` and ``child`` (the id of the new run).
        role: The role of this process.
    """

    session: ForkSession

    def __init__(self, instructions: dict[str, Any], role: ForkRole) -> None:
        self._role = role
        self.plan = Plan.from_json(instructions["plan"])
        again = "resume" if self.plan.resume else "fork"
        self._begins_today = (
            f"a {self.plan.noun} begins with the disk of today: put the file back as it was, and {again} again"
        )
        super().__init__(instructions)

    def _isolate(self) -> Isolation:
        """Isolates the process as its role says."""
        isolation = self._role.isolation()
        return super()._isolate() if isolation is None else isolation

    def _reaches(self) -> Reaches | None:
        """The real files, unless the fork is isolated from them."""
        return super()._reaches() if self._role.isolation() is None else None

    def _open(self) -> ForkSession:
        tree = self._tree
        session = open_session(self.recording, self.options, self.plan, self._role.misses(self._store, tree), tree)
        # A call in a scratch folder gets its source line in the parent's folder; one in a moved project keeps its own.
        if tree is not None and tree.commit:
            session.placed = lambda call: replace(call, source=(call.source or "").replace(tree.path, tree.root))
        return session

    def _speech(self) -> ForkSpeech:
        (store, release), told = self._role.opened(), self.instructions
        self._opened = open_child(
            self.session,
            store,
            told["child"],
            place=told["place"],
            release=release,
            gathers=self._role.gathers,
            tree=self._tree,
        )
        speech = ForkSpeech(self.recording, StreamListener(self._opened.session, self.session))
        ledger = Ledger(store, self.recording.run, told["child"])
        self.session.records(self._opened.session, ledger, speech.answered)
        return speech

    def start(self) -> None:
        """Begin to answer the calls of the main thread, and of every thread that has no session of its own."""
        self.session.addresses.lends(self.instructions.get(LENT) or ())
        self.session.addresses.moved = tuple((before, now) for before, now in self.instructions.get(BASES) or ())
        super().start()
        self._guard.permits = lambda: self.session.schedule.time.asks

    @property
    def _owns_streams(self) -> bool:
        """Whether all output of the process belongs to the run, as for a program. For an entry point, only its lanes'
        output does."""
        return self._opened.run.entry.kind == "command"

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Note the output of the lanes from now on, because the entry point runs; unless all output is noted."""
        with nullcontext() if self._owns_streams else super().entered():
            yield

    def _printed(self, stream: int, data: bytes) -> None:
        if not self._owns_streams:
            return
        data = bytes(data)
        scratch = self._tree is not None and self._tree.commit
        self.session.printed(stream, self._tree.named_as_then(data) if self._tree is not None and scratch else data)

    def _finish(self) -> None:
        """Close the fork's own recording, and write the report."""
        self._echo.end()
        stdio.flush()
        self._stack.close()
        guard.disarm()
        self.session.close()
        if self._before is not None:
            self._joined(self._before)
        status, line = self._role.ended() or self._ended()
        if self.session.gate.halted is not None and (self.session.faults.divergences or self.session.stops.error):
            status, line = Status.FAILED, (line or f"the {self.session.plan.noun} was stopped")
        files = file_digests(self._folder(), self.recording.run.capture.get("files") or ())
        environment = {**self._opened.run.environment, **self.session.kept()}
        run = self._opened.close(status, CLOCK.wall_us(), error=line, files=files, environment=environment)
        report = conclude(self.session, run, tuple(self._guard.refused))
        self._leave_result(self._role.told(self.session, replace(report, raised=self._raised), self.enforcement))

    def _ended(self) -> tuple[Status, str]:
        """How the program ended, or the answer of the request."""
        if self._player is None:
            return status_of(self._error)
        status, line = status_of(self._player.error)
        failure = failure_of(self._player.answered)
        return (Status.FAILED, failure) if failure and status is Status.OK else (status, line)


def begin(instructions: dict[str, Any]) -> None:
    """Start forking in this process. Called once, by the boot, before the program's first line."""
    replaying.start(ForkingProcess(instructions, ForkRole(instructions)))
