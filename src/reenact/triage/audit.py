"""The audit of many runs: which missing item of their kits would make most of them replayable, and how the replayable
share has changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from reenact.facts.call import Json
from reenact.facts.imported_runs import is_imported
from reenact.facts.kit import Item, Kit, Stops
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.run import Run
from reenact.facts.trace_runs import is_traced

_FIXTURES: Final = frozenset(("history", "model_calls", "tool_calls", "retrievals", "chunks", "payloads"))
"""The items that a replay of a trace answers from: its program is given with ``--cmd``, and is never recorded."""
_SHORT: Final = 12


@dataclass(frozen=True, slots=True)
class AuditedRun:
    """One run of an audit.

    Attributes:
        run: The run.
        lacking: The missing or partial items of its kit that are expected, or keep the run from being replayed.
        needed: The names of the missing items that keep the run from being replayed; empty if it can be replayed.
        code: Its version and its commit, as far as they are known.
    """

    run: Run
    lacking: tuple[Item, ...]
    needed: frozenset[str]
    code: str

    @property
    def replays(self) -> bool:
        """Whether the run can be replayed: as code, or, if it is a trace, with a program that is given."""
        return not self.needed


@dataclass(frozen=True, slots=True)
class Lack:
    """An item that some runs lack.

    Attributes:
        name: The name of the item.
        runs: The ids of the runs that lack it, newest first.
        gains: The number of further runs that could be replayed with this item and the items before it in the audit.
        about: The evidence in the newest of these runs.
        capture: How to capture it, cheapest first.
    """

    name: str
    runs: tuple[str, ...]
    gains: int
    about: str
    capture: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        """As JSON-able data."""
        return {
            "item": self.name, "runs": len(self.runs), "gains": self.gains, "about": self.about,
            "capture": list(self.capture), "newest": self.runs[0],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReplayShare:
    """The share of an agent's runs that can be replayed, before the last change of its code, and since.

    Attributes:
        agent: The name of the agent; empty where the runs have none.
        code: Version and commit of the newest runs.
        before, since: The number of runs that could be replayed, and the number of all runs.
    """

    agent: str
    code: str
    before: tuple[int, int]
    since: tuple[int, int]

    def to_json(self) -> dict[str, Json]:
        """As JSON-able data."""
        return {"agent": self.agent, "code": self.code, "before": list(self.before), "since": list(self.since)}


@dataclass(frozen=True, slots=True)
class Audit:
    """The sums over many kits.

    Attributes:
        runs, replays: The number of runs, and of those that can be replayed.
        helps: The items that would make more of the runs replayable, the largest gain first.
        others: Other missing items, without which the runs can be replayed; most runs first.
        moved: The share before and since the last change, agent by agent.
    """

    runs: int
    replays: int
    helps: tuple[Lack, ...]
    others: tuple[Lack, ...]
    moved: tuple[ReplayShare, ...]


def audited(run: Run, kit: Kit) -> AuditedRun:
    """One run, with its missing items.

    Args:
        run: The run.
        kit: The kit of the run.
    """
    lacking = [item for item in kit.items if not item.there and (item.expected or item.stops is not Stops.NOTHING)]
    if is_traced(run):
        needed = {item.name for item in lacking if item.name in _FIXTURES}
    else:
        given = {"input"} if is_imported(run) else set[str]()  # by the program of ``--cmd``
        needed = {item.name for item in lacking if item.stops is not Stops.NOTHING} - given
    commit = kit.item("commit")
    known = str(commit.value)[:_SHORT] if commit is not None and commit.there and commit.value else ""
    return AuditedRun(run, tuple(lacking), frozenset(needed), " ".join(filter(None, (run.version, known))))


def audit(runs: Iterable[AuditedRun]) -> Audit:
    """The audit of some runs. Pure.

    Args:
        runs: The runs, newest first.
    """
    every = list(runs)
    lacks = dict(_lacks(every))
    helps = tuple(_in_order(every, lacks))
    ahead = {each.name for each in helps}
    others = sorted((each for each in lacks.values() if each.name not in ahead), key=lambda each: -len(each.runs))
    return Audit(len(every), sum(each.replays for each in every), helps, tuple(others), tuple(_moved(every)))


def _lacks(runs: list[AuditedRun]) -> Iterator[tuple[str, Lack]]:
    found: dict[str, list[tuple[str, Item]]] = {}
    for each in runs:
        for item in each.lacking:
            found.setdefault(item.name, []).append((each.run.id, item))
    for name, told in found.items():
        capture = next((item.capture for _, item in told if item.capture), ())
        yield name, Lack(name, tuple(run for run, _ in told), 0, told[0][1].about, capture)


def _in_order(runs: list[AuditedRun], lacks: Mapping[str, Lack]) -> Iterator[Lack]:
    """The items that keep runs from being replayed, ranked: each is the one that makes the most further runs
    replayable. If no single item does, the runs that lack the fewest items are taken, and the item that most of these
    need."""
    left = [set(each.needed) for each in runs if each.needed]
    while left:
        gains = Counter(name for needed in left if len(needed) == 1 for name in needed)
        fewest = min(map(len, left))
        wanted = gains or Counter(name for needed in left if len(needed) == fewest for name in needed)
        name = min(wanted, key=lambda each: (-wanted[each], -len(lacks[each].runs), each))
        for needed in left:
            needed.discard(name)
        before = len(left)
        left = [needed for needed in left if needed]
        found = lacks[name]
        yield Lack(name, found.runs, before - len(left), found.about, found.capture)


def _moved(runs: list[AuditedRun]) -> Iterator[ReplayShare]:
    """The share of each agent's runs before and since the last change of its code. The runs come newest first: those
    with the newest code are at the head."""
    agents: dict[str, list[AuditedRun]] = {}
    for each in runs:
        agents.setdefault(each.run.agent, []).append(each)
    for agent, of in sorted(agents.items()):
        code = of[0].code
        since = next((n for n, each in enumerate(of) if each.code != code), len(of))
        if code and since < len(of):
            yield ReplayShare(agent, code, _share(of[since:]), _share(of[:since]))


def _share(runs: list[AuditedRun]) -> tuple[int, int]:
    return sum(each.replays for each in runs), len(runs)
