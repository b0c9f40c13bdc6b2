"""Fork and resume: run on from a recorded prefix, with something changed or from where it broke off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, overload

from reenact.abc.store import Store
from reenact.errors import EffectInDoubt, EffectRefused, ForkError, UsageError
from reenact.facts.call import Json
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.run import Run
from reenact.replaying.options import Options
from reenact.replaying.replay_lines import to_divergence
from reenact.store import open_store
from reenact.timetravel.forks import resumed_runs
from reenact.timetravel.forks.allowed_names import require_known, with_settings
from reenact.timetravel.forks.changes import check
from reenact.timetravel.forks.dry_run import DryRun
from reenact.timetravel.forks.dry_run import dry_run as planned
from reenact.timetravel.forks.fork_code import require_code_here
from reenact.timetravel.forks.fork_in_process import fork_here
from reenact.timetravel.forks.fork_launch import fork_run, require_ended
from reenact.timetravel.forks.fork_points import require_fork_point
from reenact.timetravel.forks.fork_report import ForkReport
from reenact.timetravel.forks.plan import OPENINGS, Plan, Settling
from reenact.timetravel.reference_syntax import parse_reference


@dataclass(frozen=True, slots=True)
class Change:
    """The changes of a fork at the branching event; empty fields change nothing.

    Attributes:
        state: New values of the step's state: path with dots to value.
        results: New results of recorded calls: reference of the event (``4``, ``search_docs#2``) to value.
        says: New answers of models: reference of the event to a text. Tool calls too: a result ``{"say": TEXT, "uses":
            [{"name": TOOL, "args": {…}}]}``.
        errors: Errors in place of recorded results: reference of the event to ``TYPE:TEXT``.
        input: New input of the run, at event 0 only: the arguments of its entry point (a list by position, a mapping
            by name, anything else is the only one), or as text the standard input of its program.
        prompt: A new system prompt of the model requests; all of them go live from the branching event on.
        model: Name of another model of the same protocol for them.
        params: Parameters of the model to set in them.
        flags: Values that feature flags, asked through OpenFeature, evaluate to.
        at_time: Moment the agent's wall clock is moved to, as ISO 8601 text; None continues from the recorded time.
        rev: Revision whose code the fork runs, in a worktree; None takes the present files.
    """

    state: dict[str, Json] = field(default_factory=dict)
    results: dict[str, Json] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    says: dict[str, str] = field(default_factory=dict)
    input: Json = None
    prompt: str | None = None
    model: str | None = None
    params: dict[str, Json] = field(default_factory=dict)
    flags: dict[str, Json] = field(default_factory=dict)
    at_time: str | None = None
    rev: str | None = None


@overload
def fork(
    run: Run | str,
    at: int | str,
    *,
    change: Change | None = None,
    live: str = "reads",
    allow_writes: Iterable[str] = (),
    entry: Callable[..., Any] | str | None = None,
    store: Store | str | None = None,
    dry_run: Literal[False] = False,
) -> Run: ...
@overload
def fork(
    run: Run | str,
    at: int | str,
    *,
    change: Change | None = None,
    live: str = "reads",
    allow_writes: Iterable[str] = (),
    entry: Callable[..., Any] | str | None = None,
    store: Store | str | None = None,
    dry_run: Literal[True],
) -> DryRun: ...
def fork(
    run: Run | str,
    at: int | str,
    *,
    change: Change | None = None,
    live: str = "reads",
    allow_writes: Iterable[str] = (),
    entry: Callable[..., Any] | str | None = None,
    store: Store | str | None = None,
    dry_run: bool = False,
) -> Run | DryRun:
    """Make a new run that shares a frozen prefix with ``run``, and goes on from ``at`` with something changed.

    Args:
        run: The run, or a reference to it.
        at: The branching event: its number, or ``name#n``.
        change: The changes from there on; None changes nothing.
        live: Which calls may go live after the branching event: ``reads``, ``all``, ``model`` or ``none``.
        allow_writes: Names of tools that may write, and patterns of them (``send_*``).
        entry: A function to call in this process, or the name ``module:function``. It gets the recorded arguments, or
            none if it takes none. By default the recorded entry point, in a fresh interpreter.
        store: The store of the run and of the fork; None takes the project's store.
        dry_run: Return the plan without making a fork.

    Returns:
        The fork, a child of ``run``. The parent is never touched. With ``dry_run`` the plan, as ``reenact fork
        --dry-run`` prints it: the frozen calls, the possible live calls with their hosts, the refused writes.

    Raises:
        ForkError: The run cannot branch at this event, or not with this change; the message names an event or a change
            that works.
        EffectRefused: The fork stopped at a call that it was not allowed to make.
        Divergence: The code no longer reproduces the events before the fork point; or the agent waits after it for a
            delivery that never comes, or that was not recorded.
        UnreplayableRun: The run cannot be started again here.
    """
    owned = store is None or isinstance(store, str)
    target: Any = open_store(store) if owned else store  # type: ignore[arg-type]
    try:
        parent = run if isinstance(run, Run) else target.run(run)
        plan = plan_of(target, parent, at, change or Change(), live=live, allow_writes=allow_writes)
        if dry_run:
            named = f"{entry.__module__}:{entry.__qualname__}" if callable(entry) else entry or ""
            return planned(target, parent.id, plan, Options(entry=named))
        if callable(entry):
            recording = target.open(parent)
            require_ended(parent)
            require_fork_point(recording, plan.at)
            check(recording, plan, entry.__name__)
            require_known(target, parent, plan)
            require_code_here(parent, plan)
            report = fork_here(target, parent, with_settings(plan), entry)
        else:
            report = fork_run(target.url, parent.id, plan, Options(entry=entry or ""))
        return concluded(target.run(report.run), report)
    finally:
        if owned:
            target.close()


def plan_of(
    store: Store, parent: Run, at: int | str, change: Change, *, live: str, allow_writes: Iterable[str] = ()
) -> Plan:
    """The plan of a fork, with every event by its number.

    Raises:
        UsageError: ``live`` is not one of the four words, or ``at`` names several events or a field of one.
        EventNotFound: A named event does not exist.
    """
    if live not in OPENINGS:
        words = ", ".join(OPENINGS)
        raise UsageError(
            f"there is no live={live!r}", cause=f"it is one of {words}", next_command="reenact fork --help"
        )

    parse_reference(f"{tail(parent.id)}:{at}").one_event("fork")

    def number(event: int | str) -> int:
        return _number(store, parent, event)

    return Plan(
        at=number(at),
        live=live,
        allow_writes=tuple(allow_writes),
        results={number(event): value for event, value in change.results.items()},
        errors={number(event): text for event, text in change.errors.items()},
        says={number(event): text for event, text in change.says.items()},
        state=dict(change.state),
        prompt=change.prompt,
        model=change.model,
        params=dict(change.params),
        input=change.input,
        flags=dict(change.flags),
        at_time=change.at_time or "",
        rev=change.rev or "",
    )


def _number(store: Store, run: Run, event: int | str) -> int:
    """The number of an event that is given by number, or by name (``charge#1``)."""
    return int(event) if str(event).isdigit() else store.event(f"{run.id}:{event}").number


def _settling(word: str) -> Settling:
    match word:
        case "" | "done" | "retry":
            return word
    raise UsageError(f"there is no settle={word!r}", cause="it is done or retry", next_command="reenact resume --help")


def concluded(run: Run, report: ForkReport) -> Run:
    """The fork, if it reached its end; else the error that stopped it.

    Raises:
        ForkError, EffectRefused, Divergence: The error that stopped it.
    """
    if report.divergence is not None:
        message = f"{report.message.partition(': ')[0]}: {report.divergence['message']}"
        raise to_divergence(report.divergence, message)
    why = report.message.partition("\n  likely cause: ")[0]
    data = report.doubted
    if data is not None:
        raise EffectInDoubt(why, cause="it was begun, and how it ended is not known", next_command=data["next_command"])
    if report.refused:
        raise EffectRefused(why, cause="--live and --allow-write say what may", next_command=f"reenact show {run.id}")
    if report.message:
        raise ForkError(why, next_command=f"reenact show {run.id}")
    return run


def resume(
    run: Run | str,
    *,
    entry: Callable[..., Any] | str | None = None,
    store: Store | str | None = None,
    settle: str = "",
    result: Mapping[int | str, Json] | None = None,
) -> Run:
    """Continue an interrupted or failed run from its end: the prefix frozen, the rest live, appended to the same run.

    A finished write is never made again. ``run`` may name a step (``"7f3c:rerank#1"``): then the continuation is a run
    of its own.

    Args:
        run: The run, or a reference to it, with a step or without.
        entry: A function to call in this process, or the name ``module:function``. It gets the recorded arguments.
            By default the recorded entry point, in a fresh interpreter.
        store: The store of the run; None takes the project's store.
        settle: The word on writes in doubt: ``done``, they have happened, or ``retry``, they are made again.
        result: Results by event (``4``, ``charge#1``): the result of a write in doubt that has happened, or a
            correction of an earlier result.

    Returns:
        The run as it stands after its continuation, under its own id; or the child run that began at the step.

    Raises:
        UsageError: The run is still being recorded, or it ended well and cannot be resumed. Or ``settle`` is an unknown
            word, or is ``done`` for a write without a ``result``.
        EffectInDoubt: A write was under way when the run stopped, or raised an error; ``settle`` decides about it.
        Divergence: The code no longer reproduces the events before the place where the run goes on.
        UnreplayableRun: The run cannot be started again here.
    """
    owned = store is None or isinstance(store, str)
    target: Any = open_store(store) if owned else store  # type: ignore[arg-type]
    try:
        name, _, step = ("", "", "") if isinstance(run, Run) else run.partition(":")
        found = run if isinstance(run, Run) else target.run(name)
        results = {_number(target, found, event): value for event, value in (result or {}).items()}
        told = resumed_runs.resumption(target, found, step, _settling(settle), results)
        resumed_runs.require_settled(told)
        if callable(entry):
            report = fork_here(target, told.base, told.plan, entry)
        else:
            report = fork_run(target.url, told.base.id, told.plan, Options(entry=entry or ""))
        report = resumed_runs.conclude(target, told, report)
        return concluded(target.run(report.run), report)
    finally:
        if owned:
            target.close()
