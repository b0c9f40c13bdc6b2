"""A process whose start was answered from a recording, and that is started at its first live use.

It is a second ``Popen`` object with the parameters, the environment and the working directory of the start that the
agent asked for. Its pipes take the places of those in the agent's hands: same objects, same descriptors.
"""

from __future__ import annotations

import os
import subprocess
import weakref
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from reenact.abc.session import Frozen
from reenact.seams import descriptors
from reenact.seams.colours import in_thread
from reenact.seams.lanes import Lane
from reenact.seams.late_resource import LateResource
from reenact.seams.processes import child_runs

STREAMS: Final = ("stdin", "stdout", "stderr")
_TEXT: Final = ("text", "encoding", "errors", "universal_newlines")


class AgentProcess:
    """Our facts about a process that the agent started.

    Attributes:
        played: Whether it is a process of a replay, which never ran.
        real: The process that runs in its place; None for any other.
        later: Starts the process ``real``; None where it cannot be started.

    Args:
        program: Its name.
        event: The event of its start.
        played: Whether it is answered from a recording.
    """

    __slots__ = ("event", "later", "played", "program", "real")

    def __init__(self, program: str, event: int, played: bool) -> None:
        self.program = program
        self.event = event
        self.played = played
        self.real: Any = None
        self.later: LateResource | None = None

    def begin(self) -> None:
        """Start the process, unless it runs: something is about to be performed on it."""
        if self.later is not None and self.real is None:
            in_thread(self.later.begin())
            self.real, self.played = self.later.real, False


def late_process(
    crossing: Frozen, args: Any, start: Callable[[], Any], adopt: Callable[[Any], object], lock: Any = None
) -> LateResource:
    """A process that is started later.

    Args:
        crossing: Its start, which was answered.
        args: Its command.
        start: Returns the object of the process that runs then, or an awaitable of it.
        adopt: Puts that object into the agent's hands.
        lock: The lock for ``LateResource``.
    """
    cause = "its start was answered from the recording; the program may not be installed here"
    return LateResource(
        crossing, f"{args!r} was to be started", start, adopt, missing="process", cause=cause, lock=lock
    )


def starter(module: Any, lane: Lane, original: Any, given: Mapping[str, Any], shell: bool) -> Callable[[], Any] | None:
    """The function that starts a process later; None where the start passes files of the agent, which change meanwhile.

    Args:
        module: ``subprocess``.
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
        original(real, bufsize=0, **(rest if heir is None else {**rest, "env": heir}))
        return real

    return start


def pipes_of(popen: Any) -> list[weakref.ref[Any] | None]:
    """The pipes in the agent's hands. They are not kept alive, because a pipe that is dropped is closed by that."""
    return [pipe and weakref.ref(pipe) for pipe in (getattr(popen, name) for name in STREAMS)]


def take_pipes(pipes: list[weakref.ref[Any] | None], real: Any) -> None:
    """Replace the pipes in the agent's hands by those of the process that runs now."""
    for pipe, name in zip(pipes, STREAMS, strict=True):
        _replace(pipe and pipe(), getattr(real, name))


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
        return await original(*args, **(rest if heir is None else {**rest, "env": heir}))

    return start


def take_streams(process: Any, real: Any) -> None:
    """Replace the transport behind the object in the agent's hands by that of the process that runs now."""
    process._transport, process._protocol, process.played = real._transport, real._protocol, False
    for name in STREAMS:
        ours, theirs = getattr(process, name), getattr(real, name)
        if ours is not None and theirs is not None:
            ours.leads_to(theirs)
