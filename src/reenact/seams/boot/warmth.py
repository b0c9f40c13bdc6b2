"""The parent's side of warm interpreters: starts programs that would be started alike from one that has booted before.

Programs share an interpreter when nothing that it reads while it starts could differ: the same command up to the
program's own arguments, the same working directory and the same environment (so the same hash seed). Where there is
no ``fork``, or the command is none of Python's, a program is started by itself.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reenact.seams.boot.child import VARIABLE, WARM
from reenact.seams.boot.parent import Boot, run_program
from reenact.seams.boot.warm import CHANNEL, receive, send

__all__ = ["Warmth", "head_of"]

_PYTHON: Final = re.compile(r"(python|pypy)[0-9.]*")
_TAKES_NONE: Final = re.compile(r"-[bBdiOPqRsuvx]+")
_NAMES: Final = ("-m", "-c")

_Key = tuple[tuple[str, ...], str, frozenset[tuple[str, str]]]


@dataclass(slots=True)
class _Interpreter:
    """One that waits.

    Attributes:
        key: What it was started with.
        process: It.
        channel: The socket to it.
        boot: Its private directory.
        lost: Whether it has ended with a child in it.
    """

    key: _Key
    process: subprocess.Popen[bytes]
    channel: socket.socket
    boot: Boot
    lost: bool = False

    def run(
        self, arguments: Sequence[str], environment: Mapping[str, str], streams: tuple[int, int, int]
    ) -> int | None:
        """Run one program; gives its exit status, or that of this interpreter if it is lost with the program in it;
        None where it is lost before."""
        asked = {
            "arguments": list(arguments),
            "environment": dict(environment),
            "place": environment[VARIABLE],
        }
        try:
            send(self.channel, asked, streams)
        except OSError:
            return None
        if receive(self.channel) is None:  # it tells that it has forked
            return None
        ended = receive(self.channel)
        if ended is None:
            self.lost = True
            return self.process.wait()
        return int(ended[0]["status"])

    def end(self) -> None:
        """End it. What runs in it is ended with it, where the system can do that."""
        self.channel.close()
        try:
            self.process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.boot.close()


class Warmth:
    """Starts programs, from warm interpreters where it can. A context manager; any thread may call it.

    Args:
        limit: How many interpreters may wait.

    Attributes:
        started: How many interpreters were started.
        served: How many programs were run in one.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._waiting: list[_Interpreter] = []
        self.started = 0
        self.served = 0

    def __call__(self, argv: Sequence[str], environment: Mapping[str, str], *, cwd: str, **streams: Any) -> int:
        """Run a program, as ``run_program`` does, and with the same result.

        Raises:
            UsageError: It cannot be started.
        """
        head = head_of(argv) if hasattr(os, "fork") else 0
        if not head:
            return run_program(argv, environment, cwd=cwd, **streams)
        with open(os.devnull, "r+b") as nothing:
            opened = _opened(streams, nothing.fileno())
            try:
                interpreter = self._taken(tuple(argv[:head]), environment, cwd)
            except OSError:  # whoever starts it by itself says what is wrong with it
                return run_program(argv, environment, cwd=cwd, **streams)
            try:
                status = interpreter.run(argv[head:], environment, opened)
            except BaseException:
                interpreter.end()
                raise
        if status is None:  # it never came so far: whatever the reason, it is told where the program starts by itself
            interpreter.end()
            return run_program(argv, environment, cwd=cwd, **streams)
        if interpreter.lost:
            interpreter.end()
        else:
            self._back(interpreter)
        return status

    def _taken(self, head: tuple[str, ...], environment: Mapping[str, str], cwd: str) -> _Interpreter:
        """One that fits, no longer waiting; a new one where none does."""
        key = (head, cwd, frozenset(pair for pair in environment.items() if pair[0] != VARIABLE))
        with self._lock:
            found = next((each for each in self._waiting if each.key == key), None)
            if found is not None:
                self._waiting.remove(found)
        if found is None:
            found = _start(key, environment)
            with self._lock:
                self.started += 1
        return found

    def _back(self, interpreter: _Interpreter) -> None:
        """It waits again; the one that has waited longest makes room."""
        with self._lock:
            self.served += 1
            self._waiting.append(interpreter)
            surplus = [self._waiting.pop(0)] if len(self._waiting) > self._limit else []
        for each in surplus:
            each.end()

    def close(self) -> None:
        """End every interpreter that waits."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for each in waiting:
            each.end()

    def __enter__(self) -> Warmth:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def head_of(argv: Sequence[str]) -> int:
    """How many words of a command are the interpreter, its options and the program: what follows are the program's
    own arguments. 0 where it is no command of Python's that we can read."""
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
    """The descriptors of standard streams given as ``subprocess`` takes them; ours where none is given."""

    def one(given: Any, own: int) -> int:
        if given is None:
            return own
        if given == subprocess.DEVNULL:
            return nothing
        return given if isinstance(given, int) else int(given.fileno())

    return one(streams.get("stdin"), 0), one(streams.get("stdout"), 1), one(streams.get("stderr"), 2)


def _start(key: _Key, environment: Mapping[str, str]) -> _Interpreter:
    """Start one; it boots while the first program is being asked for."""
    head, cwd, _ = key
    ours, its = socket.socketpair()
    with its:
        boot = Boot({"mode": WARM, CHANNEL: its.fileno()}, {})
        try:
            process = subprocess.Popen(
                head,
                env={**environment, VARIABLE: str(boot.place)},
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(its.fileno(),),
            )
        except BaseException:
            ours.close()
            boot.close()
            raise
    return _Interpreter(key, process, ours, boot)
