"""Starting a replay: a fresh interpreter with the recorded hash seed, and the report it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from reenact.abc.store import Store
from reenact.errors import ReplayError, UnreplayableRun, UsageError
from reenact.facts.call import Json
from reenact.facts.ids import tail
from reenact.facts.imported import is_imported
from reenact.facts.known import placeholder
from reenact.facts.run import Run
from reenact.facts.serving import RELATION
from reenact.facts.spotting import normalise
from reenact.facts.variables import may_travel
from reenact.replaying import player
from reenact.replaying.entries import Start, start_of
from reenact.replaying.options import Options
from reenact.replaying.relocating import relocated
from reenact.replaying.report import Report
from reenact.replaying.results import exit_statuses
from reenact.replaying.revision import REVISION, Tree, kept_revision, remarks, tree_of
from reenact.replaying.verdict import first_line, last_line
from reenact.seams import trust
from reenact.seams.boot.parent import Boot, find_program, ignores_boot, run_program
from reenact.seams.zone import zone_for
from reenact.store import open_store
from reenact.store.nesting import holder_of

STUCK_EXIT = 1

Starter = Callable[..., int]
"""Runs a program to its end, as ``run_program`` does: how the process of a replay is started."""


class Unreported(ReplayError):
    """The process of a replay has ended without saying what came of it."""


def replay_run(
    store_url: str | None,
    run_id: str,
    options: Options,
    *,
    announce: Callable[[str], object] = lambda line: None,
    start_it: Starter = run_program,
    hash_seed: str = "",
) -> Report:
    """Replay one run.

    Args:
        store_url: Where it is; None for the default store.
        run_id: Id, or any reference.
        options: How.
        announce: Told the first line before the agent's code starts.
        start_it: Starts its process.
        hash_seed: Another one than the recorded; empty takes that one.

    Returns:
        The report.

    Raises:
        UnreplayableRun: The run cannot be started again here.
        Unreported: The replaying process ended without a report.
    """
    if options.live:
        raise UsageError(
            "a replay answers everything from the recording",
            cause="with something live it is a fork",
            next_command=f"reenact replay {tail(run_id)} --live {options.live[0]}",
        )
    with open_store(store_url) as store:
        run, url = store.run(run_id), store.url
        if options.mode == "code" and not options.entry:
            run = holder_of(store, run)
        _require_tools(store, run, options)
        announce(first_line(run.id, options))
        if options.mode == "events":
            return player.walk(store.open(run), options)
        kept = kept_revision(run)
        options = replace(options, rev=options.rev or kept)
        known = {"commit": kept} if kept else _revision_note(store, run) if options.rev else {}
    project = project_of(store_url)
    run, moved = relocated(run, project)
    start = start_of(run, options, project)
    if not options.rev:
        return _replayed(url, run, options, start, moved, start_it, hash_seed)
    with tree_of(options.rev, start.cwd, run) as tree:
        start = tree.start(start, run, options.rev)
        report = _replayed(url, run, options, start, tree.of_moved(moved), start_it, hash_seed)
    return replace(report, remarks=(*remarks(run, known, options.rev, tree.commit), *report.remarks))


def _require_tools(store: Store, run: Run, options: Options) -> None:
    """Names given with ``--through`` are of tools that the run has called.

    Raises:
        UsageError: One is not; says which there are.
    """
    recording = store.open(run)
    for name in options.through:
        if next(recording.events(name=name, limit=1), None) is None:
            called = sorted({event.name for event in recording.events(kinds=("tool", "model", "retrieval"))})
            raise UsageError(
                f"the run has called no tool {name}",
                cause=f"it has called {', '.join(called[:12])}" if called else "it has called no marked tool at all",
                next_command=f"reenact show {tail(run.id)}",
            )


def _revision_note(store: Store, run: Run) -> Mapping[str, Json]:
    """What the run, or the process that served it, says of the state of its code."""
    for each in (run.parent if run.relation == RELATION else None, run.id):
        if each:
            found = store.open(store.run(each)).notes(None).get(REVISION)
            if isinstance(found, Mapping):
                return found
    return {}


def _replayed(
    store_url: str, run: Run, options: Options, start: Start, tree: Tree | None, start_it: Starter, hash_seed: str
) -> Report:
    """Run the program, and read the report it leaves."""
    keep = folder_of(store_url)
    instructions = {
        "mode": "replay",
        "store": store_url,
        "run": run.id,
        "options": asdict(options),
        "entry": start.entry,
        "file": start.file,
        "within": start.within,
        "tree": None if tree is None else asdict(tree),
        "root": project_of(store_url),
        "keep": [keep] if keep else [],
    }
    environment = environment_of(run, os.environ)
    if tree is not None:
        environment = tree.environment(environment)
    seed = hash_seed or run.entry.hash_seed or None
    with Boot(instructions, environment, hash_seed=seed, show_seed=bool(run.environment.get("hash_seed_set"))) as boot:
        status = _run(start.argv, boot, start.cwd, options, start_it)
        return _concluded(run, boot, status)


def _run(argv: tuple[str, ...], boot: Boot, cwd: str, options: Options, start_it: Starter) -> int:
    option = ignores_boot(argv)
    if option:
        raise UnreplayableRun(
            f"the command starts Python with {option}, which keeps it from loading reenact: it would run live",
            cause="the option was given when the run was recorded, or with --cmd: give the command without it",
            next_command="reenact replay @ --cmd 'python agent.py'",
            missing=("entry",),
        )
    program = find_program(argv, boot.environment.get("PATH"))
    closed = {name: subprocess.DEVNULL for name in ("stdout", "stderr") if getattr(sys, f"__{name}__") is None}
    streams: dict[str, Any] = {"cwd": cwd, **closed}
    if options.divert_output:
        streams["stdout"] = 2
    with tempfile.TemporaryFile() as nothing:  # what the agent reads comes from the recording
        return start_it(program, boot.environment, stdin=nothing, **streams)


def _concluded(run: Run, boot: Boot, status: int) -> Report:
    text = boot.left(status)
    if text is None:
        failure = boot.failure
        if "UnreplayableRun" in failure:
            raise UnreplayableRun(failure.strip(), next_command=f"reenact show {tail(run.id)}")
        raise Unreported(
            f"the replay of {tail(run.id)} ended without a report (exit status {status})"
            + (f": {failure.strip()}" if failure else ""),
            cause=f"the program, or somebody else, ended its process by signal {-status}"
            if status < 0
            else "the interpreter did not import reenact, or the process was killed",
            next_command=f"reenact show {tail(run.id)}" if status < 0 else "reenact replay @ --cmd 'python agent.py'",
        )
    report = Report.from_json(json.loads(text))
    if is_imported(run) and status and report.divergence is None:
        known = "how it ended when it was recorded is not known"
        report = replace(report, remarks=(*report.remarks, f"the program ended with exit status {status}; {known}"))
    difference = exit_statuses(run.exit_status, status) if report.divergence is None else None
    if difference is not None:
        report = replace(
            report,
            differences=(*report.differences, difference),
            verdict="different",
            exit_code=max(report.exit_code, 1),
        )
        report = report.with_last_line(last_line(report))
    return report


def folder_of(store_url: str) -> str:
    """The folder a store writes in; empty for one that has none."""
    scheme, colon, rest = store_url.partition("://")
    if not colon:
        return "" if scheme.startswith("memory:") else os.path.abspath(scheme)
    return os.path.dirname(os.path.abspath(rest[1:])) if scheme == "sqlite" else ""


def project_of(store_url: str | None) -> str:
    """Root of this project: the nearest folder upwards that holds ``.reenact``, else the nearest that holds ``.git``
    (a folder, or the file of a worktree), else the current one."""
    here = os.getcwd()
    for mark, there in ((".reenact", os.path.isdir), (".git", os.path.exists)):
        path = here
        while not there(os.path.join(path, mark)):
            above = os.path.dirname(path)
            if above == path:
                break
            path = above
        else:
            return path
    return here


def environment_of(run: Run, now: Mapping[str, str], *, live: bool = False) -> dict[str, str]:
    """The environment a replay starts in: today's, with what was recorded by value, and placeholders for credentials.

    Args:
        run: The recorded run; ``environment["env"]`` holds values by name, ``environment["env_secret"]`` the names of
            credentials that were set.
        now: Today's environment.
        live: Whether calls may go live: then a run from elsewhere does not say where they go.
    """
    environment = dict(now)
    values = run.environment.get("env") or {}
    secrets = run.environment.get("env_secret") or ()
    ours = trust.is_ours(run)
    for name, value in values.items():
        if not ours and (not may_travel(name, live=live) or "\0" in str(value)):
            continue
        if normalise(str(value).encode()) == str(value).encode():  # a value that redaction touched is today's
            environment[name] = str(value)
    same = run.capture.get("same_values") or {}
    for name in secrets:
        environment.setdefault(name, placeholder(same.get(name, name)))
    for name, value in zone_for(run.environment.get("time_zone") or {}, now).items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    return environment
