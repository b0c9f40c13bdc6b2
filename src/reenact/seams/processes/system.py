"""Processes without an object: ``os.system``, ``os.posix_spawn``, and what is done to a process by its id."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from reenact.facts.call import Call, Effect, Json
from reenact.facts.values import revealed, sealed
from reenact.seams import descriptors, lanes
from reenact.seams.colours import in_thread
from reenact.seams.lanes import listening
from reenact.seams.machine import meant
from reenact.seams.patching import replace
from reenact.seams.processes import process_calls
from reenact.seams.processes.channels import ProcessChannel
from reenact.seams.processes.process_calls import ask, further
from reenact.seams.processes.tracked_processes import TrackedProcess, known, track
from reenact.seams.switchboard import begin, crossed

T = TypeVar("T")


def install() -> None:
    """Hook the functions of ``os`` that this system has."""
    replace(os, "system", _running)
    for name in ("posix_spawn", "posix_spawnp"):
        if hasattr(os, name):
            replace(os, name, _spawning)
    if hasattr(os, "fork"):
        replace(os, "fork", _forking)
    if hasattr(os, "forkpty"):
        replace(os, "forkpty", _forking_terminal)
    for name in ("kill", "killpg"):
        if hasattr(os, name):
            replace(os, name, _signalling)
    for name in ("waitpid", "getpgid", "getsid"):
        if hasattr(os, name):
            replace(os, name, _by_id)


class _ProcessById:
    """A process known by its id alone."""

    __slots__ = ("event", "played", "program")

    def __init__(self, program: str, event: int) -> None:
        self.program = program
        self.event = event
        self.played = False

    def begin(self) -> None:
        """Do nothing: the process runs already, or never will."""


def _running(original: Callable[..., int]) -> Callable[..., int]:
    def system(command: Any) -> int:
        lane = listening()
        if lane is None:
            return original(command)

        def describe() -> Call:
            call = process_calls.start(process_calls.command_of(command), True, {"cwd": "."})
            lane.session.gap("inherited stdout", call.name)
            return call

        return ask(lane, describe, lambda: original(command))

    return system


def _spawning(original: Callable[..., int]) -> Callable[..., int]:
    def spawn(path: Any, argv: Any, env: Any, **options: Any) -> int:
        lane = listening()
        if lane is None:
            return original(path, argv, env, **options)
        facts: dict[str, Json] = {"cwd": ".", "executable": process_calls.command_of(path)}
        changes = process_calls.changes_of(env)
        if changes:
            facts["environment"] = changes
        call = process_calls.start(process_calls.command_of(argv), False, facts)
        crossing = begin(lane, lambda: call)
        if crossing is None or crossing.mode == "rerun":
            return original(path, argv, env, **options)
        pid = in_thread(crossed(lane, crossing, lambda: original(path, argv, env, **options), sealed, revealed))
        track(pid, _ProcessById(call.name, crossing.event))
        return int(pid)

    return spawn


def _forking(original: Callable[[], int]) -> Callable[[], int]:
    def fork() -> int:
        return _forked("fork", lambda: (original(), -1), lambda: -1)[0]

    return fork


def _forking_terminal(original: Callable[[], tuple[int, int]]) -> Callable[[], tuple[int, int]]:
    def forkpty() -> tuple[int, int]:
        return _forked("forkpty", original, _terminal)

    return forkpty


def _terminal() -> int:
    """The master side of an unused terminal."""
    with lanes.inside(None):
        master, slave = os.openpty()
        os.close(slave)
    return master


def _forked(what: str, perform: Callable[[], tuple[int, int]], stand_in: Callable[[], int]) -> tuple[int, int]:
    """Copy this process. Only the parent's side is recorded and replayed. Gives the child's id, and its terminal.

    The crossing is not entered, because the copied process also returns from here."""
    lane = listening()
    if lane is None or sys._getframe(2).f_globals.get("__name__", "").startswith("multiprocessing."):
        return perform()
    lane.session.gap("child process", f"os.{what}")
    crossing = begin(lane, lambda: process_calls.start(what, False, {}))
    if crossing is None or crossing.mode == "rerun":
        return perform()
    if crossing.mode == "frozen":
        pid, fd = revealed(crossing.outcome().wait()), stand_in()
    else:
        crossing.ready().wait()
        try:
            pid, fd = perform()
        except OSError as error:
            crossing.settle(sealed(None, error)).wait()
            raise
        if pid == 0:
            return pid, fd
        crossing.settle(sealed(pid, None)).wait()
    track(pid, _ProcessById(what, crossing.event))
    if fd >= 0:
        descriptors.know(fd, ProcessChannel(what, crossing.event, "terminal"))
    return pid, fd


def _signalling(original: Callable[[int, int], None]) -> Callable[[int, int], None]:
    def signal(pid: int, number: int, /) -> None:
        return _about(
            pid, original.__name__, Effect.WRITE, {"signal": int(number)}, lambda real: original(meant(real), number)
        )

    return signal


def _by_id(original: Callable[..., Any]) -> Callable[..., Any]:
    def look(pid: int, *options: int) -> Any:
        asked: Json = {"options": [int(option) for option in options]} if options else None
        return _about(pid, original.__name__, Effect.READ, asked, lambda real: original(meant(real), *options))

    return look


def _about(pid: Any, what: str, effect: Effect, asked: Json, perform: Callable[[int], T]) -> T:
    """An operation by process id: a crossing if the id belongs to a process of the agent; else it is left alone.

    A recorded id is never handed to the system, because today it may belong to another process."""
    process: TrackedProcess | None = known(pid) if isinstance(pid, int) else None
    lane = listening() if process is not None else None
    if process is None or lane is None:
        return perform(pid)
    meant_one: TrackedProcess = process

    def performed() -> T:
        meant_one.begin()
        real = getattr(meant_one, "real", None)
        return perform(pid if real is None else real.pid if pid > 0 else -real.pid)

    return ask(lane, lambda: further(meant_one.program, what, meant_one.event, effect, asked), performed)
