"""Replay in code, with nothing live, and what it proves."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from reenact.abc.store import Store
from reenact.errors import Divergence, EffectRefused
from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.facts.run import Run
from reenact.facts.values import decode
from reenact.replaying import caller, replay_launch
from reenact.replaying.earlier_files import FilesBefore
from reenact.replaying.isolation import Isolation
from reenact.replaying.options import Options
from reenact.replaying.relocation import relocated
from reenact.replaying.replay_lines import to_divergence
from reenact.replaying.replay_opening import open_session
from reenact.replaying.replay_report import EndDifference, Report, without_credentials
from reenact.replaying.replay_session import ReplaySession
from reenact.replaying.replay_verdict import Contact, conclude
from reenact.replaying.results import LaneOutput, files
from reenact.seams import stdout
from reenact.seams.declared_files import file_digests

_BEGINS_TODAY = "a replay in its caller's process begins with the disk of today: put it back, or use reenact replay"
_HERE = "the caller's process"
_IN_PROCESS = Isolation(no_network=_HERE, no_files=_HERE, no_calls=_HERE)


@dataclass(frozen=True, slots=True)
class Replay:
    """The result of a replay.

    Attributes:
        run: The recorded run.
        output: The result of the entry point.
        verdict: ``exact``, ``same`` or ``different``; ``fork`` where something was live.
        divergence: The first divergence, or None.
        live_calls: The contacts with the world: 0, unless calls could go live.
        matched, reordered, moved, unused: Counts of calls.
        renamed: The number of strands whose function has another name now.
        fidelity: The weakest fidelity that was served.
        enforcement: The means that kept the replay from the world.
        report: Everything as one value.
    """

    run: Run
    output: Any
    verdict: str
    divergence: Divergence | None
    live_calls: int
    matched: int
    reordered: int
    moved: int
    renamed: int
    unused: int
    fidelity: str
    enforcement: tuple[str, ...]
    report: Report


def replayed(store: Store, run: Run, entry: Callable[..., Any] | None, options: Options) -> Replay:
    """Replay a run with nothing live: in this process, which calls ``entry``, or in a process of its own.

    Raises:
        Divergence: A crossing did not match the recording.
        EffectRefused: The agent tried to touch the world.
        UnreplayableRun: The run cannot be started again here.
    """
    if entry is not None:
        return _here(store, run, entry, options)
    report = replay_launch.replay_run(store.url, run.id, options)
    return _concluded(run, report, None, to_divergence(report.divergence) if report.divergence else None)


def _here(store: Store, run: Run, entry: Callable[..., Any], options: Options) -> Replay:
    """Replay in this process: the hash seed and earlier imports stay as they are."""
    run, tree = relocated(run, replay_launch.project_of())
    recording = store.open(run)
    session = open_session(recording, options, tree)
    function = inspect.unwrap(entry)
    output: Any = None
    printed = LaneOutput(recording, session.output_cleaned)
    session.on_printed = printed.feed
    beginning = FilesBefore(recording, lambda path: path)
    beginning.name(_BEGINS_TODAY)
    session.suspects.amiss = beginning.lines
    with caller.hosted(session) as refused, stdout.watched():
        try:
            args, named = caller.arguments_for(session, function)
            output = caller.call(session, function, *args, **named)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            recorded = isinstance(error, Exception) and run.error and type(error).__name__ in run.error
            if not recorded and session.gate.halted is None:  # after a halt, groups and clean-ups may raise anything
                raise
    contact = Contact(tuple(refused), 0, ("audit hook (connections, processes, signals)", *_IN_PROCESS.words()))
    report = conclude(session, _results(session, recording.run, printed), contact, options)
    amiss = beginning.lines() if report.exit_code and not session.faults.divergences else []  # a divergence names them
    report = without_credentials(replace(report, remarks=(*report.remarks, *printed.remarks, *amiss)), session.redactor)
    if session.faults.damaged:
        raise session.faults.damaged[0]
    if report.refused:
        raise _refusal(run, report)
    return _concluded(run, report, output, session.faults.divergences[0] if session.faults.divergences else None)


def _results(session: ReplaySession, run: Run, printed: LaneOutput) -> list[EndDifference]:
    """The differences of the run's output and declared files; empty where the agent was stopped."""
    if session.faults:
        printed.learn()
        return []
    declared = run.capture.get("files") or ()
    return [*printed.end(), *files(run.files, file_digests(run.entry.cwd, declared))]


def _refusal(run: Run, report: Report) -> EffectRefused:
    return EffectRefused(
        f"the agent tried to touch the world: {report.refused[0]}",
        cause="it goes through no seam that was recorded",
        next_command=f"reenact show {run.id}",
    )


def _concluded(run: Run, report: Report, output: Any, divergence: Divergence | None) -> Replay:
    if divergence is not None:
        raise divergence
    if report.refused:
        raise _refusal(run, report)
    if output is None and report.output is not None:
        output = decode(report.output.encode())
    return Replay(
        run,
        output,
        report.verdict,
        None,
        report.live_calls,
        report.matched,
        report.reordered,
        report.moved,
        report.renamed,
        report.unused,
        report.fidelity,
        report.enforcement,
        report,
    )
