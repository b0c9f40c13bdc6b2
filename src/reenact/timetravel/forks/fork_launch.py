"""Launches a fork: gathers its inputs, and reports how its process ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.abc.store import Store
from reenact.errors import ForkError
from reenact.facts.call import Kind
from reenact.facts.ids import make_run_id, tail
from reenact.facts.imported_runs import is_imported
from reenact.facts.lazy_dataclass import replace
from reenact.facts.run import Run, Status
from reenact.facts.served_requests import preamble_of
from reenact.facts.thinned_runs import require_bodies
from reenact.recording.git import ask_git
from reenact.replaying.agent_process import ProcessToStart, run_process
from reenact.replaying.options import Options
from reenact.replaying.program_start import start_of
from reenact.replaying.relocation import relocated
from reenact.replaying.replay_launch import changed_code, project_of
from reenact.store import open_store
from reenact.store.nested_runs import holder_of
from reenact.timetravel.event_line import event_text
from reenact.timetravel.forks.allowed_names import require_known, with_settings
from reenact.timetravel.forks.changes import check
from reenact.timetravel.forks.fork_code import Code, code_of, with_command
from reenact.timetravel.forks.fork_points import require_fork_point
from reenact.timetravel.forks.fork_report import ForkReport, first_line, last_line
from reenact.timetravel.forks.input import asks_people
from reenact.timetravel.forks.plan import Plan
from reenact.timetravel.run_comparison import Comparison

_ANSWER = 200
"""The most characters of an answer that are shown."""


def fork_run(
    store_url: str | None,
    parent: str,
    plan: Plan,
    options: Options,
    *,
    announce: Callable[[str], object] = lambda line: None,
) -> ForkReport:
    """Fork one run.

    Args:
        store_url: The store of the parent, and of the fork; None for the default store.
        parent: Id of the parent, or any reference.
        plan: The plan of the fork.
        options: The start of the agent (``command``, ``entry``), and the target of its output.
        announce: Called with the first line before the agent's code starts.

    Raises:
        ForkError: The run cannot branch there, or not with this change.
        UnreplayableRun: The run cannot be started again here.
        Unreported: The forking process ended without a report.
    """
    with open_store(store_url) as store:
        run = store.run(parent) if options.entry else holder_of(store, store.run(parent))
        plan = with_settings(with_command(plan, run, options))
        recording = store.open(run)
        require_ended(run)
        if not (plan.resume and plan.at >= recording.count()):
            require_fork_point(recording, plan.at, resume=plan.resume)
        check(recording, plan, options.entry)
        require_known(store, run, plan)
        url = store.url
    announce(first_line(run.id, plan))
    project = project_of()
    run, moved = relocated(run, project)
    with code_of(run, plan, start_of(run, options, project), moved) as code:
        report = _forked(url, run, code, options)
        said = not code.plan.rev and (report.exit_code == 1 or not plan.resume)  # a resumption may be of mended code
        since = changed_code(url, run, code.tree) if said else ""
    remarks = (*report.remarks, since) if since else report.remarks
    return replace(report, first_line=first_line(run.id, plan), remarks=remarks)


def _forked(url: str, run: Run, code: Code, options: Options) -> ForkReport:
    """Run the program, and read the report it leaves."""
    plan, child = code.plan, make_run_id(CLOCK.wall_us(), ENTROPY.bytes(8))
    more = {"child": child, "plan": plan.to_json()}
    given = None if asks_people(plan) else plan.input if isinstance(plan.input, str) else ""
    process = ProcessToStart("fork", url, run, code.start, code.tree, options, more, live=True, given=given)
    if code.tree is None:
        process = replace(process, booted=lambda boot: ask_git(code.start.cwd, boot.leave))
    left = run_process(process)
    text = left.report(f"the {plan.noun} of {tail(run.id)}", next_command=f"reenact replay {tail(run.id)}", run=run.id)
    report = ForkReport.from_json(json.loads(text))
    if preamble_of(run) and report.events:  # a server's process has another status than its request
        report = replace(report, remarks=(*report.remarks, *_answered(url, child)))
    else:
        kept = keep_status(url, child, left.status)
        if not report.events and kept.error.startswith(KeyboardInterrupt.__name__):
            with open_store(url) as store:
                store.delete(child)  # the fork is empty, and @ would name it
            raise KeyboardInterrupt
        report = replace(report, status=kept.status.value)
    report = replace(report, parts="" if plan.resume or not report.events else _parts(url, run.id, child))
    return replace(report, last_line=last_line(report))


def _answered(url: str, child: str) -> Iterator[str]:
    """The answer to a request of a server: its status and body, or the error of the program."""
    with open_store(url) as store:
        recording = store.open(child)
        for event in recording.events(kinds=[Kind.OUTPUT]):
            status = event.call.head.get("status")
            yield f"the {event.name}: {f'{status} ' if status else ''}{event_text(recording, event, _ANSWER)}"


def _parts(url: str, parent: str, child: str) -> str:
    """The first difference between a fork and its parent: the fork's event, or else the parent's."""
    with open_store(url) as store:
        pair = Comparison(store.open(parent), store.open(child)).first_difference
        if pair is None:
            return ""
        where = "" if pair.numbers[1] is not None else " of the parent, which the fork does not make"
        return f"event {pair.event.number} ({pair.event.name}){where}"


def require_ended(run: Run) -> None:
    """Refuse a run that is still being recorded, and an imported one, which can only be replayed.

    Raises:
        ForkError: The run is still being recorded, or was imported.
    """
    require_bodies(run)
    if is_imported(run):
        raise ForkError(
            f"run {tail(run.id)} was imported, and can neither be forked nor resumed yet",
            cause="the file knows neither the order of its exchanges nor what happened between them",
            next_command=f"reenact replay {tail(run.id)} --cmd 'python agent.py'",
        )
    if run.status is Status.RECORDING:
        raise ForkError(
            f"run {tail(run.id)} is still being recorded",
            cause="forks and resumptions share its events, which must not change any more",
            next_command=f"reenact show {tail(run.id)}",
        )


def keep_status(url: str, child: str, status: int) -> Run:
    """Keep the exit status, which only the parent of a process can see, in its run.

    Args:
        url: The URL of the store that has the run.
        child: Id of the run.
        status: Exit status; negative for the signal that ended the process.

    Returns:
        The present run.
    """
    with open_store(url) as store:
        return keep_status_in(store, child, status)


def keep_status_in(store: Store, child: str, status: int) -> Run:
    """Keep the exit status of a process in its run, in a store that is open; see ``keep_status``."""
    run = store.run(child)
    if run.status in (Status.INTERRUPTED, Status.RECORDING):
        return run
    failed = status != 0 and run.status is Status.OK
    error = (f"exit status {status}" if status > 0 else f"ended by signal {-status}") if failed else run.error
    return store.conclude(replace(run, exit_status=status, status=Status.FAILED if failed else run.status, error=error))
