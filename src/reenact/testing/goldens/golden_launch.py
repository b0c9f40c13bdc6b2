"""Launching one golden: what it needs beside its bundle, and what its process leaves."""

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
from reenact.replaying.entries import start_of
from reenact.replaying.options import Options
from reenact.replaying.relocating import relocated
from reenact.replaying.revision import without_revision
from reenact.replaying.starting import ProcessToStart, Starter, run_process
from reenact.seams.boot.parent import run_program
from reenact.testing.goldens.golden import Golden
from reenact.testing.goldens.golden_misses import Misses
from reenact.testing.goldens.result_file import in_result_file, path_of
from reenact.timetravel.forks.code import code_of
from reenact.timetravel.forks.fork_launch import keep_status
from reenact.timetravel.forks.fork_report import ForkReport
from reenact.timetravel.forks.plan import Opening, Plan

STALE: Final = 3
"""What the process of a golden that was stopped for want of something ends with."""
REFUSED: Final = 5
"""What the process of a golden that has touched the world ends with."""

_TOLD: Final = "golden"
PLACE: Final = "boot"
"""The private directory of a boot, beside what is thrown away like it."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """What the process of a golden has left.

    Attributes:
        report: Its report as a fork.
        used: Answers by source other than the recording.
        boundaries: How many boundaries the agent's own code has crossed.
        stale_at: The call that nobody has an answer for; empty where there is none.
        enforcement: What kept it from the world.
        run: Id of today's run, in the store that it was to go to.
        stale_call: It as data, see ``GoldenMisses``; empty where there is none.
        unused: How many calls of the recording today's code has not made.
        unfelt: Flags that were to be set, and that the agent has not evaluated.
        exit_status: Of the process; negative for the signal that ended it.
        cut: That it came to where the recording was cut off, see ``GoldenMisses``; empty where it did not.
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
class Asked:
    """What is asked of one golden.

    Attributes:
        bundle: Its file, or the URL of a store.
        run: The run in it that today's code is answered from.
        golden: It.
        overlays: Ids of the runs in it that were recorded later.
        misses: What becomes of a call that nobody has an answer for.
        live: What is asked again although there is an answer: ``model``, or nothing.
        hash_seed: Another one than the recorded; empty takes that one.
        plan: What else is different; None: nothing.
        mode: Who begins in its process, ``more`` what that is told besides.
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
        """It as a fork at the first event."""
        return self.plan if self.plan is not None else Plan(at=0, live=self.live)

    @property
    def closed(self) -> bool:
        """Whether nothing can go out."""
        return self.misses == "stale" and self.planned.live == "none"


def launch(
    asked: Asked, options: Options, *, into: str, project: str, start_it: Starter = run_program
) -> ProcessResult:
    """Run today's code on a golden.

    Args:
        asked: What of it.
        options: How the agent is started, and where its output goes.
        into: URL of the store for today's run; ``handed:PATH`` for one that is judged and thrown away.
        project: Root of the project.
        start_it: Starts its process.

    Raises:
        UnreplayableRun: The run cannot be started here.
        Unreported: The process ended without a report.
    """
    run, golden = asked.run, asked.golden
    moved_run, moved = relocated(run, project)
    start, patch = start_of(moved_run, options, project, project), options.patch
    options = replace(options, patch="")  # it lies in the tree
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
        # Of the run as it was recorded: where its paths were moved to is for the code, and data of the environment.
        process = ProcessToStart(
            asked.mode, asked.bundle, run, code.start, code.tree, options, more, live=not asked.closed
        )
        handed = in_result_file(into)
        process = replace(
            process,
            hash_seed=asked.hash_seed,
            silent=options.divert_output,
            again=asked.closed and handed,
            # Beside what is thrown away like it: one folder is kept out of the scratch, and it may lie in memory.
            place=Path(path_of(into)).parent / PLACE if handed else None,
        )
        left = run_process(process, start_it)
    if left.status == -signal.SIGINT and run.exit_status != left.status:
        raise KeyboardInterrupt  # typed at a terminal, which told the process and us
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
