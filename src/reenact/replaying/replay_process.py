"""Replaying in a process of its own: begun by the boot, ended by a report when the interpreter exits."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.abc.store import Recording, Store
from reenact.errors import Halt
from reenact.facts.error_line import error_line, last_line
from reenact.facts.fork_stop import was_stopped
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import replace
from reenact.facts.served_requests import preamble_of
from reenact.replaying import guard, temporaries
from reenact.replaying.ambient_replay import clock_of
from reenact.replaying.bundled_sources import refused_here
from reenact.replaying.disk_cover import within
from reenact.replaying.earlier_files import FilesBefore, behind
from reenact.replaying.file_redirection import Redirect
from reenact.replaying.folder_moves import FolderRenames
from reenact.replaying.hidden_folders import hidden_of
from reenact.replaying.isolation import Isolation, folders_of, isolate, own_folders
from reenact.replaying.kept_replay import AgentOutput, save
from reenact.replaying.options import Options
from reenact.replaying.relocation import placed
from reenact.replaying.replay_opening import open_preamble, open_session
from reenact.replaying.replay_report import EndDifference, without_credentials
from reenact.replaying.replay_session import ReplaySession
from reenact.replaying.replay_verdict import Contact, conclude
from reenact.replaying.request_replay import Preamble, RequestPlayer, Stage, never_served
from reenact.replaying.results import LaneOutput, Output, files, learn, outputs_differ
from reenact.replaying.scratch_copy import Copy
from reenact.replaying.speech_echo import Echo
from reenact.replaying.temporaries import MadeFiles
from reenact.replaying.worktree import Tree
from reenact.replaying.world_changes import Reach, Reaches
from reenact.seams import contacts, lanes, logs, speech, stdio, stdout, wiring
from reenact.seams.boot.death import DeathWatch, broke
from reenact.seams.declared_files import file_digests
from reenact.seams.origins import raised
from reenact.seams.servers import hosting
from reenact.seams.strands import signals
from reenact.seams.uncaught_exception import before_exit, undisturbed, watch_uncaught
from reenact.seams.watch import WATCH
from reenact.store import in_process as _in_process  # noqa: F401 - loaded before the agent begins
from reenact.store import open_store

_HOOK = "audit hook (connections, processes, signals)"
GRACE_S = 3.0
"""How long an agent may go on after the replay has stopped, before its process is ended."""
REPORT_S = 60.0
"""How long the end of such a process waits for a report that is being written: a report with large values takes
seconds."""


class ReplayingProcess:
    """A process that replays one run, from its boot to its exit.

    Args:
        instructions: The parent's instructions: ``store``, ``run``, ``options``, ``place`` (private directory), and
            ``entry`` with ``file`` where a function is to be called.
    """

    _begins_today = "no scratch is permitted here, so the replay begins with the disk of today"
    """Why the replay begins with the present state of files that the run has changed, if it does."""

    def __init__(self, instructions: dict[str, Any]) -> None:
        self.instructions = instructions
        self._pid = os.getpid()
        self._place = Path(instructions["place"])
        self.isolation = self._isolate()
        asked = instructions["options"]
        fields: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in asked.items()}
        self.options = Options(**fields)
        tree = instructions.get("tree")
        self._tree = Tree(**tree) if tree else None
        self._store: Store = open_store(instructions["store"])
        self.recording: Recording = self._recorded(instructions["run"])
        self.session = self._open()
        self._before = self._preamble()
        self._begin_as_then()
        self._player = RequestPlayer(self.session, self._before, self) if self._before is not None else None
        self._stage = self._player or Stage(self.session, self)
        self._outputs = [Output(n, partial(self.recording.printed, n)) for n in (1, 2)]
        self._by_lanes = LaneOutput(self.recording, self.session.output_cleaned)
        self._echo = self._speech()
        self._kept_output: list[tuple[int, bytes]] = []
        self._guard = guard.GUARD
        self._error: BaseException | None = None
        self._stack = ExitStack()
        self._lock = threading.RLock()
        self._watch: DeathWatch | None = None
        self._finished = False
        self.output: str | None = None

    def _recorded(self, run: str) -> Recording:
        """A run of the store. A run from another machine gets this project's paths, so that its files are compared."""
        found = self._store.run(run)
        tree = self._tree
        return self._store.open(placed(found, tree) if tree is not None and not tree.commit else found)

    def _begin_as_then(self) -> int:
        """Put the run's files back into their earlier state, if writes go to scratch. Returns their number."""
        beginnings = [FilesBefore(self.recording, self._placed)]
        if self._before is not None:  # the process around a request starts first, and changes files
            beginnings.append(FilesBefore(self._recorded(preamble_of(self.recording.run)), self._placed))
        self.session.suspects.amiss = lambda: [line for each in beginnings for line in each.lines()]
        if not self.isolation.scratch and self.isolation.copy is None:
            for each in beginnings:
                each.name(self._begins_today)
            return 0
        self.session.appear = lambda path: any(each.appear(path) for each in beginnings)
        copy, kept = self.isolation.copy, _kept(self.instructions)
        hides = behind(self.isolation.folders, kept) if copy is None else copy.hides
        return sum(each.lay(hides) for each in beginnings)

    def _placed(self, path: str) -> str:
        """The place that a path of the recorded project has, or would have, in the tree that is replayed."""
        tree, real = self._tree, os.path.realpath(path)
        if tree is None or not within(real, tree.root):
            return path
        return os.path.normpath(os.path.join(tree.path, os.path.relpath(real, tree.root)))

    def _isolate(self) -> Isolation:
        """Keep this process from the world, as far as the system permits."""
        return isolated(self.instructions)

    def _reaches(self) -> Reaches | None:
        """The function that finds file changes which would reach the world; None where changes may reach it."""
        copy = self.isolation.copy
        made = MadeFiles() if copy is None else copy.made
        self._stack.callback(made.clear)
        return Reach(self.isolation, made, () if copy is None else (copy.folder,)).changed

    def _open(self) -> ReplaySession:
        """The session that answers the program."""
        return open_session(self.recording, self.options, self._tree)

    def _speech(self) -> Any:
        """The listener to the text that the program writes."""
        return Echo(self.recording, self.options.through)

    def start(self) -> None:
        """Begin to answer the calls of the main thread, and of every thread that has no session of its own."""
        if self._tree is not None:
            self._tree.relocate()
        wiring.install()
        self._watch = DeathWatch(self._place)
        process: ReplaySession = self._before or self.session
        self.session.reached = self._watch.reached
        self._stack.enter_context(wiring.host(process.begin(fallback=True), self.recording.run))
        hosting.appoint(self._stage)
        signals.hear(self.session.gate)
        if self._before is None and self.session.mode == "replay":
            WATCH.keep(self.session.gate)
        logs.begin_at(clock_of(self.recording.run)[0])
        terminal = self.recording.run.environment.get("streams") or {}
        stdio.install(self._printed, terminal=terminal)
        self._echo.heard = speech.listen(self._echo)
        self._guard = guard.arm(self._refused)
        self._guard.reaches = self._reaches()
        if not self.isolation.calls:
            self._guard.native = guard.NATIVE_UNFILTERED
        self.session.faults.on_stop = self._stopping
        process.faults.on_stop = self._stopping
        _quiet_halts()
        watch_uncaught(self._ended_by)
        self._leave = before_exit(self.finish)

    def _ended_by(self, error: BaseException) -> None:
        self._error = error

    @property
    def _raised(self) -> str:
        """The exception that ended the program, if the recorded run ended differently."""
        error, run = self._error, self.recording.run
        if error is None or _from_halt(error):
            return ""
        if self.session.said(run.error) in (self.session.said(error_line(error)), self.session.said(last_line(error))):
            return ""
        folder = self._tree.path if self._tree is not None else self.instructions.get("root") or run.entry.cwd
        return self.session.said(raised(error, folder))

    def _preamble(self) -> Preamble | None:
        """The session of the process around a request; None where a whole run is replayed."""
        run = self.recording.run
        before = preamble_of(run)
        if not before:
            return None
        known = run.capture["preamble"]
        return open_preamble(self._recorded(before), self.options, int(known["deliveries"]), self._tree)

    def _folder(self) -> str:
        """The folder in which the program runs: declared files lie below it."""
        cwd = self.recording.run.entry.cwd
        return self._tree.moved(cwd) if self._tree is not None else cwd

    def _printed(self, stream: int, data: bytes) -> None:
        if self.options.save:
            self._kept_output.append((stream, bytes(data)))
        if stream in (1, 2):
            data = self._tree.named_as_then(bytes(data)) if self._tree is not None else data
            self._judge_stop()
            self._outputs[stream - 1].feed(bytes(data))

    def _judge_stop(self) -> None:
        """Leave out the complaints of libraries in a stopped fork: they depend on the live calls under way."""
        if self.session.gate.halted is not None and was_stopped(self.recording.run):
            self._outputs[1].stop()

    def _speak_last(self) -> None:
        """Write the last output of frozen calls, unless the replay has stopped before."""
        if self.session.gate.halted is None:
            with suppress(OSError, ValueError):  # the program has closed its standard output
                self._echo.end()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """A scope around the call of the entry point, from which on the output of its lanes is compared."""
        self.session.on_printed = self._by_lanes.feed
        with stdout.watched():
            yield

    def _refused(self, words: str) -> Halt:
        if self._before is not None:
            self._before.faults.refuse(words)
        return self.session.faults.refuse(words)

    def leave(self, status: int) -> None:
        """The request has been served: end here, and skip the rest of the program."""
        self.finish()
        self._leave(status)

    def _stopping(self) -> None:
        """End an agent that does not end by itself after the replay has stopped."""
        timer = threading.Timer(GRACE_S, self._end_it)
        timer.daemon = True
        with lanes.inside(None):
            timer.start()

    def _end_it(self) -> None:
        self.finish()
        self._leave(1)

    def finish(self) -> None:
        """Compare the results of the program that has ended, and write the report. Runs once. Another thread that calls
        it waits, because that thread may be about to end the process."""
        if os.getpid() != self._pid or not self._lock.acquire(timeout=REPORT_S):
            return
        try:
            if not self._finished:
                self._finished = True
                with undisturbed():
                    self._finish()
        except BaseException as error:
            broke(self._place, error)
            raise
        finally:
            self._lock.release()

    def _finish(self) -> None:
        """Compare the results of the program, and write the report."""
        self._speak_last()
        stdio.flush()
        self._stack.close()
        guard.disarm()
        self.session.close()
        if self._before is not None:
            self._joined(self._before)
        differences: list[EndDifference] = []
        remarks: tuple[str, ...] = ()
        broken_off = self.session.faults.unreplayable or self.session.faults.divergences
        if not broken_off or self.options.on_divergence == "observe":
            run = self.recording.run
            if run.capture.get("served"):
                remarks = ("output not compared: the process served requests, which are runs of their own",)
            elif run.entry.kind == "command":
                self._judge_stop()
                differences.extend(outputs_differ(self._outputs, self.session.output_cleaned))
            else:  # a run inside a process owns no standard streams: the output of its lanes is compared
                differences.extend(self._by_lanes.end())
                remarks = self._by_lanes.remarks
            declared = run.capture.get("files") or ()
            differences.extend(files(run.files, file_digests(self._folder(), declared)))
        else:
            learn(self._outputs, self.session.output_cleaned)
            self._by_lanes.learn()
        contact = Contact(tuple(self._guard.refused), 0, self.enforcement)
        report = conclude(self.session, differences, contact, self.options)
        forgiven = tuple(output.forgiven for output in self._outputs if output.forgiven)
        ended = self._raised
        if ended:
            remarks = (*remarks, f"the program raised {ended}")
        report = replace(report, output=self.output, raised=ended, remarks=(*report.remarks, *forgiven, *remarks))
        if self._player is not None and report.exit_code:
            report = replace(report, remarks=(*report.remarks, *self._player.suspects()))
        if report.exit_code and not self.session.faults.divergences:  # a divergence names these paths itself
            report = replace(report, remarks=(*report.remarks, *self.session.suspects.amiss()))
        if self.options.save:
            said = AgentOutput(self._kept_output, self.output)
            kept = save(self._store, self.session, said, report.exit_code != 0, CLOCK, ENTROPY)
            report = replace(report, saved=kept.id, remarks=(*report.remarks, f"kept as run {tail(kept.id)}"))
        self._leave_result(without_credentials(report, self.session.redactor).to_json())

    @property
    def enforcement(self) -> tuple[str, ...]:
        """The means that keep the program from the world, in the words of a report."""
        return (_HOOK, "own process", *self.isolation.words())

    def _joined(self, before: Preamble) -> None:
        """Take in the faults of the process around the request: a stop of the process stops the request."""
        before.close()
        session = self.session
        session.faults.extend(before.faults)
        served = self._player is not None and self._player.played
        interrupted = isinstance(self._error, KeyboardInterrupt)  # the report says this by itself
        if not (served or interrupted or session.faults):
            session.faults.unreplayable.append(never_served(session.run))

    def _leave_result(self, report: dict[str, Any]) -> None:
        """Leave the report for the process that began this one, which finds the whole report or nothing."""
        path = self._place / "result"
        temporary = path.with_suffix(".part")
        temporary.write_text(json.dumps(report, default=str), encoding="utf-8")
        temporary.replace(path)
        self._store.close()


