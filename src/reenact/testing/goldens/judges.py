"""The court of a golden: the opinions of models that its bundle keeps, and those that may be asked for."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from reenact.abc.store import Recording, Store
from reenact.errors import UnreplayableRun, UsageError
from reenact.facts.lazy_dataclass import dataclass, field
from reenact.facts.run import Run
from reenact.store.bundles import PackedRun
from reenact.store.memory_store import MemoryStore
from reenact.testing.expectations.courts import Opinion, Question, is_stale, stale
from reenact.testing.expectations.expectation import Expectation
from reenact.testing.expectations.expectation_verdict import Verdict
from reenact.testing.expectations.kept_opinions import TAG, asked_opinion, kept_opinion
from reenact.timetravel.bundling.cleaning import clean, known_here
from reenact.timetravel.bundling.related_runs import gather_alone, records

Asks = Literal["never", "missing", "again"]
"""When a judging model is asked: never; where no opinion is kept; even where one is kept."""

OPINION = "opinion"
"""The role of a run in a bundle that holds an opinion."""


class GoldenCourt:
    """Gives the opinions that the expectations of one golden need.

    Args:
        name: The name of the golden.
        kept: The stores with earlier opinions, searched in this order.
        asks: When a model is asked.

    Attributes:
        asks: When a model is asked.
    """

    def __init__(self, name: str, kept: Sequence[Store] = (), asks: Asks = "never") -> None:
        self._name = name
        self._kept = tuple(kept)
        self._fresh: MemoryStore | None = None
        self.asks: Asks = asks
        self._given: dict[str, tuple[str, Opinion]] = {}
        self._missing: set[str] = set()

    def opinion(self, question: Question) -> Opinion:
        """See ``Court``. Each question is asked once, even if it comes up again.

        Raises:
            UnreplayableRun: No opinion is kept, and the model may not or could not be asked.
        """
        digest = question.digest
        if digest not in self._given:
            try:
                self._given[digest] = self._had(question)
            except UnreplayableRun:
                self._missing.add(digest)
                raise
        return self._given[digest][1]

    def _had(self, question: Question) -> tuple[str, Opinion]:
        """The source of an opinion, and the opinion."""
        why = "it has not been asked about this answer"
        for store in self._kept if self.asks != "again" else ():
            try:
                found = kept_opinion(store, question)
            except UnreplayableRun as error:
                why = error.cause
                continue
            if found.score is not None or self.asks == "never":
                return "kept", found
        command = f"reenact golden run {self._name} --mode missing"
        if self.asks == "never":
            raise stale(question, why, command)
        if self._fresh is None:
            self._fresh = MemoryStore()
        try:
            return "asked", asked_opinion(self._fresh, question)
        except UsageError as error:
            raise stale(question, f"{error.message}; {error.cause}", command) from error

    @property
    def counts(self) -> dict[str, int]:
        """The number of opinions in all (``judged``), of those that were ``kept`` and ``asked`` for, and of those that
        are ``missing``; empty without a judge."""
        if not self._given and not self._missing:
            return {}
        sources = Counter(source for source, _ in self._given.values())
        counts = {"judged": len(self._given), "kept": sources["kept"], "asked": sources["asked"]}
        return counts | ({"missing": len(self._missing)} if self._missing else {})

    def asked(self) -> list[PackedRun]:
        """The exchanges with judges, without credentials, in the form in which a bundle keeps them. A reply without a
        score is no opinion, and is not kept: the model may be asked again."""
        fresh = self._fresh
        if fresh is None:
            return []
        scored = {digest for digest, (_, opinion) in self._given.items() if opinion.score is not None}
        return [
            opinion_of(fresh, run) for run in reversed(list(fresh.runs(status="ok"))) if run.tags.get(TAG) in scored
        ]


def opinion_of(store: Store, run: Run) -> PackedRun:
    """A run that holds an opinion as a bundle keeps it, without credentials."""
    gathered = gather_alone(store, run)
    cleaned = clean(run, records(gathered, store), known_here(run, os.environ))
    return PackedRun(OPINION, run, cleaned.records)


def question_of(packed: PackedRun) -> str:
    """Digest of the question that a kept opinion answers; empty for any other run."""
    return packed.run.tags.get(TAG, "") if packed.role == OPINION else ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdicts of all expectations over a run.

    Attributes:
        verdicts: One for each.
        stale: Why an opinion is missing; empty without one.
        opinions: The number of opinions, see ``GoldenCourt.counts``.
    """

    verdicts: tuple[Verdict, ...]
    stale: str = ""
    opinions: Mapping[str, int] = field(default_factory=dict)


def judgement(
    expectations: Sequence[Expectation], recording: Recording, court: GoldenCourt, project: Path | None = None
) -> Judgement:
    """Judge a run by all expectations, even where an opinion is missing for one.

    Args:
        expectations: The expectations.
        recording: The run.
        court: Gives the opinions of models.
        project: Root of the project that defines graders; None for the one around the working directory.
    """
    verdicts: list[Verdict] = []
    missing = ""
    for each in expectations:
        try:
            verdicts.append(each.judge(recording, court=court, project=project))
        except UnreplayableRun as error:
            if not is_stale(error):
                raise
            missing = missing or str(error)
            verdicts.append(Verdict(None, each.text, error.message, run=recording.run.id))
    return Judgement(tuple(verdicts), missing, court.counts)
