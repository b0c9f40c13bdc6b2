"""Starting a process in which the agent's code runs again: a replay, a fork, a golden; and what such a process leaves.

The process is a fresh interpreter with the recorded hash seed and environment. It begins the session before the
program's first line. If the session cannot begin there, the process ends before the program does anything.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from reenact.errors import ReplayError, UnreplayableRun
from reenact.facts.bases import moved_bases
from reenact.facts.credential_search import normalise
from reenact.facts.ids import tail
from reenact.facts.known_credentials import placeholder
from reenact.facts.lazy_dataclass import asdict, dataclass
from reenact.facts.run import Run
from reenact.facts.variables import may_travel
from reenact.replaying.options import Options
from reenact.replaying.program_start import Start
from reenact.replaying.worktree import Tree
from reenact.seams import trust
from reenact.seams.boot.death import NOTHING, Death, name_of_signal
from reenact.seams.boot.frame import FRAME
from reenact.seams.boot.parent import Boot, find_program, ignores_boot, run_program
from reenact.seams.zone import zone_for

Starter = Callable[..., int]
"""Runs a program to its end, as ``run_program`` does."""

_CRASHED = "native code of an extension module crashed: the traceback is where Python had called it"
_CAUSES = {
    "SIGKILL": "the system was short of memory, or a time limit of another program ran out",
    "SIGABRT": "native code gave up: the lines above its traceback say why",
    **dict.fromkeys(("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL"), _CRASHED),
}
"""The usual senders of signals that a program seldom sends itself."""

_CODES = range(2, 6)
"""Exit statuses with which a process says why it could not begin."""


@dataclass(frozen=True, slots=True)
class ProcessStarter:
    """The way to start the process of a replay, for callers that start many.

    Attributes:
        start_it: The function that starts it.
        hash_seed: A hash seed; empty takes the recorded one.
        silent: Whether the agent's output is dropped.
        place: The private directory for its boot, which does not exist yet; None for one among the temporary files.
    """

    start_it: Starter = run_program
    hash_seed: str = ""
    silent: bool = False
    place: Path | None = None


LENT: Final = "lent"
"""Instruction that lists the variables which are not today's: they come from the recording."""

BASES: Final = "bases"
"""Instruction that lists addresses which have moved since the recording, each with today's."""

AS_RECORDED: Final = ProcessStarter()


class NoReport(ReplayError):
    """A process has ended without a report."""


@dataclass(frozen=True, slots=True)
class ProcessToStart:
    """A process to start.

    Attributes:
        mode: The part that begins in it (``seams.boot.child``).
        store: URL of the store, or file of the bundle, that has the run.
        run: The run that answers its code.
        start, tree: The program, and the worktree that it runs in; None without one.
        options: The start of the agent, and the target of its output.
        more: Further instructions for ``mode``.
        live: Whether calls may go live: then a run from elsewhere may not choose their hosts.
        hash_seed: A hash seed; empty takes the recorded one.
        given: Its standard input; None for ours.
        silent: Whether its output is dropped.
        again: Whether it may be run a second time, because it changes nothing in the world.
        place: The private directory for its boot, which does not exist yet; None for one among the temporary files.
        booted: Called once its private directory is there, before it starts.
        alone: For foreign code, the whole environment beside the recorded variables; None for today's.
    """

    mode: str
    store: str
    run: Run
    start: Start
    tree: Tree | None
    options: Options
    more: Mapping[str, Any]
    live: bool = False
    hash_seed: str = ""
    given: str | None = ""
    silent: bool = False
    again: bool = False
    place: Path | None = None
    booted: Callable[[Boot], object] = lambda boot: None
    alone: Mapping[str, str] | None = None

    @property
    def instructions(self) -> dict[str, Any]:
        """The instructions, JSON-able."""
        return {
            "mode": self.mode,
            "store": self.store,
            "run": self.run.id,
            "options": asdict(self.options),
            "entry": self.start.entry,
            "file": self.start.file,
            "within": self.start.within,
            "tree": None if self.tree is None else asdict(self.tree),
            **self.more,
        }


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """The results of a process.

    Attributes:
        status: Its exit status; negative for the signal that ended it.
        text: The report that it wrote; None without one.
        failure: Why the session could not begin; empty where it began, or where the process did not come that far.
        death: Its last event and place when it died.
    """

    status: int
    text: str | None
    failure: str = ""
    death: Death = NOTHING

    def report(self, what: str, *, cause: str = "", next_command: str, run: str = "") -> str:
        """The report.

        Args:
            what: The started program, for people.
            cause: A possible reason for the missing report, where none is known.
            next_command: The next command for a missing report.
            run: The run that answered the process. With it, the next command shows the last event that the process
                reached.

        Raises:
            NoReport: There is no report. The error's exit code is that of the process, if the process says why it could
                not begin.
        """
        if self.text is not None:
            return self.text
        failure = self.failure.strip()
        if failure:  # the text has its own cause, and its own next command
            error = NoReport(f"{what} could not begin: {failure}")
            if self.status in _CODES:  # the code of this one error, not of its class
                error.exit_code = self.status  # type: ignore[misc]  # of the class, but for this one
            raise error
        raise NoReport(
            f"{what} {self._ended()}{self._reached()}" + "".join(f"\n    {line}" for line in self.death.trace),
            cause=self._cause() or cause,
            next_command=self._next(run) or next_command,
        )

    def _next(self, run: str) -> str:
        """The command that shows where the process died."""
        if not run or not (self.status < 0 or self.death.fault or self.death.event is not None):
            return ""
        place = "" if self.death.event is None else f":{self.death.event}"
        return f"reenact show {tail(run)}{place}"

    def _ended(self) -> str:
        """How the process ended."""
        if self.status < 0:
            return f"was ended by {name_of_signal(-self.status)}"
        if self.death.fault:
            return f"was ended by a fault of reenact (exit status {self.status})"
        return f"ended without a report (exit status {self.status})"

    def _reached(self) -> str:
        """How far the process had come."""
        if self.death.event is not None:
            return f" after event {self.death.event}"
        return " before its first event" if self.status < 0 or self.death.fault else ""

    def _cause(self) -> str:
        """The cause, as far as the end of the process shows it."""
        if self.death.fault:
            return "the traceback is of reenact's own code: please report it"
        if self.status < 0:
            name = name_of_signal(-self.status)
            return _CAUSES.get(name, f"the program, or another process, sent {name}")
        return "" if self.death.event is None else "the program, or an extension module in it, ended its process itself"


