"""Lineage: runs and their descendants (forks, kept replays, child runs), drawn like a graph of commits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from reenact.errors import RunNotFound
from reenact.facts.ids import tail
from reenact.facts.lazy_dataclass import dataclass
from reenact.facts.run import RESEND

if TYPE_CHECKING:
    from reenact.abc.store import Store
    from reenact.facts.run import Run


@dataclass(frozen=True, slots=True)
class Twig:
    """One run in the graph.

    Attributes:
        run: The run.
        depth: The number of its ancestors in the graph.
        drawn: The lines of the graph before it.
    """

    run: Run
    depth: int
    drawn: str


def draw(runs: Iterable[Run]) -> Iterator[Twig]:
    """Some runs as trees: a run whose parent is not among them is a root, in the given order; the descendants of a run
    are below it, oldest first."""
    given = {run.id: run for run in runs}
    below: Mapping[str, list[Run]] = defaultdict(list)
    for run in given.values():
        if run.parent in given and run.parent is not None:
            below[run.parent].append(run)
    for children in below.values():
        children.sort(key=lambda child: child.id)
    drawn: set[str] = set()
    for run in given.values():
        if run.parent not in given:
            yield from _tree(run, below, drawn)
    for run in given.values():  # only runs that name each other as parents are left, and all of them are drawn
        if run.id not in drawn:
            yield from _tree(run, below, drawn)


def _tree(root: Run, below: Mapping[str, list[Run]], known: set[str]) -> Iterator[Twig]:
    """A run and all its descendants. Uses no recursion, because there may be many forks of forks."""
    pending = [(Twig(root, 0, ""), "")]
    while pending:
        twig, indent = pending.pop()
        if twig.run.id in known:
            continue
        known.add(twig.run.id)
        yield twig
        children = below.get(twig.run.id, [])
        twigs = []
        for child in children:
            last = child is children[-1]
            drawn = f"{indent}{'└─' if last else '├─'}"
            twigs.append((Twig(child, twig.depth + 1, drawn), f"{indent}{'  ' if last else '│ '}"))
        pending += reversed(twigs)


def whole_lineage(store: Store, run: Run) -> list[Run]:
    """The oldest stored ancestor of a run, and all its descendants.

    Costs two look-ups a run. The way up ends at a deleted ancestor; its forks are complete without it.
    """
    root, seen = run, {run.id}
    while root.parent is not None and root.parent not in seen:
        seen.add(root.parent)
        try:
            root = store.run(root.parent)
        except RunNotFound:
            break
    found = {root.id: root}
    pending = [root]
    while pending:
        for child in store.runs(parent=pending.pop().id):
            if child.id not in found:
                found[child.id] = child
                pending.append(child)
    return list(found.values())


def origin(run: Run, *, drawn: bool = False) -> str:
    """The origin of a run, in words: ``fork of 7f3c91a2 at #2``; empty for a run without a parent.

    Args:
        run: The run.
        drawn: Leave the parent out, because it is drawn above.
    """
    if run.parent is None:
        return ""
    words = run.relation or "child"
    if not drawn:
        words += f" of {tail(run.parent)}"
    at = run.fork_event if run.relation != RESEND else (run.environment.get(RESEND) or {}).get("event")
    return words if at is None else f"{words} at #{at}"
