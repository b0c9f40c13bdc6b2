"""Our wall clock: every C function that reads the clock calls one Python method of ours.

time-machine swaps the C functions behind ``time.time``, ``datetime.now``, ``date.today``, ``gmtime``, ``localtime``,
``strftime`` and ``clock_gettime``; each then asks the last object of ``time_machine.traveller_stack``. Ours is at the
bottom of that stack, so that a program's own travels are pushed and popped as always.

Three things keep time-machine itself out of the program's sight. Its module is loaded only when the program asks for it
(loading it would import pytest where pytest is installed). The stack is *false* while only ours is on it; time-machine
checks this. And its ``unpatch`` waits until we have left.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol, cast


class _Functions(Protocol):
    """The functions of the extension module ``_time_machine`` that we use."""

    original_time_ns: Callable[[], int]

    def patch(self) -> None: ...

    def unpatch(self) -> None: ...


class _Stack(list[Any]):
    """The travellers, true only when the program itself is travelling."""

    def __bool__(self) -> bool:
        return any(not isinstance(traveller, _Bottom) for traveller in self)


class _Bottom:
    """Our traveller. C calls ``time_ns`` for each read; it is set to the reader's own method."""

    __slots__ = ("time_ns",)

    def __init__(self, time_ns: Callable[[], int]) -> None:
        self.time_ns = time_ns

    def _start(self) -> None:
        """Do nothing: we carry no time zone."""

    def _stop(self) -> None:
        """Do nothing."""


class WallClock:
    """Installs and removes our reader of the wall clock.

    Args:
        answer: Gives the nanoseconds that the calling program sees. It runs one Python frame above its caller; the
            caller is the frame that read the clock.
    """

    def __init__(self, answer: Callable[[], int]) -> None:
        self._bottom = _Bottom(answer)
        self._answer = answer
        self._functions: _Functions | None = None
        self._plain = time.time_ns
        self._original: Callable[[], int] = time.time_ns
        self._unpatch: Callable[[], None] | None = None

    @property
    def installed(self) -> bool:
        """Whether reads of the wall clock come here now."""
        return self._unpatch is not None

    def real_ns(self) -> int:
        """Nanoseconds since the epoch, even if the program has changed the clock."""
        try:
            return self._original()
        except ValueError:  # no traveller is there
            return self._plain()

    def install(self) -> None:
        """Put our reader at the bottom of the stack. Without effect when it is there."""
        if self._unpatch is not None:
            return
        module = _time_machine_module()
        functions = cast(_Functions, module._time_machine)
        functions.patch()
        if self._functions is None:
            self._functions = functions
            self._original = functions.original_time_ns
        # A program's own ticking traveller reads the real time through this name: so it is recorded as well.
        functions.original_time_ns = self._answer
        self._unpatch = functions.unpatch
        functions.unpatch = _nothing  # type: ignore[method-assign]
        if not isinstance(module.traveller_stack, _Stack):
            module.traveller_stack = _Stack(module.traveller_stack)
        module.traveller_stack.insert(0, self._bottom)

    def remove(self) -> None:
        """Remove our reader; the program's own travels stay."""
        if self._unpatch is None or self._functions is None:
            return
        module = _time_machine_module()
        if self._bottom in module.traveller_stack:
            module.traveller_stack.remove(self._bottom)
        functions, unpatch = self._functions, self._unpatch
        functions.unpatch = unpatch  # type: ignore[method-assign]
        functions.original_time_ns = self._original
        self._unpatch = None
        if not module.traveller_stack:
            unpatch()


def _nothing() -> None:
    """Do nothing: replaces ``unpatch`` while we are installed."""


def _time_machine_module() -> Any:
    """The module ``time_machine``, or its substitute until the program uses it."""
    module = sys.modules.get("time_machine")
    if module is None:
        module = sys.modules["time_machine"] = _unloaded()
    return module


def _unloaded() -> ModuleType:
    """An empty module that loads ``time_machine`` into itself when asked for any of its names.

    It has the attributes that the C code reads. A subclass of the module type would be simpler, but would make each
    read of the clock 0.1 µs slower. The word in its documentation keeps pytest from warning that the module was
    imported too early to be rewritten.
    """
    import _time_machine  # type: ignore[import-not-found]

    spec = importlib.util.find_spec("time_machine")
    module = ModuleType("time_machine", "time-machine, not used by the program yet. PYTEST_DONT_REWRITE")
    stack = _Stack()
    names = module.__dict__

    def load() -> None:
        if names.pop("__getattr__", None) is None:
            return
        del names["__dir__"]
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module(module)
        names["traveller_stack"] = stack

    def look_up(name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module 'time_machine' has no attribute {name!r}")
        load()
        return getattr(module, name)

    def names_of() -> list[str]:
        load()
        return list(names)

    names.update(_time_machine=_time_machine, traveller_stack=stack, __getattr__=look_up, __dir__=names_of)
    if spec is not None:
        spec._initializing = False  # type: ignore[attr-defined]  # what a lookup by C code tests; absent, it costs 0.4 µs
        names.update(__spec__=spec, __loader__=spec.loader, __file__=spec.origin, __package__="time_machine")
        names.update(__path__=list(spec.submodule_search_locations or ()))
    return module
