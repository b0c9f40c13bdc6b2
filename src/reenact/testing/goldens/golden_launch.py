"""Launching one golden: the files and options that its process needs, and its result."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from reenact.abc.sources import CLOCK, ENTROPY
from reenact.facts.ids import make_run_id
from reenact.facts.lazy_dataclass import dataclass, field, replace
from reenact.facts.run import Run
from reenact.replaying.agent_process import ProcessToStart, Starter, run_process
from reenact.replaying.options import Options
from reenact.replaying.program_start import start_of
from reenact.replaying.relocation import relocated
from reenact.replaying.worktree import without_revision
from reenact.seams.boot.parent import run_program
from reenact.testing.goldens.golden_misses import Misses
from reenact.testing.goldens.golden_trace import Golden
from reenact.testing.goldens.result_file import in_result_file, path_of
from reenact.timetravel.forks.fork_code import code_of
from reenact.timetravel.forks.fork_launch import keep_status
from reenact.timetravel.forks.fork_report import ForkReport
from reenact.timetravel.forks.plan import Opening, Plan

STALE: Final = 3
"""The exit status of a golden's process that was stopped because something was missing."""
REFUSED: Final = 5
"""The exit status of a golden's process that has touched the world."""

_TOLD: Final = "golden"
PLACE: Final = "boot"
"""The private directory of a boot, in the temporary folder of the golden."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """The result of a golden's process.

    Attributes:
        report: Its report as a fork.
        used: The number of answers from other sources than the recording.
        boundaries: The number of calls that the agent's own code has made.
        stale_at: The call without an answer; empty without one.
        enforcement: The means that kept the process from the world.
        run: The id of today's run, in the store for it.
        stale_call: That call as data, see ``GoldenMisses``; empty without one.
        unused: The number of recorded calls that today's code has not made.
        unfelt: The flags to be set that the agent has not evaluated.
        exit_status: The exit status of the process; negative for the signal that ended it.
        cut: A remark that it came to the place where the recording is cut off, see ``GoldenMisses``; else empty.
    """

    report: ForkReport
    used: Mapping[str, int]
    boundaries: int
    stale_at: str
    enforcement: tuple[str, ...]
    run: str
    unused: int = 0
    unfelt: tuple[str, ...] = ()
    stale_call: Mapping[str, Any] = field(default_factory=dict)
    exit_status: int = 0
    cut: str = ""

    @property
    def stopped(self) -> bool:
        """Whether the agent was stopped: a call without an answer, contact with the world, or the recording's cut."""
        return bool(self.stale_at or self.cut) or self.report.exit_code in (STALE, REFUSED)


@dataclass(frozen=True, slots=True)
class GoldenRequest:
    """The task for the process of one golden.

    Attributes:
        bundle: Its file, or the URL of a store.
        run: The run in it that today's code is answered from.
        golden: The golden.
        overlays: The ids of the runs in it that were recorded later.
        misses: The rule for a call without an answer.
        live: The calls that go live although there is an answer: ``model``, or none.
        hash_seed: A hash seed; empty takes the recorded one.
        plan: Further changes; None: none.
        mode: The part that begins in its process; ``more``: further instructions for it.
    """

    bundle: str
    run: Run
    golden: Golden
    overlays: tuple[str, ...] = ()
    misses: Misses = "stale"
    live: Opening = "none"
    hash_seed: str = ""
    plan: Plan | None = None
    mode: str = "golden"
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def planned(self) -> Plan:
        """The task as a fork at the first event."""
        return self.plan if self.plan is not None else Plan(at=0, live=self.live)

    @property
    def closed(self) -> bool:
        """Whether no call can go live."""
        return self.misses == "stale" and self.planned.live == "none"


def launch(
    asked: GoldenRequest, options: Options, *, into: str, project: str, start_it: Starter = run_program
) -> ProcessResult:
    """Run today's code on a golden.

    Args:
        asked: The task.
        options: The start of the agent, and the target of its output.
        into: The URL of the store for today's run; ``handed:PATH`` for a run that is judged and thrown away.
        project: Root of the project.
        start_it: Starts its process.

    Raises:
        UnreplayableRun: The run cannot be started here.
        NoReport: The process ended without a report.
    """
    run, golden = asked.run, asked.golden
    moved_run, moved = relocated(run, project)
    start, patch = start_of(moved_run, options, project, project), options.patch
    options = replace(options, patch="")  # the patch is applied in the tree
    with code_of(without_revision(moved_run), asked.planned, start, moved, patch) as code:
        child = make_run_id(CLOCK.wall_us(), ENTROPY.bytes(8))
        more = {
            "child": child,
            "plan": code.plan.to_json(),
            "root": project,
            "keep": [os.path.dirname(path_of(into))],
            "into": into,
            "overlays": list(asked.overlays),
            "scripted": [each.to_json() for each in golden.answers],
            "misses": asked.misses,
            "name": golden.name,
            "again": golden.again(),
            **asked.more,
        }
        # Made of the run as it was recorded: moved paths concern the code, and are part of the environment.
        process = ProcessToStart(
            asked.mode, asked.bundle, run, code.start, code.tree, options, more, live=not asked.closed
        )
        handed = in_result_file(into)
        process = replace(
            process,
            hash_seed=asked.hash_seed,
            silent=options.divert_output,
            again=asked.closed and handed,
            # Beside other temporary files: only one folder is kept out of the scratch, and it may be in memory.
            place=Path(path_of(into)).parent / PLACE if handed else None,
        )
        left = run_process(process, start_it)
    if left.status == -signal.SIGINT and run.exit_status != left.status:
        raise KeyboardInterrupt  # typed at a terminal: the process and we both got it
    text = left.report(f"golden {golden.name}", next_command=f"reenact golden run {golden.name}")
    data = json.loads(text)
    told = data.pop(_TOLD)
    if not in_result_file(into):
        keep_status(into, child, left.status)
    return ProcessResult(
        report=ForkReport.from_json(data),
        used=told["used"],
        boundaries=told["boundaries"],
        stale_at=told["stale_at"],
        enforcement=tuple(told["enforcement"]),
        run=child,
        unused=told["unused"],
        unfelt=tuple(told.get("unfelt") or ()),
        exit_status=left.status,
        stale_call=told.get("stale_call") or {},
        cut=told.get("cut") or "",
    )
