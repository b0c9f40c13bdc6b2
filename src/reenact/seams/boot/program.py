"""Runs the program of a warm child as the interpreter would, so that we know its exit status.

An ending interpreter takes every object apart. In a forked process each page that it touches is copied first, which
costs more than the fork. Leaving by ``os._exit`` after all handlers saves this cost. But only the interpreter knows the
status of a program that has raised ``SystemExit``. So when the interpreter announces the beginning of the program (by
an audit event), we run the program in its place and end as it would: wait for threads, run handlers, and flush all
output, that of C code too. Its other work is left out: an interpreter would take apart the objects that the program has
left, which runs their finalisers (``__del__``, ``finally`` in a generator, warnings of what was never awaited or
closed), and would call the C library's own handlers. That work comes after the end of the recording and of the replay.

The program runs on one frame of ours, which is in this file; tracebacks name it. Any other form of program than a
script and a module (text on the command line, a folder, compiled code), and a script that cannot be read, is left to
the interpreter.
"""

from __future__ import annotations

import atexit
import os
import signal
import stat
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib._bootstrap_external import MAGIC_NUMBER, SourceFileLoader
from typing import Any, Final, NoReturn

from reenact.seams import lanes
from reenact.seams.boot import unwritten_output

__all__ = ["take_over"]

_FILE: Final = "cpython.run_file"
_MODULE: Final = "cpython.run_module"
_KNOWN: Final = sys.implementation.name == "cpython" and sys.version_info < (3, 14)
"""The interpreters that run and end a program as this module does: each was compared with it, program by program."""
_OTHERWISE: Final = frozenset("ix")
"""Options with which an interpreter runs a program in another way: to go on interactively, to skip the first line."""

_UNFLUSHED: Final = 120
"""Status of an interpreter that could not write out its standard streams."""

_leave = os._exit  # taken before a session replaces it


def take_over(otherwise: Callable[[], object]) -> None:
    """Run the program of this process from here on, if it is one that we can run.

    Args:
        otherwise: Called at the very end, after all handlers, where the interpreter itself runs or ends the program.
    """
    atexit.register(otherwise)
    if not _KNOWN or sys.flags.inspect or sys.flags.interactive or _OTHERWISE & set(_options()):
        return

    last_words = unwritten_output.c_library()

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == _FILE:
            made = partial(_script, args[0])
        elif event == _MODULE:
            made = partial(_module, args[0])
        else:
            return
        start = made()
        if start is None:
            return
        vars(hook)["__cantrace__"] = False  # tracing of all later events is off again
        atexit.unregister(otherwise)
        error: BaseException | None = None
        try:
            start()
        except BaseException as raised:
            error = _without_our_frame(raised)
        _end(error, last_words, script=event == _FILE)

    vars(hook)["__cantrace__"] = True  # else a debugger could not trace code that runs below the hook
    sys.addaudithook(hook)


def _options() -> str:
    """The letters of the interpreter's own options."""
    letters = ""
    for word in sys.orig_argv[1:]:
        if not word.startswith("-") or word == "-m":
            break
        letters += word
    return letters


def _script(path: str) -> Callable[[], object] | None:
    """The function that runs a script in ``__main__``; None for a script that the interpreter itself must read."""
    try:
        with lanes.inside(None), open(path, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            source = file.read()
        if path.endswith(".pyc") or source[:2] == MAGIC_NUMBER[:2]:
            return None
        code = compile(source, path, "exec", dont_inherit=True)
    except Exception:  # the interpreter will report it in its own way
        return None
    main = vars(sys.modules["__main__"])
    main.update({"__file__": path, "__cached__": None, "__loader__": SourceFileLoader("__main__", path)})
    return partial(exec, code, main)


def _module(name: str) -> Callable[[], object] | None:
    """The function that runs a module; None for a folder or an archive, which also runs as a module."""
    if "-m" not in sys.orig_argv[1:] or name == "__main__":
        return None
    import runpy

    return partial(runpy._run_module_as_main, name, True)  # type: ignore[attr-defined]  # what -m runs


# --- the end ---------------------------------------------------------------------------------------------------------


def _end(error: BaseException | None, last_words: Callable[[], object], *, script: bool) -> NoReturn:
    """End this process as the interpreter would after the program has ended with ``error``.

    Args:
        error: None, or how the program ended.
        last_words: Writes out what C code holds.
        script: Whether the program is a script.
    """
    status = _ended(error, script=script)
    interrupted = type(error) is KeyboardInterrupt
    del error
    if "threading" in sys.modules:
        atexit.register(sys.modules["threading"]._shutdown)  # first of all: handlers run from the last to the first
    atexit._run_exitfuncs()
    if not _flushed_both():
        status = _UNFLUSHED
    unwritten_output.files()
    last_words()
    if interrupted:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    _leave(status & 0xFF)


def _ended(error: BaseException | None, *, script: bool) -> int:
    """The status of a program that has ended with ``error``, which is printed as the interpreter prints it."""
    if script:
        for stream in (sys.stderr, sys.stdout):
            _flushed(stream)
    status = _told(error) if error is not None else 0
    if script and not isinstance(error, SystemExit):
        for name in ("__file__", "__cached__"):
            vars(sys.modules["__main__"]).pop(name, None)
    return status


def _flushed_both() -> bool:
    """Write out both standard streams; gives whether that went well."""
    return all([_flushed(sys.stdout, tell=True), _flushed(sys.stderr)])


def _without_our_frame(error: BaseException) -> BaseException:
    """An exception that we have caught, with the traceback as it was raised."""
    trace = error.__traceback__
    return error.with_traceback(trace.tb_next if trace is not None else None)


def _told(error: BaseException) -> int:
    """Report an uncaught exception, and return its status."""
    if isinstance(error, SystemExit):
        return _asked_for(error)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    hook = getattr(sys, "excepthook", None)
    if hook is None:
        sys.stderr.write("sys.excepthook is missing\n")
        sys.__excepthook__(type(error), error, error.__traceback__)
        return 1
    try:
        sys.audit("sys.excepthook", hook, type(error), error, error.__traceback__)
        hook(type(error), error, error.__traceback__)
    except SystemExit as other:
        return _asked_for(other)
    except BaseException as fault:
        fault = _without_our_frame(fault)
        sys.stderr.write("Error in sys.excepthook:\n")
        sys.__excepthook__(type(fault), fault, fault.__traceback__)
        sys.stderr.write("\nOriginal exception was:\n")
        sys.__excepthook__(type(error), error, error.__traceback__)
    return 1


def _asked_for(error: SystemExit) -> int:
    """The status that a program asks for. A value that is no number is printed, and the status is 1."""
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code) if -(1 << 63) <= code < 1 << 63 else -1
    for told in (code, "\n"):
        with suppress(Exception):  # there is no other place to report it
            sys.stderr.write(str(told))
    return 1


def _flushed(stream: Any, *, tell: bool = False) -> bool:
    """Write a standard stream out; gives whether that went well. ``tell``: report a failure."""
    try:
        if stream is not None and not stream.closed:
            stream.flush()
    except Exception as fault:
        if tell and sys.stderr is not None:
            sys.stderr.write(f"Exception ignored in: {stream!r}\n")
            traceback.print_exception(_without_our_frame(fault))
        return False
    return True
