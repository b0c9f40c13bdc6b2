"""Staying: whether a program has left its process as it found it, so that the next one may run there too.

What can be put back is put back (the search path, the folder, the modules of the program's own project, which the next
one imports anew); what cannot be undone ends the process as the program would have ended it: a thread, a handler, an
open file, what is to be called at the end. Modules that were installed stay imported, which is what it is for: to
import an SDK takes longer than all that a program does with it. What such a module keeps for itself cannot be seen. So
whoever has a program run where another one has decides what to believe of it.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # typeshed knows only what wraps it
import atexit
import builtins
import gc
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import FrameType, ModuleType
from typing import Any, Final

from reenact.seams.places import installed

__all__ = ["Ground", "Leaving"]

_DESCRIPTORS: Final = "/proc/self/fd"
_OURS: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "")
_LISTS: Final = ("argv", "path")
"""Lists of ``sys`` that programs change, and that are given back what was in them. Others are changed by modules while
they are imported, and these stay."""


class Leaving:
    """Notes what programs leave to be called at the end of the process, from now on.

    What an installed module leaves while it is imported is its own, and called at that end; what anybody else leaves
    is the program's, and has to be called at the end of that.
    """

    def __init__(self) -> None:
        self.left = 0
        for module, name in ((atexit, "register"), (threading, "_register_atexit")):
            setattr(module, name, self._noting(getattr(module, name)))

    def _noting(self, register: Callable[..., Any]) -> Callable[..., Any]:
        """The same, and it is noted."""

        def noted(func: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            if not imports_installed(sys._getframe(1)):
                self.left += 1
            return register(func, *args, **kwargs)

        return noted

    def all(self) -> tuple[int, int, int]:
        """How much is left, as ``left``, in ``weakref`` and in ``multiprocessing``, whoever has left it there."""
        registered: Any = getattr(weakref.finalize, "_registry", ())
        processes: Any = getattr(sys.modules.get("multiprocessing.util"), "_finalizer_registry", ())
        return self.left, len(registered), len(processes)


def imports_installed(frame: FrameType | None) -> bool:
    """Whether code runs because a module is being imported that is none of the program's.

    Args:
        frame: The frame of that code.

    Cost: a look at each frame.
    """
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and _was_installed(code.co_filename):
            return frame.f_globals.get("__name__") != "__main__"
        frame = frame.f_back
    return False


class Ground:
    """The process as a program finds it.

    Args:
        leaving: Notes what is left for the end.
        written: Says how much has been written to the files of this process alone.
    """

    def __init__(self, leaving: Leaving, written: Callable[[], int]) -> None:
        self._leaving = leaving
        self._written = written
        self._lists = {name: list(getattr(sys, name)) for name in _LISTS}
        self._modules = frozenset(sys.modules)
        self._folder = os.getcwd()
        self._found = self._seen()

    def _seen(self) -> list[object]:
        """Everything that must be as it was."""
        return [
            self._leaving.all(),
            self._written(),
            [each for each in threading.enumerate() if each is not threading.main_thread()],
            [_handler(number) for number in _signal.valid_signals()],
            os.listdir(_DESCRIPTORS),
            dict(vars(builtins)),
            _mask(),
            _locale(),
            (sys.getrecursionlimit(), sys.getswitchinterval(), sys.gettrace(), sys.getprofile()),
            (gc.isenabled(), gc.get_threshold()),
        ]

    def is_as_found(self) -> bool:
        """Whether nothing is left that could not be put back."""
        return self._seen() == self._found and not any(map(_is_compiled, self._own()))

    def restore(self) -> None:
        """Put back what can be."""
        for name, held in self._lists.items():
            setattr(sys, name, held)
        for name in [name for name, module in self._new() if _is_own(module)]:
            del sys.modules[name]
        if os.getcwd() != self._folder:
            os.chdir(self._folder)

    def _new(self) -> Iterable[tuple[str, ModuleType]]:
        return [(name, module) for name, module in sys.modules.items() if name not in self._modules]

    def _own(self) -> list[ModuleType]:
        return [module for _, module in self._new() if _is_own(module)]


def _is_own(module: Any) -> bool:
    """Whether a module belongs to the program's project: it lies in a file that was not installed."""
    paths = _paths(module)
    return bool(paths) and not all(map(_was_installed, paths))


def _was_installed(path: str) -> bool:
    return installed(path) or path.startswith(_OURS)


def _paths(module: Any) -> list[str]:
    held: Mapping[str, Any] = getattr(module, "__dict__", {})
    file = held.get("__file__")
    found = [file] if file else held.get("__path__") or ()
    try:
        return [os.path.abspath(os.fsdecode(each)) for each in found]
    except TypeError:
        return []


def _is_compiled(module: ModuleType) -> bool:
    """Whether it is machine code, which is not loaded twice."""
    return not str(getattr(module, "__file__", None) or ".py").endswith((".py", ".pyc"))


def _handler(number: int) -> object:
    """A program's own handler of a signal, behind the one of ours that calls it: that is made anew at each setting."""
    handler = _signal.getsignal(number)
    return getattr(handler, "handler", handler)


def _mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _locale() -> str | None:
    module = sys.modules.get("locale")
    return None if module is None else module.setlocale(module.LC_ALL)
