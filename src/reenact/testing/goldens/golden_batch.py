"""Running many goldens, several at a time; and one golden many times, to see how reliable its result is."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from typing import Any, TypeVar

from reenact.facts.lazy_dataclass import dataclass, replace
from reenact.seams.boot import bound_children
from reenact.seams.boot.fork_server_client import ForkServerClient
from reenact.testing.goldens.golden_dir import GoldenDir
from reenact.testing.goldens.golden_execution import run_golden
from reenact.testing.goldens.golden_misses import Misses
from reenact.testing.goldens.golden_outcome import Outcome
from reenact.timetravel.forks.plan import Opening

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class How:
    """Options for running goldens.

    Attributes:
        misses: The rule for a call without an answer; None: each golden's own rule.
        live: The calls that go live although there is an answer.
        repeat: The number of runs of each golden.
        at_least: The number of these runs that must pass.
        rev: Revision whose code runs; empty takes the files as they are.
        workers: The number of parallel runs; 0 for one on each processor.
    """

    misses: Misses | None = None
    live: Opening = "none"
    repeat: int = 1
    at_least: int = 1
    rev: str = ""
    workers: int = 0


def run_goldens(
    golden_dir: GoldenDir, names: Sequence[str], how: How, *, done: Callable[[Outcome], object] = lambda outcome: None
) -> list[Outcome]:
    """Run goldens, each in a process of its own. A fork server starts those that do not depend on the hash seed.

    Args:
        golden_dir: The folder of the goldens.
        names: Their names.
        how: The options.
        done: Called with each outcome when it is known.

    Returns:
        The outcomes, in the order of ``names``.
    """

    def run(name: str, fork_server: ForkServerClient) -> Outcome:
        each = partial(
            run_golden, golden_dir, name, misses=how.misses, live=how.live, rev=how.rev, start_it=fork_server
        )
        every = [each() for _ in range(how.repeat)]
        return every[0] if how.repeat == 1 else sampled(every, how.at_least)

    return several(names, run, how.workers, done=done)


def several(
    names: Sequence[str],
    run: Callable[[str, ForkServerClient], T],
    workers: int = 0,
    *,
    done: Callable[[T], object] = lambda found: None,
) -> list[T]:
    """Do something with goldens, several at a time.

    Args:
        names: Their names.
        run: Does it with one golden; it gets the function that starts processes from a fork server.
        workers: The number at a time; 0 for one on each processor.
        done: Called with each result when it is known.

    Returns:
        The results, in the order of ``names``.
    """
    found: dict[str, T] = {}
    workers = workers or os.cpu_count() or 1
    with ForkServerClient(workers) as fork_server, ThreadPoolExecutor(workers) as pool:
        waiting = {pool.submit(run, name, fork_server): name for name in names}
        try:
            for future in as_completed(waiting):
                one = found[waiting[future]] = future.result()
                done(one)
        except BaseException:  # an interrupt, or a fault of ours
            # At its end the pool would first run every other golden, and wait for those under way, which may never end.
            pool.shutdown(wait=False, cancel_futures=True)
            bound_children.let_go_of_all()
            raise
    return [found[name] for name in names]


def sampled(every: Sequence[Outcome], at_least: int) -> Outcome:
    """Several runs of one golden as one outcome: it passes if enough runs pass; else it is the outcome of the first run
    that does not. A golden that is stale, refused or broken once is so in every run."""
    passed = [each for each in every if each.status == "passed"]
    said = f"passed {len(passed)} of {len(every)} times, {at_least} wanted"
    opinions: Counter[str] = Counter()
    for each in every:
        opinions.update(each.opinions)
    spent = sum(each.duration_us for each in every)
    told: dict[str, Any] = {"duration_us": spent, "samples": (len(passed), len(every)), "opinions": dict(opinions)}
    hard = next((each for each in every if each.status not in ("passed", "failed")), None)
    if hard is None and len(passed) >= at_least:
        return replace(passed[0], **told)
    worst = hard or next(each for each in every if each.status == "failed")
    message = f"{said}\n{worst.message}"
    return replace(worst, **told, message=message)
