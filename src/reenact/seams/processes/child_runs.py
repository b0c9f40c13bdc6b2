"""Python programs that the agent's own program starts: each may become a child run of the same lineage.

The recorder sets the function that prepares the environment of such a child. Where none is set, as in a replay, nothing
is prepared: a replay starts no child.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from reenact.errors import UnreplayableRun
from reenact.seams.boot.parent import ignores_boot
from reenact.seams.lanes import Lane, listening
from reenact.seams.patching import replace
from reenact.seams.process_setting import variables_set
from reenact.seams.switchboard import guarded

Maker = Callable[[Sequence[str], Mapping[str, str]], Mapping[str, str]]
"""Gives the environment that makes a command a child run, from the command and the environment it would have."""

_maker: Maker | None = None


def appoint(maker: Maker | None) -> None:
    """Make children that start from now on child runs; with None they are not."""
    global _maker
    _maker = maker


def environment_for(lane: Lane, argv: Any, environment: Mapping[Any, Any] | None) -> Mapping[str, str] | None:
    """The environment for a command that is a Python program of this installation; None: unchanged.

    Args:
        lane: The calling lane, which notes a child that cannot be recorded.
        argv: The command; one line for a shell is never looked into.
        environment: As given by the agent; None for ours.
    """
    maker = _maker
    if maker is None or isinstance(argv, (str, bytes, os.PathLike)):
        return None

    def make() -> Mapping[str, str] | None:
        words = [os.fsdecode(word) for word in argv]
        if not words or not _is_ours(words[0]):
            return None
        option = ignores_boot(words)
        if option:
            lane.session.gap("child process", f"python {option}")
            return None
        base = os.environ if environment is None else environment
        return maker(words, {os.fsdecode(name): os.fsdecode(value) for name, value in base.items()})

    return guarded(lane, make)


def _is_ours(program: str) -> bool:
    """Whether a program is the interpreter that runs here, and so can load our code."""
    found = program if os.path.dirname(program) else shutil.which(program)
    if not found or not sys.executable:
        return False
    same_place = os.path.dirname(os.path.abspath(found)) == os.path.dirname(os.path.abspath(sys.executable))
    return same_place and os.path.realpath(found) == os.path.realpath(sys.executable)


def patch_processes(module: ModuleType) -> None:
    """Hook ``multiprocessing.process``: a child that is forked is named, since it takes no recorder along."""
    replace(module.BaseProcess, "start", _starting, answers=False)


def patch_spawning(module: ModuleType) -> None:
    """Hook ``multiprocessing.util``: a child that is started afresh becomes a child run."""
    if hasattr(module, "spawnv_passfds"):
        replace(module, "spawnv_passfds", _spawning, answers=False)


def _starting(original: Any) -> Any:
    def start(self: Any) -> Any:
        lane = listening()
        if lane is not None:
            method = getattr(type(self), "_start_method", None) or _default_method()
            lane.session.gap("child process", f"multiprocessing ({method})")
            if not lane.session.reaches_world:
                fault = _unplayable(method)
                lane.session.fault(fault)
                raise fault
        return original(self)

    return start


def _unplayable(method: str) -> UnreplayableRun:
    """Why a replay stops where a child of ``multiprocessing`` is started."""
    return UnreplayableRun(
        f"the program starts a child process through multiprocessing ({method}), which a replay does not start",
        cause="what such a child sends back goes through pipes and shared memory that are not recorded. Put "
        "@reenact.tool on the function that starts it and record again: it is then answered without its child",
        next_command="reenact replay @ --events",
        missing=("child process",),
    )


def _default_method() -> str:
    multiprocessing: Any = sys.modules.get("multiprocessing")
    return str(multiprocessing.get_start_method()) if multiprocessing is not None else "fork"


def _spawning(original: Any) -> Any:
    def spawnv_passfds(path: Any, args: Any, passfds: Any) -> Any:
        lane = listening()
        words = [os.fsdecode(word) for word in args]
        if lane is None or any("multiprocessing.resource_tracker" in word for word in words):
            return original(path, args, passfds)
        with variables_set(environment_for(lane, words, None) or {}):
            return original(path, args, passfds)

    return spawnv_passfds
