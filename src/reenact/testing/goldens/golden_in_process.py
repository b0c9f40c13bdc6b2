"""Runs a golden in the calling process, if its entry point can be imported there; no interpreter is started.

It is a shorter way to the same verdict: a golden that does not simply pass is run again in a process of its own. The
audit hook refuses connections and processes, and stops the agent before it changes a file; the hash seed, the working
directory and earlier imports stay as they are.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import threading
from asyncio import _get_running_loop
from collections.abc import Callable, Mapping
from typing import Any, Final

from reenact.abc.sources import CLOCK
from reenact.abc.store import Recording
from reenact.errors import Halt, UnreplayableRun
from reenact.facts.run import Run, Status
from reenact.recording.recording_opening import status_of
from reenact.replaying import caller
from reenact.replaying.agent_process import environment_of
from reenact.replaying.change_watch import CHANGE_WATCH
from reenact.replaying.network_block import BLOCK
from reenact.replaying.options import Options
from reenact.replaying.program_start import Start, start_of
from reenact.replaying.relocation import placed, relocated
from reenact.replaying.replay_opening import redactor_of
from reenact.replaying.worktree import Tree, kept_revision
from reenact.seams import lanes
from reenact.seams.process_setting import folder_now, variables_now, variables_set
from reenact.store.memory_store import MemoryStore
from reenact.testing.goldens.golden_answers import Answers, Overlay
from reenact.testing.goldens.golden_launch import ProcessResult
from reenact.testing.goldens.golden_misses import GoldenMisses, NamedGolden, boundaries
from reenact.testing.goldens.opened_golden import OpenGolden
from reenact.timetravel.forks.fork_opening import open_child, open_session
from reenact.timetravel.forks.fork_report import conclude
from reenact.timetravel.forks.fork_session import ForkSession
from reenact.timetravel.forks.ledger import Ledger
from reenact.timetravel.forks.plan import Plan

ENFORCEMENT: Final = ("audit hook (connections, processes, files)", "the calling process")
_OUTSIDE: Final = ("TZ", "PYTHONHASHSEED", "LANG", "LC_ALL", "PATH", "HOME", "PWD")
"""Variables that the interpreter or a library has read already: to set them now would have no effect."""


def run_here(opened: OpenGolden, run: Run, project: str) -> tuple[ProcessResult, Recording] | None:
    """Run today's code on one run of a golden in this process.

    Args:
        opened: The golden.
        run: The run in it that today's code is answered from.
        project: Root of the project.

    Returns:
        The result, and today's run; None if the golden needs a process of its own: the golden depends on the hash seed
        or was not tried, its entry point is a program, is defined elsewhere or is imported from another place, it needs
        other surroundings, or it was about to change a file.

    Raises:
        BaseException: An error that stops the test and not the agent: an interrupt, a time limit.
    """
    moved_run, tree = relocated(run, project)
    entry = _entry(opened, moved_run, project)
    if entry is None:
        return None
    environment = _environment(run, tree)
    if environment is None:
        return None
    recording = opened.store.open(moved_run if tree is not None else run)
    misses = _misses(opened, tree)
    session = open_session(recording, Options(), Plan(at=0, live="none"), misses, tree)
    return _called(session, misses, entry, environment)


def _entry(opened: OpenGolden, run: Run, project: str) -> Callable[..., Any] | None:
    """The function to call, if this process has it."""
    alone = threading.current_thread() is threading.main_thread() and _get_running_loop() is None
    if not (alone and opened.golden.any_seed and run.entry.kind == "callable") or lanes.anybody():
        return None
    if kept_revision(run) or run.capture.get("files") or run.capture.get("file_contents"):
        return None
    try:
        start = start_of(run, Options(), project, project)
    except UnreplayableRun:
        return None
    folder = folder_now()
    return _function(start) if folder and _same(folder, start.cwd) else None


def _function(start: Start) -> Callable[..., Any] | None:
    """The function of an entry point, undecorated, if its module is the very file that the golden was recorded of."""
    name, _, qualname = start.entry.partition(":")
    if not start.file:
        return None
    try:
        module = _imported(name, start.file)
        if module is None or not _same(getattr(module, "__file__", None), start.file):
            return None
        found: Any = module
        for part in qualname.split("."):
            found = getattr(found, part)
    except Exception:  # an import may raise anything: a process of its own will report it
        return None
    function: Any = inspect.unwrap(found, stop=lambda f: not hasattr(f, "__wrapped__"))
    code = getattr(function, "__code__", None)
    return function if code is not None and _same(code.co_filename, start.file) else None


def _imported(name: str, file: str) -> Any:
    """The module of a file, imported without a network, unless it is imported already; None where this name means
    another file.

    A script counts as a module only if it is imported already: it may do its work when it is imported."""
    if name == "__main__":
        return sys.modules.get(os.path.basename(file).removesuffix(".py"))
    if name in sys.modules:
        return sys.modules[name]
    with BLOCK.up():
        spec = importlib.util.find_spec(name)
        return importlib.import_module(name) if spec is not None and _same(spec.origin, file) else None


def _same(path: str | None, file: str) -> bool:
    return path is not None and (path == file or os.path.realpath(path) == os.path.realpath(file))


def _environment(run: Run, tree: Tree | None) -> Mapping[str, str] | None:
    """The variables of a replay that differ from today's; None where one would have to be set before the start."""
    now = variables_now()
    wanted = environment_of(run, now)
    if tree is not None:
        wanted = tree.environment(wanted)
    if any(wanted.get(name) != now.get(name) for name in _OUTSIDE) or now.keys() - wanted.keys():
        return None
    return {name: value for name, value in wanted.items() if now.get(name) != value}


def _misses(opened: OpenGolden, tree: Tree | None) -> GoldenMisses:
    store, golden = opened.store, opened.golden
    overlays = [store.open(store.run(each)) for each in opened.overlays]
    overlays = [store.open(placed(each.run, tree)) if tree is not None else each for each in overlays]
    answers = Answers([Overlay(each, redactor_of(each.run, tree)) for each in overlays], golden.answers)
    return GoldenMisses(answers, "stale", NamedGolden(golden.name, opened.again))


def _called(
    session: ForkSession, misses: GoldenMisses, entry: Callable[..., Any], environment: Mapping[str, str]
) -> tuple[ProcessResult, Recording] | None:
    """Call the entry point with the recorded arguments, under guard."""
    store = MemoryStore()
    kept = open_child(session, store, gathers=False)
    session.records(kept.session, Ledger(store, session.run, kept.run.id), lambda recorded, event: None)
    error: BaseException | None = None
    asks = caller.hosted(session, lambda: session.schedule.time.asks)
    try:
        with CHANGE_WATCH.on(session.faults.refuse) as changes, variables_set(environment), asks as contacts:
            try:
                arguments, named = caller.arguments_for(session, entry)
                caller.call(session, entry, *arguments, **named)
            except (Exception, SystemExit, Halt) as raised:
                error = raised
    finally:
        status, line = (Status.RECORDING, "") if misses.cut else status_of(error)
        run = kept.close(status, CLOCK.wall_us(), error=line, environment={**kept.run.environment, **session.kept()})
    if changes:
        return None
    told = ProcessResult(
        report=conclude(session, run, tuple(contacts)),
        used=dict(misses.used),
        boundaries=boundaries(session.course),
        stale_at=misses.stale_at,
        enforcement=ENFORCEMENT,
        run=run.id,
        cut=misses.cut,
    )
    return told, store.open(run)