def run_process(process: ProcessToStart, start_it: Starter = run_program) -> ProcessEnd:
    """Start a process, and wait until it has ended.

    Args:
        process: The process.
        start_it: Starts the process. The result may show that the program has looked at the frames below its own, which
            were a fork server's. The program is then run again in a fresh process, if allowed.

    Raises:
        UnreplayableRun: Its command keeps Python from loading us, so that the program would run live.
        UsageError: The program does not exist, or cannot be started.
        KeyboardInterrupt: Ctrl-C at the terminal interrupted the process and us.
    """
    left = _ran(process, start_it)
    seen = start_it is not run_program and FRAME in (left.text or "")
    return _ran(process, run_program) if seen and process.again else left


def _ran(process: ProcessToStart, start_it: Starter) -> ProcessEnd:
    run, start, tree = process.run, process.start, process.tree
    _require_boot(run, start.argv)
    today = os.environ if process.alone is None else process.alone
    environment = environment_of(run, today, live=process.live)
    if tree is not None:
        environment = tree.environment(environment)
    seed = process.hash_seed or run.entry.hash_seed or None
    shown = bool(run.environment.get("hash_seed_set"))
    lent = sorted(name for name, value in environment.items() if today.get(name) != value)
    told = {**process.instructions, LENT: lent, BASES: moved_bases(environment, today, lent)}
    with Boot(told, environment, hash_seed=seed, show_seed=shown, place=process.place) as boot:
        process.booted(boot)
        program = find_program(start.argv, boot.environment.get("PATH"))
        with tempfile.TemporaryFile() as given:
            given.write((process.given or "").encode())
            given.seek(0)
            stdin = None if process.given is None else given
            how = {"close_fds": False} if process.live else {}
            status = start_it(program, boot.environment, stdin=stdin, cwd=start.cwd, **how, **_streams(process))
        return ProcessEnd(status, boot.left(status), boot.failure, boot.death)


def _streams(process: ProcessToStart) -> dict[str, Any]:
    """The standard streams of the process, where they differ from ours. A stream that we closed goes nowhere."""
    streams: dict[str, Any] = {
        name: subprocess.DEVNULL
        for name in ("stdout", "stderr")
        if process.silent or getattr(sys, f"__{name}__") is None
    }
    return streams if process.silent or not process.options.divert_output else streams | {"stdout": 2}


def _require_boot(run: Run, argv: tuple[str, ...]) -> None:
    option = ignores_boot(argv)
    if option:
        raise UnreplayableRun(
            f"the command starts Python with {option}, which keeps it from loading reenact: it would run live",
            cause="the option was given when the run was recorded, or with --cmd: give the command without it",
            next_command=f"reenact replay {tail(run.id)} --cmd 'python agent.py'",
            missing=("entry",),
        )


def environment_of(run: Run, now: Mapping[str, str], *, live: bool = False) -> dict[str, str]:
    """The environment a replay starts in: today's, with what was recorded by value, and placeholders for credentials.

    Args:
        run: The recorded run; ``environment["env"]`` holds values by name, ``environment["env_secret"]`` the names of
            credentials that were set.
        now: Today's environment.
        live: Whether calls may go live: then a run from elsewhere does not choose their hosts.
    """
    environment = dict(now)
    values = run.environment.get("env") or {}
    secrets = run.environment.get("env_secret") or ()
    ours = trust.is_ours(run)
    for name, value in values.items():
        if now.get(name) == value:
            continue
        if live and name.lower().endswith("_proxy"):  # today's proxies decide how calls leave
            continue
        if not ours and (not may_travel(name, live=live) or "\0" in str(value)):
            continue
        if normalise(str(value).encode()) == str(value).encode():  # a value that redaction changed stays today's
            environment[name] = str(value)
    same = run.capture.get("same_values") or {}
    for name in secrets:
        environment[name] = environment.get(name) or placeholder(same.get(name, name))
    if not ours and environment.get("PYTHONPATH"):  # of today's folder: the recording may start elsewhere
        environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, environment["PYTHONPATH"].split(os.pathsep)))
    for name, value in zone_for(run.environment.get("time_zone") or {}, now).items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    return environment
