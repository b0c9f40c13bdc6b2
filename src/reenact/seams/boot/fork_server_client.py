"""The parent's side of warm interpreters: starts programs with equal conditions from an interpreter that has already
booted.

Programs share an interpreter when nothing that it reads while it starts could differ: the same command up to the
program's own arguments, the same working directory and the same environment (so the same hash seed). Where there is
no ``fork``, or the command does not start Python, a program is started by itself.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.lazy_regex import lazy_regex
from reenact.seams.boot.child import MODE, VARIABLE, WARM
from reenact.seams.boot.fork_server import CHANNEL, receive, send
from reenact.seams.boot.parent import Boot, run_program

__all__ = ["ForkServerClient", "head_of"]

_PYTHON: Final = lazy_regex(r"(python|pypy)[0-9.]*")
_TAKES_NONE: Final = lazy_regex(r"-[bBdiOPqRsuvx]+")
_NAMES: Final = ("-m", "-c")

_Key = tuple[tuple[str, ...], str, frozenset[tuple[str, str]]]


class _Interpreter:
    """An interpreter that has booted, or is booting; its twins run programs. Any thread may call it.

    Args:
        key: Its start parameters.
        environment: Its environment variables, with those of its boot.

    Raises:
        OSError: The interpreter cannot be started.
    """

    def __init__(self, key: _Key, environment: Mapping[str, str]) -> None:
        head, cwd, _ = key
        self.key = key
        self.twins = 0
        self._lock = threading.Lock()
        self._control, its = socket.socketpair()
        with its:
            self._boot = Boot({"mode": WARM, CHANNEL: its.fileno()}, {})
            try:
                self._process = subprocess.Popen(
                    head,
                    env={**environment, VARIABLE: str(self._boot.place)},
                    cwd=cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(its.fileno(),),
                )
            except BaseException:
                self._control.close()
                self._boot.close()
                raise

    def twin(self) -> _Twin | None:
        """A new twin; None where the interpreter has not booted, or is gone."""
        ours, its = socket.socketpair()
        with its:
            told = self._asked({}, (its.fileno(),))
        if told is None:
            ours.close()
            return None
        return _Twin(self, told["pid"], ours)

    def status_of(self, twin: int) -> int:
        """The exit status of a twin that has ended; the status of this interpreter, if that has ended too."""
        told = self._asked({"ended": twin})
        return self._process.wait() if told is None else int(told["status"])

    def _asked(self, message: Mapping[str, Any], descriptors: tuple[int, ...] = ()) -> dict[str, Any] | None:
        with self._lock:
            try:
                send(self._control, message, descriptors)
            except OSError:
                return None
            told = receive(self._control)
        return None if told is None else told[0]

    def end(self) -> None:
        """End the interpreter, once its twins have been dropped."""
        self._control.close()
        try:
            self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._boot.close()


@dataclass(slots=True)
class _Twin:
    """A twin of an interpreter, which runs one program at a time.

    Attributes:
        of: The interpreter.
        pid: The twin's process. The number is not reused until the interpreter is asked for the twin's status.
        channel: The socket to it.
        lost: Whether it has ended with a program in it.
    """

    of: _Interpreter
    pid: int
    channel: socket.socket
    lost: bool = False

    def run(
        self, arguments: Sequence[str], environment: Mapping[str, str], streams: tuple[int, int, int]
    ) -> int | None:
        """Run one program.

        Returns the program's exit status; the twin's, if that died meanwhile; None if the twin had died before."""
        asked = {"arguments": list(arguments), "environment": dict(environment), "place": environment[VARIABLE]}
        try:
            send(self.channel, asked, streams)
        except OSError:
            return None
        if receive(self.channel) is None:
            return None
        ended = receive(self.channel)
        if ended is None:
            self.lost = True
            return self.of.status_of(self.pid)
        return int(ended[0]["status"])

    def stop(self) -> None:
        """End the twin and the program in it, where the system can do that."""
        if not self.lost:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self.channel.close()


class ForkServerClient:
    """Starts programs, from a fork server if possible. A context manager; any thread may call it.

    Args:
        limit: The largest number of twins that wait for a program.

    Attributes:
        started: The number of started interpreters.
        served: The number of programs that ran in a twin.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._booted: dict[_Key, _Interpreter] = {}
        self._waiting: list[_Twin] = []
        self.started = 0
        self.served = 0

    def __call__(
        self, argv: Sequence[str], environment: Mapping[str, str], *, cwd: str, close_fds: bool = True, **streams: Any
    ) -> int:
        """Run a program, as ``run_program`` does, and with the same result.

        Args:
            argv, environment, cwd, close_fds, streams: See ``run_program``. A fork server has inherited no descriptors.

        Raises:
            UsageError: The program cannot be started.
        """
        alone = partial(run_program, argv, environment, cwd=cwd, close_fds=close_fds, **streams)
        head = head_of(argv) if hasattr(os, "fork") else 0
        if not head:
            return alone()
        with open(os.devnull, "r+b") as nothing:
            opened = _opened(streams, nothing.fileno())
            try:
                twin = self._taken(tuple(argv[:head]), environment, cwd)
            except OSError:  # starting the program by itself reports the error
                twin = None
            if twin is None:
                return alone()
            try:
                status = twin.run(argv[head:], environment, opened)
            except BaseException:
                self._dropped(twin)
                raise
        if status is None:  # the twin did not come so far; the reason is reported when the program is started by itself
            self._dropped(twin)
            return alone()
        if twin.lost:
            self._dropped(twin)
        else:
            self._back(twin)
        return status

    def _taken(self, head: tuple[str, ...], environment: Mapping[str, str], cwd: str) -> _Twin | None:
        """A waiting twin that fits, taken out of the waiting ones; a new one if none fits; None where its interpreter
        does not boot.

        Raises:
            OSError: A new interpreter cannot be started.
        """
        key = (head, cwd, frozenset(pair for pair in environment.items() if pair[0] not in (VARIABLE, MODE)))
        with self._lock:
            found = next((each for each in self._waiting if each.of.key == key), None)
            if found is not None:
                self._waiting.remove(found)
                return found
            interpreter = self._booted.get(key)
            if interpreter is None:
                interpreter = self._booted[key] = _Interpreter(key, environment)
                self.started += 1
            interpreter.twins += 1
        found = interpreter.twin()
        if found is None:
            self._less(interpreter)
        return found

    def _back(self, twin: _Twin) -> None:
        """Take a twin back. The twin that has waited longest is ended to make room."""
        with self._lock:
            self.served += 1
            self._waiting.append(twin)
            surplus = [self._waiting.pop(0)] if len(self._waiting) > self._limit else []
        for each in surplus:
            each.channel.close()
            self._less(each.of)

    def _dropped(self, twin: _Twin) -> None:
        """Drop a twin."""
        twin.stop()
        self._less(twin.of)

    def _less(self, interpreter: _Interpreter) -> None:
        """Count one twin of an interpreter less; an interpreter without twins ends."""
        with self._lock:
            interpreter.twins -= 1
            over = not interpreter.twins and self._booted.get(interpreter.key) is interpreter
            if over:
                del self._booted[interpreter.key]
        if over:
            interpreter.end()

    def close(self) -> None:
        """End every interpreter."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
            booted, self._booted = list(self._booted.values()), {}
        for each in waiting:
            each.channel.close()
        for interpreter in booted:
            interpreter.end()

    def __enter__(self) -> ForkServerClient:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def head_of(argv: Sequence[str]) -> int:
    """The number of words of a command up to the program: the interpreter, its options and the program. The program's
    own arguments follow. 0 where it is no command of Python's that we can read."""
    if not argv or not _PYTHON.fullmatch(Path(argv[0]).name):
        return 0
    for at, word in enumerate(argv[1:], start=1):
        if word in _NAMES:
            return at + 2 if len(argv) > at + 1 else 0
        if not word.startswith("-"):
            return at + 1
        if not _TAKES_NONE.fullmatch(word):
            return 0
    return 0


def _opened(streams: Mapping[str, Any], nothing: int) -> tuple[int, int, int]:
    """The descriptors of standard streams, which are given as for ``subprocess``; our own where none is given."""

    def one(given: Any, own: int) -> int:
        if given is None:
            return own
        if given == subprocess.DEVNULL:
            return nothing
        return given if isinstance(given, int) else int(given.fileno())

    return one(streams.get("stdin"), 0), one(streams.get("stdout"), 1), one(streams.get("stderr"), 2)
