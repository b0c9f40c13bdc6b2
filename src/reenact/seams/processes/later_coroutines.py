"""A process of asyncio, in a fork that was answered from the recording: started when a live call is first made of it.

It is a second process object, whose transport and streams take the places of those in the agent's hands.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from reenact.errors import UnreplayableRun
from reenact.seams.lanes import Lane
from reenact.seams.processes import child_runs
from reenact.seams.processes.later import STREAMS, unstarted


def later_coroutine(
    lane: Lane, original: Any, args: tuple[Any, ...], options: Mapping[str, Any], shell: bool
) -> Callable[[], Awaitable[Any]] | None:
    """``starter`` for ``asyncio.create_subprocess_exec`` and ``create_subprocess_shell``.

    Args:
        lane: Who asked for it.
        original: The library's own function.
        args, options: What it was given.
        shell: Whether a shell runs it.
    """
    known = (None, asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL, asyncio.subprocess.STDOUT)
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
            raise unstarted(lane, list(args), error) from error

    return start


class Later:
    """A process of asyncio that is yet to be started.

    Args:
        lane: Who asked for it.
        process: The object in the agent's hands.
        start: Gives the object of the process that runs then.
    """

    def __init__(self, lane: Lane, process: Any, start: Callable[[], Awaitable[Any]]) -> None:
        self._lane = lane
        self._process = process
        self._start = start
        self._lock = asyncio.Lock()
        self._real: Any = None
        self._soon: asyncio.Task[None] | None = None

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
        """Start it although whoever asks cannot wait for that, while the world counts as asked."""
        if self._soon is None:
            self._lane.gate.parts(1)
            self._soon = asyncio.get_running_loop().create_task(self._at_once())

    async def _at_once(self) -> None:
        try:
            await self.begun()
        except UnreplayableRun:
            pass  # the fork has stopped
        finally:
            self._lane.gate.parts(-1)

    def cannot(self) -> None:
        """Something is asked of it that can be asked only of a process that runs.

        Raises:
            UnreplayableRun: It does not run.
        """
        if self._real is None:
            error = RuntimeError("what was asked of it first is no coroutine, and cannot wait for that")
            raise unstarted(self._lane, [self._process.program], error)
