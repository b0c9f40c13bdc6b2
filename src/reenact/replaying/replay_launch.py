"""Launches a replay: gathers its inputs, and makes its report with the end of its process."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from reenact.abc.store import Store
from reenact.errors import UsageError
from reenact.facts.call import Json
from reenact.facts.file_notes import NOTE as FILE
from reenact.facts.ids import tail
from reenact.facts.imported_runs import is_imported
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Run, Status
from reenact.facts.served_requests import RELATION
from reenact.facts.thinned_runs import require_bodies
from reenact.facts.trace_runs import is_traced
from reenact.replaying import code_changes, event_walk
from reenact.replaying.agent_process import (
    AS_RECORDED,
    NoReport,
    ProcessEnd,
    ProcessStarter,
    ProcessToStart,
    run_process,
)
from reenact.replaying.bundled_sources import carried, naming_the_option
from reenact.replaying.hidden_folders import private_folders
from reenact.replaying.options import Options
from reenact.replaying.program_start import ProgramGone, Start, start_of
from reenact.replaying.relocation import placed, relocated
from reenact.replaying.replay_lines import exit_statuses, first_line, last_line, with_changed_code
from reenact.replaying.replay_report import Report
from reenact.replaying.user_turns import driven, turns_of
from reenact.replaying.worktree import REVISION, Tree, kept_revision, remarks, tree_of
from reenact.store import open_store
from reenact.store.nested_runs import holder_of
from reenact.store.store_location import find_project

_MODEL: Final = "model"
"""The kind of call of an imported run that may go live."""


def replay_run(
    store_url: str | None,
    run_id: str,
    options: Options,
    *,
    announce: Callable[[str], object] = lambda line: None,
    project: str = "",
    starting: ProcessStarter = AS_RECORDED,
) -> Report:
    """Replay one run.

    Args:
        store_url: The store of the run; None for the default store.
        run_id: The id, or any reference.
        options: The options.
        announce: Called with the first line before the agent's code starts.
        project: Root of the project whose code runs; empty for the one around the working directory.
        starting: Starts its process.

    Returns:
        The report.

    Raises:
        UnreplayableRun: The run cannot be started again here.
        NoReport: The replaying process ended without a report.
    """
    with open_store(store_url) as store:
        run, url = store.run(run_id), store.url
        _require_frozen(run, options)
        if options.mode == "code" and not options.entry:
            run = holder_of(store, run)
        _require_tools(store, run, options)
        require_bodies(run)
        announce(first_line(run.id, options))
        if options.mode == "events":
            return event_walk.walk(store.open(run), options)
        turns = turns_of(store.open(run)) if options.command and is_imported(run) else []
        options = driven(options, run, turns)
        kept = "" if options.as_is else kept_revision(run)
        options = replace(options, rev=options.rev or kept)
        known = {"commit": kept} if kept else _revision_note(store, run) if options.rev else {}
    around = project or project_of()
    if options.sources:
        return _of_sources(url, run, options, starting)
    run, moved = relocated(run, around)
    try:
        start = start_of(run, options, around, project)
    except ProgramGone as error:
        with open_store(store_url) as store:
            raise naming_the_option(error, store, run, url) from None
    if project and (options.command or options.entry):  # a golden's own command, whose program lies in the project
        start = replace(start, cwd=project)
    given = "".join(f"{turn}\n" for turn in turns) if is_traced(run) else ""
    how = partial(_replayed, url, run, options, project=around, starting=starting, given=given)
    if not options.rev:
        report = how(start, moved)
        failed = run.status is Status.FAILED and run.interrupted_at is None and not options.through
        onward = f"reenact golden add {tail(run.id)} --as mended --expect \"status == 'ok'\"" if failed else ""
        return report if report.exit_code == 0 else with_changed_code(report, changed_code(url, run, moved), onward)
    with tree_of(options.rev, start.cwd, run, options.patch) as tree:
        start = tree.start(start, run, options.rev)
        report = how(start, tree.of_moved(moved))
    return replace(report, remarks=(*remarks(known, options.rev, tree.commit), *report.remarks))


def _require_frozen(run: Run, options: Options) -> None:
    """Require that a replay answers all calls from the recording. Only for an imported run may models be asked for
    missing answers.

    Raises:
        UsageError: Something else is to go live.
    """
    if not options.live or (is_imported(run) and set(options.live) == {_MODEL}):
        return
    kind = _MODEL if is_imported(run) else shlex.quote(options.live[0])
    raise UsageError(
        f"of an imported run only models go live, and not {', '.join(options.live)}"
        if is_imported(run)
        else "a replay answers everything from the recording",
        cause="the import has the results of its tools" if is_imported(run) else "with something live it is a fork",
        next_command=f"reenact replay {tail(run.id)} --live {kind}",
    )


def _of_sources(url: str, run: Run, options: Options, starting: ProcessStarter) -> Report:
    """Run the sources in a bundle, in an isolated process or not at all."""
    private = private_folders(project_of())
    with open_store(url) as store, carried(store, run, url) as laid:
        here = placed(run, laid.tree)
        home = laid.tree.path
        start = start_of(here, options, home, home)
        more = {"root": home, "hide": private, "show": [laid.folder]}
        process = ProcessToStart("replay", laid.bundle, here, start, laid.tree, options, more, alone=laid.environment)
        process = replace(process, hash_seed=starting.hash_seed, silent=starting.silent, place=starting.place)
        report = _concluded(here, run_process(process), inner=start.inner)
        return replace(report, remarks=(laid.remark, *report.remarks))


def changed_code(url: str, run: Run, moved: Tree | None) -> str:
    """The remark on source files that have changed since the recording; empty without any.

    Args:
        url: The URL of the store that has the run.
        run: The run, with today's folders of its program.
        moved: The project's folder now, for a run that was recorded elsewhere.

    Cost: a read of each file.
    """
    with open_store(url) as store:
        return changed_code_in(store, run, moved)


def changed_code_in(store: Store, run: Run, moved: Tree | None) -> str:
    """See ``changed_code``; ``store`` has the run."""
    sources, note = code_changes.sources_of(store, run), _revision_note(store, run)
    read = [name.removeprefix(FILE) for name in store.open(run).notes(None) if name.startswith(FILE)]
    folder = sources_folder(store, run, moved)
    return code_changes.in_words(sources, folder, note, run, (*sources, *read))


def sources_folder(store: Store, run: Run, moved: Tree | None) -> str:
    """Today's folder of a run's source files, which are named relative to it. ``store``: the store that has the run.
    ``run``, ``moved``: See ``changed_code``."""
    root = str(_revision_note(store, run).get("root") or run.entry.cwd)
    return root if moved is None else moved.moved(root)


def _require_tools(store: Store, run: Run, options: Options) -> None:
    """Require that names given with ``--through`` are names of tools that the run has called.

    Raises:
        UsageError: A name is not; the message lists the tools.
    """
    recording = store.open(run)
    for name in options.through:
        if next(recording.events(name=name, limit=1), None) is None:
            called = sorted({event.name for event in recording.events(kinds=("tool", "model", "retrieval"))})
            raise UsageError(
                f"the run has called no tool {name}",
                cause=f"it has called {', '.join(called[:12]) or 'no decorated tool'}; other functions run anyway",
                next_command=f"reenact show {tail(run.id)}",
            )


def _revision_note(store: Store, run: Run) -> Mapping[str, Json]:
    """The note of the run, or of the process that served it, on the state of its code."""
    for each in (run.parent if run.relation == RELATION else None, run.id):
        if each:
            found = store.open(store.run(each)).notes(None).get(REVISION)
            if isinstance(found, Mapping):
                return found
    return {}


def _replayed(
    store_url: str,
    run: Run,
    options: Options,
    start: Start,
    tree: Tree | None,
    *,
    project: str,
    starting: ProcessStarter,
    given: str,
) -> Report:
    """Run the program, and read the report it leaves."""
    keep = folder_of(store_url)
    more = {"root": project, "keep": [keep] if keep else []}
    options = replace(options, patch="")  # the tree has the patch already
    live = bool(options.live)
    again = not (options.save or live)
    process = ProcessToStart(
        "ask" if live else "replay", store_url, run, start, tree, options, more, live=live, again=again, given=given
    )
    process = replace(process, hash_seed=starting.hash_seed, silent=starting.silent, place=starting.place)
    return _concluded(run, run_process(process, starting.start_it), inner=start.inner)


def _concluded(run: Run, left: ProcessEnd, *, inner: bool) -> Report:
    """The report of a replay, completed by the end of its process, which only the parent sees."""
    status = left.status
    text = left.report(
        f"the replay of {tail(run.id)}",
        cause="the interpreter did not import reenact",
        next_command="reenact replay @ --cmd 'python agent.py'",
        run=run.id,
    )
    try:
        report = Report.from_json(json.loads(text))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        raise NoReport(
            f"the replay of {tail(run.id)} has left a report that cannot be read",
            cause="the code that ran has written over it",
            next_command=f"reenact show {tail(run.id)}",
        ) from None
    if is_imported(run) and status and report.divergence is None:
        known = "how it ended when it was recorded is not known"
        report = replace(report, remarks=(*report.remarks, f"the program ended with exit status {status}; {known}"))
    difference = exit_statuses(run.exit_status, status) if report.divergence is None else None
    if difference is not None and inner:
        told = f"{run.entry.argv[0]} ended with {run.exit_status}, the program that it started ends with {status}"
        report = replace(report, remarks=(*report.remarks, told))
    elif difference is not None:
        report = replace(
            report,
            differences=(*report.differences, difference),
            verdict="different",
            exit_code=max(report.exit_code, 1),
        )
        report = report.with_last_line(last_line(report))
    return report


def folder_of(store_url: str) -> str:
    """The folder that a store writes to; empty for a store without one."""
    scheme, colon, rest = store_url.partition("://")
    if not colon:
        return "" if scheme.startswith("memory:") else os.path.abspath(scheme)
    return os.path.dirname(os.path.abspath(rest[1:])) if scheme == "sqlite" else ""


def project_of() -> str:
    """Root of the project around the working directory."""
    return str(find_project(Path.cwd()))
