"""Forking in a process of its own: begun by the boot, recorded as a run of its own from its first event on."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import Any

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.facts.ids import make_run_id
from reenact.facts.keys import Rules
from reenact.facts.policy import Policy
from reenact.facts.run import Run, Status, Totals
from reenact.privacy import make_redactor
from reenact.recording.opening import Opened, hash_seed, status_of
from reenact.recording.speech import Spoken
from reenact.replaying import guard
from reenact.replaying import process as replaying
from reenact.replaying.ambient import clock_of
from reenact.replaying.opening import known_values
from reenact.seams import lanes, machine, stdio, wiring
from reenact.seams.files import file_digests
from reenact.store import open_store
from reenact.timetravel.forks.plan import Plan
from reenact.timetravel.forks.report import conclude
from reenact.timetravel.forks.session import ForkSession
from reenact.timetravel.forks.speech import ForkSpeech

_CARRIED = ("streams", "time_zone", "hash_seed_set")
"""What the agent's code may ask of its surroundings: the parent's, so that the prefix is the same in the fork."""


class ForkingProcess(replaying.ReplayingProcess):
    """This process, forking one run from its boot to its exit.

    Args:
        instructions: What a ``ReplayingProcess`` takes, and ``plan`` and ``child`` (the id of the new run).
    """

    session: ForkSession

    def __init__(self, instructions: dict[str, Any]) -> None:
        self.plan = Plan.from_json(instructions["plan"])
        super().__init__(instructions)
        self._error: BaseException | None = None

    def _open(self) -> ForkSession:
        run = self.recording.run
        redactor = make_redactor(run.id, Policy(), known=known_values(run, os.environ))
        rules = Rules(run.capture.get("ignore") or {})
        return ForkSession(self.recording, redactor, rules, self.options, self.plan)

    def _speech(self) -> ForkSpeech:
        parent, instructions = self.recording.run, self.instructions
        store = open_store(instructions["store"])
        run = child_of(parent, self.plan, instructions["child"])
        gate = self.session.gate
        self._opened = Opened(run, store, policy_of(parent), CLOCK, store.close, place=instructions["place"], gate=gate)
        speech = ForkSpeech(self.recording, Spoken(self._opened.session))
        self.session.records(self._opened.session, speech.answered)
        return speech

    def start(self) -> None:
        """Answer the main thread and every thread nobody else answers."""
        super().start()
        self._guard.permits = self.session.flying
        self._watch_errors()

    def _watch_errors(self) -> None:
        before = sys.excepthook

        def excepthook(kind: Any, error: BaseException, trace: Any) -> None:
            self._error = error
            before(kind, error, trace)

        sys.excepthook = excepthook

    def _printed(self, stream: int, data: bytes) -> None:
        self.session.printed(stream, bytes(data))

    def finish(self) -> None:
        """The program has ended: close the fork's own recording, and write the report. Runs once."""
        with self._lock:
            if self._finished or os.getpid() != self._pid:
                return
            self._finished = True
        self._echo.end()
        stdio.flush()
        wiring.end()
        lanes.session_ended()
        self._stack.close()
        guard.disarm()
        self.session.close()
        status, line = status_of(self._error)
        if self.session.gate.halted is not None and (self.session.divergences or self.session.stopped_by):
            status, line = Status.FAILED, (line or "the fork was stopped")
        files = file_digests(self._opened.run.entry.cwd, self.recording.run.capture.get("files") or ())
        run = self._opened.close(status, CLOCK.wall_us(), error=line, files=files)
        report = conclude(self.session, run, tuple(self._guard.refused))
        self._leave_result(report.to_json())


def policy_of(parent: Run) -> Policy:
    """How the fork is recorded: as its parent was."""
    capture = parent.capture
    return Policy(
        ignore=capture.get("ignore") or {},
        files=tuple(capture.get("files") or ()),
        redact=capture.get("redact") or {},
        check_changes=bool(capture.get("check_changes", True)),
    )


def child_of(parent: Run, plan: Plan, run_id: str) -> Run:
    """The fork's own run as it begins; its agent's clock goes on from the parent's."""
    environment = {name: parent.environment[name] for name in _CARRIED if name in parent.environment}
    environment |= {name: parent.environment[name] for name in machine.facts() if name in parent.environment}
    return Run(
        id=run_id or make_run_id(CLOCK.wall_us(), ENTROPY.bytes(8)),
        agent=parent.agent,
        version=parent.version,
        entry=replace(parent.entry, hash_seed=hash_seed() or parent.entry.hash_seed),
        user=parent.user,
        tenant=parent.tenant,
        session=parent.session,
        tags=dict(parent.tags),
        started_us=CLOCK.wall_us(),
        origin_us=CLOCK.mono_us(),
        parent=parent.id,
        relation="fork",
        fork_event=plan.at,
        retention=parent.retention,
        totals=Totals(),
        environment={**environment, "clock": list(clock_of(parent)), "fork": plan.to_json()},
    )


def begin(instructions: dict[str, Any]) -> None:
    """Start forking in this process. Called once, by the boot, before the program's first line."""
    replaying.start(ForkingProcess(instructions))


