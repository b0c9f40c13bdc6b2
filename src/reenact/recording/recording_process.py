"""Recording a whole process: begun by the boot of ``reenact record -- CMD``, ended when the interpreter exits."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib.machinery import BuiltinImporter
from pathlib import Path
from typing import Any

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.facts.ids import make_run_id
from reenact.facts.lazy_dataclass import replace
from reenact.facts.policy import Policy
from reenact.recording import policies
from reenact.recording.recorded_speech import StreamListener
from reenact.recording.recording_opening import OpenRun, Who, evidence_of, new_run, program, status_of
from reenact.recording.request_runs import RequestRuns
from reenact.seams import escapes, logs, speech, stdio, wiring
from reenact.seams.boot.parent import Boot, choose_hash_seed
from reenact.seams.declared_files import file_digests
from reenact.seams.processes import child_runs
from reenact.seams.servers import hosting
from reenact.seams.strands import signals
from reenact.seams.uncaught_exception import before_exit, undisturbed, watch_uncaught
from reenact.store import open_store

LAST_SPANS_S = 1.0
"""How long the end of the program waits for spans that are being sent."""


class RecordedProcess:
    """This process, recorded from its boot to its exit.

    Args:
        instructions: The parent's instructions: ``store`` (URL), ``run`` (id), ``who`` (agent, user, tenant, session,
            tags), ``policy`` (fields of ``Policy``), ``argv`` (the command as typed).
    """

    def __init__(self, instructions: dict[str, Any]) -> None:
        self._pid = os.getpid()
        self._policy = _policy(instructions.get("policy") or {})
        policies.configure(self._policy)
        entry = program(tuple(instructions.get("argv") or ()), str(instructions.get("project") or ""))
        run = new_run(Who(**instructions.get("who") or {}), entry, self._policy, CLOCK, ENTROPY)
        run = replace(run, id=instructions.get("run") or run.id)
        if instructions.get("parent"):
            run = replace(run, parent=instructions["parent"], relation="child")
        store = self._store = open_store(instructions["store"])
        self._opened = OpenRun(run, store, self._policy, CLOCK, store.close, place=instructions.get("place") or "")
        self._spoken = StreamListener(self._opened.session)
        self._instructions = instructions
        self._error: BaseException | None = None
        self._stack = ExitStack()

    def start(self) -> None:
        """Listen to the main thread, and to every thread that no other session listens to."""
        session = self._opened.session
        self._stack.enter_context(wiring.host(session.begin(fallback=True), self._opened.run))
        signals.hear(session.gate)
        logs.begin_at(self._opened.run.started_us)
        for gap in stdio.install(session.printed):
            session.gap("standard stream", gap)
        speech.listen(self._spoken)
        watch_uncaught(self._ended_by)
        child_runs.appoint(self._heir)
        self._requests = self._host()
        hosting.appoint(self._requests)
        before_exit(self.finish)
        escapes.before_exec(self._opened.session.flush)

    def _host(self) -> RequestRuns:
        """Make each request that a server in this process serves a run of its own."""
        who = Who(**self._instructions.get("who") or {})
        run = self._opened.run
        run = replace(run, entry=replace(run.entry, argv=tuple(self._instructions.get("served_by") or run.entry.argv)))
        return RequestRuns(self._opened.session, run, self._store, who, self._policy, self.finish)

    def _heir(self, argv: Sequence[str], environment: Mapping[str, str]) -> Mapping[str, str]:
        """The environment that makes a Python program, started by this one, a child run in the same store."""
        run_id = make_run_id(CLOCK.wall_us(), ENTROPY.bytes(8))
        instructions = {
            **{name: self._instructions.get(name) for name in ("store", "who", "policy")},
            "mode": "record",
            "run": run_id,
            "parent": self._opened.run.id,
            "argv": list(argv),
            "served_by": self._instructions.get("served_by") or list(self._opened.run.entry.argv),
        }
        place = Path(self._instructions["place"]) / run_id
        boot = Boot(instructions, environment, hash_seed=choose_hash_seed(environment, ENTROPY), place=place)
        return boot.environment

    def _ended_by(self, error: BaseException) -> None:
        self._error = error

    def finish(self) -> None:
        """Write the end of the run after the program has ended. Runs once, and only in the process in which the run
        began."""
        if self._opened.session.closed or os.getpid() != self._pid:
            return
        try:
            with undisturbed():
                self._finish()
        except Exception as error:  # the run reads as interrupted; the program ends as it would
            self._opened.session.fault(error)

    def _finish(self) -> None:
        child_runs.appoint(None)
        hosting.appoint(None)
        escapes.before_exec(None)
        self._spoken.end()
        stdio.flush()
        status, line = status_of(self._error)
        self._stack.close()
        files = file_digests(self._opened.run.entry.cwd, self._policy.files)
        capture = {**self._opened.run.capture, **self._requests.summary(), **evidence_of(self._error, self._opened.run)}
        idle = self._opened.run.parent is None and not _main_began()
        self._opened.close(status, CLOCK.wall_us(), idle=idle, error=line, files=files, capture=capture)
        if self._opened.tap is not None:
            self._opened.tap.leave(LAST_SPANS_S)


def _main_began() -> bool:
    """Whether the interpreter has found the program to run: a script, a module, or the text of ``-c``. Then the main
    module has another loader, which stays; ``__file__`` is gone when a script has ended."""
    main = sys.modules.get("__main__")
    if main is None or getattr(main, "__loader__", None) is not BuiltinImporter:
        return True
    return not sys.argv or sys.argv[0] in ("", "-", "-c")


def _policy(fields: dict[str, Any]) -> Policy:
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
    return Policy(**values)


def begin(instructions: dict[str, Any]) -> None:
    """Start recording this process. Called once, by the boot, before the program's first line."""
    RecordedProcess(instructions).start()
