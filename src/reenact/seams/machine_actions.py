"""Actions on the machine: functions of the standard library that change it without an audit event.

Each gets an audit event of ours, so that a recording names it and a replay refuses it like any other contact. Their own
work stays untouched.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from reenact.seams import contacts
from reenact.seams.callers import module_of
from reenact.seams.lanes import listening
from reenact.seams.patching import replace, when_imported
from reenact.seams.processes.process_calls import command_of, name_of

_STARTERS: Final = frozenset({"subprocess", "multiprocessing.util"})
"""Modules that start a process by ``_posixsubprocess.fork_exec``, and have reported the start already."""


def install() -> None:
    """Hook the functions that this system has. Idempotent."""
    for owner, name, make in (
        (os, "setpriority", _priority),
        (os, "sched_setaffinity", _scheduling),
        (os, "sched_setscheduler", _scheduling),
        (os, "sched_setparam", _scheduling),
        (signal, "pidfd_send_signal", _by_descriptor),
        (time, "clock_settime", _clock),
        (time, "clock_settime_ns", _clock),
        (os, "mkfifo", _path),
        (os, "mknod", _path),
    ):
        if hasattr(owner, name):
            replace(owner, name, make, answers=False)
    when_imported("_posixsubprocess", _watch_starts, answers=False)
    when_imported("_posixshmem", _watch_memory, answers=False)
    for name in ("_gdbm", "_dbm"):
        when_imported(name, _watch_tables, answers=False)


def _telling(original: Callable[..., Any], tell: Callable[..., None]) -> Callable[..., Any]:
    """A function that first announces its action, and then performs it."""

    def act(*args: Any, **options: Any) -> Any:
        if listening() is not None:
            tell(*args, **options)
        return original(*args, **options)

    return act


def _priority(original: Any) -> Any:
    def tell(which: int = os.PRIO_PROCESS, who: int = 0, *_: Any, **__: Any) -> None:
        if which != os.PRIO_PROCESS or who not in (0, os.getpid()):
            contacts.acting("priority", f"of process {who}" if which == os.PRIO_PROCESS else "of several processes")

    return _telling(original, tell)


def _scheduling(original: Any) -> Any:
    def tell(pid: int, *_: Any, **__: Any) -> None:
        if pid not in (0, os.getpid()):
            contacts.acting("priority", f"of process {pid}")

    return _telling(original, tell)


def _by_descriptor(original: Any) -> Any:
    def tell(_: int, number: int, *__: Any, **___: Any) -> None:
        if number:
            contacts.acting("signal", f"a process ({contacts.name_of_signal(number)})")

    return _telling(original, tell)


def _clock(original: Any) -> Any:
    return _telling(original, lambda *_, **__: contacts.acting("clock", "of this machine"))


def _path(original: Any) -> Any:
    return _telling(original, lambda path, *_, **__: contacts.writing(path))


def _watch_starts(module: ModuleType) -> None:
    replace(module, "fork_exec", _starting, answers=False)


def _starting(original: Any) -> Any:
    def fork_exec(*args: Any) -> Any:
        if listening() is not None and module_of(sys._getframe(1)) not in _STARTERS:
            contacts.acting("process", name_of(command_of(args[0]), False))
        return original(*args)

    return fork_exec


def _watch_memory(module: ModuleType) -> None:
    replace(module, "shm_open", _opening_memory, answers=False)
    replace(module, "shm_unlink", _unlinking_memory, answers=False)


def _opening_memory(original: Any) -> Any:
    def tell(path: Any, flags: int, *_: Any, **__: Any) -> None:
        if flags & (os.O_CREAT | os.O_RDWR):
            contacts.writing(f"/dev/shm/{str(path).lstrip('/')}")

    return _telling(original, tell)


def _unlinking_memory(original: Any) -> Any:
    return _telling(original, lambda path, *_, **__: contacts.writing(f"/dev/shm/{str(path).lstrip('/')}"))


def _watch_tables(module: ModuleType) -> None:
    replace(module, "open", _opening_table, answers=False)


def _opening_table(original: Any) -> Any:
    def tell(path: Any, flags: str = "r", *_: Any, **__: Any) -> None:
        if flags[:1] != "r":
            contacts.writing(path)

    return _telling(original, tell)
