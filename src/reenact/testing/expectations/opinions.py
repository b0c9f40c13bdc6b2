"""Opinions: each exchange with a model that judges kept as an ordinary run, in a store of its owner's choosing.

A golden trace keeps it beside the incident's own recording. An opinion that was kept is had again offline, by a replay,
which proves that the question is still the same.
"""

from __future__ import annotations

import json
import math
from typing import Final

from reenact.abc.store import Store
from reenact.errors import Divergence, StoreError
from reenact.facts.call import Json
from reenact.facts.run import Run
from reenact.recording.api import record
from reenact.testing.expectations.asking import address_of, ask
from reenact.testing.expectations.courts import Opinion, Question, stale
from reenact.timetravel.replays import replay
from reenact.timetravel.vocabulary import RunScope

__all__ = ["TAG", "KeptOpinions"]

TAG: Final = "judged"
"""Label of the runs that hold opinions: the digest of the question."""


class KeptOpinions:
    """Opinions kept as runs of a store, each asked for once.

    Args:
        store: Where they are kept.
        ask: Whether a question without a recording may be asked, and is recorded then.

    Attributes:
        used: Ids of the runs whose opinions were given, in order; a bundle must hold them.
        asked: How many questions went to a model.
    """

    def __init__(self, store: Store, *, ask: bool = False) -> None:
        self._store = store
        self._may_ask = ask
        self.used: list[str] = []
        self.asked = 0

    def opinion(self, question: Question) -> Opinion:
        """See ``Court``. Costs a replay in this process (some milliseconds), or one model call."""
        found = self._found(question)
        if found is not None:
            return self._kept(found, question)
        if not self._may_ask:
            raise stale(question, "it has not been asked about this answer, or was asked in another form")
        return self._fresh(question)

    def _found(self, question: Question) -> Run | None:
        try:
            return next(iter(self._store.runs(tag={TAG: question.digest}, status="ok", limit=1)), None)
        except StoreError as error:
            if getattr(error, "reason", "") != "absent":
                raise
            return None  # a file that the first opinion will make

    def _kept(self, run: Run, question: Question) -> Opinion:
        given = RunScope(run, lambda: self._store.open(run)).value("args")
        if not isinstance(given, list) or tuple(given[:-1]) != question.parts:
            raise stale(question, "the recording under its name holds another question")
        try:
            output = replay(run, entry=ask, store=self._store).output
        except Divergence as error:
            raise stale(question, f"its recording does not fit any more: {error.message}") from error
        self.used.append(run.id)
        return _read(output, run.id)

    def _fresh(self, question: Question) -> Opinion:
        self.asked += 1
        entry = record(agent="judge", tags={TAG: question.digest}, store=self._store)(ask)
        output = entry(*question.parts, address_of(question.model))
        kept = self._found(question)
        if kept is not None:
            self.used.append(kept.id)
        return _read(output, "" if kept is None else kept.id)


def _read(output: Json, run: str) -> Opinion:
    """The score and the reason in a reply: one JSON object, whatever stands around it."""
    text = str(output.get("text", "")) if isinstance(output, dict) else ""
    start, end = text.find("{"), text.rfind("}")
    try:
        found = json.loads(text[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        found = None
    score = found.get("score") if isinstance(found, dict) else None
    if not isinstance(score, (int, float)) or isinstance(score, bool) or not math.isfinite(score):
        return Opinion(None, text[:200], run)
    return Opinion(
        min(1.0, max(0.0, float(score))), str(found.get("reason", "")) if isinstance(found, dict) else "", run
    )
