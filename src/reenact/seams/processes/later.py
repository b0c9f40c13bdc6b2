"""A process of a fork that was answered from the recording, and is started when something that was not recorded is
first asked of it.

It is a second ``Popen`` object with the parameters, the environment and the working directory of the start that the
agent asked for. Its pipes take the places of those in the agent's hands: same objects, same descriptors.
"""

from __future__ import annotations

import _thread
import os
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from reenact.errors import UnreplayableRun
from reenact.seams import descriptors, lanes
from reenact.seams.lanes import Lane
from reenact.seams.processes import child_runs
from reenact.seams.unbegun import unbegun

STREAMS: Final = ("stdin", "stdout", "stderr")
_TEXT: Final = ("text", "encoding", "errors", "universal_newlines")


class AgentProcess:
    """Our facts about a process that the agent started.

    Attributes:
        played: Whether it is one of a replay, which never ran.
        real: The process that a fork has started later; None for any other.

    Args:
        program: Its name.
        event: The event of its start.
        played: Whether it is answered from a recording.
    """

    __slots__ = ("_lock", "_start", "event", "played", "program", "real")

    def __init__(self, program: str, event: int, played: bool) -> None:
        self.program = program
        self.event = event
        self.played = played
        self.real: Any = None
        self._start: Callable[[], Any] | None = None
        self._lock = _thread.allocate_lock()

    def starts_later(self, start: Callable[[], Any]) -> None:
        """The process can be started: ``start`` returns the object of the process that runs then."""
        self._start = start

    def begin(self) -> None:
        """Start it, unless it runs: something is about to be performed on it."""
        if self._start is None:
            return
        with self._lock:
            if self._start is not None:
                self.real = self._start()
                self.played = False
                self._start = None


def starter(
    module: Any, popen: Any, lane: Lane, original: Any, given: Mapping[str, Any], shell: bool
) -> Callable[[], Any] | None:
    """The function that starts a process later; None where it got files of the agent, which have changed by then.

    Args:
        module: ``subprocess``.
        popen: The object in the agent's hands.
        lane: The calling lane.
        original: The library's own constructor.
        given: Its arguments, by name.
        shell: Whether a shell or another program than the named one runs it.
    """
    known = (None, module.PIPE, module.DEVNULL, module.STDOUT)
    if given.get("pass_fds") or any(given.get(name) not in known for name in STREAMS):
        return None
    rest = {name: value for name, value in given.items() if name not in ("self", "bufsize", *_TEXT)}
    args = given.get("args")
    rest["args"] = list(args) if isinstance(args, (list, tuple)) else args
    rest["env"] = dict(os.environ if given.get("env") is None else given["env"])
    rest["cwd"] = os.getcwd() if given.get("cwd") is None else os.path.abspath(given["cwd"])

    def start() -> Any:
        heir = None if shell else child_runs.environment_for(lane, rest["args"], rest["env"])
        real = module.Popen.__new__(module.Popen)
        try:
            original(real, bufsize=0, **(rest if heir is None else {**rest, "env": heir}))
        except Exception as error:
            raise _unstarted(lane, rest["args"], error) from error
        for name in STREAMS:
            _replace(getattr(popen, name), getattr(real, name))
        return real

    return start


def _replace(ours: Any, real: Any) -> None:
    """Replace a pipe without another end by one of the process that runs now."""
    if real is None:
        return
    with real:
        if ours is None or ours.closed:
            return
        place = ours.fileno()
        blocks = not hasattr(os, "get_blocking") or os.get_blocking(place)
        os.dup2(real.fileno(), place, inheritable=False)
        if not blocks:
            os.set_blocking(place, False)
        descriptors.renew(place)


def _unstarted(lane: Lane, args: Any, error: Exception) -> UnreplayableRun:
    """The error for a process with which a fork cannot go on: it stops, even if the agent catches the error."""
    return unbegun(
        lane,
        f"{args!r} was to be started",
        error,
        cause="its start was answered from the recording; the program may not be installed here",
        missing="process",
    )


# --- asyncio ----------------------------------------------------------------------------------------------------------


def later_coroutine(
    lane: Lane, original: Any, args: tuple[Any, ...], options: Mapping[str, Any], shell: bool
) -> Callable[[], Awaitable[Any]] | None:
    """``starter`` for ``asyncio.create_subprocess_exec`` and ``create_subprocess_shell``.

    Args:
        lane: The calling lane.
        original: The library's own function.
        args, options: Its arguments.
        shell: Whether a shell runs it.
    """
    known = (None, subprocess.PIPE, subprocess.DEVNULL, subprocess.STDOUT)
    if options.get("pass_fds") or any(options.get(name) not in known for name in STREAMS):
        return None
    rest = dict(options)
    rest["env"] = dict(os.environ if options.get("env") is None else options["env"])
    rest["cwd"] = os.getcwd() if options.get("cwd") is None else os.path.abspath(options["cwd"])
    named = shell or options.get("executable") is not None

    async def start() -> Any:
        heir = None if named else child_runs.environment_for(lane, args, rest["env"])
        try:
            return await original(*args, **(rest if heir is None else {**rest, "env": heir}))
        except Exception as error:
            raise _unstarted(lane, list(args), error) from error

    return start


class Later:
    """A process of asyncio that is yet to be started.

    Args:
        lane: The calling lane.
        process: The object in the agent's hands.
        start: Returns the object of the process that runs then.
        lock: Held while it is started.
    """

    def __init__(self, lane: Lane, process: Any, start: Callable[[], Awaitable[Any]], lock: Any) -> None:
        self._lane = lane
        self._process = process
        self._start = start
        self._lock = lock
        self._real: Any = None
        self._soon: Any = None

    async def begun(self) -> None:
        """Start it, unless it runs."""
        async with self._lock:
            if self._real is not None:
                return
            process, real = self._process, await self._start()
            self._real = real
            process._transport, process._protocol, process.played = real._transport, real._protocol, False
            for name in STREAMS:
                ours, theirs = getattr(process, name), getattr(real, name)
                if ours is not None and theirs is not None:
                    ours.leads_to(theirs)

    def soon(self) -> None:
        """Start it although the caller cannot wait for that, and meanwhile count as waiting for the world."""
        if self._soon is None:
            self._lane.gate.parts(1)
            self._soon = lanes.running_loop().create_task(self._at_once())

    async def _at_once(self) -> None:
        try:
            await self.begun()
        except UnreplayableRun:
            pass  # the fork has stopped
        finally:
            self._lane.gate.parts(-1)

    def cannot(self) -> None:
        """A use that needs a running process.

        Raises:
            UnreplayableRun: The process does not run.
        """
        if self._real is None:
            error = RuntimeError("its first call is not a coroutine, so it cannot wait for the start")
            raise _unstarted(self._lane, [self._process.program], error)
