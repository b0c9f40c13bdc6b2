"""What a test may not leave behind in its process, and the words for what it did leave."""

from __future__ import annotations

import asyncio
import builtins
import io
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reenact.facts import value_writer
from reenact.replaying import guard
from reenact.seams import lanes

PLACES: tuple[tuple[Any, str], ...] = (
    *((builtins, name) for name in ("input", "open", "print", "breakpoint", "__import__")),
    *((io, name) for name in ("open", "FileIO")),
    *((os, name) for name in ("_exit", "read", "write", "isatty", "urandom", "times", "getpid", "fork", "environ")),
    *((time, name) for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "process_time")),
    *((random, name) for name in ("random", "seed", "randint", "choice", "SystemRandom")),
    *((sys, name) for name in ("excepthook", "unraisablehook", "displayhook", "breakpointhook", "exit")),
    *((threading, name) for name in ("excepthook", "get_ident")),
    *((signal, name) for name in ("signal", "getsignal")),
    *((socket, name) for name in ("create_connection", "getaddrinfo")),
    *((subprocess, name) for name in ("Popen", "run")),
)
"""Names that a recording replaces while it listens, or that a test might. What is patched once for the life of the
process (threads, loops, client libraries) may stay: those patches are idle when nobody listens, and carry what they
replaced as ``__wrapped__``."""

_PRIVATE = ("PYTEST_CURRENT_TEST",)
_GRACE_S = 5.0


@dataclass(frozen=True, slots=True)
class Picture:
    """The state of the process before a test."""

    threads: frozenset[threading.Thread]
    held: tuple[Any, ...]
    environment: Mapping[str, str]
    folder: str
    codecs: frozenset[str]

    @classmethod
    def taken(cls) -> Picture:
        """The state now. About 50 µs."""
        return cls(
            frozenset(threading.enumerate()), tuple(_held()), _environment(), _folder(), frozenset(value_writer.codecs)
        )

    def differences(self) -> Iterator[str]:
        """What is there now that was not, in words; threads that are about to end are waited for."""
        if lanes.anybody():
            yield "a session that still listens"
        if guard.GUARD.armed:
            yield "a guard of a replay that is still armed"
        for (owner, name), before, now in zip(PLACES, self.held, _held(), strict=True):
            if before is not now and before != now and getattr(now, "__wrapped__", None) is not before:
                yield f"{getattr(owner, '__name__', owner)}.{name} is {now!r}"
        yield from self._environment_changed()
        if _folder() != self.folder:
            yield f"the working directory {_folder()}"
        for name in sorted(self.codecs - value_writer.codecs.keys()):
            yield f"values without the codec of {name}"
        if asyncio._get_running_loop() is not None:
            yield "a running event loop"
        yield from self._threads_left()

    def _environment_changed(self) -> Iterator[str]:
        now = _environment()
        for name in sorted({*now, *self.environment}):
            if now.get(name) != self.environment.get(name):
                yield f"the environment variable {name}"

    def _threads_left(self) -> Iterator[str]:
        end = time.monotonic() + _GRACE_S
        for thread in threading.enumerate():
            if thread in self.threads or isinstance(thread, threading._DummyThread) or _of_a_server(thread):
                continue
            thread.join(max(0.0, end - time.monotonic()))
            if thread.is_alive():
                yield f"the thread {thread.name!r}"


def _of_a_server(thread: threading.Thread) -> bool:
    """Whether it serves one connection of a server that outlives the test (a fixture of a module)."""
    return thread.daemon and "process_request_thread" in thread.name


def _held() -> Iterator[Any]:
    for owner, name in PLACES:
        yield getattr(owner, name, None)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _PRIVATE}


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""
