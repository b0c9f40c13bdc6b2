"""Measure the rules of suspicion, and print the tables of ``docs/explanation/suspicious-events.md``.

    python -m bench.suspicion                                record healthy runs (some ten minutes), then measure
    python -m bench.suspicion --rounds 1                     fewer of them
    python -m bench.suspicion --recorded FOLDER              take those that an earlier --keep FOLDER recorded

Trajectories of other people are looked for in ``REENACT_SHARED`` (its ``data/trajectories``), else in ``../shared``;
what is not there is left out, and the output says so.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import reenact
from bench.suspicion.attribution import report
from bench.suspicion.healthy import record_corpus, record_fresh
from bench.suspicion.rates import Tally, rate
from bench.suspicion.trajectories import GROUPS, Absent, tau_bench, who_and_when
from reenact.facts.run import Status
from reenact.facts.suspicions import RULES, suspicions
from reenact.store.courses import course_of


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.suspicion", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6, help="how often each healthy agent is recorded")
    parser.add_argument("--keep", type=Path, help="an empty folder for the recordings")
    parser.add_argument("--recorded", type=Path, action="append", default=[], help="a folder of --keep")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="suspicion") as scratch:
        place = Path(scratch)
        kept = options.recorded
        if not kept:
            kept = [options.keep or place / "healthy"]
            record(kept[0], options.rounds)
        healthy, agents = measure_healthy(store for folder in kept for store in stores(folder))
        print(f"{healthy.runs} healthy runs of {agents} agents\n")
        columns = {"healthy": healthy}
        try:
            columns |= measure_tau(place) | measure_failures()
        except Absent as reason:
            print(f"left out: {reason}\n")
        print(table(columns))
        try:
            print("\n" + report())
        except Absent as reason:
            print(f"\nleft out: {reason}")


def record(folder: Path, rounds: int) -> None:
    """Record the healthy agents."""
    for name in ("fresh", "corpus"):
        (folder / name).mkdir(parents=True)
    list(record_fresh(folder / "fresh", rounds))
    list(record_corpus(folder / "corpus", rounds))


def stores(folder: Path) -> Iterator[Path]:
    """The stores that ``record`` left."""
    yield from sorted(folder.glob("*/*/.reenact"))


def measure_healthy(found: Iterable[Path]) -> tuple[Tally, int]:
    """Which rules mark an event of runs that ended well, and how many agents these are of."""
    tally, agents = Tally(), set()
    for place in found:
        with reenact.open_store(str(place)) as store:
            for run in store.runs():
                if run.status is Status.OK:
                    agents.add(run.agent or place.parent.name.rpartition("-")[0])
                    tally.add(each.rule for each in suspicions(course_of(store.open(run))))
    return tally, len(agents)


def measure_tau(folder: Path) -> dict[str, Tally]:
    """The same of tau-bench: its failures and its successes."""
    tallies = {"tau-bench, failed": Tally(), "tau-bench, passed": Tally()}
    for trial in tau_bench(folder):
        name = f"tau-bench, {'passed' if trial.passed else 'failed'}"
        tallies[name].add(each.rule for each in suspicions(trial.course))
    return tallies


def measure_failures() -> dict[str, Tally]:
    """The same of the failures of Who&When, set by set."""
    tallies = {f"Who&When, {group}": Tally() for group in GROUPS}
    for group in GROUPS:
        for each in who_and_when(group):
            tallies[f"Who&When, {group}"].add(found.rule for found in suspicions(each.course))
    return tallies


def table(columns: dict[str, Tally]) -> str:
    """Rates by rule as a table of Markdown."""
    lines = [f"| rule | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    for rule in RULES:
        cells = (rate(tally.marked[rule.name], tally.runs) for tally in columns.values())
        lines.append(f"| `{rule.name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
