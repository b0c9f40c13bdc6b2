"""``replay`` as callers know it: everything from the recording, or a fork without writes where something is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from reenact.abc.store import Store
from reenact.errors import UsageError
from reenact.facts.policy import Policy
from reenact.facts.run import Run
from reenact.facts.values import decode
from reenact.replaying.options import Options
from reenact.replaying.replay_api import Replay, replayed
from reenact.replaying.replay_report import Report
from reenact.store import open_store
from reenact.store.back_ends import names_bundle
from reenact.timetravel.forking import concluded
from reenact.timetravel.forks.fork_code import require_code_here
from reenact.timetravel.forks.fork_in_process import fork_here
from reenact.timetravel.forks.fork_launch import fork_run, require_ended
from reenact.timetravel.forks.fork_report import ForkReport
from reenact.timetravel.forks.partial_replay import partial_replay


def replay(
    run: Run | str,
    *,
    mode: str = "code",
    entry: str | Callable[..., Any] | None = None,
    store: str | Store | None = None,
    policy: Policy | None = None,
    through: Iterable[str] = (),
    live: Iterable[str] = (),
    order: str = "exact",
) -> Replay:
    """Re-execute a recorded run with every answer taken from the recording.

    Args:
        run: The run, or a reference to it, or the path of a ``.reenact`` file.
        mode: ``code`` re-executes the agent's code; ``events`` walks the log without it.
        entry: The entry to call: a function, in this process, or ``module:function``. It gets the recorded arguments. A
            function without parameters, for a run whose arguments could not be stored, builds them itself. By default
            the recorded entry point, in a fresh interpreter.
        store: The store of the run; the default store if None.
        policy: Its ignore rules join the run's own, and are named and counted in the remarks of the report.
        through: The names of tools whose own code runs, with frozen calls inside.
        live: Kinds or names of calls that go live, with the calls inside them, if they change nothing. The replay is
            then a fork without writes, with the verdict ``fork``; all other calls get their recorded answers.
        order: ``exact``, ``shuffle`` or ``shuffle:SEED``.

    Returns:
        The result. A replay that differs returns too, unless it diverged.

    Raises:
        Divergence: A crossing did not match the recording.
        EffectRefused: The agent tried to touch the world; with ``live``, a call has no recorded answer.
        UnreplayableRun: The run cannot be started again here.
    """
    names, tools = tuple(live), tuple(through)
    if mode not in ("code", "events"):
        raise UsageError(
            f"there is no mode {mode!r}", cause="it is code or events", next_command="reenact replay --help"
        )
    if names and (mode != "code" or tools or order != "exact"):
        raise UsageError(
            "live excludes mode, through and order",
            cause="with something live it is a fork: it runs the code, and has an order of its own",
            next_command="reenact replay --help",
        )
    named, function = (entry or "", None) if entry is None or isinstance(entry, str) else ("", entry)
    ignore = dict(policy.ignore) if policy is not None else {}
    options = Options(mode=mode, through=tools, order=order, entry=named, ignore=ignore)
    if store is None and not names and isinstance(run, str) and names_bundle(run):
        store = run
    owned = store is None or isinstance(store, str)
    target: Any = open_store(store) if owned else store  # type: ignore[arg-type]
    try:
        found = run if isinstance(run, Run) else target.run(run)
        return _opened(target, found, names, function, options) if names else replayed(target, found, function, options)
    finally:
        if owned:
            target.close()


def _opened(
    store: Store, run: Run, names: tuple[str, ...], entry: Callable[..., Any] | None, options: Options
) -> Replay:
    """A replay with something opened to the world, which is a fork without writes."""
    require_ended(run)
    plan = partial_replay(store.open(run), names)
    if entry is not None:
        require_code_here(run, plan)
        report = fork_here(store, run, plan, entry, options)
    else:
        report = fork_run(store.url, run.id, plan, options)
    return _replay_of(store, run, concluded(store.run(report.run), report), report)


def _replay_of(store: Any, recorded: Run, fork: Run, report: ForkReport) -> Replay:
    """The report of a fork in the form of a replay's."""
    returned = next((e for e in store.events(fork) if (e.kind, e.name) == ("output", "return")), None)
    output = decode(store.open(fork).body(returned.answer)) if returned is not None and returned.answer else None
    told = Report(
        "fork",
        report.first_line,
        report.last_line,
        run=recorded.id,
        live_calls=report.live,
        events=report.events,
        matched=report.frozen,
        saved=report.run,
    )
    return Replay(recorded, output, "fork", None, report.live, report.frozen, 0, 0, 0, 0, told.fidelity, (), told)