def isolated(instructions: dict[str, Any], network: str = "") -> Isolation:
    """Take this process's network away and redirect its writes to scratch, as far as the system permits. Called before
    any file is opened.

    Args:
        instructions: The parent's instructions.
        network: Why the process keeps its network; empty where it does not.
    """
    scratch = Path(instructions["place"]) / "scratch"
    scratch.mkdir(mode=0o700)
    folders = folders_of(os.getcwd(), instructions.get("root") or "", os.environ)
    keep = _kept(instructions)
    hide = instructions.get("hide")
    hidden = hidden_of(hide, instructions["show"]) if hide else None
    isolation = isolate(folders, keep, str(scratch), hidden, network)
    if hidden is not None and isolation.missing:
        raise refused_here(isolation.missing, instructions["run"])
    if not isolation.scratch and os.name == "posix":
        made = MadeFiles(own_folders(os.getcwd(), instructions.get("root") or "", os.environ))
        copy = Copy(os.path.realpath(scratch), keep, made, contacts.writing)
        Redirect(copy).install()
        isolation = replace(isolation, copy=copy)
    temporaries.give_way(isolation.folders if isolation.copy is None else (os.sep,), keep)
    if isolation.folders:
        FolderRenames(isolation.cover.folders).install()
    return isolation


def _kept(instructions: dict[str, Any]) -> list[str]:
    """The folders that are not covered, because we write there ourselves."""
    return [*instructions.get("keep", ()), instructions["place"]]


def _quiet_halts() -> None:
    """Print no traceback for a halt that reaches the top: it is our own, and the report tells of it."""
    before = sys.excepthook
    before_thread = threading.excepthook

    def excepthook(kind: Any, error: BaseException, trace: Any) -> None:
        if not _from_halt(error):
            before(kind, error, trace)

    def thread_hook(args: Any) -> None:
        if not _from_halt(args.exc_value):
            before_thread(args)

    sys.excepthook = excepthook
    threading.excepthook = thread_hook


def _from_halt(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, Halt):
            return True
        if isinstance(error, BaseExceptionGroup) and any(_from_halt(each) for each in error.exceptions):
            return True
        error = error.__cause__ or error.__context__
    return False


_process: ReplayingProcess | None = None


def begin(instructions: dict[str, Any]) -> None:
    """Start replaying in this process. Called once, by the boot, before the program's first line."""
    start(ReplayingProcess(instructions))


def start(process: ReplayingProcess) -> None:
    """Let this process answer from now on, as the replay that it was begun for."""
    global _process
    process.start()
    _process = process


def current() -> ReplayingProcess:
    """The replay this process was begun for."""
    assert _process is not None
    return _process
