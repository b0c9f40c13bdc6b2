"""Drift: which goldens today's code has left behind, and why; nothing is written, and no model is asked."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from reenact.abc.store import Recording
from reenact.errors import ReenactError
from reenact.facts.lazy_dataclass import asdict, dataclass
from reenact.facts.phrases import counted
from reenact.replaying.agent_process import Starter
from reenact.replaying.replay_opening import known_values
from reenact.seams.boot.parent import run_program
from reenact.testing.goldens.causes import Cause, asked_otherwise, runs_on, stale_causes
from reenact.testing.goldens.golden_batch import several
from reenact.testing.goldens.golden_differences import differing
from reenact.testing.goldens.golden_dir import GoldenDir
from reenact.testing.goldens.golden_execution import (
    GoldenRun,
    RunOptions,
    judged_on,
    on_import,
    re_enacted,
    status_of,
    today_on,
    with_changes,
)
from reenact.testing.goldens.golden_outcome import EXIT, Outcome
from reenact.testing.goldens.golden_trace import all_recorded
from reenact.testing.goldens.golden_writer import packed_today
from reenact.testing.goldens.opened_golden import OpenGolden, open_golden
from reenact.testing.goldens.todays_run import comparable
from reenact.triage.scene import Scene, scene_of

Standing = Literal["refused", "broken", "stale", "failed", "drifted", "unfixed", "fresh"]
WORST_FIRST: Final[tuple[Standing, ...]] = ("refused", "broken", "stale", "failed", "drifted", "unfixed", "fresh")


@dataclass(frozen=True, slots=True)
class Drift:
    """The drift of one golden.

    Attributes:
        name: The name of the golden.
        file: Its bundle, relative to the project.
        standing: ``fresh`` (it passes, with the recorded requests); ``unfixed`` (its requests are the same, and it
            still fails as the incident did); ``drifted`` (its requests or results are different); ``failed`` (an
            expectation does not hold); ``stale`` (a call has no recorded answer); ``broken`` (it cannot be read);
            ``refused`` (contact with the world).
        why: The changes in requests, by category.
        since: The changes in its environment: code, packages, Python. They may explain a drift, but are no drift by
            themselves.
        call: The call that has no recorded answer, with its place in the code; empty without one.
        message: The golden's own message; where it passes, the changes that it cannot judge.
        compared: The recording with which today's run was compared, in words; empty where there was no run.
        mends: The command that records or scripts the missing answer; empty without one.
        fork: The commands that record all missing answers, where ``mends`` has to be filled in; else empty.
    """

    name: str
    file: str
    standing: Standing
    why: tuple[Cause, ...] = ()
    since: tuple[Cause, ...] = ()
    call: str = ""
    message: str = ""
    mends: str = ""
    compared: str = ""
    fork: str = ""

    @property
    def exit_code(self) -> int:
        """The exit code of the command line."""
        return {"fresh": 0, "unfixed": 0, "drifted": 1}.get(self.standing, EXIT.get(self.standing, 1))

    @property
    def next_command(self) -> str:
        """The command that helps; empty where nothing is wrong."""
        name = shlex.quote(self.name)
        match self.standing:
            case "fresh":
                return ""
            case "unfixed":
                return f"reenact show @golden/{name}"
            case "stale" if self.mends:
                return self.mends
            case "drifted" | "failed":
                return f"reenact golden run {name} --mode review"
            case _:
                return f"reenact golden run {name}"

    def to_json(self) -> dict[str, Any]:
        """The drift as JSON-able data."""
        return {**asdict(self), "exit_code": self.exit_code, "next": self.next_command}


def drift_of(golden_dir: GoldenDir, name: str, start_it: Starter = run_program) -> Drift:
    """The drift of one golden: its runs, compared with today's code. Never raises for a fault in the golden.

    Args:
        golden_dir: The folder of the goldens.
        name: The name of the golden.
        start_it: Starts its processes.

    Cost: one run; two where it must stay the same.
    """
    path = golden_dir.path(name)
    with ExitStack() as stack:
        try:
            return _drift(stack, golden_dir, name, open_golden(path), start_it)
        except ReenactError as error:
            return Drift(name, golden_dir.shown(path), _standing(status_of(error)), message=str(error))


def drifts(
    golden_dir: GoldenDir,
    names: Sequence[str],
    workers: int = 0,
    *,
    done: Callable[[Drift], object] = lambda found: None,
) -> list[Drift]:
    """The drift of goldens, worst first; several at a time (0: one on each processor)."""
    return in_order(several(names, partial(drift_of, golden_dir), workers, done=done))


def in_order(found: Iterable[Drift]) -> list[Drift]:
    """The drifts in order, worst first."""
    return sorted(found, key=lambda each: (WORST_FIRST.index(each.standing), each.name))


def _drift(stack: ExitStack, golden_dir: GoldenDir, name: str, opened: OpenGolden, start_it: Starter) -> Drift:
    if opened.golden.starts:
        return _of_import(stack, golden_dir, name, opened)
    run_options = RunOptions(start_it=start_it, evidence=True).of(opened)
    same = None if opened.golden.judged else re_enacted(golden_dir, opened, run_options).outcome
    ran = (judged_on if same is None else _on_answering)(stack, golden_dir, opened, run_options)
    outcome = ran.outcome if same is None or ran.outcome.status == "stale" else same
    if ran.today is None or ran.run is None:
        return Drift(name, golden_dir.shown(opened.path), _standing(outcome.status), message=outcome.message)
    outcome = with_changes(golden_dir, opened, outcome, ran.today)
    there = opened.store.open(ran.run)
    then, now = scene_of(opened.store, there.run, sent=False), scene_of(ran.today.run.home, ran.today.run, sent=False)
    why, call = _why(golden_dir, ran, there, (then, now))
    for each in reversed(opened.overlays if why and not call else ()):  # later recordings belong to the golden, too
        beside = opened.store.open(opened.store.run(each))
        scene = scene_of(opened.store, beside.run, sent=False)
        causes, _ = _why(golden_dir, ran, beside, (scene, now))
        if not causes:
            there, then, why = beside, scene, causes
            break
    standing = _standing(outcome.status)
    if (why and standing == "fresh") or (same is not None and standing == "failed"):
        standing = "drifted"
    if standing == "failed" and not why and _is_as_it_was(opened, outcome):
        standing = "unfixed"
    mends = outcome.next_command if standing == "stale" else ""
    fork = ""
    if "--answer" in mends:
        new = [outcome.stale_at] * outcome.stale_writes
        fork = all_recorded(name, opened.again(), opened.store.open(opened.answering), *new)
    since = tuple(runs_on(then, now))
    file, said = golden_dir.shown(opened.path), _words(outcome)
    return Drift(name, file, standing, tuple(why), since, call, said, mends, _compared(opened, there), fork)


def _of_import(stack: ExitStack, golden_dir: GoldenDir, name: str, opened: OpenGolden) -> Drift:
    """The drift of a golden that is judged on the trace: its old environment is not known, so today's code only passes
    or fails."""
    outcome = on_import(stack, golden_dir, opened, RunOptions()).outcome
    standing = _standing(outcome.status)
    if standing == "failed" and opened.golden.judged and _is_as_it_was(opened, outcome):
        standing = "unfixed"
    return Drift(name, golden_dir.shown(opened.path), standing, message=_words(outcome))


def _is_as_it_was(opened: OpenGolden, outcome: Outcome) -> bool:
    """Whether a golden fails as it did when it was added: no fix is known, and all that held then still holds."""
    must_fail = len(opened.must_fail)
    known = [each.holds for each in outcome.judged]
    return opened.fixed is None and not any(known[:must_fail]) and all(known[must_fail:])


def _on_answering(stack: ExitStack, golden_dir: GoldenDir, opened: OpenGolden, run_options: RunOptions) -> GoldenRun:
    return today_on(stack, golden_dir, opened, opened.answering, run_options)


def _why(
    golden_dir: GoldenDir, ran: GoldenRun, there: Recording, scenes: tuple[Scene, Scene]
) -> tuple[list[Cause], str]:
    """The changes in requests of today's code, and the call that has no answer."""
    call = ran.stale_call
    if call:
        path, _, line = str(call.get("source") or "").rpartition(":")
        source = f" at {golden_dir.shown(Path(path))}:{line}" if path else ""
        return stale_causes(call, scenes[0]), f"{call['name']}{source}"
    assert ran.today is not None
    packed = packed_today(ran.today.run.home, ran.today.run, "fixed")
    today = comparable(packed, there.run, str(golden_dir.root))
    found = differing(there, today, known=known_values(there.run, os.environ))
    return asked_otherwise(found, *scenes), ""


def _compared(opened: OpenGolden, there: Recording) -> str:
    """The recording with which today's run was compared."""
    calls = f"what it asks with {counted(there.count(), 'recorded event')}"
    if not opened.golden.judged:
        return f"{calls}, what it prints, and how it ends"
    return f"{calls}, and the result with {counted(len(opened.expectations), 'expectation')}"


def _standing(status: str) -> Standing:
    found: Standing = "fresh" if status == "passed" else status  # type: ignore[assignment]
    return found


def _words(outcome: Outcome) -> str:
    if outcome.status == "passed":
        return outcome.blind_spot
    return "\n".join((*filter(None, (outcome.message,)), *outcome.differences))
